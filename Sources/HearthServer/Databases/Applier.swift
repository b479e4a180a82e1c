import EventLoop
import RealtimeDatabase
import TreeStorage

/// The thread that writes changed rows to tree files, behind the commit log.
final class Applier: Sendable {
    enum Job: Sendable {
        case apply(database: UInt32, TreeFile, FrozenRows)
        /// Removes some rows of deleted ranges.
        case clear(database: UInt32, TreeFile)
    }

    private let worker: Worker<Job>

    init(report: @escaping @Sendable (DatabaseThread.Message) -> Void) throws(SystemError) {
        worker = try Worker(name: "applier") {
            { jobs in
                for job in jobs {
                    switch job {
                    case .apply(let database, let tree, let frozen):
                        do throws(StorageError) {
                            if !frozen.changes.isEmpty { try tree.apply(frozen.changes, upTo: frozen.sequence) }
                            report(.applied(database, frozen, nil))
                        } catch {
                            report(.applied(database, frozen, error))
                        }
                    case .clear(let database, let tree):
                        // A failed step is tried again with the next one.
                        try? tree.clearSome()
                        report(.cleared(database))
                    }
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }
}
