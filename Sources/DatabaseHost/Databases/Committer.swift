import Glibc
import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The thread that writes commit logs (``CommitGroup``).
final class Committer: Sendable {
    private let worker: Worker<CommitJob>

    /// - parameter pauses: after large appends (``AppendPause``).
    init(pauses: Bool = false, report: @escaping @Sendable (UInt32, Event) -> Void) throws(SystemError) {
        worker = try Worker(name: "committer", priority: .prompt) {
            var group = CommitGroup(report: report)
            if !pauses { return { jobs in group.run(jobs) } }
            return { jobs in
                let start = MonotonicTime.current
                group.run(jobs)
                let pause = AppendPause.after(group.appendedCount, took: MonotonicTime.current - start)
                if pause > .zero { usleep(UInt32(pause / .microseconds(1))) }
            }
        }
    }

    func post(_ job: CommitJob) { worker.post(job) }

    func stop() { worker.stop() }
}
