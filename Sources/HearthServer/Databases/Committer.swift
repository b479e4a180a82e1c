import EventLoop
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// The thread that writes commit logs. All records that wait for one database become one synced transaction (group
/// commit).
///
/// After a failed commit it drops the records of that database until a `resume` passes: they build on the one that is
/// missing.
final class Committer: Sendable {
    enum Job: Sendable {
        case append(database: UInt32, LogFile, LogRecord)
        /// Stores a part of a text for which a record comes later; what waits is committed first.
        case store(database: UInt32, LogFile, TextParts)
        /// No record comes for the text that was stored last.
        case dropParts(LogFile)
        /// All records before it are written or dropped; records are taken again.
        case resume(database: UInt32)
        /// Finds out whether commits succeed again.
        case probe(database: UInt32, LogFile)
        case prune(database: UInt32, LogFile, before: Int64, now: Int64, keepingBytes: Int64, appliedSequence: UInt64)
        /// Nothing more is appended.
        case close(LogFile)
    }

    private let worker: Worker<Job>

    init(
        metrics: ServerMetrics, report: @escaping @Sendable (DatabaseThread.Message) -> Void
    ) throws(SystemError) {
        worker = try Worker(name: "committer") {
            var group = CommitGroup(metrics: metrics, report: report)
            return { jobs in group.run(jobs) }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }
}

/// The records of one batch, by database, and the databases whose log has failed.
private struct CommitGroup {
    let metrics: ServerMetrics
    let report: @Sendable (DatabaseThread.Message) -> Void
    private var waiting: [UInt32: (log: LogFile, records: [LogRecord])] = [:]
    private var failed: Set<UInt32> = []
    private var storing: [(database: UInt32, log: LogFile, parts: TextParts)] = []

    init(metrics: ServerMetrics, report: @escaping @Sendable (DatabaseThread.Message) -> Void) {
        self.metrics = metrics
        self.report = report
    }

    mutating func run(_ jobs: [Committer.Job]) {
        for job in jobs {
            switch job {
            case .append(let database, let log, let record):
                if failed.contains(database) { continue }
                waiting[database, default: (log, [])].records.append(record)
            case .store(let database, let log, let parts): storing.append((database, log, parts))
            case .dropParts(let log): log.dropParts()
            case .resume(let database):
                commit(database)
                failed.remove(database)
                report(.commitsDropped(database))
            case .probe(let database, let log):
                do throws(StorageError) {
                    try log.probe()
                    report(.probed(database, nil))
                } catch {
                    report(.probed(database, error))
                }
            case .prune(let database, let log, let time, let now, let bytes, let applied):
                commit(database)
                // Nobody waits for this, and the next call tries again.
                let isMore = try? log.prune(before: time, now: now, keepingBytes: bytes, appliedSequence: applied)
                report(.pruned(database, isMore: isMore ?? false))
            case .close(let log):
                // What an orderly end leaves shall survive a loss of power, if that can be had.
                try? log.sync()
            }
        }
        for database in waiting.keys.sorted() { commit(database) }
        for (database, log, parts) in storing {
            do throws(StorageError) {
                report(.stored(database, try parts.storingNext(in: log), nil))
            } catch {
                report(.stored(database, parts, error))
            }
        }
        storing = []
    }

    private mutating func commit(_ database: UInt32) {
        guard let (log, records) = waiting.removeValue(forKey: database), let last = records.last else { return }
        let start = MonotonicTime.current
        do throws(StorageError) {
            try log.append(records)
            metrics.noteCommit(of: records, since: start)
            report(.committed(database, through: last.lastSequence))
        } catch {
            failed.insert(database)
            metrics.noteFailedCommit()
            report(.commitFailed(database, error))
        }
    }
}
