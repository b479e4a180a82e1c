import HearthAccess
import HearthAccountEndpoints
import HearthAdministration
import HearthBackups
import HearthClusterSharing
import HearthDatabaseHost
import HearthEventLoop
import HearthHTTPConnections
import HearthIdentity
import HearthRealtimeSessions
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import Synchronization

/// The parts of a server, and their periodic work.
final class Services: Sendable {
    let configuration: ServerConfiguration
    let directory: DatabaseDirectory
    let databases: DatabaseThread
    let readiness: Readiness
    let metrics: ServerMetrics
    /// The waiting output.
    let outbound: OutboundMemory
    /// Nil without TLS.
    let tls: TLSContext?
    /// Does work that would take an event loop too long, except parsing.
    let helper: Worker<@Sendable () -> Void>
    /// Parses large messages and bodies.
    let parser: Worker<@Sendable () -> Void>
    let log: Log
    let trail: AuditTrail
    let requestMemory: RequestMemory
    let clients: Clients
    /// Nil if accounts are not served.
    let identity: IdentityService?
    let rules: RulesInForce
    /// Nil if no archive is kept.
    let archiver: Archiver?
    let administered: AdministeredServer
    let connections: ConnectionServices
    let endpoints: Endpoints
    private let sharingSlot: SharingSlot
    private let folder: DataFolder
    private let keys: KeyStore?
    /// When to look again whether the next key is due, in seconds since 1970.
    private let nextRotation = Atomic<Int64>(0)
    private let freeMemory = Mutex(FreeMemory())

    init(
        configuration: ServerConfiguration, folder: DataFolder, directory: DatabaseDirectory, databases: DatabaseThread,
        identity: IdentityService?, trust: Trust, rules: RulesInForce, denials: DenialLog,
        readiness: Readiness, metrics: ServerMetrics, outbound: OutboundMemory, tls: TLSContext?, clients: Clients,
        sharing: SharingSlot, connected: ConnectedClients, log: Log, trail: AuditTrail
    ) throws(SystemError) {
        self.configuration = configuration
        self.folder = folder
        self.directory = directory
        self.databases = databases
        self.rules = rules
        let archiver = configuration.archive.map { Archiver($0, folder: folder.path, log: log) }
        self.archiver = archiver
        keys = trust.keys
        self.readiness = readiness
        self.metrics = metrics
        self.outbound = outbound
        self.tls = tls
        self.log = log
        self.trail = trail
        self.identity = identity
        let requestMemory = RequestMemory(
            bytesMax: configuration.requestBytesTotalMax ?? RequestMemory.bytesMax(of: Memory.byteCount))
        self.requestMemory = requestMemory
        self.clients = clients
        sharingSlot = sharing
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
        let description = ServerDescription(
            configuration: configuration, startedAt: WallClock.milliseconds, accounts: identity?.accounts,
            requestMemory: requestMemory)
        administered = AdministeredServer(
            configuration.administration, folder: folder, directory: directory, databases: databases,
            connected: connected, readiness: readiness, metrics: metrics, outbound: outbound,
            requestMemory: requestMemory, tls: tls, log: log, trail: trail, identity: identity, rules: rules,
            denials: denials, archiver: archiver, sharing: sharing, helper: helper, startedAt: description.startedAt
        ) { description.json }
        connections = ConnectionServices(
            configuration: configuration.connections, directory: directory, databases: databases, log: log,
            trail: trail, requestMemory: requestMemory, clients: clients,
            authenticator: Authenticator(
                verifier: trust.verifier, isDevelopment: configuration.isDevelopment, project: configuration.project,
                accounts: identity?.accounts),
            parser: parser, administrators: AdministeredSessions(administered))
        endpoints = Endpoints(
            configuration.endpoints, readiness: readiness, identity: identity, server: administered, helper: helper)
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

    /// Takes up the rules file and the settings file if one of them has changed, and logs the outcome. A mistake in
    /// either leaves the old ones in force.
    func reloadRules() {
        do throws(RulesInForce.LoadError) {
            guard let changes = try rules.reload() else { return }
            metrics.noteRules(areTaken: true)
            databases.rulesChanged()
            if let file = rules.file, let program = changes.program {
                trail.note(AuditEvent(.rules, [("by", "file"), ("file", file)]))
                administered.warnOfOpenRules(program, in: file)
            }
            if let file = rules.settingsFile, changes.hasSettings {
                trail.note(AuditEvent(.settings, [("by", "file"), ("file", file)]))
            }
        } catch {
            metrics.noteRules(areTaken: false)
            log.error("rules.refused", [("error", error.message), ("in-force", "the rules before")])
        }
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
}
