import HearthClusterNode
import Glibc
import HearthServerLog
import HearthStorageErrors
import Synchronization
import HearthSystem
import HearthTreeStorage

/// The threads that make the files of a database fit for the cluster's log if they cannot follow it: they replace them
/// with a copy, or tell them of the log's new history.
final class DatabaseCopier: Sendable {
    private enum Job: Sendable {
        case close(AbandonedDatabase)
        case copy(UInt32, String, CopyNeed)
        case remove(UInt32, String)
    }

    private static let pauseMin = Duration.milliseconds(500)
    private static let pauseMax = Duration.seconds(30)

    private let worker: Worker<Job>
    private let life: Life
    private let threads: Threads

    private final class Life: Sendable {
        private let hasEnded = Atomic(false)
        private let wakeUp = Semaphore()

        var isOver: Bool { hasEnded.load(ordering: .acquiring) }

        func end() {
            hasEnded.store(true, ordering: .releasing)
            wakeUp.signal()
        }

        /// Waits, but hardly longer than this object lives. Several threads may.
        func pause(_ duration: Duration) {
            let end = MonotonicTime.current + duration
            while !isOver, MonotonicTime.current < end { _ = wakeUp.wait(atMost: .milliseconds(100)) }
        }

        /// Copies that are received at a time.
        private let places = Semaphore(value: 2)

        /// Runs `body` while few others do; nil if the object lives no longer.
        func inPlace<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result? {
            while !places.wait(atMost: .milliseconds(100)) { if isOver { return nil } }
            defer { places.signal() }
            return try body()
        }
    }

    /// A thread for each database that is copied: one that cannot be copied now does not keep others waiting.
    private final class Threads: Sendable {
        private let threads = Mutex<[UInt32: NamedThread]>([:])

        func start(_ index: UInt32, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
            let thread = try NamedThread(name: "copier", priority: .background, body: body)
            // That of an earlier copy has ended, or is about to.
            threads.withLock { $0.updateValue(thread, forKey: index) }?.join()
        }

        func join() {
            let all = threads.withLock { threads in
                defer { threads = [:] }
                return Array(threads.values)
            }
            for thread in all { thread.join() }
        }
    }

    /// - parameter applier: closes the files.
    /// - parameter report: told when a copy is in its place.
    init(
        _ folder: DataFolder, _ cluster: ClusterNode?, _ applier: Applier, _ keeper: HistoryKeeper, _ log: Log,
        _ readiness: Readiness, report: @escaping @Sendable (DatabaseNews) -> Void
    ) throws(SystemError) {
        let life = Life()
        self.life = life
        let threads = Threads()
        self.threads = threads
        worker = try Worker(name: "copier", priority: .background) {
            { jobs in
                for job in jobs {
                    switch job {
                    case .close(let database):
                        database.endCommits()
                        applier.post(.close(database: database.index, database.files))
                    case .copy(let index, let name, let need):
                        guard let cluster else { continue }
                        do throws(SystemError) {
                            try threads.start(index) {
                                let isCopied = Self.copy(
                                    name, need, folder, cluster, keeper, log, life,
                                    failed: { readiness.copyFailed(name, $0) })
                                if isCopied { report(.copied(index)) }
                            }
                        } catch {
                            // Opened again, the files say once more what they need.
                            log.error("database.copy-failed", [("database", name), ("error", "\(error)")])
                            report(.copied(index))
                        }
                    case .remove(let index, let name):
                        guard let cluster else { continue }
                        Self.remove(name, folder, cluster, keeper, log)
                        report(.removed(index))
                    }
                }
            }
        }
    }

    /// Closes the files of a database.
    func close(_ database: AbandonedDatabase) { worker.post(.close(database)) }

    /// Replaces files, which are closed.
    func copy(_ index: UInt32, _ name: String, _ need: CopyNeed) { worker.post(.copy(index, name, need)) }

    /// Removes files, which are closed, if no other node needs them.
    func remove(_ index: UInt32, _ name: String) { worker.post(.remove(index, name)) }

    private static func remove(
        _ name: String, _ folder: DataFolder, _ cluster: ClusterNode, _ keeper: HistoryKeeper, _ log: Log
    ) {
        guard cluster.stateRemoval(of: name) else { return }
        keeper.hold(name)
        defer { keeper.release(name) }
        do throws(StorageError) {
            try folder.remove(name)
            log.info("database.removed", [("database", name), ("reason", "other nodes hold it")])
        } catch {
            log.error("database.remove-failed", [("database", name), ("error", error.message)])
        }
    }

    /// Cancels the present copy.
    func stop() {
        life.end()
        worker.stop()
        threads.join()
    }

    /// Tries until it succeeds; false if the server ends before.
    private static func copy(
        _ name: String, _ need: CopyNeed, _ folder: DataFolder, _ cluster: ClusterNode, _ keeper: HistoryKeeper,
        _ log: Log, _ life: Life, failed: (String) -> Void
    ) -> Bool {
        let path = folder.incomingCopyPath(of: name)
        defer {
            unlink(path)
            keeper.release(name)
        }
        var need = need
        var pause = pauseMin
        var lastReason = ""
        // A copy of a restore that cannot be installed does not keep the node from asking others.
        var passesOver = false
        while !life.isOver {
            let start = MonotonicTime.current
            let reason: String
            let restored = folder.restoredCopyPath(of: name, epoch: need.epoch)
            let isHere = !passesOver && isFit(restored, need)
            do {
                if need.files == .continued, try folder.goOn(name, withEpoch: need.epoch, after: need.floor - 1) {
                    folder.removeRestoredCopies(of: name, epoch: need.epoch)
                    log.info("database.continued", [("database", name), ("sequence", "\(need.floor - 1)")])
                    return true
                }
                let received =
                    isHere
                    ? (cluster.name, 0)
                    : try life.inPlace { () throws(CopyFailure) in
                        try cluster.receiveCopy(of: name, need, to: path) { !life.isOver }
                    }
                guard let (node, byteCount) = received else { return false }
                let summary = try folder.install(
                    isHere ? restored : path, as: name, epoch: need.epoch, atLeast: need.floor - 1,
                    keepsOld: need.files == .replaced
                ) {
                    keeper.hold(name)
                }
                folder.removeRestoredCopies(of: name, epoch: need.epoch)
                log.info(
                    isHere ? "database.restored" : "database.copied",
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
            passesOver = isHere
            failed(reason)
            if reason != lastReason { log.error("database.copy-failed", [("database", name), ("error", reason)]) }
            lastReason = reason
            life.pause(pause)
            pause = min(pause * 2, pauseMax)
            // The log may have another history by now, or another beginning.
            let end: (epoch: UInt64?, sequence: UInt64)
            do throws(StorageError) {
                let last = try folder.logEnd(of: name)
                end = (last?.epoch, last?.sequence ?? 0)
            } catch {
                continue
            }
            // Opened again, the files follow the log, or say why they never will.
            guard let present = cluster.need(of: name, epoch: end.epoch, sequence: end.sequence, before: need) else {
                return true
            }
            if present.epoch != need.epoch { pause = pauseMin }
            need = present
        }
        return false
    }

    /// Whether the copy that a restore has put there is of the history of the log, and reaches far enough.
    private static func isFit(_ path: String, _ need: CopyNeed) -> Bool {
        guard let end = try? DataFolder.logEnd(ofCopy: path) else { return false }
        return end.epoch == need.epoch && end.sequence + 1 >= need.floor
    }
}
