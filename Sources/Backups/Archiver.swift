import Glibc
package import HearthServerLog
import Synchronization
package import HearthSystem
package import HearthTreeStorage

/// The thread that keeps an archive of all databases: every few seconds it copies new records of their logs to another
/// folder (``TreeStorage/DatabaseArchive``), and the accounts, keys, rules and settings if they have changed
/// (``AccountsArchive``). No request waits for it.
package final class Archiver: Sendable {
    /// Figures for metrics about the archive of a database, or of the accounts.
    package struct Figures: Sendable {
        /// When everything that was committed before was last archived, in milliseconds since 1970. Nil if never.
        package var lastSuccess: Int64?
        var sequence: UInt64 = 0
        package var failures: Int64 = 0
        package var gaps: Int64 = 0
        /// The error of the last attempt, if that failed.
        var problem: String?
    }

    private let configuration: ArchiveConfiguration
    private let folder: String
    private let log: Log
    private let state = Mutex<[String: Figures]>([:])
    private let accountsState = Mutex(Figures())
    private let stopping = Semaphore()
    private let thread = Mutex<NamedThread?>(nil)
    private let place: ArchivePlace

    /// By database.
    package var figures: [String: Figures] { state.withLock { $0 } }

    /// Of the accounts, keys, rules and settings.
    package var accountsFigures: Figures { accountsState.withLock { $0 } }

    /// - parameter folder: the data folder.
    package init(_ configuration: ArchiveConfiguration, folder: String, log: Log) {
        self.configuration = configuration
        self.folder = folder
        self.log = log
        place = ArchivePlace(configuration.folder, of: folder)
    }

    /// Makes the folder and starts the thread.
    package func start() throws(SystemError) {
        try makeFolder()
        let thread = try NamedThread(name: "archive", priority: .background) { [self] in run() }
        self.thread.withLock { $0 = thread }
    }

    /// Archives the last commits, and ends the thread.
    package func stop() {
        stopping.signal()
        thread.withLock { $0 }?.join()
    }

    /// Only at the start: a folder that is gone later is not made again.
    func makeFolder() throws(SystemError) {
        let code = FolderSync.makeFolder(configuration.folder)
        guard code == 0 else { throw SystemError("make the archive \(configuration.folder)", code: code) }
    }

    /// The archives of the thread.
    struct Archives {
        fileprivate var databases: [String: DatabaseArchive] = [:]
        fileprivate var accounts: AccountsArchive
    }

    func makeArchives() -> Archives {
        Archives(
            accounts: AccountsArchive(
                of: folder, in: configuration.folder, window: configuration.settings.window))
    }

    private func run() {
        var archives = makeArchives()
        var isStopping = false
        while !isStopping {
            isStopping = stopping.wait(atMost: configuration.interval)
            advance(&archives, isLast: isStopping)
        }
    }

    func advance(_ archives: inout Archives, isLast: Bool = false) {
        for database in FolderContents(folder).databases {
            var archive =
                archives.databases[database]
                ?? DatabaseArchive(
                    of: database, in: folder, to: configuration.folder, settings: configuration.settings,
                    uptime: { MonotonicTime.currentWithSleep.milliseconds })
            advance(database, &archive)
            archives.databases[database] = archive
        }
        advance(&archives.accounts, isLast: isLast)
    }

    private func advance(_ database: String, _ archive: inout DatabaseArchive) {
        let start = WallClock.milliseconds
        do throws(BackupError) {
            try place.verify()
            let progress = try archive.advance()
            note(progress, of: database, at: start)
        } catch {
            let before = state.withLock { figures in
                let before = figures[database]?.problem
                figures[database, default: Figures()].failures += 1
                figures[database]?.problem = error.message
                return before
            }
            guard before != error.message else { return }
            log.error("archive.failed", [("database", database), ("error", error.message)])
        }
    }

    private func advance(_ accounts: inout AccountsArchive, isLast: Bool) {
        let start = WallClock.milliseconds
        do throws(BackupError) {
            try place.verify()
            let progress = try accounts.advance(now: start, isLast: isLast)
            let hadProblem = accountsState.withLock { figures in
                let hadProblem = figures.problem != nil
                if progress != .waiting { figures.lastSuccess = start }
                figures.problem = nil
                return hadProblem
            }
            if hadProblem { log.info("archive.available", [("what", "accounts")]) }
            if case .copied(let path) = progress { log.debug("archive.copied", [("folder", path)]) }
        } catch {
            let before = accountsState.withLock { figures in
                defer {
                    figures.failures += 1
                    figures.problem = error.message
                }
                return figures.problem
            }
            guard before != error.message else { return }
            log.error("archive.failed", [("what", "accounts"), ("error", error.message)])
        }
    }

    private func note(_ progress: DatabaseArchive.Progress, of database: String, at time: Int64) {
        let hadProblem = state.withLock { figures in
            let hadProblem = figures[database]?.problem != nil
            figures[database, default: Figures()].lastSuccess = time
            figures[database]?.sequence = progress.sequence
            figures[database]?.problem = nil
            if progress.hasGap { figures[database]?.gaps += 1 }
            return hadProblem
        }
        if hadProblem { log.info("archive.available", [("database", database)]) }
        if progress.hasGap {
            log.error(
                "archive.gap",
                [
                    ("database", database),
                    ("meaning", "the log no longer continues the archive: moments before the new copy may be missing"),
                ])
        }
        if progress.madeBase {
            log.info("archive.copied", [("database", database), ("sequence", "\(progress.sequence)")])
        }
        for path in progress.removed { log.info("archive.removed", [("folder", path)]) }
    }
}

/// How an archive is kept.
package struct ArchiveConfiguration: Sendable {
    package var folder: String
    /// An acknowledged write is in the archive after this time plus the time to copy it.
    package var interval = Duration.seconds(10)
    package var settings = DatabaseArchive.Settings()

    package init(folder: String) { self.folder = folder }
}
