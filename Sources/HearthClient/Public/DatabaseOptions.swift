public import HearthClientTransport

/// Options for a ``Database``. All have defaults:
///
///     let database = try Database(url: url, options: DatabaseOptions(auth: auth, requestTimeout: .seconds(20)))
public struct DatabaseOptions: Sendable {
    /// Provides the token to sign in with; nil for none. Called after each connection is made, and when a token was
    /// refused or revoked, which calls for a new one.
    public typealias TokenProvider = @Sendable (_ forcingRefresh: Bool) async throws -> String?

    /// The source of the token: the database acts as the user who is signed in there, if any, and follows each change.
    public var auth: Auth?

    /// For clients with tokens from elsewhere. Not used if ``auth`` is set.
    public var tokenProvider: TokenProvider?

    /// The pause before the second attempt to connect. Each further pause is 1.3 times as long, less a random part.
    public var reconnectDelayMin: Duration
    /// The longest pause.
    public var reconnectDelayMax: Duration
    /// The time limit for connecting, including TLS, and again for the server's hello.
    public var openTimeout: Duration
    /// How long an `async` call waits for the server before it throws `timedOut`; nil to wait without a limit, like
    /// Firebase's SDKs. Loops and observers have no limit.
    public var requestTimeout: Duration?
    /// How long the server may be silent before it is sent a keep-alive request.
    public var pingInterval: Duration
    /// How long the server may take to answer that before the connection is closed.
    public var pingTimeout: Duration
    /// The authorities to trust over TLS, as a PEM file; nil for the system's.
    public var certificateAuthorityFile: String?
    /// Whether to connect as soon as there is something to send. Otherwise only after `goOnline()`.
    public var startsOnline: Bool
    /// How many events may wait for the reader of a sequence of child events before it ends with `slowReader`. The
    /// initial events of existing children count as well.
    public var waitingEventsMax: Int

    /// The file that keeps observed values and pending writes, so that a program that starts without a network shows
    /// its last values and sends its writes later. One file serves one database and one process at a time. It holds
    /// data that the user may read, so a program with several users needs several files. Nil to keep nothing. An error
    /// in a build without the package's trait `Persistence`.
    public var persistenceFile: String?
    /// Bytes of values to keep in the file, temporarily up to twice as many. The least recently used values are dropped
    /// first. A value that alone is larger is not kept.
    public var persistedBytesMax: Int

    /// How Codable types are stored in the database.
    public var coding: DatabaseCodingOptions

    /// Receives log lines about connections, failed attempts, refused tokens, listeners and writes, and calls that are
    /// invalid and have no block for the error. Called on the database's thread, which it must not block. Nil for no
    /// log.
    public var logger: (@Sendable (DatabaseLogEntry) -> Void)?

    /// The transport to the server; nil for the system's default, on Linux an event loop with sockets and TLS. Tests
    /// can use a `MemoryNetwork` (`HearthMemoryTransport`). Systems without a default need a transport here.
    public var transport: (any ClientTransport)?

    /// All options with their defaults.
    public init(
        auth: Auth? = nil, tokenProvider: TokenProvider? = nil, reconnectDelayMin: Duration = .seconds(1),
        reconnectDelayMax: Duration = .seconds(30), openTimeout: Duration = .seconds(15),
        requestTimeout: Duration? = nil, pingInterval: Duration = .seconds(45), pingTimeout: Duration = .seconds(15),
        certificateAuthorityFile: String? = nil, startsOnline: Bool = true, waitingEventsMax: Int = 1 << 20,
        persistenceFile: String? = nil, persistedBytesMax: Int = 10 << 20,
        coding: DatabaseCodingOptions = DatabaseCodingOptions(),
        logger: (@Sendable (DatabaseLogEntry) -> Void)? = nil, transport: (any ClientTransport)? = nil
    ) {
        self.auth = auth
        self.tokenProvider = tokenProvider
        self.reconnectDelayMin = reconnectDelayMin
        self.reconnectDelayMax = reconnectDelayMax
        self.openTimeout = openTimeout
        self.requestTimeout = requestTimeout
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.certificateAuthorityFile = certificateAuthorityFile
        self.startsOnline = startsOnline
        self.waitingEventsMax = waitingEventsMax
        self.persistenceFile = persistenceFile
        self.persistedBytesMax = persistedBytesMax
        self.coding = coding
        self.logger = logger
        self.transport = transport
    }
}

extension DatabaseOptions {
    var encoder: DatabaseEncoder { DatabaseEncoder(coding) }
    var decoder: DatabaseDecoder { DatabaseDecoder(coding) }

    func log(_ level: DatabaseLogEntry.Level, _ message: @autoclosure () -> String) {
        logger?(DatabaseLogEntry(level: level, message: message()))
    }
}
