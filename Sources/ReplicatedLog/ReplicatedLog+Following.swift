import HearthEtcdMessages
import HearthRealtimeDatabase

/// Reading and watching what others append.
extension ReplicatedLog {
    mutating func nextOfFollower() {
        switch following {
        case .copying:
            // Only the records that the copy needs.
            if pinsLog, now >= nextKeep { keep() }
        case .idle: break
        case .reading:
            emit(.endWatch)
            emit(.endFeed)
            if isLost, isOfLog, !statesFiles, keptSequence >= position.sequence, let lease {
                return call(transactions.state(files: filesPast, lease: lease), for: .stateFiles)
            }
            call(transactions.read(from: position.sequence + 1, limit: readCount), for: .read)
        case .readingParts(let batch, let parts):
            let indexes = parts.count..<min(parts.count + Int(readCount), max(batch.partCount, parts.count + 1))
            call(transactions.readParts(indexes, of: batch), for: .parts(indexes))
        case .watching, .fed:
            if isFeedSilent {
                following = .reading
                nextOfFollower()
            } else if mayClaim, let lease {
                call(transactions.claim(lease: lease), for: .claim(lease: lease))
            } else if now >= nextKeep {
                keep()
            } else if case .watching = following, mayBeFed {
                // A node is followed from the end of the log on.
                following = .reading
                nextOfFollower()
            }
        }
    }

    private var mayClaim: Bool {
        guard let rank, lease != nil, mayOwn, role == .follower, let ownerlessSince else { return false }
        return now >= ownerlessSince + Int64(rank) * options.rankMilliseconds
    }

    /// States the node's position, so that the owner does not trim records that it lacks.
    mutating func keep() {
        nextKeep = now + options.keepMilliseconds
        let held = heldFiles
        guard let lease, statedSequence != keptSequence || held != nil && held != statedFiles else { return }
        statedSequence = keptSequence
        guard let held else { return call(transactions.keep(keptSequence, lease: lease), for: .keep(nil)) }
        call(transactions.keep(keptSequence, held, after: heldRevision, lease: lease), for: .keep(held))
    }

    /// What the node can say of its files; nil if nothing.
    private var heldFiles: HeldFiles? {
        switch following {
        case .copying: return .copying
        case .watching, .fed, .idle:
            guard isOfLog, let epoch = position.epoch, let fileSequence else { return nil }
            if !areFilesWell { return .failing }
            return .through(epoch: epoch, sequence: fileSequence)
        case .reading, .readingParts: return nil
        }
    }

    mutating func kept(_ held: HeldFiles?, _ reply: EtcdTransactionReply) {
        guard let held else { return }
        if reply.hasSucceeded {
            (statedFiles, heldRevision) = (held, reply.revision)
        } else {
            // That of an earlier process, or of this one, whose answer was lost.
            heldRevision = reply.values(1).first?.modRevision ?? 0
            statedFiles = nil
            nextKeep = now + options.retryMilliseconds
        }
    }

    /// A read was answered.
    private mutating func noteRead() {
        if now - calledAt <= options.quickReadMilliseconds { readCount = min(2 * readCount, options.readLimit) }
    }

    mutating func read(_ reply: EtcdTransactionReply) {
        noteRead()
        guard let reading = LogReading(reply) else { return stop("a value cannot be read") }
        see(reading.owner)
        floor = reading.floor
        tail.trim(to: floor)
        // Without a head, the log has not begun, or was lost.
        guard let head = reading.head else {
            // Files that could not follow it are not what it begins with: others may have more of it.
            return isOfLog || reading.isMissed || unfollowable != nil ? miss(reading) : caughtUp(reading)
        }
        isLost = false
        // Empty files can be of any history.
        let areEmpty = position.epoch == nil || position.sequence == 0 && position.epoch != head.epoch
        if areEmpty {
            position.epoch = head.epoch
            emit(.begin(epoch: head.epoch))
        }
        let isStillAhead = head.epoch == unfollowable && position.epoch == head.epoch
        unfollowable = nil
        if let mismatch = isStillAhead ? .ahead : LogMismatch.of(position, in: reading, head) {
            return copy(head, reading, mismatch)
        }
        if !isOfLog, !areEmpty { emit(.begin(epoch: head.epoch)) }
        isOfLog = true
        let start = position.sequence
        for batch in reading.batches where batch.lastSequence > position.sequence {
            guard batch.firstSequence <= position.sequence + 1 else { break }
            guard follow(batch) else { return }
        }
        if position.sequence == head.lastSequence { return caughtUp(reading) }
        if position.sequence == start {
            stop("there is no batch after \(start), though the log ends at \(head.lastSequence)")
        }
    }

    /// Passes on the records of a batch. Answers false if they must be read first, or are damaged.
    private mutating func follow(_ batch: LogBatch, parts: [UInt8]? = nil) -> Bool {
        if case .parts = batch.content, parts == nil {
            following = .readingParts(batch, [])
            return false
        }
        guard batch.epoch == position.epoch, let records = batch.records(parts: parts ?? []) else {
            stop("the batch at \(batch.firstSequence) is damaged")
            return false
        }
        // As the owner counts them (``finish``).
        tail.add(batch.firstSequence, bytes: batch.byteCount + (parts?.count ?? 0))
        emit(.follow(records.after(position.sequence)))
        position.sequence = batch.lastSequence
        passOn(batch)
        return true
    }

    mutating func readParts(_ indexes: Range<Int>, _ reply: EtcdTransactionReply) {
        guard case .readingParts(let batch, var parts) = following else { return }
        noteRead()
        following = .reading
        let values = reply.values(0)
        parts += values.map(\.value)
        if parts.count == batch.partCount {
            _ = follow(batch, parts: parts.flatMap(\.self))
        } else if values.count == indexes.count {
            following = .readingParts(batch, parts)
        } else if batch.id == incomplete {
            stop("parts of the batch at \(batch.firstSequence) are missing")
        } else {
            // They may have been trimmed in between; then reading finds that.
            incomplete = batch.id
        }
    }

    /// The node has everything that the log had when it was read.
    private mutating func caughtUp(_ reading: LogReading) {
        switch role {
        case .claimed(let term, _):
            guard let owner = reading.owner, owner.term == term else {
                role = .follower
                return watch(after: reading.revision)
            }
            guard let head = reading.head else {
                // Even with files that have a history, it is a new one: others may have other records in theirs.
                let head = LogHead(
                    epoch: foundingEpoch, lastSequence: position.sequence, lastTime: 0,
                    lastAppend: AppendID(term: term, number: 0))
                call(transactions.establish(head, past: filesPast, term: term), for: .establish)
                return
            }
            settle()
            role = .claimed(term: term, head: head)
            call(transactions.tidy(after: head, term: term), for: .tidy)
        case .follower:
            if let owner = reading.owner, owner.record == transactions.owner {
                // With the present lease: a claim whose answer was lost. Or with an earlier one, which cannot be used
                // any more.
                if owner.lease == lease, rank != nil, mayOwn {
                    role = .claimed(term: owner.term)
                    return
                }
                role = .leaving(term: owner.term)
                return
            }
            settle()
            if mayBeFed { follow(after: reading.revision) } else { watch(after: reading.revision) }
        case .owner, .leaving: break
        }
    }

    private mutating func watch(after revision: Int64) {
        serial += 1
        following = .watching(serial: serial)
        emit(.watch(EtcdWatch(transactions.keys.watched, from: revision + 1), serial: serial))
    }

    mutating func watched(_ serial: UInt64, _ changes: [EtcdChange]) {
        let isFed = following == .fed(serial: serial)
        guard isFed || following == .watching(serial: serial) else { return }
        for change in changes {
            switch change {
            case .put(let value) where value.key == transactions.keys.owner:
                guard let owner = LogReading.Owner(value) else { return stop("the owner cannot be read") }
                // Another one is to be followed then.
                if isFed, owner.record.node != ownerName { following = .reading }
                see(owner)
                // The claim whose answer is under way, or one whose answer was lost.
                if owner.record == transactions.owner { following = .reading }
            case .delete(let key, _) where key == transactions.keys.owner: see(nil)
            case .put(let value) where value.key == transactions.keys.head:
                guard let head = LogHead(value.value) else { return stop("the head cannot be read") }
                if head.epoch != position.epoch { following = .reading }
            case .put(let value) where transactions.keys.isBatch(value.key):
                guard let batch = LogBatch(value.value) else { return stop("a batch cannot be read") }
                guard take(batch) else { return }
            case .put(let value) where value.key == transactions.keys.floor:
                floor = LogTransactions.number(value.value) ?? floor
                tail.trim(to: floor)
            case .put, .delete: break
            }
        }
    }

    /// Passes on the records of a batch that are new. Answers false if the log is to be read first.
    @discardableResult
    mutating func take(_ batch: LogBatch) -> Bool {
        if batch.lastSequence <= position.sequence { return true }
        // After a gap, or in another history.
        guard batch.firstSequence <= position.sequence + 1, batch.epoch == position.epoch else {
            following = .reading
            return false
        }
        return follow(batch)
    }

    private mutating func see(_ owner: LogReading.Owner?) {
        // Another owner may pass on what an earlier one did not.
        if owner?.record.node != ownerName { (nextFeed, feedPause) = (.min, options.feedMilliseconds) }
        ownerName = owner?.record.node
        isOwnerNamesake = ownerName == transactions.owner.node && owner?.record != transactions.owner
        ownerlessSince = owner == nil ? ownerlessSince ?? now : nil
    }

    /// After a failed append, once nothing of this node can reach the log any more.
    private mutating func settle() {
        guard isInDoubt else { return }
        isInDoubt = false
        emit(.settled(through: position.sequence))
    }

    private mutating func copy(_ head: LogHead, _ reading: LogReading, _ mismatch: LogMismatch) {
        switch mismatch {
        case .behind, .replaced:
            (following, fileSequence) = (.copying, nil)
            // What follows the copy must still be there when the copy is.
            pinsLog = true
            keptSequence = floor - 1
            nextKeep = now
        case .continued:
            (following, fileSequence) = (.copying, nil)
            pinsLog = false
        case .foreign, .ahead:
            unfollowable = head.epoch
            readLater()
            // Only an operator can change that, and a reading may have many batches.
            retryAt = now + 100 * options.retryMilliseconds
        }
        // Another node can own the log meanwhile.
        leaveIfOwner(reading)
        emit(.copy(epoch: head.epoch, from: floor, because: mismatch))
    }

    /// The store has no log, and should have one.
    private mutating func miss(_ reading: LogReading) {
        readLater()
        isLost = true
        leaveIfOwner(reading)
        emit(.lost)
    }

    /// A claim, or a move to this node, was carried out.
    private mutating func leaveIfOwner(_ reading: LogReading) {
        if case .claimed(let term, _) = role {
            role = .leaving(term: term)
        } else if let owner = reading.owner, owner.record == transactions.owner {
            role = .leaving(term: owner.term)
        }
        // The term ends at once.
        if case .leaving = role { retryAt = nil }
    }

    private var filesPast: LogPast {
        guard let epoch = position.epoch, position.sequence > 0 else { return LogPast() }
        return LogPast(past.epochs.filter { $0.name != epoch } + [.init(name: epoch, end: position.sequence)])
    }

    private mutating func stop(_ reason: String) {
        readLater()
        emit(.damaged(reason))
    }

    /// An operator may have repaired the store by then.
    private mutating func readLater() {
        following = .reading
        retryAt = now + 20 * options.retryMilliseconds
    }
}
