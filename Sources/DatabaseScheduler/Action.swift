package import HearthRealtimeDatabase
package import HearthStorageErrors

/// The actions of a database. They must be begun in the order in which they are given; those that have an answer get it
/// as an ``Event``, any time later.
package enum Action: Sendable {
    // The commit log. One thread carries these out in order. After an append has failed, it drops further ones until
    // `resumeLog`.

    case append(LogRecord)
    /// Keeps records that other nodes have appended. Answered like an append.
    case storeArrived([LogRecord])
    /// Stores the next part of a large text. Answered by ``Event/stored(_:serial:_:)``.
    case storePart(TextParts, serial: UInt64)
    /// No record comes for the parts that were stored last.
    case dropParts
    /// Answered by ``Event/commitsDropped`` when all appends before it are done or dropped; later ones count again.
    case resumeLog
    /// Answered by ``Event/probed(_:)``.
    case probe
    /// Answered by ``Event/pruned(isMore:)``.
    case prune(LogPruning)
    /// Reads the operations after a number, while nothing is appended. Answered by ``Event/logRead(_:)``.
    case readLog(after: UInt64)
    /// Answered by ``Event/history(_:)``.
    case readHistory([HistoryQuestion])

    // The store of rows. One thread carries these out in order.

    /// Writes rows, then begins the large reads that want to see exactly this state. Answered by
    /// ``Event/written(_:_:isClearing:)``, or by ``Event/wroteSome(_:)`` if the action has to be repeated.
    indirect case write(FrozenRows)
    /// Removes some obsolete rows, at least about so many. Answered by ``Event/cleared(_:isClearing:)``.
    case clear(rows: Int)
    /// Removes some entries of indexes that are gone. Answered by ``Event/swept(next:_:)``.
    case sweep(indexes: Set<UInt32>, from: [UInt8])

    /// Makes the rows of a large value. Answered by ``Event/prepared(_:serial:)``.
    indirect case prepare(Request, RowPreparation, serial: UInt64)

    // The connections

    /// Ends connections: their on-disconnect writes may no longer be made.
    case endConnections([ConnectionID])
    /// Ends connections without an answer to their requests, whose outcome is not known.
    case abandon([ConnectionID])
    /// Delivers the outputs of turns.
    case deliver([[Output]])
    /// Tells connections that the process ends before these requests are done; those of realtime connections get no
    /// answer, so that clients ask again.
    case turnAway([Request])
    /// All large reads that connections were told of, and that have not begun, fail.
    case failLargeReads(StorageError)

    // Triggers

    /// Sends events that are durable now. Answered by ``Event/sent(_:)``, for each of them.
    case send([OutboxRow])

    // Other nodes

    /// Sends requests to the node that takes the writes. Answered by ``Event/forwarding(_:)``.
    case forward(to: String, [ForwardedRequest])
    /// The log can be handed over: all that was appended here is durable, and nothing more is appended.
    case drained
    /// Whether this node's files and memory let it take the writes of the database. True until it is said.
    case noteFitness(Bool)

    // Itself

    /// Asks for ``Event/step`` after the events that have arrived by now.
    case step
    /// Asks for ``Event/freeze(behindOthers:)`` as soon as the actions before it are begun: the log can then sync while
    /// rows are collected.
    case freeze(behindOthers: Bool)
    /// Asks for ``Event/woken`` after so many milliseconds.
    case wake(milliseconds: Int)
    case report(Report)
}

extension Action {
    /// For those who look for long steps.
    package var name: StaticString {
        switch self {
        case .append: "append"
        case .storeArrived: "storeArrived"
        case .storePart: "storePart"
        case .dropParts: "dropParts"
        case .resumeLog: "resumeLog"
        case .probe: "probe"
        case .prune: "prune"
        case .readLog: "readLog"
        case .readHistory: "readHistory"
        case .write: "write"
        case .clear: "clear"
        case .sweep: "sweep"
        case .prepare: "prepare"
        case .endConnections: "endConnections"
        case .abandon: "abandon"
        case .forward: "forward"
        case .drained: "drained"
        case .noteFitness: "noteFitness"
        case .send: "send"
        case .deliver: "deliver"
        case .turnAway: "turnAway"
        case .failLargeReads: "failLargeReads"
        case .step: "step"
        case .freeze: "freeze"
        case .wake: "wake"
        case .report: "report"
        }
    }
}
