import HearthRealtimeDatabase
import HearthStorageErrors

/// Whether this node could take the writes of a database whose log several nodes share. While it cannot, because of its
/// own files or memory, another node should.
extension DatabaseScheduler {
    /// A failure that lasts longer is a reason to give the log up, in milliseconds. Memory that one damaged row has
    /// torn is whole again sooner.
    private static var failurePatience: Int64 { 3000 }
    /// Attempts to apply the same record: the second one works with memory that was built again.
    private static var followAttemptsMax: Int { 2 }
    /// The longest pause between two attempts, in milliseconds. Each of them builds memory again.
    private static var followPauseMax: Int64 { 60_000 }

    /// The next record could not be applied.
    mutating func followFailed() {
        followFailures += 1
        nextProbe = conditions.uptime + min(200 << Int64(min(followFailures, 10)), Self.followPauseMax)
    }

    /// A record was applied.
    mutating func followed() { followFailures = 0 }

    mutating func noteFitness() {
        guard ownership != .alone else { return }
        if !hasFailed {
            failingSince = nil
        } else if failingSince == nil {
            failingSince = conditions.uptime
        }
        let isPatient = failingSince.map { conditions.uptime - $0 < Self.failurePatience } ?? true
        let isFit = followFailures < Self.followAttemptsMax && isPatient
        guard isFit != self.isFit else { return }
        self.isFit = isFit
        emit(.noteFitness(isFit))
    }

    private var hasFailed: Bool {
        switch recovery {
        case .dropping(let error), .resting(let error), .reading(let error), .unreadable(let error): error.isOfThisNode
        case .none: database.refusal?.isOfThisNode ?? false
        }
    }
}

extension StorageError {
    /// Other nodes need not have it.
    fileprivate var isOfThisNode: Bool {
        switch self {
        case .full, .readOnly, .inputOutput, .damaged, .newerFormat, .busy, .interruptedRestore, .replaced: true
        case .overloaded, .noQuorum, .etcdFull, .ownedElsewhere, .stopping: false
        }
    }
}
