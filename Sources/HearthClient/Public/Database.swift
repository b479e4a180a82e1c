import HearthClientTransport
import HearthJSONTree
import Synchronization
import HearthPlatform
import HearthClientSession

/// A client of a database on a server: one connection, which is restored automatically, with the observers and writes
/// of this program.
///
///     let database = try Database(url: "wss://db.example.com/?ns=shop")
///     let order = database.reference(withPath: "orders/17")
///     try await order.setValue(["total": 12, "at": ServerValue.timestamp()])
///
/// **Threads.** Any task or thread may use a database and the objects obtained from it. Calls of one thread take effect
/// in order. A database has its own thread for the connection and the cache. Blocks and completions are called on that
/// thread, one at a time and in order, and must not block it.
///
/// **Order.** A write is seen by the observers of this client before its completion. Observers of deeper locations
/// receive a change before those above them.
///
/// **Life.** The connection ends with ``close()``, or when the database is no longer referenced. References, queries
/// and snapshots hold a reference to it; so do observers until they are removed, and writes until they are answered. A
/// database with an observer therefore stays connected, even if the program keeps no other reference to it.
public final class Database: Sendable {
    /// The database's URL.
    public let url: String
    let core: DatabaseCore
    let address: DatabaseURL
    private let loop: any ClientLoop
    /// The number of the token observer.
    private let tokenTaker: Int?
    private let lastObserver = Atomic<Int>(0)
    private let pushIDs = Mutex(PushIDGenerator())

    private static let shared = Mutex<[String: Database]>([:])

    /// The instance for the database at a URL that the whole program shares, until it is closed. Options take effect
    /// when it is created.
    ///
    /// - throws: as ``init(url:options:)``.
    public static func database(
        url: String, options: DatabaseOptions = DatabaseOptions()
    ) throws(DatabaseError) -> Database {
        try shared.withLock { (databases) throws(DatabaseError) in
            if let known = databases[url] { return known }
            let database = try Database(url: url, options: options)
            databases[url] = database
            return database
        }
    }

    /// A separate client for the database at a URL: `ws://host:port/?ns=name`, or `wss`, `http`, `https`. Without a
    /// port it uses TLS on port 443.
    ///
    /// - throws: `invalidURL`, also for an unusable file of authorities; `cache`; `disconnected` if the system cannot
    ///   create a thread.
    public init(url: String, options: DatabaseOptions = DatabaseOptions()) throws(DatabaseError) {
        self.url = url
        do throws(DatabaseURLError) { address = try DatabaseURL(url) } catch { throw .invalidURL(error.reason) }
        var connection = ConnectionOptions()
        connection.openTimeout = options.openTimeout
        connection.keepAlive.idle = options.pingInterval
        connection.keepAlive.answer = options.pingTimeout
        var cache: (any ValueCache)?
        if let file = options.persistenceFile {
            let name = "\(address.authority)/\(address.database)"
            cache = try ValueCaches.open(file, database: name, bytesMax: options.persistedBytesMax)
        }
        do throws(ChosenTransport.Failure) {
            let transport = try ChosenTransport(options.transport, authorityFile: options.certificateAuthorityFile)
            connection.authorities = transport.authorities
            loop = try transport.startLoop(name: "hearth-client")
        } catch {
            switch error {
            case .authorities(let text): throw .invalidURL("the authorities cannot be used: \(text)")
            case .transport(let text): throw .disconnected(text)
            }
        }
        var options = options
        if let auth = options.auth { options.tokenProvider = { try await auth.core.idToken(forcingRefresh: $0) } }
        core = DatabaseCore(url: address, options: options, connection: connection, cache: cache, loop: loop)
        if let auth = options.auth {
            // The loop must not be the last to release the core, which may hold the last reference to it.
            tokenTaker = auth.core.addTokenTaker { [weak core = core, loop] token in
                loop.execute { [weak core] in core?.link.credentialChanged(to: token) }
            }
        } else {
            tokenTaker = nil
        }
        if options.persistenceFile != nil { run { $0.restoreWrites() } }
        if options.startsOnline { goOnline() }
    }

    deinit { end() }

    /// Ends the connection and the thread. Unanswered calls fail, observers are cancelled, and further use fails with
    /// `disconnected`. Writes that were sent may still take effect; call ``waitForPendingWrites(timeout:)`` first to
    /// wait for them.
    ///
    /// Returns when this is done and values and writes are saved in ``DatabaseOptions/persistenceFile``. Another
    /// database may then use the file.
    public func close() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
    }

    /// Begins closing, like the `async` form.
    ///
    /// - parameter completion: called on the database's thread when it is closed.
    public func close(withCompletionBlock completion: (@Sendable () -> Void)? = nil) {
        Self.shared.withLock { databases in databases = databases.filter { $0.value !== self } }
        end(completion)
    }

    private func end(_ completion: (@Sendable () -> Void)? = nil) {
        let (core, loop) = (core, loop)
        if let tokenTaker { core.options.auth?.core.removeTokenTaker(tokenTaker) }
        let isPosted = loop.execute {
            core.close()
            // After the staged bytes are sent.
            loop.shutDown(grace: .milliseconds(200))
            completion?()
        }
        if !isPosted { completion?() }
    }

    /// A new key for a child, as from ``DatabaseReference/childByAutoId()``: greater than all earlier keys of this
    /// client.
    public func makeKey() -> String { makePushID().description }

    // MARK: Connection

    /// Ends the connection until ``goOnline()``. The server performs the on-disconnect writes; local writes wait.
    public func goOffline() {
        run { $0.link.goOffline() }
    }

    /// Connects now if there is no connection, without waiting for the next attempt.
    public func goOnline() {
        run { $0.link.goOnline() }
    }

    /// Discards all writes that the server has not answered, including on-disconnect writes and transactions; their
    /// completions get `writeCancelled`.
    public func purgeOutstandingWrites() {
        run { $0.purgeWrites() }
    }

    /// Asks the token provider again, and signs in with its token, or out. Call this when a user has signed in or out.
    public func credentialChanged() {
        run { $0.link.credentialChanged() }
    }

    // MARK: Inside

    /// Runs work on the database's thread, after earlier work. False if the database is closed.
    @discardableResult
    func run(_ work: @escaping @Sendable (DatabaseCore) -> Void) -> Bool {
        let core = core
        return loop.execute { work(core) }
    }

    /// Waits for a result from the database's thread.
    ///
    /// - parameters:
    ///   - unasked: the error if the task is cancelled already; nothing is done then.
    ///   - hasOwnTimeout: whether the operation limits the time itself.
    func wait<Value: Sendable>(
        unasked: DatabaseError = .cancelled, hasOwnTimeout: Bool = false,
        _ work: @escaping @Sendable (DatabaseCore, Reply<Value, DatabaseError>) -> Void
    ) async throws(DatabaseError) -> Value {
        try await wait(unasked: unasked, hasOwnTimeout: hasOwnTimeout) { (reply: Reply<Value, DatabaseError>) in
            let isPosted = run { core in
                // The loop accepts work for a moment after the end.
                if core.isClosed { reply.settle(.failure(.closed)) } else { work(core, reply) }
            }
            if !isPosted { reply.settle(.failure(.closed)) }
        }
    }

    /// Waits for a result of an operation that posts its own work. Of a server that has refused this client, only what
    /// is known here is a result; writes stay queued.
    func wait<Value: Sendable>(
        unasked: DatabaseError = .cancelled, hasOwnTimeout: Bool = false,
        beginning begin: (Reply<Value, DatabaseError>) -> Void
    ) async throws(DatabaseError) -> Value {
        if Task.isCancelled { throw unasked }
        let reply = Reply<Value, DatabaseError>()
        begin(reply)
        let isPosted = run { core in
            if case .refused(let error) = core.link.status.value { return reply.settle(.failure(error)) }
            core.callers.add(
                isAnswered: { reply.isSettled }, hasOwnTimeout: hasOwnTimeout, fail: { reply.settle(.failure($0)) })
        }
        if !isPosted { reply.settle(.failure(.closed)) }
        return try await reply.value()
    }

    func makeObserverNumber() -> Int { lastObserver.add(1, ordering: .relaxed).newValue }

    func makePushID() -> Key {
        let time = WallClock.milliseconds &+ core.sharedClockOffset.load(ordering: .relaxed)
        return pushIDs.withLock { $0.next(milliseconds: time) }
    }
}
