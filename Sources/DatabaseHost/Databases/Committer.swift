import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The thread that writes commit logs (``CommitGroup``).
final class Committer: Sendable {
    private let worker: Worker<CommitJob>

    init(report: @escaping @Sendable (UInt32, Event) -> Void) throws(SystemError) {
        worker = try Worker(name: "committer", priority: .prompt) {
            var group = CommitGroup(report: report)
            return { jobs in group.run(jobs) }
        }
    }

    func post(_ job: CommitJob) { worker.post(job) }

    func stop() { worker.stop() }
}
