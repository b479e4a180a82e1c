import HearthEtcdMessages
import HearthRealtimeDatabase

/// Claiming the log, appending to it, and giving it up.
extension ReplicatedLog {
    mutating func nextOfOwner(_ term: Int64, _ head: LogHead) {
        // Records that arrive during a handover wait for its outcome.
        if append == nil, let records = waiting, !isHandingOver {
            waiting = nil
            begin(records, term, head)
        }
        if let append {
            if append.partCount < append.parts.count {
                let part = append.parts[append.partCount]
                call(transactions.put(part: part, append.partCount, of: append.batch), for: .part)
            } else {
                let measure = measure(with: append)
                let isNew = measure.lastBeginning != statedTail
                call(transactions.append(append.batch, after: head, append.head, isNew ? measure : nil), for: .append)
            }
        } else if nextOfMove(term, head) {
            return
        } else if now >= nextTrim {
            nextTrim = now + options.trimMilliseconds
            call(transactions.readKept, for: .readKept)
        } else if now >= nextKeep {
            keep()
        }
    }

    private var isHandingOver: Bool { if case .handingOver? = move?.step { true } else { false } }

    // MARK: Claiming

    mutating func claimed(_ claimedLease: Int64, _ reply: EtcdTransactionReply) {
        following = .reading
        guard reply.hasSucceeded else { return }
        // The lease may have ended meanwhile.
        role = lease == claimedLease ? .claimed(term: reply.revision) : .leaving(term: reply.revision)
    }

    mutating func tidied(_ reply: EtcdTransactionReply) {
        guard case .claimed(let term, let head?) = role else { return }
        guard reply.hasSucceeded else {
            role = .follower
            return
        }
        // What no process of the node has followed counts, too: nodes that are started again and again would trim
        // nothing.
        statedTail = tail.complete(with: reply.values(0).first?.value, of: head.epoch, from: floor)
        role = .owner(term: term, head: head)
        following = .idle
        ownerName = transactions.owner.node
        ownerlessSince = nil
        emit(.endWatch)
        emit(.own(term: term))
    }

    // MARK: Appending

    mutating func add(_ records: [LogRecord]) {
        guard case .owner = role else {
            emit(.appendFailed(.fenced(by: ownerName)))
            // In other roles a term of this node may still be alive.
            if role == .follower, !isInDoubt, following != .copying {
                emit(.settled(through: position.sequence))
            } else {
                isInDoubt = true
            }
            return
        }
        precondition(append == nil && waiting == nil, "one append at a time")
        precondition(
            records.first?.firstSequence == position.sequence + 1, "records that do not follow those of the log")
        waiting = records
    }

    private mutating func begin(_ records: [LogRecord], _ term: Int64, _ head: LogHead) {
        appendCount += 1
        let (batch, parts) = LogBatch.make(
            records, AppendID(term: term, number: appendCount), epoch: head.epoch, partBytesMax: options.partBytesMax,
            compresses: format >= .compressed)
        let newHead = LogHead(
            epoch: head.epoch, lastSequence: batch.lastSequence, lastTime: max(head.lastTime, batch.lastTime),
            lastAppend: batch.id)
        append = Append(batch: batch, parts: parts, head: newHead, deadline: now + options.appendMilliseconds)
    }

    mutating func wrotePart(_ reply: EtcdTransactionReply) {
        if reply.hasSucceeded { append?.partCount += 1 } else { fenced(reply.values(0).first) }
    }

    mutating func appended(_ reply: EtcdTransactionReply) {
        guard let append, case .owner(let term, _) = role else { return }
        if reply.hasSucceeded { return finish(append, term) }
        let owner = reply.values(0).first
        let present = reply.values(1).first.flatMap { LogBatch($0.value) }
        // Revisions of a new etcd count from 1 again, so terms alone do not tell histories apart.
        let isMine = present?.id == append.batch.id && present?.epoch == append.batch.epoch
        // An earlier attempt was successful, even if another node owns the log now.
        if isMine { finish(append, term) }
        guard isOwn(term, owner) else { return fenced(owner) }
        if isMine { return }
        emit(.damaged("the head of the log was changed by somebody who does not own it"))
        leave(term, because: .refused(.invalidRequest("the head of the log has changed")))
    }

    private mutating func finish(_ append: Append, _ term: Int64) {
        self.append = nil
        position.sequence = append.batch.lastSequence
        role = .owner(term: term, head: append.head)
        tail = measure(with: append)
        // Stated with this append, if not before.
        statedTail = tail.lastBeginning
        passOn(append.batch)
        emit(.appended(through: position.sequence))
    }

    private func measure(with append: Append) -> TailMeasure {
        var measure = tail
        let bytes = append.batch.byteCount + append.parts.reduce(0) { $0 + $1.count }
        measure.add(append.batch.firstSequence, bytes: bytes)
        return measure
    }

    mutating func appendFailed(_ error: EtcdError) {
        guard let append, case .owner(let term, _) = role else { return }
        let mayPass = error.isOfOneMember || error == .overloaded
        if mayPass, now < append.deadline { return }
        leave(term, because: mayPass ? .noQuorum : .refused(error))
    }

    // MARK: Losing the log

    private func isOwn(_ term: Int64, _ value: EtcdKeyValue?) -> Bool {
        value?.modRevision == term && value?.value == transactions.owner.bytes
    }

    /// The term of this node is over, since a comparison with it has failed.
    private mutating func fenced(_ value: EtcdKeyValue?) {
        lose(to: value.flatMap { LogReading.Owner($0) }?.record.node)
    }

    mutating func lose(to owner: String?) {
        failAppend(.fenced(by: owner))
        move = nil
        format = .plain
        role = .follower
        following = .reading
        ownerName = owner
        emit(.disown(by: owner))
    }

    /// Ends the own term, whatever is under way.
    mutating func leave(_ term: Int64, because reason: AppendFailure) {
        failAppend(reason)
        move = nil
        format = .plain
        // Its answer would say nothing that reading the log will not.
        pending = nil
        retryAt = nil
        if isOwner { emit(.disown(by: nil)) }
        role = .leaving(term: term)
        following = .reading
    }

    private mutating func failAppend(_ reason: AppendFailure) {
        guard append != nil || waiting != nil else { return }
        append = nil
        waiting = nil
        isInDoubt = true
        emit(.appendFailed(reason))
    }

    mutating func ended() {
        role = .follower
        if following != .copying { following = .reading }
    }

    mutating func leaseChanged(_ lease: Int64?) {
        guard lease != self.lease else { return }
        self.lease = lease
        (statedSequence, statedFiles) = (nil, nil)
        statesFiles = false
        switch role {
        case .owner(let term, _), .claimed(let term, _): leave(term, because: .fenced(by: nil))
        case .follower, .leaving: break
        }
    }

    mutating func release() {
        switch role {
        case .owner(let term, _), .claimed(let term, _): leave(term, because: .fenced(by: nil))
        case .follower, .leaving: break
        }
    }

    /// That its files fail, the node states soon, so that no node gives the log back to one that has just given it up.
    /// That they do not fail any more, it states when the next statement is due: files that fail now and then are not
    /// relied on each time, and etcd is not asked more often.
    mutating func changedFitness() {
        if !mayOwn { release() }
        if !areFilesWell { nextKeep = now }
    }

    // MARK: Trimming

    mutating func readKept(_ reply: EtcdTransactionReply) {
        guard case .owner(let term, _) = role else { return }
        // After a restore, no node owns the log; one that appends nothing finds it out here.
        let owner = reply.values(2).first
        guard isOwn(term, owner) else { return fenced(owner) }
        consider(reply.values(1).first)
        format = StoreFormat(reply.values(3).first)
        var kept = keptSequence
        for value in reply.values(0) { kept = min(kept, LogTransactions.number(value.value) ?? 0) }
        var target = floor
        if let room = tail.floor(keeping: options.tailBytesMin), let beginning = tail.beginning(upTo: kept + 1) {
            target = max(target, min(room, beginning))
        }
        // What other nodes lack they can copy from this one, which has to have it.
        if let limit = tail.floor(keeping: options.tailBytesMax), let own = tail.beginning(upTo: keptSequence + 1) {
            target = max(target, min(limit, own))
        }
        if target > floor { call(transactions.trim(from: floor, to: target, term: term), for: .trim(target)) }
    }

    mutating func trimmed(_ target: UInt64, _ reply: EtcdTransactionReply) {
        guard case .owner(let term, _) = role else { return }
        var target = target
        if !reply.hasSucceeded {
            let owner = reply.values(0).first
            guard isOwn(term, owner) else { return fenced(owner) }
            // An earlier request was carried out, though no answer came.
            guard let present = reply.values(1).first.flatMap({ LogTransactions.number($0.value) }) else {
                return emit(.damaged("the floor of the log cannot be read"))
            }
            target = present
        }
        floor = target
        tail.trim(to: floor)
    }
}
