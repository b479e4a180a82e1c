/// Counts of a trigger since the server started.
package struct TriggerFigures: Sendable {
    package var database: String
    package var trigger: String
    /// Events that receivers have taken.
    package var delivered: Int64 = 0
    /// Attempts that failed.
    package var failures: Int64 = 0
    /// Events that were set aside.
    package var setAside: Int64 = 0
    /// Events in memory that are not delivered.
    package var waiting = 0
    /// Whether there are more of them on disk.
    package var hasMore = false
    /// The receiver takes nothing at the moment.
    package var isOut = false
    package var lastFailure: String?

    package init(database: String, trigger: String) { (self.database, self.trigger) = (database, trigger) }
}
