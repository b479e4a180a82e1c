package import HearthClientTransport
package import HearthJSONTree
import Synchronization
import HearthPlatform
package import HearthWireProtocol
package import HearthClientSession

/// One connection to a database, from the server's hello to its end. It does not reconnect, and caches no data.
///
/// Any task may use it. Requests reach the server in the order in which the calls are made by one task; a write and the
/// changes that it causes in listens of the same connection arrive changes first. The connection ends when neither it
/// nor one of its listens is referenced any more.
package final class Connection: Sendable {
    /// The server's hello: its clock, its name, this connection's.
    package let hello: ServerHello
    private let loop: any ClientLoop
    private let options: ConnectionOptions
    private let core: ConnectionCore
    private let lastListen = Atomic<UInt64>(0)
    /// Counts how often it was said who is there: only the last one's credential is renewed.
    private let lastAuthentication = Atomic<Int>(0)
    private let pushIDs = Mutex(PushIDGenerator())
    /// Milliseconds that the server's clock is ahead.
    private let clockOffset: Int64

    private init(loop: any ClientLoop, options: ConnectionOptions, core: ConnectionCore, hello: ServerHello) {
        self.loop = loop
        self.options = options
        self.core = core
        self.hello = hello
        clockOffset = hello.time &- WallClock.milliseconds
    }

    deinit { close() }

    /// Connects and waits for the server's hello.
    ///
    /// - parameter loop: a running loop, which the connection lives on. It may have others.
    package static func open(
        _ url: DatabaseURL, on loop: any ClientLoop, options: ConnectionOptions = ConnectionOptions()
    ) async throws(ConnectionError) -> Connection {
        if Task.isCancelled { throw .cancelled }
        let reply = Reply<ServerHello, ConnectionError>()
        let core = ConnectionCore(loop: loop, options: options) { reply.settle($0) }
        if !loop.execute({ core.connect(to: url) }) { reply.settle(.failure(.disconnected(.closed))) }
        do throws(ConnectionError) {
            let hello = try await reply.value()
            return Connection(loop: loop, options: options, core: core, hello: hello)
        } catch {
            // If it was cancelled, there may be a socket.
            loop.execute { core.close() }
            throw error
        }
    }

    /// A request without effect that every client may make. Returns with its answer.
    package func ping() async throws(ConnectionError) { _ = try await send(.statistics) }

    /// Ends the connection. Data that was sent before still reaches the server; callers that wait for an answer get
    /// `disconnected(.closed)`.
    package func close() {
        let core = core
        loop.execute { core.close() }
    }

    // MARK: Requests

    /// The value at a path as it is now, or the children that a query selects; null if there is nothing.
    package func get(_ path: Path, query: QueryObject? = nil) async throws(ConnectionError) -> CanonicalJSON {
        if let asked = query?.query.conditions, asked.aggregates == nil, let query {
            return try await find(path, query).node.canonical
        }
        let response = try await send(.get(path, query: query))
        do throws(MessageError) { return try response.value() } catch { throw .protocolError(error.reason) }
    }

    /// The children for which conditions hold, in their order, and a cursor if more follow (Protocol.md 18.3).
    package func find(_ path: Path, _ query: QueryObject) async throws(ConnectionError) -> FoundPage {
        guard let page = FoundPage(parsing: try await send(.get(path, query: query)).data) else {
            throw .protocolError("the answer is not a page")
        }
        return page
    }

    /// The past of a place, as JSON text (additions.md 9).
    package func history(_ request: HistoryRequest) async throws(ConnectionError) -> [UInt8] {
        try await send(.history(request)).data
    }

    /// Replaces a value or a priority; null removes.
    ///
    /// - parameter hash: if there is one, the write happens only if the value that is there has this hash, and is
    /// refused with   `datastale` otherwise (Protocol.md 4.7, 8).
    package func set(
        _ target: WriteTarget, to value: CanonicalJSON, expecting hash: [UInt8]? = nil
    ) async throws(ConnectionError) {
        _ = try await send(.put(WireAssignment(target: target, value: value), hash: hash))
    }

    /// Replaces several values or priorities at or below a path at once: either all or none. No target may lie inside
    /// another.
    package func update(_ base: Path, _ assignments: [WireAssignment]) async throws(ConnectionError) {
        _ = try await send(.merge(base, assignments))
    }

    /// Removes the value at and below a path.
    package func remove(_ path: Path) async throws(ConnectionError) {
        try await set(WriteTarget(path: path), to: .null)
    }

    /// Replaces a value or a priority when this connection ends, however that comes (Protocol.md 17).
    package func onDisconnect(
        set target: WriteTarget, to value: CanonicalJSON
    ) async throws(ConnectionError) {
        _ = try await send(.onDisconnect(WireAssignment(target: target, value: value)))
    }

    /// Nothing at and below a path is to be written any more when this connection ends.
    package func cancelOnDisconnect(_ path: Path) async throws(ConnectionError) {
        _ = try await send(.cancelOnDisconnect(path))
    }

    /// Asks something of a queue as a worker (Protocol.md 18.4). Answers the data of the response.
    package func job(_ queue: Path, _ request: JobRequest) async throws(ConnectionError) -> [UInt8] {
        try await send(.job(queue, request)).data
    }

    /// Adds a child with a new key, which sorts after the older ones (Protocol.md 7.8), and answers the key.
    package func push(_ value: CanonicalJSON, to path: Path) async throws(ConnectionError) -> Key {
        let key = makePushID()
        try await set(WriteTarget(path: path.appending(key)), to: value)
        return key
    }

    /// A new key. Greater than all that this connection made before.
    package func makePushID() -> Key {
        let time = WallClock.milliseconds &+ clockOffset
        return pushIDs.withLock { $0.next(milliseconds: time) }
    }

    func follow(_ profile: AsyncStream<[UInt8]>.Continuation?) {
        let core = core
        if !loop.execute({ core.follow(profile) }) { profile?.finish() }
    }

    func send(_ request: ClientRequest) async throws(ConnectionError) -> ServerResponse {
        if Task.isCancelled { throw .cancelled }
        return try await post(request).response()
    }

    private func post(_ request: ClientRequest) -> PendingRequest {
        let reply = Reply<ServerResponse, ConnectionError>()
        let core = core
        let isPosted = loop.execute {
            core.send(request, isAbandoned: { reply.isSettled }, completion: { reply.settle($0) })
        }
        if !isPosted { reply.settle(.failure(.disconnected(.closed))) }
        return PendingRequest(reply: reply)
    }

    /// Signs in. Later requests run as this user. With a key, the token is renewed before it expires, for as long as
    /// the connection lasts and until another sign-in; failed attempts are repeated after pauses of one second to one
    /// minute.
    package func authenticate(_ credential: Credential) async throws(ConnectionError) {
        try await authenticate(credential, beginAuthentication())
    }

    /// Its number; those before it are not renewed any more.
    func beginAuthentication() -> Int { lastAuthentication.add(1, ordering: .relaxed).newValue }

    private func authenticate(_ credential: Credential, _ number: Int) async throws(ConnectionError) {
        let token = try await credential.token(on: loop, options: options)
        guard number == lastAuthentication.load(ordering: .relaxed) else { return }
        _ = try await send(.authenticate(credential: token.text))
        guard let seconds = token.seconds else { return }
        renew(credential, number, after: .seconds(max(1, seconds - min(300, seconds / 2))), pause: .seconds(1))
    }

    private func renew(_ credential: Credential, _ number: Int, after delay: Duration, pause: Duration) {
        let core = core
        loop.execute {
            core.renewCredential(after: delay) { [weak self] in
                Task {
                    guard let self else { return }
                    do { try await self.authenticate(credential, number) } catch {
                        let longer = min(pause * 2, .seconds(60))
                        self.renew(credential, number, after: pause, pause: longer)
                    }
                }
            }
        }
    }

    // MARK: Many writes at once

    /// Begins ``set(_:to:expecting:)`` without waiting for it, in order with earlier calls.
    package func beginSet(_ assignment: WireAssignment) -> PendingRequest { post(.put(assignment, hash: nil)) }

    /// Begins ``update(_:_:)`` without waiting for it, in order with earlier calls.
    package func beginUpdate(_ base: Path, _ assignments: [WireAssignment]) -> PendingRequest {
        post(.merge(base, assignments))
    }

    // MARK: Listens

    /// Listens to a path: the value as it is, then every change at or below it; or to the children that a query
    /// selects. Those that leave the selection become null, those that enter it come whole.
    ///
    /// - parameter since: the position of the reader of an earlier listen (``Changes/position``), to be told first of
    ///   the changes since, if the server still knows; empty to be told of positions. Listens to queries always start
    ///   over.
    package func listen(
        _ path: Path, query: QueryObject? = nil, since: [UInt8]? = nil
    ) async throws(ConnectionError) -> Changes {
        if Task.isCancelled { throw .cancelled }
        let number = lastListen.add(1, ordering: .relaxed).newValue
        let (core, loop) = (core, loop)
        let buffer = ChangeBuffer(high: options.waitingChangeBytesHigh, max: options.waitingChangeBytesMax) { news in
            loop.execute {
                switch news {
                case .drained: core.drained(number)
                case .abandoned: core.unlisten(number)
                }
            }
        }
        // From here on it is removed when it is no longer referenced, also if the server refuses or the task is
        // cancelled.
        let listen = Listen(buffer) { self.unlisten(number) }
        let reply = Reply<Bool, ConnectionError>()
        let isPosted = loop.execute {
            core.listen(number, to: path, query, since: since, buffer, isAbandoned: { reply.isSettled }) {
                reply.settle($0)
            }
        }
        if !isPosted { reply.settle(.failure(.disconnected(.closed))) }
        let isResumed = try await reply.value()
        return Changes(listen, isResumed: isResumed)
    }

    func unlisten(_ number: UInt64) {
        let core = core
        loop.execute { core.unlisten(number) }
    }
}

/// A request on its way to the server.
package struct PendingRequest: Sendable {
    let reply: Reply<ServerResponse, ConnectionError>

    /// Waits for the server's yes; once.
    package func wait() async throws(ConnectionError) { _ = try await response() }

    func response() async throws(ConnectionError) -> ServerResponse {
        let response = try await reply.value()
        if response.isOK { return response }
        throw response.refusal
    }
}
