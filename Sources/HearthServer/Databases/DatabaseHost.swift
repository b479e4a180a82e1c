import RealtimeDatabase

/// What all databases of a process share: the threads that they hand work to, and how they reach connections.
struct DatabaseHost: Sendable {
    let limits: DatabaseLimits
    /// What the rules want indexed.
    let indexes: [IndexDefinition]
    /// Event loops that connections are on.
    let loops: Int
    let log: Log
    let committer: Committer
    let applier: Applier
    let history: HistoryReader
    let readers: SnapshotReaders
    let readiness: Readiness
    let backlog: DeliveryBacklog
    /// Puts news into the mailbox of the database thread.
    let report: @Sendable (DatabaseThread.Message) -> Void
    /// Hands a loop what it must send.
    let deliver: @Sendable (_ loop: Int, LoopDelivery) -> Void
}
