import EventLoop
import JSONTree
import RealtimeDatabase
import WebSocketCodec
import WireProtocol

/// One connection of the realtime protocol (wire-protocol 1 and 2): reads messages, hands their requests to the database, and sends
/// what comes back. Its requests are worked off, and answered, in order.
final class RealtimeSession: StreamHandler {
    let id: ConnectionID
    /// The groups this session is a member of; almost always few.
    var groups: Set<UInt64> = []

    // Safe because: the stream keeps its handler and tells it when it ends, and the context lives as long as its loop. After `closed`
    // nobody calls a session any more.
    unowned(unsafe) let context: LoopContext
    unowned(unsafe) let stream: Stream
    private let database: DatabaseDirectory.Use
    private var decoder: WebSocketDecoder
    private var joiner: FrameJoiner
    private var goodbye = CloseHandshake(role: .server)
    private var requests: RequestsInFlight
    /// Nothing more is read until some of the requests are answered.
    private var isPaused = false
    /// What was read before that and is not decoded yet: the bytes from `unreadStart` on.
    private var unread: [UInt8] = []
    private var unreadStart = 0
    /// For a large message of which a part has come.
    private var partClaim: MemoryClaim?
    /// Bytes that waited to be sent when the deadline last came.
    private var lastWaiting = 0
    /// What goes out is compressed.
    private let isCompressed: Bool
    /// The large read under way, and those that wait for its end.
    var largeReads = LargeReads()

    /// `host` is what the client called this server; it is told to come back to the same.
    init(
        stream: Stream, context: LoopContext, database: DatabaseDirectory.Use, host: [UInt8],
        deflate: DeflateParameters? = nil
    ) {
        id = context.makeID(.realtime)
        self.stream = stream
        self.context = context
        self.database = database
        let limits = context.services.configuration.connectionLimits
        requests = RequestsInFlight(countMax: limits.requestsWaitingMax, bytesMax: limits.requestBytesMax)
        decoder = WebSocketDecoder(
            role: .server, limits: .init(frameSizeMax: limits.messageBytesMax, messageSizeMax: limits.messageBytesMax),
            deflate: deflate, validatesUTF8: false)
        isCompressed = deflate.map { context.compressor.serves($0) } ?? false
        joiner = FrameJoiner(bytesMax: limits.messageBytesMax)
        context.add(self)
        stream.handler = self
        var hello: [UInt8] = []
        ServerMessageWriter.appendHello(
            time: WallClock.milliseconds, host: host, session: SessionToken.random(), to: &hello)
        send(hello)
        extendTimeout()
    }

    // MARK: Receiving

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        if maySend { extendTimeout() }
        let used = unread.isEmpty ? read(bytes) : 0
        unread.append(contentsOf: bytes[used...])
        accountForPart()
    }

    /// Decodes until there are as many requests as may be. Answers how many bytes it used.
    private func read(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        var input = bytes
        // What follows a close frame is only looked through for the answer to it.
        while !isPaused || !maySend, let event = decoder.next(&input) {
            switch event {
            case .message(_, let payload): receive(payload)
            case .ping(let payload):
                if maySend { sendFrame(.pong, payload) }
            case .pong: break
            case .close(let code, _): follow(goodbye.received(code))
            case .failure(let violation):
                context.services.log.info("connection.protocol-error", [("reason", "\(violation.reason)")])
                follow(goodbye.failed(violation))
            }
        }
        return bytes.count - input.count
    }

    /// Goes on once enough is answered and the answers are taken.
    private func readOn() {
        guard isPaused, requests.hasRoom, stream.isWritable else { return }
        isPaused = false
        if !unread.isEmpty {
            var bytes = unread
            let start = unreadStart
            unread = []
            unreadStart = 0
            let used = bytes.withUnsafeMutableBytes { read(UnsafeMutableRawBufferPointer(rebasing: $0[start...])) }
            if start + used < bytes.count {
                unread = bytes
                unreadStart = start + used
            }
            accountForPart()
        }
        if !isPaused { stream.resumeReading() }
    }

    /// Large messages count while they come in, too.
    private func accountForPart() {
        let bytes = decoder.heapBytes + joiner.byteCount
        guard bytes >= RequestMemory.partBytesMin else {
            partClaim = nil
            return
        }
        let isGranted: Bool
        if let partClaim {
            isGranted = partClaim.resize(to: bytes)
        } else {
            partClaim = context.services.requestMemory.claim(bytes)
            isGranted = partClaim != nil
        }
        if !isGranted, maySend {
            follow(goodbye.close(.tryAgainLater, reason: "the server has no room for large messages"))
        }
    }

    private func receive(_ frame: UnsafeRawBufferPointer) {
        guard maySend else { return }
        switch joiner.add(frame) {
        case .message: handle(frame)
        case .joined:
            let message = joiner.takeMessage()
            message.withUnsafeBytes { handle($0) }
        case .more: break
        case .tooLarge: follow(goodbye.close(.messageTooBig, reason: "the message is too large"))
        }
    }

    private func handle(_ bytes: UnsafeRawBufferPointer) {
        do throws(MessageError) {
            switch try ClientMessage.parse(bytes) {
            case .request(let number, let request): submit(number, Operation(request))
            case .invalidRequest(let number, let error):
                let refusal = Failure.refused(status: StaticText("invalid_argument"), error.message)
                submit(number, .relay(.failed(refusal)))
            case .ping:
                var pong: [UInt8] = []
                ServerMessageWriter.appendPong(to: &pong)
                send(pong)
            case .otherControl: break
            }
        } catch {
            follow(goodbye.close(.policyViolation, reason: error.reason))
        }
    }

    private func submit(_ number: Int64, _ operation: Operation) {
        let bytes = operation.byteCount
        var request = Request(connection: id, number: number, operation: operation)
        if bytes >= RequestMemory.bytesMin {
            request.claim = context.services.requestMemory.claim(bytes)
            if request.claim == nil { request.operation = .relay(.failed(.noRoom)) }
        }
        let counted = bytes < RequestMemory.bytesMin ? 0 : bytes
        requests.add(bytes: operation.reads ? counted + Database.assembledBytesMax : counted)
        if requests.isFull, !isPaused {
            isPaused = true
            stream.pauseReading()
        }
        context.submit(request, to: database.index)
    }

    /// The client is told that a listener failed, so the database must not keep it.
    func dropListener(of read: SnapshotRead) {
        context.submit(
            Request(connection: id, number: read.number, operation: .dropListener(read.path)), to: database.index)
    }

    // MARK: Sending

    /// Nothing goes out behind a close frame.
    var maySend: Bool { goodbye.maySend }

    /// Queues frames that many sessions may share. `answers` tells that a request is done with them.
    func send(_ bytes: [UInt8], _ range: Range<Int>, answers: Bool) {
        if maySend {
            if largeReads.isEmpty {
                transmit(bytes, range)
            } else {
                hold(bytes[range])
            }
        }
        if answers { answered() }
    }

    func send(_ message: [UInt8]) {
        var frames: [UInt8] = []
        RealtimeFrames.append(message.span, to: &frames)
        send(frames, 0..<frames.count, answers: false)
    }

    /// Queues frames at once, whatever is under way.
    func transmit(_ bytes: [UInt8], _ range: Range<Int>) {
        // A client that receives need not say anything (wire-protocol 1.5). One that is gone takes nothing.
        if stream.outboundBytes == 0 { extendTimeout() }
        if isCompressed {
            stream.send(shared: context.compressor.frames(bytes, range))
        } else {
            stream.send(shared: bytes, range)
        }
    }

    private func hold(_ frames: ArraySlice<UInt8>) {
        largeReads.hold(frames)
        let limit = context.services.configuration.connectionLimits.outboundBytesMax
        if largeReads.heldBytes > limit { stream.abort(.slowConsumer) }
    }

    private func extendTimeout() {
        stream.setTimeout(after: context.services.configuration.connectionLimits.realtimeTimeout)
    }

    func answered() {
        requests.answered()
        readOn()
    }

    private func sendFrame(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) {
        var frame: [UInt8] = []
        FrameEncoder.append(opcode, payload.bytes, to: &frame)
        stream.send(shared: frame)
    }

    // MARK: Ending

    private func follow(_ step: CloseHandshake.Step) {
        if let frame = step.send {
            largeReads.cancel()
            var bytes: [UInt8] = []
            FrameEncoder.appendClose(frame.code, reason: frame.reason, to: &bytes)
            stream.send(shared: bytes)
        }
        switch step.transport {
        case .keep: break
        case .awaitPeer: stream.setTimeout(after: .seconds(5))
        case .shut: stream.close()
        }
    }

    /// A message that has begun cannot be completed.
    func giveUp(because error: StorageError) {
        let code: CloseCode = if case .overloaded = error { .tryAgainLater } else { .internalError }
        // A close frame has room for 123 bytes of reason.
        follow(goodbye.close(code, reason: String(error.message.prefix(120).filter(\.isASCII))))
        stream.close()
    }

    func drained(_ stream: Stream) {
        if maySend { extendTimeout() }
        largeReads.grantPieces()
        readOn()
    }

    func timedOut(_ stream: Stream) {
        // A peer that takes something, however slowly, is alive: while much waits for it, nothing it says is read.
        let waiting = stream.outboundBytes
        defer { lastWaiting = waiting }
        if maySend, waiting > 0 ? waiting != lastWaiting : isPaused { return extendTimeout() }
        stream.close(.timedOut)
    }

    func shutdownRequested(_ stream: Stream) {
        follow(goodbye.close(.goingAway, reason: "the server is shutting down"))
        stream.close(.shutdown)
    }

    func closed(_ stream: Stream, reason: CloseReason) {
        largeReads.cancel()
        context.remove(self)
        context.submit(Request(connection: id, number: 0, operation: .disconnect), to: database.index)
        context.release(database)
        context.services.log.debug("connection.closed", [("connection", "\(id.raw)"), ("reason", "\(reason)")])
    }
}

extension Operation {
    /// What a request of the realtime protocol asks of the database.
    init(_ request: ClientRequest) {
        switch request {
        case .put(let entry, let hash): self = .set(entry.target, IncomingValue(entry), expecting: hash)
        case .merge(let base, let entries): self = .update(base: base, entries.map { ($0.target, IncomingValue($0)) })
        case .get(let path, let query):
            self = query.selectsEverything ? .get(path) : .get(path, query: query?.query)
        case .listen(let path, let query, let tag?, let hash):
            self = .listenQuery(path, query?.query ?? .everything, .tagged(tag), hash: hash)
        case .listen(let path, let query, nil, let hash):
            self = query.selectsEverything ? .listen(path, hash: hash) : .relay(.failed(.untaggedQuery))
        case .unlisten(_, _, let tag?): self = .unlistenQuery(.tagged(tag))
        case .unlisten(let path, _, nil): self = .unlisten(path)
        case .onDisconnect(let entry): self = .onDisconnect([(entry.target, IncomingValue(entry))])
        case .onDisconnectMerge(_, let entries): self = .onDisconnect(entries.map { ($0.target, IncomingValue($0)) })
        case .cancelOnDisconnect(let path): self = .cancelOnDisconnect(path)
        case .events(let path, let query, let tag, let kinds):
            self = .listenQuery(path, query?.query ?? .everything, .events(tag: tag, kinds))
        case .noEvents(let tag): self = .unlistenQuery(.events(tag: tag))
        case .statistics, .appCheck: self = .relay(.done)
        case .authenticate:
            // Without accounts there is nobody to be: every credential is taken, and rules do not ask.
            self = .relay(.value(CanonicalJSON(trusted: Array(#"{"auth":null,"expires":null}"#.utf8))))
        case .unauthenticate: self = .relay(.value(CanonicalJSON(string: Array("unauthenticated".utf8))))
        case .unknown(let action):
            // No more of it than helps to find the mistake.
            let text = "unknown action \"\(String(decoding: action.prefix(64), as: UTF8.self))\""
            self = .relay(.failed(.refused(status: StaticText("error"), text)))
        }
    }
}

extension IncomingValue {
    init(_ entry: WireAssignment) { self.init(json: entry.value, hasServerValues: entry.hasServerValues) }
}

extension Failure {
    /// There is as much of unanswered requests as ``RequestMemory`` may hold.
    static let noRoom = Failure.refused(
        status: StaticText("unavailable"), "the server has as much to write as it can hold: try again later")

    fileprivate static let untaggedQuery = Failure.refused(
        status: StaticText("invalid_argument"), "a listener of a query needs a tag \"t\"")
}

extension QueryObject? {
    /// Whether a request asks for the whole place; without a query object it does.
    fileprivate var selectsEverything: Bool { self?.query.selectsEverything ?? true }
}

/// An identifier that cannot be guessed.
enum SessionToken {
    private static let alphabet = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_".utf8)

    /// 24 characters of 6 random bits each.
    static func random() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<24).map { _ in alphabet[Int(random.next() & 63)] }
    }
}
