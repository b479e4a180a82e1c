public import HearthClientTransport

/// How a database behaves. All options have defaults:
///
///     let database = try Database(url: url, options: DatabaseOptions(auth: auth, requestTimeout: .seconds(20)))
public struct DatabaseOptions: Sendable {
    /// Gives the token to sign in with, nil for none. Asked after each connection is made, and when a token has been
    /// refused or revoked; then a new one is wanted.
    public typealias TokenProvider = @Sendable (_ forcingRefresh: Bool) async throws -> String?

    /// Whose token to sign in with: the database acts as the user who is signed in there, if any, and follows each
    /// change.
    public var auth: Auth?

    /// For a client that has its tokens from elsewhere. Not asked if there is ``auth``.
    public var tokenProvider: TokenProvider?

    /// The pause before the second attempt to connect; each further one is 1.3 times as long, less a random part.
    public var reconnectDelayMin: Duration
    /// The longest pause.
    public var reconnectDelayMax: Duration
    /// For connecting and TLS together, and then again for the server's first word.
    public var openTimeout: Duration
    /// How long an `async` call waits for the server before it throws `timedOut`; nil to wait for ever, as Firebase's
    /// SDKs do. Loops and observers are not bounded.
    public var requestTimeout: Duration?
    /// After so long without a word of the server it is asked for one.
    public var pingInterval: Duration
    /// How long it may take to answer that before the connection is given up.
    public var pingTimeout: Duration
    /// The authorities to trust over TLS, as a PEM file; nil for the system's.
    public var certificateAuthorityFile: String?
    /// Whether to connect as soon as there is something to do. Otherwise `goOnline()` does.
    public var startsOnline: Bool
    /// Events that may wait for the reader of a sequence of child events before it ends with `slowReader`; the first
    /// ones, for the children that are there, count as well.
    public var waitingEventsMax: Int

    /// Where to keep what was observed and what was not answered, so that a program that starts without a network shows
    /// its last values and makes its writes later. One file for one database and one process at a time; it holds what
    /// the user may read, so a program with several users has several files. Nil to keep nothing. An error in a build
    /// without the package's trait `Persistence`.
    public var persistenceFile: String?
    /// Bytes of values to keep there, up to twice as many at times. Those that were used longest ago go first.
    public var persistedBytesMax: Int

    /// The forms of Codable types in the database.
    public var coding: DatabaseCodingOptions

    /// Is told of connections, failed attempts, and refused tokens, listeners and writes. Called on the database's
    /// thread, which it must not block. Nil for no log.
    public var logger: (@Sendable (DatabaseLogEntry) -> Void)?

    /// How to reach the server; nil for the default of the system, which is on Linux an event loop with sockets and TLS
    /// of its own. Tests can give a `MemoryNetwork` (`HearthMemoryTransport`), and systems without a default need one.
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
}
