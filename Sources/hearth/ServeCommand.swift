import HearthClusterNode
import HearthDatabaseHost
import HearthDatabaseScheduler
import HearthDelivery
import HearthEtcdGateway
import HearthEventLoop
import HearthServer
import HearthShell
import HearthIdentity
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import HearthTriggers
import HearthAccess
import HearthAccountEndpoints
import HearthBackups
import HearthRealtimeSessions

extension Command {
    static let serve = Command(
        name: "serve", synopsis: "[OPTIONS]", summary: "Run the server.",
        options: [
            .init(name: "listen", value: "HOST:PORT", help: "where to listen (default 127.0.0.1:9000)"),
            .init(
                name: "admin-listen", value: "HOST:PORT",
                help: "where administrators are answered, or 'public' for --listen (default: the next port)"),
            .init(
                name: "metrics-listen", value: "HOST:PORT",
                help: "where /metrics needs no credential (default: administrators alone are told)"),
            .init(name: "data", value: "DIR", help: "the data folder (default ./data)"),
            .init(
                name: "free-mib-min", value: "N",
                help: "MiB free on the disk of the data folder; with less the server is not ready (default 64)"),
            .init(
                name: "drain-seconds", value: "N",
                help: "after SIGTERM, say for N seconds that the server is not ready before it stops (default 0)"),
            .init(name: "allow-root", value: nil, help: "run as root on a data folder of another user"),
            .init(name: "dev", value: nil, help: "development mode: tokens are taken at their word, on loopback only"),
            .init(
                name: "dev-hosts", value: "NAMES",
                help: "further names of this machine in development mode, between commas; *.NAME for all below"),
            .init(
                name: "dev-origins", value: "ORIGINS",
                help: "further web pages that may use it, such as app.test or https://app.test:8443"),
            .init(
                name: "console-folder", value: "DIR",
                help: "serve the console from these files in development mode, to work on it"),
            .init(name: "adopt-dev-data", value: nil, help: "take over a data folder that --dev has written to"),
            .init(name: "rules", value: "FILE", help: "who may do what, and indexes; read again when it changes"),
            .init(
                name: "settings", value: "FILE", help: "unique values and other additions; read again when it changes"),
            .init(
                name: "trigger-networks", value: "LIST",
                help: "networks to which triggers may post although they are not public, such as 10.0.0.0/8"),
            .init(
                name: "trigger-commands", value: "DIR", help: "programs that triggers may start (default: none)"),
            .init(
                name: "trigger-ca", value: "FILE", help: "whose certificates receivers of triggers have, and no others"),
            .init(name: "allow-open-rules", value: nil, help: "let rules that allow everything face a public address"),
            .init(
                name: "project", value: "NAME",
                help: "the project of accounts and tokens (default 'hearth'; with --dev any that apps name)"),
            .init(name: "seed", value: "FILE", help: "JSON that the default database begins with while it is empty"),
            .init(name: "durability", value: "MODE", help: "full (default), process or memory"),
            .init(name: "database", value: "NAME", help: "the database of clients that name none (default 'default')"),
            .init(
                name: "databases", value: "NAMES",
                help: "further databases, between commas; others are made by administrators' first writes"),
            .init(
                name: "allow-new-databases", value: nil,
                help: "whoever may write makes databases by naming them (always with --dev)"),
            .init(name: "databases-max", value: "N", help: "databases that can be made (default 1024)"),
            .init(name: "listeners-max", value: "N", help: "listeners of one connection at most (default 10000)"),
            .init(name: "snapshots-max", value: "N", help: "values over 1 MiB sent at a time, at most (default 256)"),
            .init(
                name: "request-mib-max", value: "N",
                help: "MiB of requests in flight, of all clients (default: a quarter of memory, at most 1024)"),
            .init(
                name: "send-mib-max", value: "N",
                help: "MiB that wait for all slow clients together (default: an eighth of the memory)"),
            .init(
                name: "page-cache-mib", value: "N",
                help: "MiB of the databases' files kept in memory (default: a 32nd of the memory, at least 32)"),
            .init(name: "history-hours", value: "N", help: "hours that listeners can resume over (default 24)"),
            .init(name: "history-mib", value: "N", help: "MiB of the commit log at most (default 4096)"),
            .init(
                name: "archive", value: "DIR",
                help: "keep copies and all commits there, so that any moment can be restored"),
            .init(
                name: "archive-seconds", value: "N", help: "commits are in the archive within N seconds (default 10)"),
            .init(name: "archive-days", value: "N", help: "how far back a restore can reach (default 7)"),
            .init(
                name: "cluster", value: "MEMBERS",
                help: "be a node of a cluster, with the commits in etcd: \"etcd://HOST,HOST [NAME=etcd://HOST …]\""
            ),
            .init(name: "node", value: "NAME", help: "the name of this node, which no other one has, for --cluster"),
            .init(
                name: "peer-listen", value: "HOST:PORT",
                help: "where other nodes find this one, to hand on what their clients write (default: nowhere)"),
            .init(
                name: "peer-address", value: "HOST:PORT",
                help: "where other nodes find this one, if that is not --peer-listen, as behind a NAT"),
            .init(
                name: "cluster-secret", value: "FILE",
                help: "what all nodes share, for --peer-listen: a line of at least 32 characters"),
            .init(
                name: "cluster-ca", value: "FILE",
                help: "encrypt connections to etcd and between nodes: PEM, whose certificates alone count"),
            .init(name: "cluster-cert", value: "FILE", help: "PEM, the certificate of this node, for --cluster-ca"),
            .init(name: "cluster-key", value: "FILE", help: "PEM, its private key"),
            .init(name: "loops", value: "N", help: "event loops (default: one per CPU)"),
            .init(name: "connections-max", value: "N", help: "connections at most (default 200000)"),
            .init(
                name: "address-connections-max", value: "N",
                help: "connections of one client address, as an IPv6 /64 (default 2000; not for this machine)"),
            .init(name: "compress", value: nil, help: "compress frames for clients that offer it (browsers do)"),
            .init(name: "tls-cert", value: "FILE", help: "certificate chain in PEM form; read again on SIGHUP"),
            .init(name: "tls-key", value: "FILE", help: "its private key in PEM form"),
            .init(name: "advertise", value: "HOST:PORT", help: "what clients reconnect to (default: what they used)"),
            .init(name: "no-auth", value: nil, help: "no accounts"),
            .init(
                name: "auth-url", value: "URL",
                help: "where people reach the links of mails (default: what apps use; needed if mails are sent)"),
            .init(
                name: "token-url", value: "URL",
                help: "the URL of /token that assertions must name, or one of Google's (default: the one asked)"),
            .init(name: "auth-domains", value: "HOSTS", help: "hosts to which links may lead on, between commas"),
            .init(name: "api-keys", value: "KEYS", help: "keys of apps, between commas (default: any)"),
            .init(
                name: "auth-address-max", value: "N",
                help: "sign-ins of a client address in 15 minutes, and attempts of other kinds (default 300)"),
            .init(
                name: "trust", value: "FILE", help: "providers whose users may sign in, and issuers whose tokens count"),
            .init(
                name: "legacy-secret-file", value: "FILE",
                help: "secrets of SDKs 1.x and 2.x, one a line: tokens made with them count, and they themselves"),
            .init(name: "tenants", value: "NAMES", help: "tenants that apps may name, between commas (default: none)"),
            .init(name: "mail-command", value: "COMMAND", help: "sends the mail at its input to $HEARTH_MAIL_TO"),
            .init(name: "smtp", value: "HOST:PORT", help: "a mail relay; smtps://HOST is one with TLS"),
            .init(name: "smtp-user", value: "NAME", help: "who hands in mails: over STARTTLS, or TLS of smtps://"),
            .init(name: "smtp-password-file", value: "FILE", help: "the password of --smtp-user, in the first line"),
            .init(name: "mail-from", value: "ADDRESS", help: "the sender of mails, for --smtp"),
            .init(
                name: "trusted-proxy", value: "ADDRESSES",
                help: "proxies whose X-Forwarded-For is believed, addresses or networks between commas"),
            .init(name: "log-level", value: "LEVEL", help: "debug, info (default), warning or error"),
            .init(name: "log-format", value: "FORMAT", help: "text (default), json or journal"),
            .init(
                name: "audit-log", value: "FILE",
                help: "where sign-ins and changes by administrators are noted, instead of the log"),
            .init(name: "slow-ms", value: "N", help: "name requests in the log that take at least N milliseconds"),
            .init(
                name: "check", value: nil,
                help: "look for mistakes in the options and all that they name, and end"),
            .init(name: "config", value: "FILE", help: "a file with lines 'option = value'"),
        ]
    ) { arguments throws(UsageError) in
        _ = try arguments.positional()
        let configuration = try ServerConfiguration(arguments)
        if arguments.flag("check") { return check(configuration) }
        if !arguments.flag("allow-root"), let owner = ServedFolder(configuration.dataFolder).foreignOwner {
            throw UsageError(
                message:
                    "the data folder \(configuration.dataFolder) belongs to the user \(owner), whose server could not "
                    + "open what root makes in it: sudo -u '\(owner)' hearth serve …, or --allow-root")
        }
        // Neither the end of who reads the log nor a full disk ends the server.
        Signals.ignoreFailedWrites()
        FileDescriptors.raiseLimit()
        let ended = Semaphore()
        let server: Server
        do {
            server = try Server(configuration)
            try server.onSignals { ended.signal() }
        } catch let error as Server.StartError {
            StandardError.write("hearth serve: \(error.message)\n")
            if case .configuration = error { return .usage }
            return .failure
        } catch {
            StandardError.write("hearth serve: \(error)\n")
            return .failure
        }
        if server.seeding == .skipped, let seed = configuration.seedFile {
            StandardError.write(
                "hearth serve: \(seed) was not applied: the database '\(configuration.defaultDatabase)' in "
                    + "\(configuration.dataFolder) is not empty\n")
        }
        if configuration.isDevelopment {
            let isOpen = server.letsNobodyTry(DevelopmentBanner.place)
            StandardOutput.write(DevelopmentBanner(configuration, server.address, isOpen: isOpen).text)
        }
        if server.adminAddress != server.address {
            let scheme = configuration.tls == nil ? "http" : "https"
            StandardOutput.line("hearth: administrators on \(server.adminAddress)")
            StandardOutput.line("hearth: console at \(scheme)://\(server.adminAddress)/console/")
        }
        if let address = server.metricsAddress { StandardOutput.line("hearth: metrics on \(address)") }
        StandardOutput.line("hearth: ready on \(server.address)")
        let manager = ServiceManager.inherited
        manager.notify(.ready("answers on \(server.address)"))
        ended.wait()
        if configuration.drainTime > .zero {
            manager.notify(.draining(configuration.drainTime))
            server.drain()
            // A second signal does not wait.
            _ = ended.wait(atMost: configuration.drainTime)
        }
        manager.notify(.stopping)
        server.stop()
        return .success
    }
}

extension Command {
    /// Reports mistakes in the options and in the files that they name.
    private static func check(_ configuration: ServerConfiguration) -> ExitCode {
        let check = ConfigurationCheck(configuration)
        for finding in check.findings {
            StandardError.write("hearth serve: \(finding.severity.rawValue): \(finding.text)\n")
        }
        if check.hasErrors { return .usage }
        StandardOutput.line("hearth: the configuration is in order")
        return .success
    }
}

extension ServerConfiguration {
    init(_ arguments: Arguments) throws(UsageError) {
        let listen = arguments["listen"] ?? "127.0.0.1:9000"
        guard let address = SocketAddress(hostAndPort: listen) else {
            throw UsageError(message: "--listen must be an address and a port, not '\(listen)'")
        }
        self.init(address: address, dataFolder: arguments["data"] ?? "./data")
        isDevelopment = arguments.flag("dev")
        adoptsDevelopmentData = arguments.flag("adopt-dev-data")
        developmentAccess = try Self.developmentAccess(arguments, isDevelopment: isDevelopment)
        consoleFolder = arguments["console-folder"]
        if consoleFolder != nil, !isDevelopment { throw UsageError(message: "--console-folder needs --dev") }
        adminAddress = try Self.adminAddress(arguments["admin-listen"], beside: address, isDevelopment: isDevelopment)
        if let text = arguments["metrics-listen"] {
            guard let own = SocketAddress(hostAndPort: text) else {
                throw UsageError(message: "--metrics-listen must be an address and a port, not '\(text)'")
            }
            metricsAddress = own
        }
        if let text = arguments["durability"] {
            guard let mode = Durability(rawValue: text) else {
                throw UsageError(message: "--durability must be full, process or memory, not '\(text)'")
            }
            durability = mode
        }
        if let text = arguments["log-level"] {
            guard let level = Log.Level(text) else {
                throw UsageError(message: "--log-level must be debug, info, warning or error, not '\(text)'")
            }
            logLevel = level
        }
        if let text = arguments["log-format"] {
            guard let format = Log.Format(rawValue: text) else {
                throw UsageError(message: "--log-format must be text, json or journal, not '\(text)'")
            }
            logFormat = format
        }
        auditFile = arguments["audit-log"]
        slowRequest = try arguments.integer("slow-ms", 1...1_000_000_000).map { .milliseconds($0) }
        if let count = try arguments.integer("free-mib-min", 0...1_000_000_000) { freeBytesMin = Int64(count) << 20 }
        if let count = try arguments.integer("drain-seconds", 0...3600) { drainTime = .seconds(count) }
        if let name = arguments["database"] { defaultDatabase = name }
        if let text = arguments["databases"] {
            databaseNames.names = Set(text.split(separator: ",").map { $0.trimmed })
        }
        if arguments.flag("allow-new-databases") { databaseNames.creation = .byEverybody }
        if let count = try arguments.integer("databases-max", 1...1_000_000) { databaseNames.writtenMax = count }
        if let count = try arguments.integer("loops", 1...64) { loops = count }
        if let count = try arguments.integer("connections-max", 1...10_000_000) { connectionsMax = count }
        if let count = try arguments.integer("address-connections-max", 1...10_000_000) {
            connectionLimits.connectionsPerClientMax = count
            connectionLimits.polledSessionsPerClientMax = max(count / 4, 1)
        }
        if let count = try arguments.integer("listeners-max", 1...100_000) { databaseLimits.listenersMax = count }
        if let count = try arguments.integer("snapshots-max", 1...10_000) { snapshotLimits.openMax = count }
        if let count = try arguments.integer("request-mib-max", 1...1_000_000) { requestBytesTotalMax = count << 20 }
        if let count = try arguments.integer("send-mib-max", 1...1_000_000) { outboundBytesTotalMax = count << 20 }
        if let count = try arguments.integer("page-cache-mib", 1...1_000_000) { pageBytesMax = count << 20 }
        if let hours = try arguments.integer("history-hours", 0...87_600) {
            databaseLimits.logWindowMilliseconds = Int64(hours) * 3_600_000
        }
        if let count = try arguments.integer("history-mib", 1...1_000_000) {
            databaseLimits.logBytesMax = Int64(count) << 20
        }
        archive = try Self.archive(arguments)
        cluster = try Self.cluster(arguments)
        advertisedHost = arguments["advertise"]
        compresses = arguments.flag("compress")
        rulesFile = arguments["rules"]
        settingsFile = arguments["settings"]
        seedFile = arguments["seed"]
        allowsOpenRules = arguments.flag("allow-open-rules")
        learnsProjects = isDevelopment && arguments["project"] == nil
        if let name = arguments["project"] {
            guard Realm.isValidName(name), name != "-" else {
                throw UsageError(message: "--project must be 1 to 64 letters, digits, -, _, . and :, not '\(name)'")
            }
            project = name
        }
        trustFile = arguments["trust"]
        legacySecretFile = arguments["legacy-secret-file"]
        if let text = arguments["trusted-proxy"] {
            guard let proxies = TrustedProxies(text) else {
                throw UsageError(
                    message: "--trusted-proxy must be addresses like 127.0.0.1 or 10.0.0.0/8, not '\(text)'")
            }
            trustedProxies = proxies
        }
        triggers = try Self.triggers(arguments)
        if !arguments.flag("no-auth") { identity = try IdentityConfiguration(arguments, isDevelopment: isDevelopment) }
        switch (arguments["tls-cert"], arguments["tls-key"]) {
        case (nil, nil): break
        case (let certificate?, let key?): tls = TLSFiles(certificate: certificate, key: key)
        default: throw UsageError(message: "--tls-cert and --tls-key belong together")
        }
    }

    private static func triggers(_ arguments: Arguments) throws(UsageError) -> TriggerConfiguration {
        var triggers = TriggerConfiguration()
        triggers.commandFolder = arguments["trigger-commands"]
        triggers.authorities = arguments["trigger-ca"].map { .file($0) }
        if let text = arguments["trigger-networks"] {
            guard let networks = NetworkList(text) else {
                throw UsageError(
                    message: "--trigger-networks must be addresses like 127.0.0.1 or 10.0.0.0/8, not '\(text)'")
            }
            triggers.networks = networks
        }
        return triggers
    }

    private static func cluster(_ arguments: Arguments) throws(UsageError) -> ClusterConfiguration? {
        let peers = try peers(arguments)
        let security = try ClusterSecurity(arguments)
        switch (arguments["cluster"], arguments["node"]) {
        case (nil, nil):
            if peers != nil { throw UsageError(message: "--peer-listen needs --cluster") }
            if security != nil { throw UsageError(message: "--cluster-ca needs --cluster") }
            return nil
        case (let members?, let node?):
            do throws(EtcdAddressError) {
                return ClusterConfiguration(
                    try EtcdStore.list(members), node: node, peers: peers, security: security)
            } catch {
                throw UsageError(message: "--cluster: \(error)")
            }
        default: throw UsageError(message: "--cluster and --node belong together")
        }
    }

    private static func peers(_ arguments: Arguments) throws(UsageError) -> PeerConfiguration? {
        switch (arguments["peer-listen"], arguments["cluster-secret"]) {
        case (nil, nil):
            if arguments["peer-address"] != nil { throw UsageError(message: "--peer-address needs --peer-listen") }
            return nil
        case (let text?, let file?):
            guard let address = SocketAddress(hostAndPort: text) else {
                throw UsageError(message: "--peer-listen must be an address and a port, not '\(text)'")
            }
            var publicAddress: SocketAddress?
            if let text = arguments["peer-address"] {
                publicAddress = SocketAddress(hostAndPort: text)
                if publicAddress == nil {
                    throw UsageError(message: "--peer-address must be an address and a port, not '\(text)'")
                }
            }
            do throws(ClusterSecret.Failure) {
                return PeerConfiguration(
                    address: address, publicAddress: publicAddress, secret: try ClusterSecret(file: file))
            } catch {
                throw UsageError(message: "--cluster-secret: \(error)")
            }
        default: throw UsageError(message: "--peer-listen and --cluster-secret belong together")
        }
    }

    private static func archive(_ arguments: Arguments) throws(UsageError) -> ArchiveConfiguration? {
        let seconds = try arguments.integer("archive-seconds", 1...3600)
        let days = try arguments.integer("archive-days", 1...36_500)
        guard let folder = arguments["archive"] else {
            if seconds != nil || days != nil {
                throw UsageError(message: "--archive-seconds and --archive-days need --archive")
            }
            return nil
        }
        var archive = ArchiveConfiguration(folder: folder)
        if let seconds { archive.interval = .seconds(seconds) }
        if let days { archive.settings.window = Int64(days) * 86_400_000 }
        return archive
    }

    private static func developmentAccess(
        _ arguments: Arguments, isDevelopment: Bool
    ) throws(UsageError) -> DevelopmentAccess {
        let (hosts, origins) = (arguments["dev-hosts"], arguments["dev-origins"])
        if !isDevelopment, let name = hosts.map({ _ in "dev-hosts" }) ?? origins.map({ _ in "dev-origins" }) {
            throw UsageError(message: "--\(name) needs --dev")
        }
        guard let access = DevelopmentAccess(hosts: hosts ?? "", origins: "") else {
            throw UsageError(message: "--dev-hosts must be names like hearth.test or *.test, not '\(hosts ?? "")'")
        }
        if origins == nil { return access }
        guard let access = DevelopmentAccess(hosts: hosts ?? "", origins: origins ?? "") else {
            throw UsageError(
                message: "--dev-origins must be names or origins like http://app.test:3000, not '\(origins ?? "")'")
        }
        return access
    }

    /// In development mode one listener serves all, unless it is told otherwise.
    private static func adminAddress(
        _ text: String?, beside address: SocketAddress, isDevelopment: Bool
    ) throws(UsageError) -> SocketAddress? {
        switch text {
        case "public": return nil
        case let text?:
            guard let own = SocketAddress(hostAndPort: text) else {
                throw UsageError(message: "--admin-listen must be an address and a port, or 'public', not '\(text)'")
            }
            return own
        case nil:
            if isDevelopment { return nil }
            guard address.port < .max else { throw UsageError(message: "there is no next port: add --admin-listen") }
            return .loopback(port: address.port == 0 ? 0 : address.port + 1)
        }
    }
}
