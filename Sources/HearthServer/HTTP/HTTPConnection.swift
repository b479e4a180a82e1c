import EventLoop
import HTTPCodec
import RealtimeDatabase
import WebSocketCodec

/// One HTTP/1.1 connection: takes requests apart one after the other, answers them in order, and turns into a ``RealtimeSession`` when
/// a client asks for the realtime endpoint. While a request waits for the database, nothing more is read.
final class HTTPConnection: StreamHandler {
    let id: ConnectionID

    private unowned let context: LoopContext
    private unowned let stream: Stream
    private var decoder: RequestDecoder
    private var head: RequestHead?
    private var body: [UInt8] = []
    /// The request that the database is working on.
    private var exchange: RESTExchange?
    /// What was read behind it.
    private var unread: [UInt8] = []

    private var limits: ConnectionLimits { context.services.configuration.connectionLimits }

    init(stream: Stream, context: LoopContext) {
        id = context.makeID(.http)
        self.stream = stream
        self.context = context
        decoder = RequestDecoder(
            limits: HTTPLimits(bodyBytesMax: context.services.configuration.connectionLimits.bodyBytesMax))
        context.add(self)
    }

    func opened(_ stream: Stream) {
        stream.setTimeout(after: limits.headTimeout)
    }

    // MARK: Receiving

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        guard exchange == nil else {
            unread.append(contentsOf: bytes)
            return
        }
        read(UnsafeRawBufferPointer(bytes))
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let wasIdle = decoder.isIdle
        var input = bytes
        while exchange == nil, stream.isOpen, let event = decoder.next(&input) {
            switch event {
            case .head(let head):
                self.head = head
                if head.expectsContinue {
                    var interim: [UInt8] = []
                    ResponseWriter.appendContinue(to: &interim)
                    stream.send(shared: interim)
                }
            case .body(let bytes): body.append(contentsOf: bytes)
            case .end:
                guard let head else { return }
                self.head = nil
                if head.isWebSocketUpgrade, upgrade(head, rest: input) { return }
                handle(head)
            case .failure(let failure):
                context.services.log.debug("http.bad-request", [("reason", "\(failure.reason)")])
                respond(HTTPResponse(failure.status, error: "\(failure.reason)"), to: nil)
            }
        }
        if exchange != nil { unread.append(contentsOf: input) }
        setTimeout(wasIdle: wasIdle)
    }

    /// A head must come within one deadline, however slowly its bytes drip in; a body only has to keep coming.
    private func setTimeout(wasIdle: Bool) {
        guard stream.isOpen, stream.handler === self else { return }
        if exchange != nil {
            stream.clearTimeout()
        } else if decoder.isIdle {
            stream.setTimeout(after: limits.keepAliveTimeout)
        } else if head != nil {
            stream.setTimeout(after: limits.bodyTimeout)
        } else if wasIdle {
            stream.setTimeout(after: limits.headTimeout)
        }
    }

    // MARK: Answering

    private func handle(_ head: RequestHead) {
        let body = body
        self.body = []
        switch Route(head) {
        case .health: respond(HTTPResponse(text: "ok\n"), to: head)
        case .readiness: respond(HTTPResponse(text: "ready\n"), to: head)
        case .data:
            do throws(RESTError) {
                let exchange = try RESTExchange(head, body: body, services: context.services)
                ask(exchange)
            } catch {
                respond(error.response, to: head)
            }
        case .preflight: respond(HTTPResponse.preflight(for: head), to: head)
        case .notWebSocket:
            respond(HTTPResponse(HTTPStatus(426), error: "this is a WebSocket endpoint"), to: head)
        case .unknown: respond(HTTPResponse(.notFound, error: "404 Not Found"), to: head)
        }
    }

    private func ask(_ exchange: RESTExchange) {
        self.exchange = exchange
        stream.pauseReading()
        context.submit(Request(connection: id, number: 0, operation: exchange.operation), to: exchange.database)
    }

    /// The database has answered; the connection goes on with what was read meanwhile.
    func answer(_ reply: Reply) {
        guard let exchange else { return }
        self.exchange = nil
        respond(exchange.response(to: reply), to: exchange.head)
        guard stream.isOpen else { return }
        stream.resumeReading()
        let rest = unread
        unread = []
        rest.withUnsafeBytes { read($0) }
    }

    func begin(_ snapshot: SnapshotStream) {
        snapshot.cancel()
        let text = "Data requested exceeds the maximum size that can be accessed with a single request."
        answer(.failed(.refused(status: StaticText("too_big"), text)))
    }

    func receive(_ piece: SnapshotStream.Piece, of snapshot: SnapshotStream) {}

    private func respond(_ response: HTTPResponse, to head: RequestHead?) {
        var writer = head.map { ResponseWriter(answering: $0) } ?? ResponseWriter()
        var out: [UInt8] = []
        response.write(with: &writer, into: &out)
        stream.send(shared: out)
        if !writer.keepAlive { stream.close() }
    }

    // MARK: The realtime endpoint

    /// True when the connection is no longer this one's.
    private func upgrade(_ head: RequestHead, rest: UnsafeRawBufferPointer) -> Bool {
        guard head.path.elementsEqual("/.ws".utf8) else { return false }
        let database: UInt32
        let handshake: ServerHandshake
        do {
            database = try context.services.directory.index(of: head.databaseName)
            handshake = try ServerHandshake(
                method: Array(head.methodName), version: (1, head.minorVersion),
                deflate: context.services.configuration.compresses ? DeflatePolicy() : nil
            ) { name in head.headers.combined(name) }
        } catch let refusal as HandshakeRefusal {
            stream.send(shared: refusal.response)
            stream.close()
            return true
        } catch {
            respond(RESTError.unknownDatabase.response, to: head)
            return !stream.isOpen
        }
        context.remove(self)
        stream.send(shared: handshake.response)
        let host = context.services.configuration.advertisedHost.map { Array($0.utf8) } ?? Array(head.host)
        let session = RealtimeSession(
            stream: stream, context: context, database: database, host: host, deflate: handshake.deflate)
        if !rest.isEmpty {
            // Clients speak after the hello, but nothing forbids them to be quick.
            var bytes = Array(rest)
            bytes.withUnsafeMutableBytes { session.received($0, on: stream) }
        }
        return true
    }

    // MARK: Ending

    func timedOut(_ stream: Stream) {
        if !decoder.isIdle { respond(HTTPResponse(.requestTimeout, error: "the request took too long"), to: nil) }
        stream.close(.timedOut)
    }

    func shutdownRequested(_ stream: Stream) {
        if exchange == nil { stream.close(.shutdown) }
    }

    func closed(_ stream: Stream, reason: CloseReason) {
        context.remove(self)
    }
}
