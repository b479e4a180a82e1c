import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthHTTPCodec
import HearthServerCodecs
import HearthJSONTree
import HearthRealtimeDatabase
import HearthServerLog
import HearthStorageErrors
import HearthSystem
import HearthAccess
import HearthAdministration
import HearthHTTPResponses
import HearthREST
import HearthRealtimeSessions

/// One HTTP/1.1 connection: takes requests apart one after the other, answers them in order, and turns into a
/// ``RealtimeSession`` when a client asks for the realtime endpoint. While a request is worked on, nothing more is
/// read.
final class HTTPConnection: StreamHandler, TableMember {
    let id: ConnectionID
    /// Those of its event stream, of which it has one at most.
    var groups: Set<UInt64> = []

    unowned let context: HTTPContext
    unowned let connections: ConnectionTable<HTTPConnection>
    unowned let stream: Stream
    /// Of the listener that it came in at.
    let role: ListenerRole
    private var decoder: RequestDecoder
    /// The request that is being received.
    private var head: RequestHead?
    var body = IncomingBody()
    /// How long the peer may take to send the rest of it.
    private var pace: Pace
    /// The client of the last request, which is not the peer where a trusted proxy passes it on.
    private(set) var client: Client
    /// The bytes read after the present request, from `unreadStart` on.
    private(set) var unread: [UInt8] = []
    private var unreadStart = 0
    private var unreadClaim: MemoryClaim?

    /// The state of the request that was received last.
    var work = Work.none
    /// The number of bytes that the peer had read when it last failed to read more.
    private var lastProgress: Progress?
    var drains = 0
    /// What the peer of an event stream had taken at its last sign of life.
    var lastTaken: UInt64 = 0
    /// The database of its event stream, from the request on.
    private(set) var listening: DatabaseDirectory.Use?
    /// The database in which its worker may wait for a job, from the request to the answer.
    private(set) var claiming: DatabaseDirectory.Use?
    /// As long as it waits for an answer about the past.
    var asker: PastAsker?
    /// Until the follower's credential ends.
    var expiry: Timer?
    /// The user of its event stream, or of its worker that may wait.
    var follower: Authentication?
    var followsSince: Int64 = 0
    /// The answer under way is the last one.
    var isEnding = false
    /// When the database was last asked something.
    private var askedAt = MonotonicTime(nanoseconds: 0)
    /// The number of the database that was asked last.
    private var asked: UInt32?
    /// When the last answer was complete.
    private var answeredAt: MonotonicTime?
    /// Of the answer to the request that was received last.
    var readers = PermittedReaders.all

    enum Work {
        /// No request is processed, or the rest of its answer waits in the stream.
        case none
        /// Its large body or answer is processed on another thread.
        case beside
        case waiting(RESTExchange, ResponseWriter)
        case sending(LargeBody)
        case streaming(StreamedAnswer)
        /// It is a poll, which is answered when there is something to say.
        case polling(LongPollTransport, ResponseWriter)
        /// It is an event stream.
        case following
    }

    /// The number of bytes that a peer has read so far, for comparisons.
    private struct Progress: Equatable {
        var drains: Int
        var waiting: Int
    }

    var limits: ConnectionLimits { context.services.configuration.connectionLimits }

    init(stream: Stream, context: HTTPContext, connections: ConnectionTable<HTTPConnection>, role: ListenerRole) {
        id = context.shared.makeID(.http)
        self.role = role
        self.stream = stream
        self.context = context
        self.connections = connections
        client = context.services.clients.client(at: stream.peer)
        pace = Pace(context.services.configuration.connectionLimits, now: context.loop.now)
        decoder = RequestDecoder(
            limits: HTTPLimits(bodyBytesMax: context.services.configuration.connectionLimits.bodyBytesMax))
        connections.add(self)
    }

    func opened(_ stream: Stream) {
        context.shared.metrics.noteOpened(.http)
        stream.setTimeout(after: limits.headTimeout)
    }

    // MARK: Receiving

    private var isIdle: Bool { if case .none = work { true } else { false } }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        if case .following = work { return }
        let used = isIdle ? read(UnsafeRawBufferPointer(bytes)) : 0
        guard !isIdle else { return }
        unread.append(contentsOf: bytes[used...])
        accountForUnread()
        pauseReading()
    }

    /// Unread bytes count as incoming ones.
    private func accountForUnread() {
        let count = unread.count - unreadStart
        if count < RequestMemory.partBytesMin {
            unreadClaim = nil
        } else if let unreadClaim {
            if !unreadClaim.resize(to: count) { stream.abort() }
        } else {
            unreadClaim = context.services.requestMemory.claim(count, for: client)
            if unreadClaim == nil { stream.abort() }
        }
    }

    /// A poll, a worker or a reader of the past may wait for long: that its connection ends is noticed only by reading,
    /// which can go on as long as nothing comes.
    private func pauseReading() {
        if unread.isEmpty, claiming != nil || asker != nil { return }
        if case .polling = work, unread.isEmpty { return }
        stream.pauseReading()
    }

    /// Takes requests apart until one needs time. Answers how many bytes it used.
    private func read(_ bytes: UnsafeRawBufferPointer) -> Int {
        var wasIdle = decoder.isIdle
        var input = bytes
        while isIdle, stream.isOpen, let event = decoder.next(&input) {
            switch event {
            case .head(let head):
                self.head = head
                findClient(of: head)
                if head.hasBody {
                    restartPace()
                    beginBody(of: head)
                }
            case .body(let bytes): append(bytes)
            case .end:
                guard let head else { break }
                // A later head begins in these bytes.
                wasIdle = true
                let (body, claim) = (body.bytes, body.claim)
                self.head = nil
                self.body = IncomingBody()
                if let token = head.sessionToken, move(toLoopOf: token, head, rest: input) { return bytes.count }
                if take(head, body, claim, rest: input) { return bytes.count }
            case .failure(let failure):
                context.services.log.debug("http.bad-request", [("reason", "\(failure.reason)")])
                let text = failure == .bodyTooLarge ? "Payload is too large" : "\(failure.reason)"
                respond(HTTPResponse(failure.status, error: text), with: ResponseWriter())
            }
        }
        setTimeout(wasIdle: wasIdle)
        return bytes.count - input.count
    }

    /// The client that a trusted proxy has named.
    private func findClient(of head: RequestHead) {
        guard context.services.clients.knowsProxies else { return }
        client = context.services.clients.client(stream.peer, forwardedFor: head.headers.combined("x-forwarded-for"))
    }

    /// Keeps a part of the body.
    private func append(_ bytes: UnsafeRawBufferPointer) {
        pace.received(bytes.count, now: context.loop.now)
        switch body.append(bytes, context.services.requestMemory, for: client) {
        case .taken: break
        case .tooLarge: refuseBody(RESTError.payloadTooLarge.response)
        case .noRoom: refuseBody(RESTError.noRoom.response)
        }
    }

    /// The peer could not send anything of the body up to now.
    func restartPace() { pace = Pace(limits, now: context.loop.now) }

    /// Continues with the bytes read meanwhile, once an answer is complete.
    func readOn() {
        guard isIdle, stream.isOpen else { return }
        let bytes = unread
        let start = unreadStart
        unread = []
        unreadStart = 0
        let used = bytes.withUnsafeBytes { read(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        // What has become a WebSocket decides for itself when it reads.
        guard stream.handler === self else { return accountForUnread() }
        if isIdle {
            stream.resumeReading()
        } else {
            unread = bytes
            unreadStart = start + used
        }
        accountForUnread()
    }

    func dropUnread() {
        (unread, unreadStart) = ([], 0)
        unreadClaim = nil
    }

    /// A head must come within one deadline, however slowly its bytes drip in; a body has to come at a least pace; an
    /// answer only has to be taken.
    func setTimeout(wasIdle: Bool) {
        guard stream.isOpen, stream.handler === self else { return }
        switch work {
        case .beside, .polling: stream.clearTimeout()
        case .waiting(let exchange, _):
            if let timeout = exchange.timeout {
                stream.setTimeout(after: timeout)
            } else {
                stream.clearTimeout()
            }
        case .sending, .streaming: awaitProgress()
        case .following: break
        case .none:
            if decoder.isIdle {
                stream.setTimeout(after: limits.keepAliveTimeout)
            } else if head != nil {
                stream.setTimeout(after: pace.deadline - context.loop.now)
            } else if wasIdle {
                stream.setTimeout(after: limits.headTimeout)
            }
        }
    }

    // MARK: Requests

    /// Works on a request. True when the connection is no longer this one's: it has become a WebSocket, to which `rest`
    /// belongs.
    private func take(
        _ head: RequestHead, _ body: BodyBytes = BodyBytes(), _ claim: MemoryClaim? = nil, rest: UnsafeRawBufferPointer
    ) -> Bool {
        guard admits(head, ResponseWriter(answering: head)) else { return false }
        if role != .metrics, head.isWebSocketUpgrade, upgrade(head, rest: rest) { return true }
        handle(head, ResponseWriter(answering: head), body, claim)
        return false
    }

    /// Continues with a request that a connection of another loop has read, which has moved here, and the bytes read
    /// after it.
    func takeOver(_ head: RequestHead, rest: [UInt8]) {
        findClient(of: head)
        if rest.withUnsafeBytes({ take(head, rest: $0) }) { return }
        unread = rest
        if isIdle { return readOn() }
        accountForUnread()
        pauseReading()
        setTimeout(wasIdle: true)
    }

    func handle(
        _ head: RequestHead, _ writer: ResponseWriter, _ body: BodyBytes = BodyBytes(), _ claim: MemoryClaim? = nil
    ) {
        let route = Route(head, servesAccounts: context.endpoints.identity != nil, role: role)
        if let response = guide(head, route) { return respond(response, with: writer) }
        if route.isReadOnly, head.method != .get, head.method != .head {
            return respond(RESTError.methodNotAllowed("GET, HEAD, OPTIONS").response, with: writer)
        }
        switch route {
        case .health: respond(HTTPResponse(text: "ok\n"), with: writer)
        case .readiness:
            respond(
                HTTPResponse.readiness(context.endpoints.readiness, isDetailed: role != .clients), with: writer)
        case .data:
            // Made here, because ids of one loop grow.
            let pushID = head.method == .post ? context.makePushID() : Key(0)
            perform(bytes: body.count) { () -> Result<RESTExchange, RESTError> in
                Result { () throws(RESTError) in
                    try RESTExchange.translating(head, body: body.take(), pushID: pushID)
                }
            } then: { connection, exchange in
                // After parsing: a credential that ends before the request is asked does not end the request.
                connection.identify(head, writer) { connection, authentication in
                    if case .success(let exchange) = exchange, let history = exchange.history {
                        return connection.askHistory(history, exchange, head, authentication, writer)
                    }
                    connection.ask(exchange, authentication, claim, writer)
                }
            }
        case .metrics: answerMetrics(head, writer)
        case .databases:
            admit(head, writer) { connection, _ in
                connection.respond(.databases(connection.context.endpoints.server.databaseNames), with: writer)
            }
        case .settings: answerSettings(head, body.take(), writer)
        case .console(let name): answerConsole(name, head, writer)
        case .preflight: answerPreflight(head, writer)
        case .longPoll: poll(head, writer)
        case .identity(let route): askIdentity(route, head, body.take(), claim, writer)
        case .notWebSocket:
            respond(HTTPResponse(HTTPStatus(426), error: "this is a WebSocket endpoint"), with: writer)
        case .unknown: respond(RESTError.notFound(at: head.path).response, with: writer)
        }
    }

    /// Does work that takes time in proportion to `bytes`: here, or, if that is much, on another thread.
    private func perform<Outcome: Sendable>(
        bytes: Int, _ work: @escaping @Sendable () -> Outcome,
        then body: @escaping @Sendable (HTTPConnection, Outcome) -> Void
    ) {
        if bytes < LoopContext.besideBytesMin { return body(self, work()) }
        self.work = .beside
        besideLoop(work) { connection, outcome in
            connection.work = .none
            body(connection, outcome)
            connection.readOn()
        }
    }

    func ask(
        _ exchange: Result<RESTExchange, RESTError>, _ authentication: Authentication, _ claim: MemoryClaim?,
        _ writer: ResponseWriter
    ) {
        do {
            let exchange = try exchange.get()
            if context.isStopping { return respond(RESTError(StorageError.stopping).response, with: writer) }
            let principal = try exchange.principal(for: authentication.principal)
            let database = try context.services.directory.use(
                exchange.databaseName, by: client, mayCreate: authentication.principal.isAdministrator)
            if exchange.listens, !enterSession() {
                context.release(database)
                return respond(RESTError.crowded.response, with: writer)
            }
            work = .waiting(exchange, writer)
            asked = database.index
            askedAt = context.loop.now
            context.shared.noteWrite(exchange.operation, by: authentication, client, in: database.index)
            context.submit(
                Request(
                    connection: id, number: 0, principal: principal, operation: exchange.operation,
                    client: client.number, claim: claim),
                to: database.index)
            if exchange.operation.mayWait {
                claiming = database
                follow(as: authentication)
                // It was paused while the credential was verified.
                if unread.isEmpty { stream.resumeReading() }
                return
            }
            guard exchange.listens else { return context.release(database) }
            listening = database
            context.shared.metrics.noteOpened(.eventStream)
            context.shared.metrics.eventStreams += 1
            follow(as: authentication)
        } catch let error as RESTError {
            respond(error.response, with: writer)
        } catch {
            respond(RESTError(error as? DatabaseDirectory.LookUpError ?? .invalidName).response, with: writer)
        }
    }

    /// The database has answered.
    func answer(_ reply: Reply) {
        guard case .waiting(let exchange, let writer) = work else { return }
        if let kind = exchange.operation.kind {
            context.shared.noteAnswer(kind, at: exchange.operation.place, since: askedAt, bytes: reply.byteCount)
        }
        work = .none
        // A worker need not wait any longer, or an event stream was not begun.
        endUse()
        perform(bytes: reply.byteCount) {
            exchange.response(to: reply)
        } then: { connection, response in
            connection.respond(response, with: writer)
        }
        readOn()
    }

    /// Whether it waits for an answer of a database, or hears of its changes.
    func uses(_ database: UInt32) -> Bool {
        switch work {
        case .waiting: asked == database
        case .following, .streaming: listening?.index == database
        default: false
        }
    }

    // MARK: Ending

    /// An answer is out; closes after the last one. If much waits for the peer, so does its next request.
    func finishedAnswer(keepAlive: Bool) {
        if keepAlive, !isLastAnswer, stream.isOpen, !stream.isWritable {
            work = .sending(LargeBody(SharedBytes([], in: nil), keepAlive: true))
            return awaitProgress()
        }
        work = .none
        answeredAt = context.loop.now
        if !keepAlive || isLastAnswer { stream.close() }
    }

    /// The server takes no more requests. A peer that has just asked something may be sending its next request, which
    /// it should see refused rather than lost.
    func serverStops() {
        guard isIdle, decoder.isIdle, stream.isOpen else { return }
        if let answeredAt, context.loop.now - answeredAt < Self.busyWithin {
            stream.setTimeout(after: Self.lastRequestWithin)
        } else {
            stream.close(.shutdown)
        }
    }

    /// A peer that was answered this recently is busy.
    private static let busyWithin = Duration.seconds(1)
    private static let lastRequestWithin = Duration.milliseconds(250)

    /// The next bytes of the answer must be taken in time.
    func awaitProgress() {
        noteProgress()
        stream.setTimeout(after: limits.sendTimeout)
    }

    private var progress: Progress { Progress(drains: drains, waiting: stream.outboundBytes) }

    func noteProgress() { lastProgress = progress }

    /// Whether the peer has taken something since `noteProgress`, or there is more for it.
    var hasProgressed: Bool { progress != lastProgress }

    func endUse() {
        if let claiming { context.release(claiming) }
        claiming = nil
        if let database = listening {
            context.shared.metrics.eventStreams -= 1
            context.release(database)
            client.sessions.leave()
        }
        listening = nil
        expiry?.cancel()
        expiry = nil
        follower = nil
    }

    func timedOut(_ stream: Stream) {
        if case .following = work { return keepAlive() }
        if endLateRead() { return }
        let progress = progress
        // A peer that takes something is only slow, and that nothing waits for it is not its fault.
        if progress.waiting > 0 ? progress != lastProgress : !isIdle { return awaitProgress() }
        if progress.waiting > 0 { return stream.abort(.timedOut) }
        if !decoder.isIdle {
            respond(HTTPResponse(.requestTimeout, error: "the request took too long"), with: ResponseWriter())
        }
        stream.close(.timedOut)
    }

    func shutdownRequested(_ stream: Stream) {
        isEnding = true
        switch work {
        case .polling(let polls, _): polls.serverStops()
        case .following: stream.close(.shutdown)
        // All databases have answered, or will not.
        case .waiting: answer(.failed(.unavailable(.stopping)))
        // Those that are waited for end by themselves (`serverStops`).
        case .none: if answeredAt == nil || !decoder.isIdle { stream.close(.shutdown) }
        case .beside, .sending, .streaming: break
        }
    }

    func closed(_ stream: Stream, reason: CloseReason) {
        context.shared.metrics.noteClosed(reason)
        switch work {
        case .streaming(let answer): answer.snapshot.cancel()
        case .polling(let polls, _): polls.lost(self)
        case .none, .beside, .waiting, .sending, .following: break
        }
        work = .none
        asker = nil
        connections.remove(self)
        if let database = listening ?? claiming {
            context.submit(Request(connection: id, number: 0, operation: .disconnect), to: database.index)
            endUse()
        }
    }
}
