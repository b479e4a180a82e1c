package import HearthRealtimeDatabase

/// Work for a thread that writes commit logs, which carries it out in order.
package enum CommitJob: Sendable {
    case append(database: UInt32, any CommitLog, LogRecord)
    /// Keeps records that other nodes have appended.
    case storeArrived(database: UInt32, any CommitLog, through: UInt64)
    /// Stores a part of a text for which a record comes later; waiting records are committed first.
    case store(database: UInt32, any CommitLog, TextParts, serial: UInt64)
    /// No record comes for the text that was stored last.
    case dropParts(any CommitLog)
    /// All records before it are written or dropped; records are taken again.
    case resume(database: UInt32)
    /// Finds out whether commits succeed again.
    case probe(database: UInt32, any CommitLog)
    case prune(database: UInt32, any CommitLog, LogPruning)
    /// Reads the operations after a number, while nothing is appended.
    case read(database: UInt32, any CommitLog, after: UInt64)
    /// Nothing more is appended.
    case close(any CommitLog)
}
