package import HearthClusterNode
package import HearthDatabaseHost
package import HearthDatabaseScheduler
package import HearthDelivery
package import HearthEventLoop
package import HearthServerLog
import HearthSystem
package import HearthTreeStorage
package import HearthTriggers
package import HearthAccess
package import HearthAccountEndpoints
package import HearthBackups
import HearthAdministration
import HearthHTTPConnections
import HearthIdentity
package import HearthRealtimeSessions

/// Everything that can be set when a server is started.
package struct ServerConfiguration: Sendable {
    package var address: SocketAddress
    /// The listener for administrators; nil to use `address`. Administrators' endpoints exist only there.
    package var adminAddress: SocketAddress?
    /// Where metrics are told without a credential, and nothing else is but health; without TLS. Nil for nowhere.
    package var metricsAddress: SocketAddress?
    /// Proxies that are believed when they say who asks.
    package var trustedProxies = TrustedProxies()
    package var dataFolder: String
    package var durability = Durability.full
    /// Development mode: everything is open, on loopback only.
    package var isDevelopment = false
    /// Further origins and hosts that development mode accepts, in addition to those of this machine.
    package var developmentAccess = DevelopmentAccess()
    /// Whether production takes over a data folder that development mode has written to.
    package var adoptsDevelopmentData = false
    /// The rules of all databases that have none of their own; read again when the file changes.
    package var rulesFile: String?
    /// The settings of all databases that have none of their own; read again when the file changes.
    package var settingsFile: String?
    /// The same as text, in place of the file.
    package var settingsText: [UInt8]?
    /// JSON that the default database begins with while it is empty.
    package var seedFile: String?
    /// Whether rules that let everybody read or write everything may face a public address.
    package var allowsOpenRules = false
    /// The project whose users sign in here: the audience of tokens.
    package var project = "hearth"
    /// In development mode, clients of accounts belong to the project that a program has named to the server, and to
    /// `project` only until then.
    package var learnsProjects = false
    /// The database that a client means who names none.
    package var defaultDatabase = "default"
    package var databaseNames = DatabaseNameLimits()
    /// Event loops; nil for one per CPU.
    package var loops: Int?
    package var connectionsMax = 200_000
    package var tls: TLSFiles?
    /// Whether clients that offer permessage-deflate get compressed frames: less traffic for more CPU.
    package var compresses = false
    /// The host for reconnections of realtime clients; nil for the host that they used.
    package var advertisedHost: String?
    /// The file of issuers and providers that are believed, see ``TrustFile``.
    package var trustFile: String?
    /// The file of the secrets that old SDKs use, see ``LegacySecrets``; nil where they are not served.
    package var legacySecretFile: String?
    /// In development mode: where the files of the console are while somebody works on them; nil for those in the
    /// program.
    package var consoleFolder: String?
    /// How accounts are served; nil for not at all.
    package var identity: IdentityConfiguration?
    package var logLevel = Log.Level.info
    package var logFormat = Log.Format.text
    /// Where the audit trail goes instead of the log, as lines of JSON; nil for the log.
    package var auditFile: String?
    /// Requests that take longer are named in the log, with their places; nil for none.
    package var slowRequest: Duration?
    /// With less room on the disk of the data folder, in bytes, the server is not ready.
    package var freeBytesMin: Int64 = 64 << 20
    /// How long the server keeps working after the first signal to stop, while it reports that it is not ready, so that
    /// load balancers send clients elsewhere before it refuses them.
    package var drainTime = Duration.zero
    /// How long connections may take to end when the server stops, after everything accepted is answered; then they
    /// are cut.
    package var stopGrace = Duration.seconds(5)
    /// Where everything that is committed is kept as well, so that any moment can be restored; nil for nowhere.
    package var archive: ArchiveConfiguration?
    /// The targets that events of triggers may reach.
    package var triggers = TriggerConfiguration()
    /// The cluster that the server is a node of; nil for a server that is alone.
    package var cluster: ClusterConfiguration?
    package var databaseLimits = DatabaseLimits()
    package var connectionLimits = ConnectionLimits()
    /// The limits of the connections as streams; their `hardLimit` is `outboundBytesMax` of `connectionLimits`.
    package var streamLimits = StreamLimits()
    package var snapshotLimits = SnapshotLimits()
    /// Bytes of requests that all connections together may have sent without an answer; more is refused. Requests below
    /// a kilobyte, and arriving ones below 4 KiB, are not counted. Nil for a quarter of the memory that the process may
    /// use, and at most 1 GiB.
    package var requestBytesTotalMax: Int?
    /// Bytes that may wait for all clients together. With more, those for whom most waits are disconnected.
    package var outboundBytesTotalMax = Memory.byteCount / 8
    /// Bytes of the databases' files that are kept in memory after they were read, so that they need not be read again.
    package var pageBytesMax = max(Memory.byteCount / 32, 32 << 20)

    package init(address: SocketAddress, dataFolder: String) {
        self.address = address
        self.dataFolder = dataFolder
    }

    /// In development mode, receivers are on this machine.
    var reachableByTriggers: TriggerConfiguration {
        var triggers = triggers
        if isDevelopment, triggers.networks.isEmpty {
            triggers.networks = NetworkList("127.0.0.0/8,::1") ?? NetworkList()
        }
        return triggers
    }

    /// The configuration of administrators' requests.
    var administration: AdministeredServer.Configuration {
        AdministeredServer.Configuration(
            dataFolder: dataFolder, isDevelopment: isDevelopment, allowsOpenRules: allowsOpenRules,
            isClustered: cluster != nil, project: project, connectionsMax: connectionsMax,
            backlogBytesMax: databaseLimits.backlogBytesMax)
    }

    /// The configuration of connections of all kinds.
    var connections: ConnectionConfiguration {
        ConnectionConfiguration(
            connectionLimits: connectionLimits, isDevelopment: isDevelopment,
            listenersMax: databaseLimits.listenersMax, slowRequest: slowRequest)
    }

    /// The further configuration of HTTP connections.
    var endpoints: Endpoints.Configuration {
        Endpoints.Configuration(
            developmentAccess: developmentAccess, defaultDatabase: defaultDatabase, compresses: compresses,
            advertisedHost: advertisedHost, isSecure: tls != nil, consoleFolder: consoleFolder)
    }

    /// - parameter folder: the data folder, by the name that it was found at.
    func trust(in folder: String) -> Trust.Configuration {
        Trust.Configuration(
            folder: folder, isDevelopment: isDevelopment, project: project, trustFile: trustFile,
            legacySecretFile: legacySecretFile)
    }

    /// The options of accounts, also those in the rest of the configuration.
    func accountOptions(_ identity: IdentityConfiguration, in folder: String) -> AccountOptions {
        var options = identity.options
        options.project = project
        if learnsProjects { options.projectsFile = folder + "/client-projects.json" }
        options.isDevelopment = isDevelopment
        options.areShared = cluster != nil
        return options
    }

    /// PEM files of the server's certificate chain and its key.
    package struct TLSFiles: Sendable {
        package var certificate: String
        package var key: String

        package init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }
}
