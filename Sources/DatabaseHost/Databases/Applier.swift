import HearthClusterNode
import HearthDatabaseScheduler
import HearthDelivery
import HearthRealtimeDatabase
import HearthSystem
import HearthTreeStorage
import HearthStorageErrors

/// The thread that writes changed rows to tree files, after the commit log.
final class Applier: Sendable {
    enum Job: Sendable {
        /// Writes rows, once the disk has the log that they follow from, then opens a snapshot for each large read that
        /// asked for exactly this state. Of a large value it writes some rows, and the job has to be posted again.
        case apply(database: UInt32, TreeFile, LogKeeper?, FrozenRows, [SnapshotStream])
        /// Removes some rows of deleted ranges, at least about so many.
        case clear(database: UInt32, TreeFile, rows: Int)
        /// Removes some entries of indexes that are gone.
        case sweep(database: UInt32, TreeFile, indexes: Set<UInt32>, from: [UInt8])
        /// Closes the files of a database that is no longer in use.
        case close(database: UInt32, FilesToClose)
    }

    private let worker: Worker<Job>

    init(
        readers: SnapshotReaders, metrics: ServerMetrics,
        report: @escaping @Sendable (DatabaseNews) -> Void
    ) throws(SystemError) {
        worker = try Worker(name: "applier", priority: .background) {
            { jobs in
                for job in jobs {
                    switch job {
                    case .apply(let database, let tree, let log, let frozen, let streams):
                        let start = MonotonicTime.current
                        do throws(StorageError) {
                            if !frozen.changes.isEmpty { try log?.sync(through: frozen.sequence) }
                            // Other databases come in between.
                            if try tree.writeSome(of: frozen.changes, upTo: frozen.sequence) {
                                report(.wroteSome(database, frozen, streams))
                                continue
                            }
                            if !frozen.changes.isEmpty { try tree.apply(frozen.changes, upTo: frozen.sequence) }
                            for stream in streams { readers.start(stream, on: tree) }
                            metrics.noteApply(since: start)
                            // The memory of the changes is freed here, not on the database's thread.
                            report(.event(database, .written(frozen.applied, nil, isClearing: tree.isClearing)))
                        } catch {
                            for stream in streams { readers.fail(stream, error) }
                            report(.event(database, .written(frozen, error, isClearing: tree.isClearing)))
                        }
                    case .sweep(let database, let tree, let indexes, let start):
                        do throws(StorageError) {
                            let next = try tree.sweepEntries(of: indexes, from: start)
                            report(.event(database, .swept(next: next, nil)))
                        } catch {
                            report(.event(database, .swept(next: start, error)))
                        }
                    case .close(let database, let files):
                        report(.closed(database, hasHistory: files.close()))
                    case .clear(let database, let tree, let rows):
                        do throws(StorageError) {
                            var cleared = 0
                            repeat { cleared += try tree.clearSome() } while cleared < rows && tree.isClearing
                            report(.event(database, .cleared(nil, isClearing: tree.isClearing)))
                        } catch {
                            report(.event(database, .cleared(error, isClearing: tree.isClearing)))
                        }
                    }
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }
}
