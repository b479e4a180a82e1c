import HearthJSONTree
import HearthSecurityRules

/// The workers of the queues of a database: those that wait for jobs, and which connections have which jobs.
final class JobWorkers {
    var claims = WaitingClaims()
    var leases = JobLeases()
    var moves = LeaseMoves()
    var passed = PassedJobs()
    /// By the pattern of their setting.
    var tallies: [IndexPattern: QueueTally] = [:]

    /// Jobs come and go with changes of the tree.
    var news: JobNews {
        JobNews(
            gone: { [self] place, segment in
                if leases.isEmpty { return }
                leases.remove(Path(encoded: IndexCatalog.Queue.jobs(at: place).encoded + segment))
            },
            due: { [self] time, place in claims.note(time, at: place) })
    }
}
