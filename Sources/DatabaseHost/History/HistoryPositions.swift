import Synchronization

/// How far the histories of databases have read the logs: unread records must stay there. Any thread.
package final class HistoryPositions: Sendable {
    private let positions = Mutex<[String: UInt64]>([:])

    /// Nil if no history of the database is kept.
    func position(of database: String) -> UInt64? { positions.withLock { $0[database] } }

    /// A history is kept; nothing is known of its position until its thread has looked.
    func begin(_ database: String) {
        positions.withLock { if $0[database] == nil { $0[database] = 0 } }
    }

    func set(_ position: UInt64?, of database: String) { positions.withLock { $0[database] = position } }
}
