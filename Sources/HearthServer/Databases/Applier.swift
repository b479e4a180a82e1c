import EventLoop
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// The thread that writes changed rows to tree files, behind the commit log.
final class Applier: Sendable {
    enum Job: Sendable {
        /// Writes rows, then opens a snapshot for each large read that asked for exactly this state. Of a large value
        /// it writes some rows, and the job has to be posted again.
        case apply(database: UInt32, TreeFile, FrozenRows, [SnapshotStream])
        /// Removes some rows of deleted ranges, at least about so many.
        case clear(database: UInt32, TreeFile, rows: Int)
        /// Removes some entries of indexes that are gone.
        case sweep(database: UInt32, TreeFile, indexes: Set<UInt32>, from: [UInt8])
    }

    private let worker: Worker<Job>

    init(
        readers: SnapshotReaders, metrics: ServerMetrics,
        report: @escaping @Sendable (DatabaseThread.Message) -> Void
    ) throws(SystemError) {
        worker = try Worker(name: "applier", priority: .background) {
            { jobs in
                for job in jobs {
                    switch job {
                    case .apply(let database, let tree, let frozen, let streams):
                        let start = MonotonicTime.current
                        do throws(StorageError) {
                            // Other databases come in between.
                            if try tree.writeSome(of: frozen.changes) {
                                report(.wroteSome(database, frozen, streams))
                                continue
                            }
                            if !frozen.changes.isEmpty { try tree.apply(frozen.changes, upTo: frozen.sequence) }
                            for stream in streams { readers.start(stream, on: tree) }
                            metrics.noteApply(since: start)
                            report(.applied(database, frozen, nil))
                        } catch {
                            for stream in streams { readers.fail(stream, error) }
                            report(.applied(database, frozen, error))
                        }
                    case .sweep(let database, let tree, let indexes, let start):
                        do throws(StorageError) {
                            report(.swept(database, next: try tree.sweepEntries(of: indexes, from: start), nil))
                        } catch {
                            report(.swept(database, next: start, error))
                        }
                    case .clear(let database, let tree, let rows):
                        do throws(StorageError) {
                            var cleared = 0
                            repeat { cleared += try tree.clearSome() } while cleared < rows && tree.isClearing
                            report(.cleared(database, nil))
                        } catch {
                            report(.cleared(database, error))
                        }
                    }
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }
}
