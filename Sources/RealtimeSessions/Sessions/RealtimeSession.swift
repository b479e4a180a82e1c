import HearthDatabaseHost
import HearthDatabaseScheduler
import HearthDelivery
import HearthEventLoop
import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSystem
package import HearthWebSocketCodec
import HearthWireProtocol
import HearthServerProtocol
import HearthStorageErrors
import HearthAccess

/// A session of the realtime protocol (Protocol.md 2, 4) over any transport: passes requests to the database, and the
/// outputs to the transport. Requests are processed, and answered, in order.
package final class RealtimeSession: TableMember {
    enum Transport {
        case webSocket(any SessionSocket)
        case polling(any SessionPolls)
        /// The session is over.
        case none
    }

    // Safe because: the context and the table live as long as their loop, and a session is not called after `closed`.
    unowned(unsafe) let context: LoopContext
    unowned(unsafe) let sessions: ConnectionTable<RealtimeSession>
    /// Of the WebSocket; nil with long polling. To send to very many sessions takes no more than this and the context.
    private var output: WebSocketOutput?
    /// Nothing goes out after a close frame, nor after the end.
    private(set) var maySend = true
    /// The database has been told of the end.
    private(set) var hasLeft = false
    /// The large read under way, and those that wait for its end.
    var largeReads = LargeReads<SnapshotStream, [[UInt8]]>()
    var heldClaim: OutboundClaim?

    /// Names the session to the client's next connection.
    let token: SessionToken
    /// The groups this session is a member of; almost always few.
    package var groups: Set<UInt64> = []
    let database: DatabaseDirectory.Use
    let origin: SessionOrigin
    /// The client's name for this server.
    private(set) var host: [UInt8] = []
    /// Its subscriptions, as long as it is an administrator's.
    var watched: Set<Watched> = []
    private(set) var transport = Transport.none
    /// A WebSocket that is to take over from long polling.
    private var candidate: (any SessionSocket)?
    private var queryLists = QueryLists()
    /// When more is read.
    var order: SessionOrder
    var smallRequests = SmallRequests()
    var plainReads = PlainReads()
    /// The request whose time is taken.
    var timed: TimedRequest?
    /// Bytes that were sent since the last answer.
    private var sentBytes = 0
    /// In whose name requests are made.
    private(set) var authentication = Authentication.nobody
    /// The account in whose name the last write for the end of the connection was registered.
    private(set) var owingAccount: AccountSession?
    /// For the message that is being parsed on another thread.
    private var parsingClaim: MemoryClaim?
    private var expiry: Timer?
    /// From the first question about the past on.
    var asker: PastAsker?

    package var id: ConnectionID { token.connection }
    /// Nothing more is read for the time being.
    var isPaused: Bool { order.isPaused }

    /// The session counts among those of its client, which `origin` has been admitted to.
    init(
        context: LoopContext, sessions: ConnectionTable<RealtimeSession>, database: DatabaseDirectory.Use,
        origin: SessionOrigin
    ) {
        self.origin = origin
        token = SessionToken(context.makeID(.realtime))
        self.context = context
        self.sessions = sessions
        self.database = database
        let limits = context.services.configuration.connectionLimits
        order = SessionOrder(
            RequestsInFlight(
                countMax: limits.requestsWaitingMax, bytesMax: limits.requestBytesMax,
                anonymousBytesMax: limits.anonymousRequestBytesMax))
        sessions.add(self)
    }

    /// - parameter host: the client's name for this server, to which it is told to come back.
    func begin(on transport: Transport, host: [UInt8]) {
        self.host = host
        carry(by: transport)
        context.metrics.noteOpened(output == nil ? .longPolling : .webSocket)
        var hello: [UInt8] = []
        ServerMessageWriter.appendHello(time: WallClock.milliseconds, host: host, session: token.text, to: &hello)
        send(hello)
    }

    private func carry(by transport: Transport) {
        self.transport = transport
        guard case .webSocket(let socket) = transport else { return }
        output = socket.output
    }

    // MARK: Receiving

    /// Takes a message of the client.
    func handle(_ bytes: UnsafeRawBufferPointer) throws(MessageError) {
        if bytes.count >= LoopContext.besideBytesMin { return parseBesideLoop(Array(bytes)) }
        switch PlainRequest(bytes) {
        case .put(let number, let assignment):
            let operation = Operation.set(assignment.target, IncomingValue(assignment), expecting: nil)
            context.noteWrite(operation, by: authentication, origin.client, in: database.index)
            submit(number, operation, reads: false)
        case .get(let number, let path): read(number, path)
        case nil: handle(try ClientMessage.parse(bytes))
        }
    }

    /// Takes a message of the client that was joined.
    func handle(joined message: [UInt8]) throws(MessageError) {
        if message.count >= LoopContext.besideBytesMin { return parseBesideLoop(message) }
        try message.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in try handle(bytes) }
    }

    private func handle(_ message: ClientMessage) {
        switch message {
        case .request(let number, .authenticate(let token, let acting)):
            authenticate(number, Credential(token: .user(token), acting: acting))
        case .request(let number, .unauthenticate): unauthenticate(number)
        case .administration(let number, let request): administer(number, request)
        case .request(let number, .history(let request)): askHistory(number, request)
        case .request(let number, let request):
            let configuration = context.services.configuration
            let countMax = min(configuration.listenersMax, configuration.connectionLimits.queryListsMax)
            guard let request = queryLists.tagged(request, countMax: countMax) else {
                let text = "a connection has at most \(countMax) listeners with a list of queries"
                return submit(number, .relay(.failed(.refused(status: StaticText("too_big"), text))))
            }
            submit(number, Operation(request))
        case .invalidRequest(let number, let error):
            let refusal = Failure.refused(status: StaticText("invalid_argument"), error.message)
            submit(number, .relay(.failed(refusal)))
        case .ping:
            var pong: [UInt8] = []
            ServerMessageWriter.appendPong(to: &pong)
            send(pong)
        case .endOfTransmission: endPolling()
        case .switchAck, .otherControl: break
        }
    }

    private func parseBesideLoop(_ message: [UInt8]) {
        guard let claim = context.services.requestMemory.claim(message.count, for: origin.client) else {
            return close(.tryAgainLater, reason: "the server has no room for large messages")
        }
        parsingClaim = claim
        stopReading(order.wait(for: .message))
        // The session gets the result even if it has ended meanwhile.
        sessions.keep(self)
        let (loop, sessions, id) = (context.loop, sessions, id.raw)
        context.services.parser.post {
            let result = Result { () throws(MessageError) in
                try message.span.bytes.withUnsafeBytes { (bytes) throws(MessageError) in try ClientMessage.read(bytes) }
            }
            loop.execute { sessions.takeKept(id)?.finishParsing(result) }
        }
    }

    private func finishParsing(_ result: Result<ClientMessage, MessageError>) {
        parsingClaim = nil
        order.finishWaiting()
        if order.hasEnded {
            if hasLeft { return }
            // It came before the end, as small ones do that are processed at once.
            if case .success(.request(let number, let request)) = result {
                let operation = Operation(request)
                if operation.writes { submit(number, operation) }
            }
            return leaveDatabase()
        }
        do throws(MessageError) {
            handle(try result.get())
        } catch {
            return close(.policyViolation, reason: error.reason)
        }
        readOn()
    }

    /// - parameter principal: in whose name; nil for the session's.
    func submit(_ number: Int64, _ operation: consuming Operation, as principal: Principal? = nil) {
        let reads = operation.reads
        if case .onDisconnect = operation { owingAccount = authentication.account }
        context.noteWrite(operation, by: authentication, origin.client, in: database.index)
        submit(number, operation, reads: reads, as: principal)
    }

    /// - parameter reads: the operation reads. Callers say so because asking it costs a copy.
    func submit(
        _ number: Int64, _ operation: consuming Operation, reads: Bool, as principal: Principal? = nil
    ) {
        var request = Request(
            connection: id, number: number, principal: principal ?? authentication.principal, operation: operation,
            client: origin.client.number)
        var counted = 0
        let held = request.heldByteCount
        if held >= RequestMemory.bytesMin {
            counted = held
            let claim = context.services.requestMemory.claim(counted, for: origin.client)
            request = claim.map(request.keeping) ?? request.asking(.relay(.failed(.noRoom)))
        } else if !smallRequests.add(held, context.services.requestMemory, for: origin.client) {
            request = request.asking(.relay(.failed(.noRoom)))
        }
        if timed == nil, let kind = request.kind, !request.operation.mayWait {
            beginTiming(kind, request.operation.place)
        }
        stopReading(order.add(bytes: counted, reads: reads))
        context.submit(request, to: database.index)
    }

    func stopReading(_ isDue: Bool) {
        if isDue { output?.stream.pauseReading() }
    }

    /// A request has come that the database does not answer.
    ///
    /// - parameter bytes: the size of the memory kept for it until then, if that counts.
    /// - parameter reads: the answer may be as large as that to a read.
    func awaitAnswer(bytes: Int = 0, reads: Bool = false) {
        stopReading(order.add(bytes: bytes, reads: reads))
    }

    /// Nothing more is read until the value that a request has to write is known.
    func awaitPast() { stopReading(order.wait(for: .past)) }

    /// It is known. Reading continues with the answer to the request.
    func endAwaitingPast() { order.finishWaiting() }

    /// Answers it.
    func answer(_ message: [UInt8]) {
        send(message)
        answered(1)
    }

    func answered(_ count: Int) {
        output?.stream.release()
        smallRequests.answered(count, of: order.requests.count)
        order.answered(count, bytes: sentBytes)
        if let timed, order.requests.answeredCount > timed.number {
            context.noteAnswer(timed.kind, at: timed.place, since: timed.since, bytes: sentBytes)
            self.timed = nil
        }
        sentBytes = 0
        readOn()
    }

    /// Continues once enough requests are answered and the client has read the answers.
    private func readOn() {
        guard order.goOn(isWritable: isWritable) else { return }
        switch transport {
        case .webSocket(let socket): socket.readOn()
        case .polling(let polls): polls.readOn()
        case .none: break
        }
    }

    // MARK: Who the client is

    func beginAuthentication() { stopReading(order.wait(for: .caller)) }

    func finishAuthentication(_ number: Int64, _ result: Authenticator.Outcome) {
        order.finishWaiting()
        become(number, result)
        readOn()
    }

    /// Requests are made in another name from now on, until the credential ends. `reply` answers the request that asked
    /// for it.
    func become(_ authentication: Authentication, _ number: Int64?, _ reply: Reply = .done) {
        self.authentication = authentication
        order.isAnonymous = authentication.principal == .nobody
        // A newer token of the same user.
        if let account = authentication.account, let owing = owingAccount, owing.isSameUser(as: account) {
            owingAccount = account
        }
        if !authentication.principal.isAdministrator { endWatching() }
        expiry?.cancel()
        expiry = authentication.schedule(on: context.loop) { [unowned self] in
            revokeCredential("expired_token", "Auth token is expired.")
        }
        if let number { return submit(number, .become(reply)) }
        context.submit(
            Request(connection: id, number: 0, principal: authentication.principal, operation: .become(nil)),
            to: database.index)
    }

    // MARK: Sending

    /// Queues messages that many sessions may share. `answers` requests are done with them.
    func send(_ run: FramedRun, answers: Int) {
        if maySend {
            if largeReads.isEmpty {
                transmit(run)
            } else {
                hold(run.messages.map { run.source.list.bytes(of: $0) })
            }
        }
        sentBytes += run.byteCount
        if answers > 0 { answered(answers) }
    }

    /// Pushes may wait a little, and go out with the next answer.
    func holdPushes() { output?.stream.hold() }

    /// Queues a message of the session itself.
    func send(_ message: [UInt8]) {
        sentBytes += message.count
        guard maySend else { return }
        if largeReads.isEmpty { transmit([message]) } else { hold([message]) }
    }

    private func transmit(_ run: FramedRun) {
        guard let output else {
            if case .polling(let polls) = transport { polls.send(run.source.list, run.messages) }
            return
        }
        output.send(run, context.compressor)
    }

    /// Queues messages at once, even during a large answer.
    func transmit(_ messages: [[UInt8]]) {
        guard let output else {
            if case .polling(let polls) = transport { polls.send(messages) }
            return
        }
        output.stream.release()
        output.send(messages, context.compressor)
    }

    /// Queues a part of a large answer.
    func transmit(_ part: SnapshotStream.MessagePart) {
        guard let output else {
            if case .polling(let polls) = transport { polls.send(part) }
            return
        }
        output.stream.release()
        output.send(part, context.compressor)
    }

    /// Bytes that wait for the client.
    var waitingBytes: Int {
        switch transport {
        case .webSocket(let socket): largeReads.heldBytes + socket.output.stream.outboundBytes
        case .polling(let polls): largeReads.heldBytes + polls.waitingBytes
        case .none: 0
        }
    }

    /// Ends the session because too much waits for the client. It is not told why: that would wait as well.
    func shed() {
        switch transport {
        case .webSocket(let socket): socket.output.stream.abort(.slowConsumer)
        case .polling(let polls): polls.giveUp(because: "the client does not take what waits for it")
        case .none: break
        }
    }

    /// The client reads.
    var isWritable: Bool {
        if let output { return output.stream.isWritable }
        if case .polling(let polls) = transport { return polls.isWritable }
        return false
    }

    /// It had not taken everything, and has now.
    func drained() {
        largeReads.grantPieces()
        readOn()
    }

    // MARK: The switch from long polling to a WebSocket

    /// A WebSocket may wait to take over.
    package var mayBeTakenOver: Bool {
        if case .polling(let polls) = transport { candidate == nil && !polls.hasClientEnded } else { false }
    }

    /// Lets a WebSocket wait to take over.
    func admit(_ socket: any SessionSocket) { candidate = socket }

    /// The client sends nothing more by long polling.
    private func endPolling() {
        guard case .polling(let polls) = transport else { return }
        polls.clientEnded()
        switchTransport()
    }

    /// Hands over, once the client has and nothing is half sent.
    func switchTransport() {
        guard case .polling(let polls) = transport, polls.hasClientEnded, largeReads.isEmpty else { return }
        guard let socket = candidate else { return close(reason: "there is nothing to switch to") }
        var end: [UInt8] = []
        ServerMessageWriter.appendEndOfTransmission(to: &end)
        send(end)
        polls.finish()
        candidate = nil
        carry(by: .webSocket(socket))
        socket.takeOver()
    }

    var report: ConnectionReport {
        ConnectionReport(
            id: id, database: database.index, peer: origin.peer, principal: authentication.principal,
            since: origin.since, transport: output == nil ? "long polling" : "websocket",
            waiting: waitingBytes)
    }

    // MARK: Ending

    /// The transport sends nothing more.
    func stopSending() {
        maySend = false
        largeReads.cancel()
        countHeld()
    }

    /// A WebSocket of this session ends. One that only stood by is not missed, unless the client relies on it already.
    func lost(_ socket: any SessionSocket) {
        if candidate === socket {
            candidate = nil
            switchTransport()
        } else if case .webSocket(let current) = transport, current === socket {
            end()
        }
    }

    /// Ends the session and its transport.
    package func close(_ code: CloseCode = .normal, reason: String) {
        let (current, candidate) = (transport, candidate)
        end()
        switch current {
        case .webSocket(let socket): socket.shut(code, reason: reason)
        case .polling(let polls): polls.close()
        case .none: break
        }
        candidate?.shut(code, reason: reason)
    }

    /// A message that has begun cannot be completed.
    func giveUp(because error: StorageError) {
        let code: CloseCode = if case .overloaded = error { .tryAgainLater } else { .internalError }
        // A close frame has room for 123 bytes of reason.
        close(code, reason: String(error.summary.prefix(120).filter(\.isASCII)))
    }

    /// Nothing is done for the client any more. Requests that it makes on a new connection of the same loop come after
    /// this.
    private func end() {
        guard !order.hasEnded else { return }
        let leavesNow = order.end()
        stopSending()
        expiry?.cancel()
        transport = .none
        asker = nil
        output = nil
        candidate = nil
        sessions.remove(self)
        origin.client.sessions.leave()
        endWatching()
        if leavesNow { leaveDatabase() }
    }

    /// The client is back, so the end comes before its next requests. A message that is still being parsed is dropped:
    /// it has no answer yet, so the client sends it again.
    func giveWay() {
        close(reason: "the client is back on another connection")
        if !hasLeft { leaveDatabase() }
    }

    private func leaveDatabase() {
        hasLeft = true
        context.submit(Request(connection: id, number: 0, operation: .disconnect), to: database.index)
        context.release(database)
    }
}
