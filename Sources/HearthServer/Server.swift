import HearthClusterNode
import HearthDatabaseHost
import HearthDatabaseScheduler
package import HearthEventLoop
import HearthFetching
import Glibc
import HearthIdentity
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import Synchronization
import HearthSystem
import HearthTreeStorage
import HearthTriggers
package import HearthStorageErrors
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthClusterSharing
import HearthAdministration
import HearthHTTPConnections
import HearthRealtimeSessions

/// A running server: listener, event loops, database thread.
package final class Server: Sendable {
    /// Where it listens, with the real port.
    package let address: SocketAddress
    let group: EventLoopGroup
    /// Where administrators are answered: `address`, unless that has a listener of its own.
    package let adminAddress: SocketAddress
    /// Where metrics are told without a credential; nil for nowhere.
    package let metricsAddress: SocketAddress?
    let listeners: [Listener]
    let connectionLoops: ConnectionLoops
    /// The outcome of the seed file; nil if there is none.
    package let seeding: Seeding?
    let services: Services
    /// Nil for a server that is alone.
    let cluster: ClusterNode?
    /// Asks identity providers.
    let fetcher: Fetcher
    /// The waiting output.
    var outbound: OutboundMemory { services.outbound }

    /// Why a server did not start.
    package enum StartError: Error {
        case storage(StorageError)
        /// The configuration asks for something that is not safe or not there.
        case configuration(String)
        case system(String)

        /// One line for people.
        package var message: String {
            switch self {
            case .storage(let error): error.message
            case .configuration(let text), .system(let text): text
            }
        }
    }

    /// Opens the data folder and begins to serve.
    package init(_ configuration: ServerConfiguration) throws(StartError) {
        try Self.check(configuration)
        FreeMemory.keepLittle()
        do {
            let log = Log(level: configuration.logLevel, format: configuration.logFormat)
            let auditFile = try configuration.auditFile.map { path throws(StartError) in
                do throws(SystemError) { return try AuditFile(path) } catch {
                    throw StartError.configuration("\(error)")
                }
            }
            let folder = try DataFolder(
                path: configuration.dataFolder, durability: configuration.durability,
                pageBytesMax: configuration.pageBytesMax)
            try Self.check(DevelopmentMark(in: folder.path), configuration, log)
            Self.warn(folder, configuration, log)
            let rules = try RulesInForce(
                file: configuration.rulesFile, settingsFile: configuration.settingsFile,
                settingsText: configuration.settingsText, folder: folder,
                isDevelopment: configuration.isDevelopment)
            try Self.check(rules, configuration)
            let denials = DenialLog(log: configuration.isDevelopment ? log : nil)
            let loopCount = min(configuration.loops ?? EventLoopGroup.availableCPUCount, ConnectionID.loopsMax)
            let outbound = OutboundMemory(bytesMax: configuration.outboundBytesTotalMax)
            let group = try EventLoopGroup(count: loopCount, outbound: outbound)
            let trail = AuditTrail(log, file: auditFile)
            let fetcher = Fetcher()
            self.fetcher = fetcher
            // What the operator names may be anywhere; an administrator must not reach into the operator's network.
            let trust = try Trust(
                configuration.trust(in: folder.path), fetcher: HTTPSFetcher(fetcher),
                providerFetcher: HTTPSFetcher(fetcher, staysPublic: !configuration.isDevelopment))
            trust.serviceAccounts.observe { before, now in
                trail.noteKeys(before, now)
            } failed: { error in
                log.error("admin.keys-not-read", [("error", error.description)])
            }
            var names = configuration.databaseNames
            if configuration.isDevelopment { names.creation = .byEverybody }
            // All nodes have the same databases.
            if configuration.cluster != nil { names.creation = .never }
            if configuration.cluster?.peers != nil {
                names.names.formUnion(rules.databasesWithOwn)
                names.names.insert(DataFolder.clusterDatabase)
            }
            let directory = DatabaseDirectory(defaultName: configuration.defaultDatabase, limits: names) {
                // The nodes of a cluster have the same databases: those that are named, and those that have rules.
                [isFixed = names.creation == .never] in
                !isFixed && folder.hasDatabase($0) || rules.hasOwn($0)
            }
            let connectionLoops = ConnectionLoops()
            let readiness = Readiness(node: configuration.cluster?.node)
            let metrics = ServerMetrics()
            let tls = try configuration.tls.map {
                try TLSContext.server(certificateFile: $0.certificate, keyFile: $0.key)
            }
            let connectionLimits = configuration.connectionLimits
            let clients = Clients(
                behind: configuration.trustedProxies, exemptsLoopback: connectionLimits.exemptsLoopback)
            let readers = SnapshotReaders(configuration.snapshotLimits) { stream, piece in
                connectionLoops.deliver(piece, of: stream)
            }
            let cluster = try configuration.cluster.map {
                try ClusterNode($0, folder, address: configuration.advertisedHost ?? "\(configuration.address)") {
                    news in
                    readiness.take(news, log)
                }
            }
            self.cluster = cluster
            let identity = try configuration.identity.map {
                try IdentityService(
                    $0, options: configuration.accountOptions($0, in: folder.path), in: folder.path,
                    survivesPowerLoss: configuration.durability == .full, trust, log: log, trail: trail)
            }
            let sessions = identity.map { StoredSessions(accounts: $0.accounts, trust: trust) }
            let sharing = SharingSlot()
            var databaseLimits = configuration.databaseLimits
            databaseLimits.keptMemory = KeptMemory(bytesMax: KeptMemory.bytesMax(of: Memory.byteCount))
            let databases = try DatabaseThread(
                folder: folder, directory: directory, limits: databaseLimits,
                freeBytesMin: configuration.freeBytesMin, rules: rules,
                denials: denials, explainsDenials: configuration.isDevelopment, loops: loopCount, log: log,
                readers: readers, readiness: readiness, metrics: metrics, outbound: outbound,
                isRevoked: { sessions?.isRevoked($0) ?? false }, cluster: cluster,
                clusterCommitted: { sharing.value?.arrived() },
                triggers: configuration.reachableByTriggers,
                endConnection: { connectionLoops.end($0, reason: "another node takes the writes now") },
                abandon: { connectionLoops.abandon($0, reason: "this node cannot say whether it was done") },
                abandonAll: { connectionLoops.abandonAll(using: $0, reason: "this node is copying the database") },
                after: { [loop = group.loops[0]] milliseconds, action in
                    loop.execute { loop.schedule(after: .milliseconds(milliseconds), action) }
                }
            ) { loop, delivery in connectionLoops.deliver(delivery, to: loop) }
            let services = try Services(
                configuration: configuration, folder: folder, directory: directory, databases: databases,
                identity: identity, trust: trust, rules: rules, denials: denials, readiness: readiness,
                metrics: metrics, outbound: outbound, tls: tls, clients: clients,
                sharing: sharing, connected: connectionLoops.connected, log: log, trail: trail)
            self.connectionLoops = connectionLoops
            self.group = group
            self.services = services
            // The connection loops refer to the accounts, which would keep themselves alive.
            identity?.accounts.observe { [weak connectionLoops] in connectionLoops?.revoke($0) }
            identity?.accounts.observeStorage { error in
                readiness.accounts(error)
                switch error {
                case nil: log.info("accounts.available")
                // Each node of a cluster begins like this.
                case .overloaded(let reason): log.info("accounts.awaited", [("reason", reason)])
                case let error?: log.error("accounts.unavailable", [("error", error.message)])
                }
            }
            connectionLoops.set(
                group.loops.enumerated().map {
                    ConnectionLoop(
                        index: $0, loop: $1, services: services.connections, endpoints: services.endpoints,
                        mover: connectionLoops)
                })
            if let cluster {
                try Self.beginPeering(cluster, databases, directory)
                cluster.observePlacement { [weak databases] in databases?.placementChanged() }
                if cluster.forwardsWrites {
                    let database = ClusterDatabase(folder: folder, directory: directory, databases: databases) {
                        [weak connectionLoops] operation, database, principal, milliseconds, then in
                        guard let connectionLoops else { return then(.failed(.unavailable(.stopping))) }
                        connectionLoops.ask(operation, of: database, as: principal, after: milliseconds, then: then)
                    }
                    sharing.value = try Sharing(
                        cluster, database, accounts: identity?.accounts, trust: trust, rules: rules, log: log
                    ) { [weak databases] name in
                        databases?.rulesChanged()
                        if rules.hasOwn(name) { databases?.follow(directory.index(ofServed: name)) }
                    }
                }
            }
            // Clients find the databases open, and the seed in its place.
            let deadline = MonotonicTime.current + Self.clusterPatience
            cluster?.readMembers(until: deadline)
            databases.openServed()
            if let reason = cluster?.awaitLogs(until: deadline) { throw StartError.configuration(reason) }
            services.sharing?.begin()
            seeding = try configuration.seedFile.map { try Self.seed(from: $0, services, connectionLoops) }
            var options = Listener.Options()
            options.connectionsMax = configuration.connectionsMax
            options.connectionsPerNetworkMax = connectionLimits.connectionsPerClientMax
            options.isExempt = { clients.isExempt($0) }
            options.limits = configuration.streamLimits
            options.limits.hardLimit = connectionLimits.outboundBytesMax
            options.tls = tls
            func listen(
                at address: SocketAddress, as role: ListenerRole, option: StaticString? = nil
            ) throws(SystemError) -> Listener {
                var options = options
                if role == .metrics { options.tls = nil }
                do throws(SystemError) {
                    return try Listener(at: address, on: group, options: options) { stream in
                        connectionLoops.accept(stream, as: role)
                    }
                } catch {
                    guard let option else { throw error }
                    throw SystemError("the listener for \(option) places: \(error.attempt)", code: error.code)
                }
            }
            let listener = try listen(
                at: configuration.address, as: configuration.adminAddress == nil ? .administrators : .clients)
            let adminListener = try configuration.adminAddress.map { address throws(SystemError) in
                try listen(at: address, as: .administrators, option: "administrators, which --admin-listen")
            }
            let metricsListener = try configuration.metricsAddress.map { address throws(SystemError) in
                try listen(at: address, as: .metrics, option: "metrics, which --metrics-listen")
            }
            metricsAddress = metricsListener?.address
            listeners = [listener, adminListener, metricsListener].compactMap { $0 }
            services.administered.set(listeners)
            address = listener.address
            adminAddress = adminListener?.address ?? address
            let url = AdminURL(adminAddress, isSecure: tls != nil)
            do throws(PrivateFile.Failure) { try url.keep(in: folder.path) } catch {
                log.warning("admin.url-not-kept", [("error", error.description)])
            }
            services.lookAtDisk()
            try services.archiver?.start()
            tellStart(configuration)
            for loop in group.loops {
                loop.execute { loop.turnTimes = log.stepTimes(of: loop.name) }
            }
            Self.tick(group.loops[0], services, connectionLoops)
            Self.returnFreeMemory(group.loops[0], services)
            Self.keepFigures(group.loops[0], services)
            Self.reportRefusals(listeners, group.loops[0], log)
        } catch let error as StorageError {
            throw .storage(error)
        } catch let error as StartError {
            throw error
        } catch let error as RulesInForce.LoadError {
            throw .configuration(error.message)
        } catch let error as Trust.LoadError {
            throw .configuration(error.message)
        } catch AccountFailure.storage(let error) {
            throw .storage(error)
        } catch let error as KeyStoreError {
            throw .configuration(error.description)
        } catch {
            throw .system("\(error)")
        }
    }

    /// Without etcd the server starts all the same after this time, and is not ready.
    private static let clusterPatience = Duration.seconds(10)

    private static func beginPeering(
        _ cluster: ClusterNode, _ databases: DatabaseThread, _ directory: DatabaseDirectory
    ) throws(SystemError) {
        try cluster.beginPeering { [unowned cluster] database, requests in
            // Another node may have databases that this one has not.
            if let index = directory.index(ofKnown: database), databases.post(index, requests) { return }
            cluster.turnAway(requests, because: .stopping)
        } forwarded: { database, news in
            if let index = directory.index(ofKnown: database) { databases.post(index, news) }
        } queued: { bytes, link in
            databases.queued(bytes, for: link)
        } passedOn: { bytes, link in
            databases.passedOn(bytes, over: link)
        }
    }

    /// Whether a client that is not signed in may read and write a value at a place of the empty default database, so
    /// that a first try works.
    package func letsNobodyTry(_ place: String) -> Bool {
        guard let program = services.rules.program(for: services.directory.defaultName) else { return true }
        guard let path = try? Path(parsing: place) else { return false }
        return program.letsNobody(read: path)
            && program.letsNobody(write: CanonicalJSON(string: Array("Hello".utf8)), at: path)
    }

    /// The first lines of a log for operators: version, addresses, data and limits.
    private func tellStart(_ configuration: ServerConfiguration) {
        let log = services.log
        var places: [(StaticString, String)] = [("version", Version.current), ("listen", "\(address)")]
        places.append(("tls", services.tls == nil ? "no" : "yes"))
        if adminAddress != address { places.append(("admin", "\(adminAddress)")) }
        if let metricsAddress { places.append(("metrics", "\(metricsAddress)")) }
        log.info("server.started", places)
        log.info(
            "server.data",
            [("folder", configuration.dataFolder), ("durability", configuration.durability.rawValue)])
        if let archive = configuration.archive {
            let days = archive.settings.window / 86_400_000
            log.info(
                "server.archive",
                [
                    ("folder", archive.folder), ("seconds", "\(archive.interval.components.seconds)"),
                    ("days", "\(days)"),
                ])
        }
        let own = services.rules.databasesWithOwn
        log.info(
            "server.rules",
            [
                ("file", services.rules.file ?? "none"), ("of-their-own", own.joined(separator: ",")),
                ("settings", services.rules.settingsFile ?? "none"),
            ])
        log.info(
            "server.limits",
            [
                ("connections", "\(configuration.connectionsMax)"), ("descriptors", "\(FileDescriptors.limit)"),
                ("request-mib", "\(services.requestMemory.bytesMax >> 20)"),
                ("send-mib", "\(services.outbound.bytesMax >> 20)"),
                ("free-mib-min", "\(configuration.freeBytesMin >> 20)"),
                ("drain-seconds", "\(configuration.drainTime.components.seconds)"),
            ])
    }

    package enum Seeding: Sendable {
        case done
        /// There is data already.
        case skipped
    }

    /// Fills the default database with the JSON of a file, unless there is something in it, and waits until that is
    /// durable. Not from an event loop.
    @discardableResult
    package func seed(from path: String) throws(StartError) -> Seeding {
        try Self.seed(from: path, services, connectionLoops)
    }

    private static func seed(
        from path: String, _ services: Services, _ connectionLoops: ConnectionLoops
    ) throws(StartError) -> Seeding {
        let value = try readSeed(path)
        // The empty hash is that of no data.
        let write = Operation.set(WriteTarget(path: .root), IncomingValue(json: value), expecting: [])
        let nobody = services.clients.client(at: nil)
        guard let database = try? services.directory.use("", by: nobody, mayCreate: true), let loop = connectionLoops[0]
        else { return .skipped }
        let answer = Mutex<Reply?>(nil)
        let isAnswered = Semaphore()
        loop.loop.execute {
            loop.shared.ask(write, of: database.index) { reply in
                answer.withLock { $0 = reply }
                isAnswered.signal()
            }
        }
        isAnswered.wait()
        switch answer.withLock({ $0 }) {
        case .failed(.stale): return .skipped
        case .failed(.unavailable(let error)): throw .storage(error)
        case .failed(let failure): throw .configuration("\(path): \(failure.message)")
        default: return .done
        }
    }

    /// Says now and then that connections were closed at once because there were too many.
    private static func reportRefusals(
        _ listeners: [Listener], _ loop: EventLoop, _ log: Log, refused: Int = 0, crowded: Int = 0
    ) {
        loop.execute {
            let all = listeners.reduce(0) { $0 + $1.refusedCount }
            let crowds = listeners.map(\.crowdedCount)
            let crowdedNow = crowds.reduce(0) { $0 + $1.count }
            if all > refused { log.warning("connections.refused", [("count", "\(all - refused)")]) }
            if crowdedNow > crowded {
                let last = crowds.compactMap(\.last).last.map { "\($0.network.host)" } ?? ""
                log.warning("connections.crowded", [("count", "\(crowdedNow - crowded)"), ("address", last)])
            }
            loop.schedule(after: .seconds(10)) {
                reportRefusals(listeners, loop, log, refused: all, crowded: crowdedNow)
            }
        }
    }

    private static func tick(
        _ loop: EventLoop, _ services: Services, _ connectionLoops: ConnectionLoops, ticks: Int = 1
    ) {
        loop.execute {
            services.databases.tick()
            services.tick()
            connectionLoops.relieve()
            if ticks.isMultiple(of: 5) {
                services.identity?.accounts.lookAtFile()
                services.sharing?.look()
                services.helper.post { services.lookAtDisk() }
            }
            if services.rules.hasFiles { services.helper.post { services.reloadRules() } }
            loop.schedule(after: .milliseconds(200)) { tick(loop, services, connectionLoops, ticks: ticks + 1) }
        }
    }

    private static func keepFigures(_ loop: EventLoop, _ services: Services) {
        loop.execute {
            services.administered.noteFigures()
            loop.schedule(after: AdministeredServer.figuresInterval) { keepFigures(loop, services) }
        }
    }

    private static func returnFreeMemory(_ loop: EventLoop, _ services: Services) {
        loop.execute {
            loop.schedule(after: .seconds(5)) {
                services.helper.post { services.returnFreeMemory() }
                returnFreeMemory(loop, services)
            }
        }
    }
}
