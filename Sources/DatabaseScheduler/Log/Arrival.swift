package import HearthRealtimeDatabase

/// Results of a log that several nodes append to.
package enum Arrival: Sendable {
    /// Another node has appended a record.
    case record(LogRecord)
    /// The database, which is empty, belongs to this history.
    case began(epoch: UInt64)
    /// The last record of the previous owner has arrived.
    case ownership(Ownership)
    /// All that the log had when it was read last has arrived.
    case caughtUp
}
