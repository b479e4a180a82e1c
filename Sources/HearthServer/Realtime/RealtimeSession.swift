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
    private let database: UInt32
    private var decoder: WebSocketDecoder
    private var joiner: FrameJoiner
    private var goodbye = CloseHandshake(role: .server)
    /// Requests that wait for their answers.
    private var requestsWaiting = 0
    private var isPaused = false
    /// Bytes that waited to be sent when the deadline last came.
    private var lastWaiting = 0
    /// What goes out is compressed.
    private let isCompressed: Bool
    /// The large read under way, and those that wait for its end.
    var largeReads = LargeReads()

    /// `host` is what the client called this server; it is told to come back to the same.
    init(stream: Stream, context: LoopContext, database: UInt32, host: [UInt8], deflate: DeflateParameters? = nil) {
        id = context.makeID(.realtime)
        self.stream = stream
        self.context = context
        self.database = database
        let limits = context.services.configuration.connectionLimits
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
        var input = bytes
        while let event = decoder.next(&input) {
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
        requestsWaiting += 1
        let limit = context.services.configuration.connectionLimits.requestsWaitingMax
        if requestsWaiting >= limit, !isPaused {
            isPaused = true
            stream.pauseReading()
        }
        context.submit(Request(connection: id, number: number, operation: operation), to: database)
    }

    /// The client is told that a listener failed, so the database must not keep it.
    func dropListener(of read: SnapshotRead) {
        context.submit(Request(connection: id, number: read.number, operation: .dropListener(read.path)), to: database)
    }

    // MARK: Sending

    /// Nothing goes out behind a close frame.
    var maySend: Bool { goodbye.maySend }

    /// Queues frames that many sessions may share. `answers` tells that a request is done with them.
    func send(_ bytes: [UInt8], _ range: Range<Int>, answers: Bool) {
        if answers { answered() }
        guard maySend else { return }
        if largeReads.isEmpty {
            transmit(bytes, range)
        } else {
            hold(bytes[range])
        }
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
        requestsWaiting -= 1
        let limit = context.services.configuration.connectionLimits.requestsWaitingMax
        if isPaused, requestsWaiting <= limit / 2 {
            isPaused = false
            stream.resumeReading()
        }
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

    func drained(_ stream: Stream) {
        if maySend { extendTimeout() }
        largeReads.grantPieces()
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
        context.submit(Request(connection: id, number: 0, operation: .disconnect), to: database)
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
