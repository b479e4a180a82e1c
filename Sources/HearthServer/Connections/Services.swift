import HearthDatabaseHost
import HearthEventLoop
import HearthJSONValues
import HearthIdentity
import HearthSecurityRules
import HearthServerLog
import Synchronization
import HearthSystem
import HearthTreeStorage
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthClusterSharing

/// What connections of all loops share.
final class Services: Sendable {
    let configuration: ServerConfiguration
    let directory: DatabaseDirectory
    let databases: DatabaseThread
    let readiness: Readiness
    let metrics: ServerMetrics
    let recent = Mutex(RecentFigures())
    /// What waits to be sent.
    let outbound: OutboundMemory
    /// Nil without TLS.
    let tls: TLSContext?
    private let openListeners = Mutex<[Listener]>([])
    private let sharingSlot = SharingSlot()
    /// Does what would keep an event loop too long, but for parsing.
    let helper: Worker<@Sendable () -> Void>
    /// Parses large messages and bodies.
    let parser: Worker<@Sendable () -> Void>
    let log: Log
    let trail: AuditTrail
    let requestMemory: RequestMemory
    let clients: Clients
    /// Nil if accounts are not served.
    let identity: IdentityService?
    let authenticator: Authenticator
    let rules: RulesInForce
    let denials: DenialLog
    let console: ConsoleFiles
    /// Nil if no archive is kept.
    let archiver: Archiver?
    /// In milliseconds since 1970.
    let startedAt = WallClock.milliseconds
    private let folder: DataFolder
    private let isBackingUp = Atomic(false)
    private let keys: KeyStore?
    /// When to look again whether the next key is due, in seconds since 1970.
    private let nextRotation = Atomic<Int64>(0)
    private let freeMemory = Mutex(FreeMemory())

    init(
        configuration: ServerConfiguration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        identity: IdentityService?, trust: Trust, rules: RulesInForce, denials: DenialLog,
        readiness: Readiness, metrics: ServerMetrics, outbound: OutboundMemory, tls: TLSContext?, clients: Clients,
        log: Log, trail: AuditTrail
    ) throws(SystemError) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
        self.rules = rules
        self.denials = denials
        console = ConsoleFiles(folder: configuration.consoleFolder)
        archiver = configuration.archive.map { Archiver($0, folder: folder.path, log: log) }
        authenticator = Authenticator(
            verifier: trust.verifier, isDevelopment: configuration.isDevelopment, project: configuration.project,
            accounts: identity?.accounts)
        keys = trust.keys
        self.readiness = readiness
        self.metrics = metrics
        self.outbound = outbound
        self.tls = tls
        self.log = log
        self.trail = trail
        self.identity = identity
        requestMemory = RequestMemory(
            bytesMax: configuration.requestBytesTotalMax ?? RequestMemory.bytesMax(of: Memory.byteCount))
        self.clients = clients
        helper = try Worker(name: "helper") {
            { batch in
                for work in batch { work() }
            }
        }
        parser = try Worker(name: "parser", priority: .background) {
            { batch in
                for work in batch { work() }
            }
        }
    }

    /// Notes whether there is room left on the disk of the data folder.
    func lookAtDisk() {
        if folder.durability == .memory { return }
        let before = readiness.problem
        readiness.disk(DiskSpace(of: folder.path), bytesMin: configuration.freeBytesMin)
        let problem = readiness.problem
        guard problem != before else { return }
        if let problem {
            log.error("server.not-ready", [("reason", problem)])
        } else {
            log.info("server.ready-again")
        }
    }

    /// Nil for a server that is alone, and for nodes that do not reach each other.
    var sharing: Sharing? { sharingSlot.value }

    func set(_ sharing: Sharing?) { sharingSlot.value = sharing }

    var listeners: [Listener] { openListeners.withLock { $0 } }

    func set(_ listeners: [Listener]) { openListeners.withLock { $0 = listeners } }

    /// Takes up the rules file and the settings file if one of them has changed, and says in the log what came of it. A
    /// mistake in either leaves the old ones in force.
    func reloadRules() {
        do throws(RulesInForce.LoadError) {
            guard let changes = try rules.reload() else { return }
            metrics.noteRules(areTaken: true)
            databases.rulesChanged()
            if let file = rules.file, let program = changes.program {
                trail.note(AuditEvent(.rules, [("by", "file"), ("file", file)]))
                warnOfOpenRules(program, in: file)
            }
            if let file = rules.settingsFile, changes.hasSettings {
                trail.note(AuditEvent(.settings, [("by", "file"), ("file", file)]))
            }
        } catch {
            metrics.noteRules(areTaken: false)
            log.error("rules.refused", [("error", error.message), ("in-force", "the rules before")])
        }
    }

    func warnOfOpenRules(_ program: RulesProgram, in file: String) {
        guard program.isOpen, !configuration.isDevelopment, !configuration.allowsOpenRules else { return }
        log.warning("rules.open", [("file", file), ("meaning", "everybody may read or write everything")])
    }

    /// Called now and then: has the keys of tokens changed when it is time, which is looked at once an hour.
    func tick() {
        let now = WallClock.milliseconds / 1000
        guard let keys, now >= nextRotation.load(ordering: .relaxed) else { return }
        nextRotation.store(now + 3600, ordering: .relaxed)
        guard keys.nextRotation <= now else { return }
        let log = log
        helper.post {
            do throws(KeyStoreError) {
                if try keys.rotate(now: now) { log.info("keys.rotated") }
            } catch {
                log.error("keys.failed", [("error", "\(error)")])
            }
        }
    }

    /// Returns to the system the memory of large requests that are done. On the helper thread.
    func returnFreeMemory() {
        freeMemory.withLock { memory in
            let now = MonotonicTime.current
            guard memory.isDue(resident: ProcessUsage.current.memory, now: now) else { return }
            FreeMemory.giveBack()
            memory.returned(resident: ProcessUsage.current.memory, now: now)
        }
    }

    /// All databases that have files or are in use, and the default one, sorted.
    var databaseNames: [String] {
        Set(folder.databases).union(directory.names).filter(DataFolder.isValidName).sorted()
    }

    // MARK: For administrators

    /// Of the files of a database, in bytes.
    func byteCount(of database: String) -> Int64 { folder.byteCount(of: database) }

    func logReader(of database: String) -> LogReader? { folder.makeLogReader(of: database) }

    /// Copies a database into a file of the data folder, on a thread of its own; one at a time.
    func backUp(_ database: String, _ then: @escaping Administration.Completion) {
        guard !isBackingUp.exchange(true, ordering: .relaxed) else {
            return then(.failure(AdminRefusal(text: "another backup is under way")))
        }
        do throws(SystemError) {
            _ = try NamedThread(name: "backup", priority: .background) { [self] in
                let answer = makeBackup(of: database)
                isBackingUp.store(false, ordering: .relaxed)
                then(answer)
            }
        } catch {
            isBackingUp.store(false, ordering: .relaxed)
            then(.failure(AdminRefusal(text: "\(error)")))
        }
    }

    /// On a thread of its own, as it reads all of the file; one at a time, and not beside the making of one.
    func checkBackup(_ file: String, _ then: @escaping Administration.Completion) {
        guard !isBackingUp.exchange(true, ordering: .relaxed) else {
            return then(.failure(AdminRefusal(text: "another backup is under way")))
        }
        do throws(SystemError) {
            _ = try NamedThread(name: "backup", priority: .background) { [self] in
                let answer = backupFiles.check(file)
                // Before the answer, after which the next one may be asked for.
                isBackingUp.store(false, ordering: .relaxed)
                then(answer)
            }
        } catch {
            isBackingUp.store(false, ordering: .relaxed)
            then(.failure(AdminRefusal(text: "\(error)")))
        }
    }

    var backupFiles: BackupFiles { BackupFiles(folder: folder.path + "/backups") }

    private func makeBackup(of database: String) -> AdminAnswer {
        do throws(BackupError) {
            let time = "\(Timestamp(milliseconds: WallClock.milliseconds))".filter { $0 != ":" && $0 != "-" }
            let path = try folder.backupPath(of: database, time: time)
            let summary = try Backup.make(of: database, in: folder.path, to: path)
            log.info("backup.made", [("database", database), ("file", path)])
            let answer = JSONObject([
                "file": .text(path), "sequence": .integer(Int64(clamping: summary.sequence)),
                "rows": .integer(Int64(summary.rows)), "bytes": .integer(Int64(summary.byteCount)),
            ])
            return .success(answer.bytes)
        } catch {
            return .failure(AdminRefusal(text: error.message))
        }
    }
}
