import HearthRealtimeDatabase
import HearthServerLog
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// The thread that opens the files of databases, or makes them: the databases that are open go on meanwhile.
final class Opener: Sendable {
    struct Job: Sendable {
        let database: UInt32
        let name: String
        /// See ``DataFolder/open(_:newEpoch:isShared:warn:reportDamage:)``.
        let newEpoch: UInt64
        let isShared: Bool
    }

    private let worker: Worker<Job>

    init(
        _ folder: DataFolder, _ log: Log, report: @escaping @Sendable (DatabaseNews) -> Void
    ) throws(SystemError) {
        let damage = DamageLog(log)
        worker = try Worker(name: "opener") {
            { jobs in
                for job in jobs {
                    let files = Result { () throws(StorageError) in try Self.open(job, in: folder, log, damage) }
                    report(.opened(job.database, files))
                }
            }
        }
    }

    func post(_ job: Job) { worker.post(job) }

    func stop() { worker.stop() }

    private static func open(
        _ job: Job, in folder: DataFolder, _ log: Log, _ damage: DamageLog
    ) throws(StorageError) -> OpenedFiles {
        // All that SQLite says of a lack of descriptors is that it cannot open a file.
        guard FileDescriptors.areFree(descriptorsNeeded) else { throw withoutDescriptors }
        let (logFile, tree) = try folder.open(job.name, newEpoch: job.newEpoch, isShared: job.isShared) { warning in
            log.warning("database.damaged", [("database", job.name), ("detail", warning)])
        } reportDamage: { error in
            damage.report(error, in: job.name)
        }
        return OpenedFiles(log: logFile, tree: tree)
    }

    /// Two files, each with its write-ahead file and that one's index, and the readers and copiers of them.
    private static let descriptorsNeeded = 12
    private static let withoutDescriptors = StorageError.overloaded(
        "the server has as many files and connections open as the system lets it (ulimit -n)")
}
