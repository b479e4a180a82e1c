package import HearthSecurityRules

/// Counts of the outcomes of jobs in the queues of one setting since the database was opened, including outcomes that a
/// failed commit has undone.
package struct QueueTally: Sendable {
    /// Jobs that were handed out, each time.
    package internal(set) var claimed: Int64 = 0
    /// Jobs that were done.
    package internal(set) var done: Int64 = 0
    /// Attempts of which a worker has said that they failed.
    package internal(set) var failed: Int64 = 0
    /// Attempts whose lease has ended.
    package internal(set) var abandoned: Int64 = 0
    /// Jobs that were given up.
    package internal(set) var dead: Int64 = 0
}

/// The queues of one setting.
package struct QueueStatus: Sendable {
    package let pattern: IndexPattern
    package let tally: QueueTally
    /// Workers of this process that wait for a job.
    package let waitingWorkers: Int
}
