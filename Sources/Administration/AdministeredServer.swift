package import HearthAccess
package import HearthAccountEndpoints
package import HearthBackups
package import HearthClusterSharing
package import HearthDatabaseHost
package import HearthEventLoop
package import HearthJSONValues
package import HearthRealtimeSessions
package import HearthSecurityRules
package import HearthServerLog
package import HearthSystem
package import HearthTreeStorage
import Synchronization

/// The server as administrators see and change it, over HTTP or over a realtime connection.
package final class AdministeredServer: Sendable {
    /// Its settings when a server starts.
    package struct Configuration: Sendable {
        package var dataFolder: String
        package var isDevelopment: Bool
        /// Rules that let everybody read or write everything are meant.
        package var allowsOpenRules: Bool
        /// The server is a node of a cluster.
        package var isClustered: Bool
        /// Whose users sign in here.
        package var project: String
        package var connectionsMax: Int
        /// Bytes of outputs that loops may not have passed on.
        package var backlogBytesMax: Int

        package init(
            dataFolder: String, isDevelopment: Bool, allowsOpenRules: Bool, isClustered: Bool, project: String,
            connectionsMax: Int, backlogBytesMax: Int
        ) {
            self.dataFolder = dataFolder
            self.isDevelopment = isDevelopment
            self.allowsOpenRules = allowsOpenRules
            self.isClustered = isClustered
            self.project = project
            self.connectionsMax = connectionsMax
            self.backlogBytesMax = backlogBytesMax
        }
    }

    let configuration: Configuration
    let directory: DatabaseDirectory
    let databases: DatabaseThread
    let connected: ConnectedClients
    let readiness: Readiness
    let metrics: ServerMetrics
    /// The waiting output.
    let outbound: OutboundMemory
    let requestMemory: RequestMemory
    /// Nil without TLS.
    let tls: TLSContext?
    let log: Log
    let trail: AuditTrail
    /// Nil if accounts are not served.
    let identity: IdentityService?
    let rules: RulesInForce
    let denials: DenialLog
    /// Nil if no archive is kept.
    let archiver: Archiver?
    /// Does work that would take an event loop too long.
    let helper: Worker<@Sendable () -> Void>
    /// In milliseconds since 1970.
    let startedAt: Int64
    let recent = Mutex(RecentFigures())
    private let folder: DataFolder
    private let sharingSlot: SharingSlot
    private let describe: @Sendable () -> JSONObject
    private let openListeners = Mutex<[Listener]>([])
    private let isBackingUp = Atomic(false)

    /// - parameter describe: how the server was started, without secrets.
    package init(
        _ configuration: Configuration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        connected: ConnectedClients, readiness: Readiness, metrics: ServerMetrics, outbound: OutboundMemory,
        requestMemory: RequestMemory, tls: TLSContext?, log: Log, trail: AuditTrail, identity: IdentityService?,
        rules: RulesInForce, denials: DenialLog, archiver: Archiver?, sharing: SharingSlot,
        helper: Worker<@Sendable () -> Void>, startedAt: Int64, describe: @escaping @Sendable () -> JSONObject
    ) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
        self.connected = connected
        self.readiness = readiness
        self.metrics = metrics
        self.outbound = outbound
        self.requestMemory = requestMemory
        self.tls = tls
        self.log = log
        self.trail = trail
        self.identity = identity
        self.rules = rules
        self.denials = denials
        self.archiver = archiver
        sharingSlot = sharing
        self.helper = helper
        self.startedAt = startedAt
        self.describe = describe
    }

    /// Nil for a server that is alone, and for nodes that do not reach each other.
    var sharing: Sharing? { sharingSlot.value }

    var description: JSONObject { describe() }

    var listeners: [Listener] { openListeners.withLock { $0 } }

    /// The listeners whose refusals `/metrics` tells.
    package func set(_ listeners: [Listener]) { openListeners.withLock { $0 = listeners } }

    package func warnOfOpenRules(_ program: RulesProgram, in file: String) {
        guard program.isOpen, !configuration.isDevelopment, !configuration.allowsOpenRules else { return }
        log.warning("rules.open", [("file", file), ("meaning", "everybody may read or write everything")])
    }

    /// All databases that have files or are in use, and the default one, sorted.
    package var databaseNames: [String] {
        Set(folder.databases).union(directory.names).filter(DatabaseName.isValid).sorted()
    }

    /// The time between two calls of ``noteFigures()``.
    package static let figuresInterval = RecentFigures.interval

    /// Takes a sample of the present figures, for charts.
    package func noteFigures() {
        gatherFigures(isDetailed: false) { [self] figures in
            recent.withLock { $0.add(figures, at: WallClock.milliseconds) }
        }
    }

    // MARK: Databases and their copies

    /// Of the files of a database, in bytes.
    func byteCount(of database: String) -> Int64 { folder.byteCount(of: database) }

    func logReader(of database: String) -> LogReader? { folder.makeLogReader(of: database) }

    /// Copies a database into a file of the data folder, on a thread of its own; one at a time.
    func backUp(_ database: String, _ then: @escaping AdminCompletion) {
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

    /// On a separate thread, as it reads the whole file; one at a time, and not while a backup is made.
    func checkBackup(_ file: String, _ then: @escaping AdminCompletion) {
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
