/// Listeners that resume from a commit which this node does not have yet.
///
/// A client that changes nodes can be ahead of the next one by some commits. Without the wait, its listeners would
/// start over with an older value.
struct AwaitedCommits {
    private struct Wait {
        /// The number of the commit.
        var sequence: UInt64
        /// When it is too late.
        var end: Int64
    }

    /// How long a connection waits, in milliseconds. Then its listeners start over: its positions may be of a log that
    /// this node cannot read at the moment, or invented.
    private static let patience: Int64 = 5000

    private var waits: [ConnectionID: Wait] = [:]
    /// Connections that have waited too long.
    private var late: Set<ConnectionID> = []
    /// The time, in milliseconds of uptime.
    var now: Int64 = 0

    /// Whether the next listener of a connection has to wait for a commit.
    mutating func hold(_ connection: ConnectionID, until sequence: UInt64) -> Bool {
        if late.contains(connection) { return false }
        waits[connection] = Wait(sequence: sequence, end: waits[connection]?.end ?? now + Self.patience)
        return true
    }

    /// Ends the waits for commits up to a number, and those that were too long. True if there were some. O(waits).
    mutating func release(through sequence: UInt64) -> Bool {
        if waits.isEmpty { return false }
        let count = waits.count
        for (connection, wait) in waits where wait.sequence > sequence && wait.end <= now { late.insert(connection) }
        waits = waits.filter { $0.value.sequence > sequence && $0.value.end > now }
        return waits.count < count
    }

    mutating func disconnect(_ connection: ConnectionID) {
        if !waits.isEmpty { waits[connection] = nil }
        if !late.isEmpty { late.remove(connection) }
    }
}
