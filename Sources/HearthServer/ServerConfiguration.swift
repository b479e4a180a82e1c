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
import HearthIdentity

/// Everything that can be set when a server is started.
package struct ServerConfiguration: Sendable {
    package var address: SocketAddress
    /// Where administrators are answered; nil for `address` as well. What is administrative exists there only.
    package var adminAddress: SocketAddress?
    /// Where metrics are told without a credential, and nothing else is but health; without TLS. Nil for nowhere.
    package var metricsAddress: SocketAddress?
    /// Proxies that are believed when they say who asks.
    package var trustedProxies = TrustedProxies()
    package var dataFolder: String
    package var durability = Durability.full
    /// Development mode: everything is open, on loopback only.
    package var isDevelopment = false
    /// Whose requests development mode takes besides those of this machine.
    package var developmentAccess = DevelopmentAccess()
    /// Whether production takes over a data folder that development mode has written to.
    package var adoptsDevelopmentData = false
    /// The rules of all databases that have none of their own; read again when the file changes.
    package var rulesFile: String?
    /// The settings of all databases that have none of their own; read again when the file changes.
    package var settingsFile: String?
    /// JSON that the default database begins with while it is empty.
    package var seedFile: String?
    /// Whether rules that let everybody read or write everything may face a public address.
    package var allowsOpenRules = false
    /// Whose users sign in here: what tokens name as their audience.
    package var project = "hearth"
    /// In development mode: clients of accounts are of the project that somebody names to the server, of `project` only
    /// while nobody does.
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
    /// What realtime clients are told to reconnect to; nil for the host that they used.
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
    /// How long the server goes on after the first signal to stop, while it says that it is not ready, so that load
    /// balancers send clients elsewhere before it refuses them.
    package var drainTime = Duration.zero
    /// Where everything that is committed is kept as well, so that any moment can be restored; nil for nowhere.
    package var archive: ArchiveConfiguration?
    /// What events of triggers may reach.
    package var triggers = TriggerConfiguration()
    /// The cluster that the server is a node of; nil for a server that is alone.
    package var cluster: ClusterConfiguration?
    package var databaseLimits = DatabaseLimits()
    package var connectionLimits = ConnectionLimits()
    package var snapshotLimits = SnapshotLimits()
    /// Bytes of requests that all connections together may have sent without an answer; more is refused. What is below
    /// a kilobyte, or comes in and is below 4 KiB, is not counted. Nil for a quarter of the memory that the process may
    /// use, and at most 1 GiB.
    package var requestBytesTotalMax: Int?
    /// Bytes that may wait for all clients together. With more, those for whom most waits are disconnected.
    package var outboundBytesTotalMax = Memory.byteCount / 8

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

    /// - parameter folder: the data folder, by the name that it was found at.
    func trust(in folder: String) -> Trust.Configuration {
        Trust.Configuration(
            folder: folder, isDevelopment: isDevelopment, project: project, trustFile: trustFile,
            legacySecretFile: legacySecretFile)
    }

    /// The options of accounts, with what the rest of the configuration says of them.
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

/// What one connection may take.
package struct ConnectionLimits: Sendable {
    /// From the first byte of a request to the end of its head.
    package var headTimeout = Duration.seconds(10)
    /// What must come of a body or message that is under way, in bytes per second.
    package var receiveRateMin = 16 << 10
    /// The same for a message in segments of long polling, whose clients wait for an answer to each.
    package var polledRateMin = 1 << 10
    /// How far a peer may fall behind that.
    package var receivePatience = Duration.seconds(30)
    /// Between two requests of a connection that is kept open.
    package var keepAliveTimeout = Duration.seconds(75)
    /// Without the peer taking any byte of what waits for it.
    package var sendTimeout = Duration.seconds(60)
    /// Without any byte from a realtime client: SDKs send a keep-alive every 45 s (Protocol.md 2).
    package var realtimeTimeout = Duration.seconds(90)
    /// An open poll of a long polling client with nothing to say is answered after this time (long-polling.md 2).
    package var pollHoldMax = Duration.seconds(30)
    /// Without an open poll, a long polling client is gone.
    package var pollGapMax = Duration.seconds(45)
    /// Sessions of one event loop that are polled: they need no connection, so connections do not bound them.
    package var polledSessionsMax = 10_000
    /// Connections of one client address, and its realtime sessions and event streams. Connections of trusted proxies
    /// are not counted.
    package var connectionsPerClientMax = 2000
    /// Of these, the sessions that are polled.
    package var polledSessionsPerClientMax = 500
    /// Connections of this machine are not limited so.
    package var exemptsLoopback = true
    /// Between two signs of life of an event stream (rest.md 4).
    package var eventStreamKeepAlive = Duration.seconds(30)
    /// A message of a realtime client, joined, in bytes: 16 MB and its envelope.
    package var messageBytesMax = 17 << 20
    /// A value written over REST, in bytes.
    package var bodyBytesMax = 256 << 20
    /// Requests of one connection that may wait for their answers before it is no longer read.
    package var requestsWaitingMax = 1024
    /// Bytes of these requests, before it is no longer read: those of the values that are written, and for each value
    /// that is read as much as may be assembled for it in memory. One request may have more.
    package var requestBytesMax = 32 << 20
    /// Bytes per second that compressed messages of one connection, and of all of an event loop, may expand to beyond
    /// eight times what came; with more, the connection is not read for a while.
    package var expandedBytesPerConnection = 4 << 20
    package var expandedBytesPerLoop = 16 << 20
    /// The same while nobody has signed in; a read then counts as what the answers of the connection were like lately.
    package var anonymousRequestBytesMax = 4 << 20
    /// Bytes that may wait for a slow reader before it is closed.
    package var outboundBytesMax = 64 << 20

    package init() {}
}
