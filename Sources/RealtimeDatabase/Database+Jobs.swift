import HearthJSONTree
import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// Workers and their jobs (Protocol.md 18.4). All that is decided is in the tree, in the commit that decides it: the
/// state of a job says who has it.
extension Database {
    /// How long a job whose worker's connection has ended waits for the worker to come back, in milliseconds.
    static let reconnectGrace: Int64 = 10_000
    private static let noJobs = CanonicalJSON(trusted: Array(#"{"count":0}"#.utf8))
    /// Entries of jobs that a claim checks in addition to those that it needs.
    private static let examinedMore = 4
    /// Entries of jobs that are looked at for those who wait.
    private static let examinedMax = 200
    /// Looks of one claim: dead jobs may come before others.
    private static let claimRoundsMax = 10
    /// Places that are written with the end of a job. Nothing else is done meanwhile.
    private static let finishedEntriesMax = 1000

    /// Processes a worker's request. Nil if it waits for a job, and is answered later.
    func work(
        at place: Path, _ operation: JobOperation, for request: Request, in turn: inout Turn
    ) throws(Failure) -> CanonicalJSON? {
        try checkWritable()
        guard let queue = queue(at: place) else {
            throw .refused(status: StaticText("invalid_argument"), "There is no queue at \"\(place)\"")
        }
        for needed in Self.permissions(of: operation, at: place) { try checkAllowed(needed, in: turn) }
        switch operation {
        case .claim(let count, let lease, let wait):
            return try claim(min(count, JobOperation.countMax), lease, wait, from: queue, at: place, request, in: &turn)
        case .extend(let key, let claim, let lease):
            return try extend(key, claim, lease, queue, at: place, for: request.connection, in: &turn)
        case .done(let key, let claim, let entries):
            try finish(key, claim, entries, at: place, in: &turn)
            tally(queue) { $0.done += 1 }
        case .fail(let key, let claim, let error, let retry):
            try fail(key, claim, error, retry, queue, at: place, in: &turn)
        case .giveBack(let key, let claim):
            var (job, state) = try held(key, claim, at: place)
            state.attempts -= 1
            state.lease = nil
            try commit([Assignment(target: WriteTarget(path: job.state), value: state.json)], in: &turn)
            workers.leases.remove(job.job)
        }
        return .null
    }

    /// The access that the rules must grant to a worker, in addition to the writes with the end of a job. A user who
    /// may remove the state of all jobs is a worker.
    static func permissions(of operation: JobOperation, at place: Path) -> [RuleOperation] {
        let state = Assignment(target: WriteTarget(path: IndexCatalog.Queue.state(at: place)), value: .null)
        if case .claim = operation { return [.write([state]), .read(IndexCatalog.Queue.jobs(at: place))] }
        return [.write([state])]
    }

    // MARK: Claims

    private func claim(
        _ count: Int, _ lease: Int64?, _ wait: JobOperation.Wait, from queue: IndexCatalog.Queue, at place: Path,
        _ request: Request, in turn: inout Turn
    ) throws(Failure) -> CanonicalJSON? {
        let now = turn.record.time
        workers.passed.expire(at: now)
        var handed: [[UInt8]] = []
        var bytes = 0
        var due = Int64.max
        var rounds = 0
        while rounds < Self.claimRoundsMax {
            let passedBefore = workers.passed.count
            defer { if workers.passed.count == passedBefore { rounds += 1 } }
            if isMovingLeases {
                due = now + WaitingClaims.pause
                break
            }
            // A few more, as some may be dead or out of date.
            let found = try dueJobs(queue, at: place, now: now, max: count - handed.count + Self.examinedMore)
            due = found.next
            if removeExpired(among: found.segments, at: place, in: &turn) {
                if !workers.passed.isFull { due = 0 }
                continue
            }
            let ready = try giveUpExhausted(
                found.segments, of: queue, at: place, max: count - handed.count, bytes: &bytes, in: &turn)
            var assignments: [Assignment] = []
            var taken: [JobPlace] = []
            var abandoned: Int64 = 0
            // The number of the operation that this becomes.
            let claim = Int64(sequence + 1)
            for (job, before) in ready where bytes < Self.assembledBytesMax {
                var state = before
                state.attempts += 1
                state.at = nil
                let time = now + (lease ?? queue.definition.lease).clamped(to: QueueDefinition.leases)
                state.lease = JobState.Lease(claim: claim, until: time, uid: turn.principal.uid)
                do throws(Failure) {
                    let text = try describe(job, state)
                    bytes += text.count
                    handed.append(text)
                } catch {
                    try passOver(job, because: error, now: now)
                    continue
                }
                if before.lease != nil { abandoned += 1 }
                assignments.append(Assignment(target: WriteTarget(path: job.state), value: state.json))
                taken.append(job)
            }
            if !assignments.isEmpty {
                try commit(assignments, in: &turn)
                tally(queue) { tally in
                    tally.claimed += Int64(taken.count)
                    tally.abandoned += abandoned
                }
                for job in taken { workers.leases.add(job.job, claim, to: request.connection) }
            }
            if bytes >= Self.assembledBytesMax { due = 0 }
            if handed.count >= count || bytes >= Self.assembledBytesMax { break }
            // Others may come after those that were passed over.
            if !found.isMore, workers.passed.count == passedBefore { break }
        }
        if handed.isEmpty, !request.connection.isForwarded, let deadline = wait.deadline(now: now), now < deadline {
            park(request, at: place, until: deadline, due: due)
            return nil
        }
        var text = Array("{\"count\":\(handed.count)".utf8)
        for (number, job) in handed.enumerated() {
            text += "\(number == 0 ? ",\"jobs\":{" : ",")\"\(number)\":".utf8
            text += job
        }
        return CanonicalJSON(trusted: text + "\(handed.isEmpty ? "" : "}")}".utf8)
    }

    /// Removes the expired jobs among some. Those that cannot be removed are passed over.
    ///
    /// - returns: whether any have expired.
    private func removeExpired(among segments: [[UInt8]], at place: Path, in turn: inout Turn) -> Bool {
        let now = turn.record.time
        guard now >= indexes.nextExpiry else { return false }
        let jobs = segments.map { JobPlace(queue: place, segment: $0) }
        let expired = jobs.flatMap { expiredPlaces(at: $0.job, now: now) }
        if expired.isEmpty { return false }
        if remove(expired, in: &turn) { return true }
        for job in jobs where !expiredPlaces(at: job.job, now: now).isEmpty { workers.passed.add(job, now: now) }
        return true
    }

    /// Leaves a job out of claims for a while, because it could not be read or changed. Throws errors that concern the
    /// other jobs as well.
    private func passOver(_ job: JobPlace, because error: Failure, now: Int64) throws(Failure) {
        if mustWait(because: error) { throw error }
        workers.passed.add(job, now: now)
    }

    /// Gives up those of some jobs that have had all their attempts. Answers the others, up to a number.
    ///
    /// - parameter bytes: grows by those of the jobs that are given up, of which each claim copies some.
    private func giveUpExhausted(
        _ segments: [[UInt8]], of queue: IndexCatalog.Queue, at place: Path, max count: Int, bytes: inout Int,
        in turn: inout Turn
    ) throws(Failure) -> [(job: JobPlace, state: JobState)] {
        var ready: [(job: JobPlace, state: JobState)] = []
        for segment in segments where ready.count < count && bytes < Self.assembledBytesMax {
            let job = JobPlace(queue: place, segment: segment)
            do throws(Failure) {
                var state = try state(of: job)
                guard state.attempts >= queue.definition.attempts else {
                    ready.append((job, state))
                    continue
                }
                let isAbandoned = state.lease != nil
                if state.error.isNull { state.error = CanonicalJSON(string: Array("the lease ended".utf8)) }
                bytes += try giveUp(job, state, of: queue, in: &turn)
                if isAbandoned { tally(queue) { $0.abandoned += 1 } }
            } catch {
                try passOver(job, because: error, now: turn.record.time)
            }
        }
        return ready
    }

    /// `{"attempts":1,"claim":12,"key":"a","until":…,"value":…}`; without the value if that is too large for memory.
    private func describe(_ job: JobPlace, _ state: JobState) throws(Failure) -> [UInt8] {
        var text = Array("{\"attempts\":\(state.attempts)".utf8)
        text += ",\"claim\":\(state.lease?.claim ?? 0),\"key\":".utf8
        job.segment.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &text) }
        text += ",\"until\":\(state.lease?.until ?? 0)".utf8
        do throws(TreeRows.ReadError) {
            text += ",\"value\":".utf8 + (try rows.read(job.job, bytesMax: Self.assembledBytesMax)).bytes
        } catch .storage(let error) {
            throw .unavailable(error)
        } catch {}
        return text + [UInt8(ascii: "}")]
    }

    /// Gives a job up, in a separate commit: it becomes a dead letter. One that is too large to be copied, that cannot
    /// be read, or whose letter the settings refuse, stays, and is not handed out. Answers how many bytes were read for
    /// that, at most.
    @discardableResult
    private func giveUp(
        _ job: JobPlace, _ state: JobState, of queue: IndexCatalog.Queue, in turn: inout Turn
    ) throws(Failure) -> Int {
        var bytes = comparedBytesMax
        expire(beforeWritesAt: [job.deadLetter], in: &turn)
        do throws(Failure) {
            let value = try value(of: job)
            bytes = value.bytes.count
            let letter = CanonicalJSON.object([
                ("at", CanonicalJSON(integer: turn.record.time)),
                ("attempts", CanonicalJSON(integer: Int64(state.attempts))), ("error", state.error), ("value", value),
            ])
            let assignments = [
                Assignment(target: WriteTarget(path: job.deadLetter), value: letter),
                Assignment(target: WriteTarget(path: job.job), value: .null),
            ]
            try commit(assignments, in: &turn)
        } catch {
            if mustWait(because: error) { throw error }
            var state = state
            state.lease = nil
            state.at = QueueDefinition.never
            try commit([Assignment(target: WriteTarget(path: job.state), value: state.json)], in: &turn)
        }
        tally(queue) { $0.dead += 1 }
        return bytes
    }

    private func value(of job: JobPlace) throws(Failure) -> CanonicalJSON {
        do throws(TreeRows.ReadError) {
            return try rows.read(job.job, bytesMax: comparedBytesMax)
        } catch {
            if case .storage(let error) = error { throw .unavailable(error) }
            throw .tooLarge
        }
    }

    // MARK: Jobs that a worker has

    private func state(of job: JobPlace) throws(Failure) -> JobState {
        do throws(TreeRows.ReadError) {
            return JobState(try rows.read(job.state, bytesMax: comparedBytesMax))
        } catch {
            if case .storage(let error) = error { throw .unavailable(error) }
            throw .tooLarge
        }
    }

    /// The job of a key, if no other worker holds it.
    private func held(
        _ key: Key, _ claim: Int64, at place: Path
    ) throws(Failure) -> (job: JobPlace, state: JobState) {
        let job = JobPlace(queue: place, segment: Path([key]).encoded)
        let state = try state(of: job)
        guard try exists(job.job) else {
            throw .refused(status: .jobGone, "The job \"\(key)\" is gone: it is done, or was removed")
        }
        guard state.lease?.claim == claim else {
            throw .refused(status: .leaseLost, "The job \"\(key)\" is not this worker's any more: its lease has ended")
        }
        return (job, state)
    }

    private func extend(
        _ key: Key, _ claim: Int64, _ lease: Int64?, _ queue: IndexCatalog.Queue, at place: Path,
        for connection: ConnectionID, in turn: inout Turn
    ) throws(Failure) -> CanonicalJSON {
        var (job, state) = try held(key, claim, at: place)
        let until = turn.record.time + (lease ?? queue.definition.lease).clamped(to: QueueDefinition.leases)
        state.lease = JobState.Lease(claim: claim, until: until, uid: turn.principal.uid)
        try commit([Assignment(target: WriteTarget(path: job.state), value: state.json)], in: &turn)
        workers.leases.add(job.job, claim, to: connection)
        workers.moves.note(job.state, at: sequence)
        return CanonicalJSON(trusted: Array("{\"until\":\(until)}".utf8))
    }

    private func finish(
        _ key: Key, _ claim: Int64, _ entries: [(target: WriteTarget, value: IncomingValue)], at place: Path,
        in turn: inout Turn
    ) throws(Failure) {
        let bytes = entries.reduce(0) { $0 + $1.value.json.bytes.count }
        guard entries.count <= Self.finishedEntriesMax, bytes <= Self.assembledBytesMax else {
            let text = "With the end of a job, at most \(Self.finishedEntriesMax) places and 1 MiB can be written"
            throw .refused(status: StaticText("too_big"), text)
        }
        expire(beforeWritesAt: entries.map(\.target.path), in: &turn)
        let job = try held(key, claim, at: place).job
        var writes: [Assignment] = []
        for (target, value) in entries {
            if job.job.contains(target.path) || target.path.contains(job.job) {
                let text = "What is written with the end of a job cannot be the job itself"
                throw .refused(status: StaticText("invalid_argument"), text)
            }
            writes.append(Assignment(target: target, value: try resolve(value, at: target, now: turn.record.time)))
        }
        if !writes.isEmpty { try checkAllowed(.write(writes), in: turn) }
        let charges = try checkRate(of: writes, in: turn)
        writes.append(Assignment(target: WriteTarget(path: job.job), value: .null))
        try commit(Change(derived(writes, nil, by: turn.principal)), nil, in: &turn)
        rates.add(charges, now: turn.record.time)
        workers.leases.remove(job.job)
    }

    private func fail(
        _ key: Key, _ claim: Int64, _ error: [UInt8], _ retry: JobOperation.Retry, _ queue: IndexCatalog.Queue,
        at place: Path, in turn: inout Turn
    ) throws(Failure) {
        var (job, state) = try held(key, claim, at: place)
        let now = turn.record.time
        state.lease = nil
        state.error = error.isEmpty ? .null : CanonicalJSON(string: error)
        let isGivenUp = retry == .never || state.attempts >= queue.definition.attempts
        if isGivenUp {
            try giveUp(job, state, of: queue, in: &turn)
        } else {
            let delay =
                if case .after(let delay) = retry {
                    // Another node may ask for any.
                    min(delay, QueueDefinition.never)
                } else {
                    queue.definition.delay(afterAttempts: state.attempts, seed: UInt64(bitPattern: claim))
                }
            state.at = min(max(now + delay, 1), QueueDefinition.never - 1)
            try commit([Assignment(target: WriteTarget(path: job.state), value: state.json)], in: &turn)
            workers.moves.note(job.state, at: sequence)
        }
        workers.leases.remove(job.job)
        tally(queue) { $0.failed += 1 }
    }

    private func tally(_ queue: IndexCatalog.Queue, _ body: (inout QueueTally) -> Void) {
        body(&workers.tallies[queue.definition.pattern, default: QueueTally()])
    }

    /// A write of the server itself, with the effects of the settings.
    func commit(_ assignments: [Assignment], in turn: inout Turn) throws(Failure) {
        try commit(Change(derived(assignments, nil, by: .administrator)), nil, in: &turn)
    }

    /// A connection has ended: it no longer waits for jobs, and the jobs that it holds become free soon, unless its
    /// worker comes back.
    func endJobs(of connection: ConnectionID, in turn: inout Turn) {
        _ = workers.claims.take { $0.connection == connection }
        let ended = workers.leases.isEmpty ? [] : workers.leases.end(connection)
        if ended.isEmpty || ownedElsewhere != nil || refusal != nil || tornBy != nil { return }
        let end = turn.record.time + Self.reconnectGrace
        var assignments: [Assignment] = []
        for (path, claim) in ended {
            guard let segment = path.lastKey.map({ Path([$0]).encoded }), let queue = path.parent?.parent else {
                continue
            }
            let job = JobPlace(queue: queue, segment: segment)
            guard var state = try? state(of: job), let lease = state.lease, lease.claim == claim,
                lease.until > end || isMovingLeases
            else { continue }
            state.lease?.until = end
            workers.moves.note(job.state, at: sequence + 1)
            assignments.append(Assignment(target: WriteTarget(path: job.state), value: state.json))
        }
        if assignments.isEmpty { return }
        turn.principal = .server
        // If it fails, the leases last until their time is over.
        try? commit(assignments, in: &turn)
    }

    // MARK: Waiting

    /// Keeps a claim until there is a job, or until its time is over.
    private func park(_ request: Request, at place: Path, until deadline: Int64, due: Int64, notBefore: Int64 = 0) {
        guard case .job(_, .claim(let count, let lease, _)) = request.operation else { return }
        let waiting = request.asking(.job(place, .claim(count: count, lease: lease, wait: .until(deadline))))
        workers.claims.add(waiting, at: place, deadline: deadline, due: due, notBefore: notBefore)
    }

    /// Keeps a claim that another node would have no job for, as far as this one knows. False if it has to be sent.
    func parksInsteadOfForwarding(_ request: Request, now: Int64) -> Bool {
        guard case .job(let place, .claim(_, _, let wait)) = request.operation,
            let deadline = wait.deadline(now: now), now < deadline, let queue = queue(at: place),
            let found = try? dueJobs(queue, at: place, now: now, max: 1), found.segments.isEmpty, !found.isMore
        else { return false }
        park(request, at: place, until: deadline, due: found.next)
        return true
    }

    /// The same for one that the other node had no job for.
    func parksAgain(_ request: Request, _ reply: Reply, now: Int64) -> Bool {
        guard case .job(let place, .claim(_, _, let wait)) = request.operation, case .value(let answer) = reply,
            answer == Self.noJobs, let deadline = wait.deadline(now: now), now < deadline
        else { return false }
        park(request, at: place, until: deadline, due: 0, notBefore: now + WaitingClaims.pause)
        return true
    }

    /// Workers that wait can be answered.
    package func hasReadyClaims(at now: Int64) -> Bool { now >= workers.claims.next }

    /// Takes their requests, which are to be processed again.
    ///
    /// - parameter isChanging: the connection has requests under way that end it, or make it somebody else's. Its
    ///   workers wait for them.
    package func takeReadyClaims(
        at now: Int64, except isChanging: (ConnectionID) -> Bool = { _ in false }
    ) -> [Request] {
        workers.claims.takeReady(now: now, except: isChanging) { place, wanted in
            guard let queue = queue(at: place) else { return (wanted, 0) }
            if isMovingLeases { return (0, now + WaitingClaims.pause) }
            // An error of storage is found again by the request.
            guard let found = try? dueJobs(queue, at: place, now: now, max: min(wanted, Self.examinedMax)) else {
                return (wanted, 0)
            }
            return (found.segments.count, found.isMore ? 0 : found.next)
        }
    }

    /// A connection is somebody's from now on: the workers that wait there as others are answered, and ask again.
    func endClaims(of connection: ConnectionID, exceptBy principal: Principal, in turn: inout Turn) {
        let ended = workers.claims.take { $0.connection == connection && $0.principal != principal }
        turn.outputs += ended.map(Self.noJobs(for:))
    }

    private static func noJobs(for request: Request) -> Output {
        .reply(request.connection, number: request.number, .value(noJobs))
    }

    /// Ends all waiting for jobs, because the process ends. The output comes from ``takeReady()``.
    package func endClaims(now: Int64) {
        let outputs = workers.claims.take { _ in true }.map(Self.noJobs(for:))
        if outputs.isEmpty { return }
        log.append(WaitingTurn(requests: [], now: now, sequence: sequence, outputs: outputs))
    }
}

extension StaticText {
    /// Another worker has the job, or may have it.
    package static let leaseLost = StaticText("lease_lost")
    package static let jobGone = StaticText("job_gone")
}

extension Int64 {
    fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
        Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
    }
}
