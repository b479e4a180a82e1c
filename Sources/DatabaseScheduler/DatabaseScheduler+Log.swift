import HearthRealtimeDatabase
import HearthStorageErrors

/// Reports of the commit log, and recovery from its failures.
extension DatabaseScheduler {
    /// Has the log take operations of this node.
    mutating func append(_ record: LogRecord) {
        ownSequence = record.lastSequence
        bytesSinceFreeze += record.byteCount
        emit(.append(record))
    }

    mutating func committed(through sequence: UInt64) {
        database.committed(through: sequence)
        release()
        applyNext()
    }

    mutating func commitFailed(_ failure: CommitFailure) {
        report(.commitFailed(failure))
        if isFinal(failure) { probing = .pointless }
        recover(because: failure.storageError)
    }

    /// Nodes that share a log may own it again later.
    private func isFinal(_ failure: CommitFailure) -> Bool {
        if case .fenced = failure { ownership == .alone } else { false }
    }

    /// - parameter problem: why the open files are no longer those in the data folder; nil if they are. Data in files
    ///     without names would be lost.
    mutating func filesVerified(_ problem: StorageError?) {
        guard let problem else {
            isReplaced = false
            return
        }
        guard !isReplaced, !recovery.isUnderWay else { return }
        isReplaced = true
        report(.filesReplaced(problem))
        recover(because: problem)
    }

    /// Takes back everything that is not durable. Meanwhile nothing is processed.
    mutating func recover(because error: StorageError) {
        guard !recovery.isUnderWay else { return }
        recovery = .dropping(error)
        if case .ownedElsewhere = error { noteLoss() }
        emit(.resumeLog)
    }

    mutating func commitsDropped() {
        guard case .dropping(let error) = recovery else { return }
        recovery = .resting(error)
        goOnRecovering()
    }

    /// Once both other threads are at rest, the log is read.
    mutating func goOnRecovering() {
        switch recovery {
        case .none, .dropping, .reading: return
        case .resting(let error), .unreadable(let error):
            guard !applying.isWriting else { return }
            // The log has the rows that the store could not take.
            applying = .idle
            recovery = .reading(error)
            emit(.readLog(after: appliedSequence))
        }
    }

    mutating func logRead(_ result: Result<[LoggedOperation], StorageError>) {
        guard case .reading(let error) = recovery else { return }
        let returned: [Request]
        do throws(StorageError) {
            returned = try database.refuse(
                because: error, storeSequence: appliedSequence, replaying: try result.get(), returnsWrites: mayLoseLog)
        } catch {
            recovery = .unreadable(error)
            if error != recoveryFailure { report(.recoveryFailed(error)) }
            recoveryFailure = error
            return refuseWaiting(because: error)
        }
        recovery = .none
        recoveryFailure = nil
        ownSequence = database.durableSequence
        report(.writesRefused(error, isRecovered: true))
        if !returned.isEmpty { giveBack(returned) }
        holdWrites()
        releaseAll()
        // Also those that were told of just now: the states that they wait for are gone.
        emit(.failLargeReads(error))
    }

    /// Reading is impossible for an unknown time, and clients get an error. Requests that end something wait, and so do
    /// those after a request that waits: each connection is answered in order.
    mutating func refuseWaiting(because error: StorageError) {
        if mayLoseLog { return }
        abandonLarge()
        let requests = admission.takeRefusable(except: database.connectionsWithPendingTurns, gate)
        if requests.isEmpty { return }
        for request in requests { database.endScanUse(by: request) }
        emit(
            .deliver([
                requests.map { .reply($0.connection, number: $0.number, .failed(.unavailable(error))) }
            ]))
    }

    /// A commit failed of late because another node may have the log: which one it is should soon be known.
    var mayLoseLog: Bool {
        guard let lossTime, database.forwarded != nil, life == .serving else { return false }
        return conditions.uptime - lossTime < Self.takingOverPatience
    }

    /// Losses within ten seconds of the first share its five seconds, so that nobody waits for ever.
    private mutating func noteLoss() {
        if let lossTime, conditions.uptime - lossTime < 2 * Self.takingOverPatience { return }
        lossTime = conditions.uptime
    }

    mutating func probed(_ failure: CommitFailure?) {
        guard case .underWay = probing else { return }
        probing = .idle
        if let failure, isFinal(failure) { probing = .pointless }
        guard failure == nil, database.refusal != nil, !recovery.isUnderWay, applying.mayAcceptWrites, !isReplaced
        else { return }
        database.accept()
        report(.writesAccepted)
        // Another node may have the log by now.
        holdWrites()
        follow()
        payOrphans()
        freezeSoon()
    }
}

extension Applying {
    /// The store has refused nothing.
    fileprivate var mayAcceptWrites: Bool { if case .failed = self { false } else { true } }
}
