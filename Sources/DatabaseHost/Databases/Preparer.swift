import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthSystem

/// The thread that makes the rows of large values before their requests' turns, so that the database thread does not
/// have to look through them.
final class Preparer: Sendable {
    struct Job: Sendable {
        let database: UInt32
        let request: Request
        let preparation: RowPreparation
        let serial: UInt64
    }

    private let worker: Worker<Job>

    init(report: @escaping @Sendable (DatabaseNews) -> Void) throws(SystemError) {
        worker = try Worker(name: "preparer", priority: .background) {
            { jobs in
                for job in jobs {
                    report(.event(job.database, .prepared(job.preparation.prepared(job.request), serial: job.serial)))
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }
}
