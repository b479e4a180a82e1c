package import HearthRealtimeDatabase
package import HearthSecurityRules
package import HearthStorageErrors

/// An input of a database.
package enum Event: Sendable {
    /// All threads are ready for the database, whose memory is as the files say.
    case opened
    case requests([Request])
    /// There is room for more to say.
    case delivered
    /// A large read of a connection has ended.
    case largeReadEnded(ConnectionID)
    /// The rules that are in force from now on; nil if everything is allowed.
    case rules(RulesProgram?, explainsDenials: Bool)
    /// Asked for by ``Action/step``.
    case step
    /// Asked for by ``Action/freeze(behindOthers:)``.
    case freeze(behindOthers: Bool)
    /// Asked for by ``Action/wake(milliseconds:)``.
    case woken
    /// Time has passed. Ticks are numbered.
    case tick(Int)
    /// The connections that own listeners and on-disconnect writes will all end.
    case endSessions
    /// The process ends: finish running work and write everything to the store (``DatabaseScheduler/isSettled``).
    case settle

    // The commit log

    /// The log has all operations up to a number.
    case committed(through: UInt64)
    /// The log did not take a group of records.
    case commitFailed(CommitFailure)
    /// Answers ``Action/resumeLog``.
    case commitsDropped
    /// Answers ``Action/readLog(after:)``.
    case logRead(Result<[LoggedOperation], StorageError>)
    /// Answers ``Action/probe``.
    case probed(CommitFailure?)
    /// Answers ``Action/prune(_:)``.
    case pruned(isMore: Bool)
    /// Answers ``Action/storePart(_:serial:)``.
    case stored(TextParts, serial: UInt64, CommitFailure?)
    /// Answers ``Action/readHistory(_:)``; missing answers are unknown.
    case history(Result<[UInt64: MissedChanges.Found], StorageError>)
    /// Whether the open files are still those in the data folder: nil, or the problem.
    case filesVerified(StorageError?)

    // A log that several nodes append to

    /// Its results, in the order of the log.
    case arrived([Arrival])
    /// Results of requests that were sent to other nodes.
    case forwarding([ForwardingNews])

    /// Outcomes of events of triggers. It is noted with the next tick, or as soon as there is much of it.
    case sent(OutboxReport)

    // The store of rows

    /// Answers ``Action/write(_:)`` when some rows of a large value are written and there are more.
    case wroteSome(FrozenRows)
    /// Answers ``Action/write(_:)``. `isClearing` tells whether obsolete rows are left in the store.
    case written(FrozenRows, StorageError?, isClearing: Bool)
    /// Answers ``Action/clear(rows:)``.
    case cleared(StorageError?, isClearing: Bool)
    /// Answers ``Action/sweep(indexes:from:)``; `next` is where to go on, nil at the end.
    case swept(next: [UInt8]?, StorageError?)
    /// Answers ``Action/prepare(_:_:serial:)``.
    case prepared(Request, serial: UInt64)
}

extension Event {
    /// For those who look for long steps.
    package var name: StaticString {
        switch self {
        case .opened: "opened"
        case .requests: "requests"
        case .delivered: "delivered"
        case .largeReadEnded: "largeReadEnded"
        case .rules: "rules"
        case .step: "step"
        case .freeze: "freeze"
        case .woken: "woken"
        case .tick: "tick"
        case .endSessions: "endSessions"
        case .settle: "settle"
        case .committed: "committed"
        case .commitFailed: "commitFailed"
        case .commitsDropped: "commitsDropped"
        case .logRead: "logRead"
        case .probed: "probed"
        case .pruned: "pruned"
        case .stored: "stored"
        case .history: "history"
        case .filesVerified: "filesVerified"
        case .arrived: "arrived"
        case .forwarding: "forwarding"
        case .sent: "sent"
        case .wroteSome: "wroteSome"
        case .written: "written"
        case .cleared: "cleared"
        case .swept: "swept"
        case .prepared: "prepared"
        }
    }
}
