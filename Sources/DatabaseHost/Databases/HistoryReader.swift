import HearthDatabaseScheduler
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The thread that reads commit logs for listeners that resume: all that wait for one database are served in one pass.
final class HistoryReader: Sendable {
    struct Job: Sendable {
        let database: UInt32
        let log: LogReader
        let questions: [HistoryQuestion]
    }

    private let worker: Worker<Job>

    /// After a job the thread rests for a multiple of the job's time: requests that arrive meanwhile are served in one
    /// pass. Clients that come back one after the other then cost little more than those that come at once.
    private static let restFactor = 8
    private static let restMax = Duration.milliseconds(50)

    /// - parameter bytesMax: of the log, read for one job. Listeners that would need more start over.
    init(
        bytesMax: Int, report: @escaping @Sendable (DatabaseNews) -> Void
    ) throws(SystemError) {
        worker = try Worker(name: "history") {
            let never = Semaphore()
            return { jobs in
                for job in jobs {
                    let start = MonotonicTime.current
                    report(.event(job.database, .history(Self.answers(to: job, bytesMax))))
                    let took = MonotonicTime.current - start
                    _ = never.wait(atMost: min(took * Self.restFactor, Self.restMax))
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }

    /// By serial; missing ones are unknown.
    private static func answers(
        to job: Job, _ bytesMax: Int
    ) -> Result<[UInt64: MissedChanges.Found], StorageError> {
        guard let oldest = job.questions.map(\.after).min() else { return .success([:]) }
        var answers: [UInt64: MissedChanges.Found] = [:]
        var changes = MissedChanges(after: 0)
        return Result { () throws(StorageError) in
            let times = try job.log.times(of: Set(job.questions.map(\.after)).sorted())
            try job.log.forEachRecord(after: oldest, bytesMax: bytesMax) { start in
                changes = MissedChanges(after: start)
                for question in job.questions {
                    answers[question.serial] = .init(changes, question.path, time: times[question.after])
                }
            } _: { (record) throws(StorageError) in
                try changes.take(record)
            }
            return answers
        }
    }
}
