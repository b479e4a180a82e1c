import HearthSecurityRules

/// The workers of the queues of a database: those that wait for jobs, and which connections have which jobs.
final class JobWorkers {
    var claims = WaitingClaims()
    var leases = JobLeases()
    var moves = LeaseMoves()
    /// By the pattern of their setting.
    var tallies: [IndexPattern: QueueTally] = [:]
}
