import HearthClusterNode
import Glibc
import HearthServerLog
import HearthStorageErrors
import Synchronization
import HearthSystem
import HearthTreeStorage

/// A database that was given up, with the files to close.
struct AbandonedDatabase: Sendable {
    let index: UInt32
    let name: String
    let files: FilesToClose
    /// Ends its commits. Waits for etcd, for some seconds at most.
    let endCommits: @Sendable () -> Void
}

/// The thread that replaces the files of a database with a copy of another node's, when the cluster's log does not
/// reach back to where they end.
final class DatabaseCopier: Sendable {
    private enum Job: Sendable {
        case close(AbandonedDatabase)
        case copy(UInt32, String, CopyNeed)
    }

    private static let pauseMin = Duration.milliseconds(500)
    private static let pauseMax = Duration.seconds(30)

    private let worker: Worker<Job>
    private let life: Life

    private final class Life: Sendable {
        private let hasEnded = Atomic(false)
        private let wakeUp = Semaphore()

        var isOver: Bool { hasEnded.load(ordering: .acquiring) }

        func end() {
            hasEnded.store(true, ordering: .releasing)
            wakeUp.signal()
        }

        /// Waits, but not for longer than this object lives.
        func pause(_ duration: Duration) { if !isOver { _ = wakeUp.wait(atMost: duration) } }
    }

    /// - parameter applier: closes the files.
    /// - parameter report: told when a copy is in its place.
    init(
        _ folder: DataFolder, _ cluster: ClusterNode?, _ applier: Applier, _ keeper: HistoryKeeper, _ log: Log,
        report: @escaping @Sendable (DatabaseThread.Message) -> Void
    ) throws(SystemError) {
        let life = Life()
        self.life = life
        worker = try Worker(name: "copier", priority: .background) {
            { jobs in
                for job in jobs {
                    switch job {
                    case .close(let database):
                        database.endCommits()
                        applier.post(.close(database: database.index, database.files))
                    case .copy(let index, let name, let need):
                        guard let cluster, Self.copy(name, need, folder, cluster, keeper, log, life)
                        else { continue }
                        report(.copied(index))
                    }
                }
            }
        }
    }

    /// Closes the files of a database.
    func close(_ database: AbandonedDatabase) { worker.post(.close(database)) }

    /// Replaces files, which are closed.
    func copy(_ index: UInt32, _ name: String, _ need: CopyNeed) { worker.post(.copy(index, name, need)) }

    /// Cancels the present copy.
    func stop() {
        life.end()
        worker.stop()
    }

    /// Tries until it succeeds; false if the server ends before.
    private static func copy(
        _ name: String, _ need: CopyNeed, _ folder: DataFolder, _ cluster: ClusterNode, _ keeper: HistoryKeeper,
        _ log: Log, _ life: Life
    ) -> Bool {
        let path = folder.incomingCopyPath(of: name)
        defer {
            unlink(path)
            keeper.release(name)
        }
        var pause = pauseMin
        var lastReason = ""
        while !life.isOver {
            let start = MonotonicTime.current
            let reason: String
            do {
                let (node, byteCount) = try cluster.receiveCopy(of: name, need, to: path) { !life.isOver }
                let summary = try folder.install(path, as: name, epoch: need.epoch, atLeast: need.floor - 1) {
                    keeper.hold(name)
                }
                log.info(
                    "database.copied",
                    [
                        ("database", name), ("node", node), ("sequence", "\(summary.sequence)"),
                        ("bytes", "\(byteCount)"),
                        ("milliseconds", "\(Int((MonotonicTime.current - start) / .milliseconds(1)))"),
                    ])
                return true
            } catch let error as BackupError {
                reason = error.message
            } catch {
                reason = "\(error)"
            }
            if life.isOver { return false }
            if reason != lastReason { log.error("database.copy-failed", [("database", name), ("error", reason)]) }
            lastReason = reason
            life.pause(pause)
            pause = min(pause * 2, pauseMax)
        }
        return false
    }
}
