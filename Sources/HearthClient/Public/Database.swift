import HearthClientTransport
import HearthJSONTree
import Synchronization
import HearthPlatform
import HearthWireProtocol
import HearthClientSession

/// A database on a server, seen by one client: one connection, which comes back by itself, and everything that is
/// observed or written here.
///
///     let database = try Database(url: "wss://db.example.com/?ns=shop")
///     let order = database.reference(withPath: "orders/17")
///     try await order.setValue(["total": 12, "at": ServerValue.timestamp()])
///
/// **Threads.** Any task or thread may use a database and everything that comes from it. What one thread asks for
/// happens in the order in which it asks. A database has one thread of its own, which owns the connection and the
/// cache; blocks and completions are called on it, one at a time and in order, and must not block it.
///
/// **Order.** A write is seen by the observers of this client before its completion. Observers of deeper locations hear
/// of a change before those above them.
///
/// **Life.** The connection ends with ``close()``, or when nothing refers to the database any more. References, queries
/// and snapshots refer to it. So do observers, until they are removed, and writes, until they are answered: a database
/// that is observed stays connected, even if the program keeps nothing else of it.
public final class Database: Sendable {
    /// Where the database is.
    public let url: String
    let core: DatabaseCore
    let address: DatabaseURL
    private let loop: any ClientLoop
    /// The number under which tokens come.
    private let tokenTaker: Int?
    private let lastObserver = Atomic<Int>(0)
    private let pushIDs = Mutex(PushIDGenerator())

    private static let shared = Mutex<[String: Database]>([:])

    /// The database at a URL that the whole program shares, until it is closed. Options count when it is made.
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

    /// A client of its own for the database at a URL: `ws://host:port/?ns=name`, or `wss`, `http`, `https`. Without a
    /// port it is TLS on port 443.
    ///
    /// - throws: `invalidURL`, also for a file of authorities that cannot be used; `cache`; `disconnected` if the
    ///   system gives no thread.
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
            let loop = loop
            let reference = WeakCore(core)
            tokenTaker = auth.core.addTokenTaker { token in
                loop.execute { reference.core?.link.credentialChanged(to: token) }
            }
        } else {
            tokenTaker = nil
        }
        if options.persistenceFile != nil { run { $0.restoreWrites() } }
        if options.startsOnline { goOnline() }
    }

    deinit { end() }

    /// Ends the connection and the thread. What was not answered fails, observers are cancelled, and further use fails
    /// with `disconnected`. Writes that were sent may still take effect; ``waitForPendingWrites(timeout:)`` before this
    /// waits for them.
    ///
    /// Returns when all of that has happened, and values and writes are in ``DatabaseOptions/persistenceFile``, which
    /// another database may use from then on.
    public func close() async {
        await withCheckedContinuation { continuation in close { continuation.resume() } }
    }

    /// Begins to close, as the `async` form does.
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
            // After what is staged to be sent.
            loop.shutDown(grace: .milliseconds(200))
            completion?()
        }
        if !isPosted { completion?() }
    }

    // MARK: References

    /// The location that the URL names; the root if it has no path.
    public func reference() -> DatabaseReference {
        DatabaseReference(database: self, place: .success(DatabasePlace(path: address.path)))
    }

    /// The location at a path such as `rooms/lobby`, or below `.info`. An invalid path is an error of whatever is
    /// done with the reference.
    public func reference(withPath path: String) -> DatabaseReference {
        DatabaseReference(database: self, place: .success(DatabasePlace(path: .root))).child(path)
    }

    /// The location that a URL of this database names, as ``DatabaseReference/url`` writes it. A URL of another server
    /// or database is an error of whatever is done with the reference.
    public func reference(fromURL text: String) -> DatabaseReference {
        do throws(DatabaseURLError) {
            let url = try DatabaseURL(text)
            guard url.isSameServer(as: address), url.database == address.database else {
                return DatabaseReference(
                    database: self, place: .failure(.invalidURL("'\(text)' is not a URL of \(self.url)")))
            }
            return DatabaseReference(database: self, place: .success(DatabasePlace(path: url.path)))
        } catch {
            return DatabaseReference(database: self, place: .failure(.invalidURL(error.reason)))
        }
    }

    /// A new key for a child, as ``DatabaseReference/childByAutoId()`` makes it: greater than those that this client
    /// made before.
    public func makeKey() -> String { makePushID().description }

    // MARK: Connection

    /// Ends the connection until ``goOnline()``. Writes for its end are made by the server; local writes wait.
    public func goOffline() {
        run { $0.link.goOffline() }
    }

    /// Connects at once, if it is not connected: also when the next attempt would be later.
    public func goOnline() {
        run { $0.link.goOnline() }
    }

    /// Throws away all writes that the server has not answered, those for the end of the connection and transactions
    /// included; their completions get `writeCancelled`.
    public func purgeOutstandingWrites() {
        run { $0.purgeWrites() }
    }

    /// Asks the token provider again and signs in with what it gives, or out: to be called when a user has signed in or
    /// out.
    public func credentialChanged() {
        run { $0.link.credentialChanged() }
    }

    // MARK: Inside

    /// Runs work on the database's thread, after what was posted before. False if the database is closed.
    @discardableResult
    func run(_ work: @escaping @Sendable (DatabaseCore) -> Void) -> Bool {
        let core = core
        return loop.execute { work(core) }
    }

    /// Waits for a result that the database's thread provides.
    ///
    /// - parameter unasked: the error when the task is cancelled already, and nothing is done.
    func wait<Value: Sendable>(
        unasked: DatabaseError = .cancelled,
        _ work: @escaping @Sendable (DatabaseCore, Reply<Value, DatabaseError>) -> Void
    ) async throws(DatabaseError) -> Value {
        if Task.isCancelled { throw unasked }
        let reply = Reply<Value, DatabaseError>()
        let isPosted = run { core in
            // The loop takes work for a moment after the end.
            if core.isClosed { return reply.settle(.failure(.closed)) }
            core.callers.add(isAnswered: { reply.isSettled }, fail: { reply.settle(.failure($0)) })
            work(core, reply)
        }
        if !isPosted { reply.settle(.failure(.closed)) }
        return try await reply.value()
    }

    /// Waits for a result that something provides which posts its own work.
    func wait<Value: Sendable>(
        unasked: DatabaseError = .cancelled, beginning begin: (Reply<Value, DatabaseError>) -> Void
    ) async throws(DatabaseError) -> Value {
        if Task.isCancelled { throw unasked }
        let reply = Reply<Value, DatabaseError>()
        let isPosted = run { $0.callers.add(isAnswered: { reply.isSettled }, fail: { reply.settle(.failure($0)) }) }
        if isPosted { begin(reply) } else { reply.settle(.failure(.closed)) }
        return try await reply.value()
    }

    func makeObserverNumber() -> Int { lastObserver.add(1, ordering: .relaxed).newValue }

    func makePushID() -> Key {
        let time = WallClock.milliseconds &+ core.sharedClockOffset.load(ordering: .relaxed)
        return pushIDs.withLock { $0.next(milliseconds: time) }
    }
}

/// A database's core, for objects that must not be the last to release it: it may hold the last reference to them.
private final class WeakCore: Sendable {
    weak let core: DatabaseCore?

    init(_ core: DatabaseCore) { self.core = core }
}
