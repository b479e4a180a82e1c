package import HearthEventLoop
import Glibc
import HearthHTTPCodec
package import HearthSystem
import HearthWebSocketCodec
import HearthServerCodecs

/// A WebSocket endpoint that sends every message back, compressed if the client wants that. Conformance suites test the
/// codec through it.
package final class EchoServer: Sendable {
    /// Where it listens, with the real port.
    package let address: SocketAddress
    private let group: EventLoopGroup
    private let listener: Listener

    package init(address: SocketAddress, loops: Int? = nil) throws(SystemError) {
        group = try EventLoopGroup(count: loops ?? EventLoopGroup.availableCPUCount)
        var options = Listener.Options()
        // A message waits as a whole, and then nothing more is read.
        options.limits.hardLimit = 2 * EchoConnection.sizeMax
        listener = try Listener(at: address, on: group, options: options) { stream in EchoConnection(stream) }
        self.address = listener.address
    }

    package func onSignals(_ end: @escaping @Sendable () -> Void) throws(SystemError) {
        try Signals.forward([SIGINT, SIGTERM], to: group.loops[0]) { _ in end() }
    }

    /// Not from an event loop.
    package func stop() {
        listener.close()
        group.shutDown(grace: .seconds(2))
        group.join()
    }
}

/// One connection: a handshake on any path, then messages.
private final class EchoConnection: StreamHandler {
    /// Bytes of a message.
    static let sizeMax = 64 << 20

    private unowned let stream: Stream
    private var request = RequestDecoder()
    private var head: RequestHead?
    private var socket: EchoSocket?

    init(_ stream: Stream) { self.stream = stream }

    func opened(_ stream: Stream) { stream.setTimeout(after: .seconds(10)) }

    func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
        if let socket { return socket.receive(bytes) }
        var input = UnsafeRawBufferPointer(bytes)
        while socket == nil, stream.isOpen, let event = request.next(&input) {
            switch event {
            case .head(let head): self.head = head
            case .body: break
            case .end: if let head { accept(head) }
            case .failure(let failure): refuse(failure.status, failure.reason)
            }
        }
        // Bytes after the handshake in the same read belong to the socket.
        if let socket, !input.isEmpty {
            socket.receive(UnsafeMutableRawBufferPointer(rebasing: bytes[(bytes.count - input.count)...]))
        }
    }

    private func accept(_ head: RequestHead) {
        do throws(HandshakeRefusal) {
            let handshake = try ServerHandshake(
                method: Array(head.methodName), version: (1, head.minorVersion), deflate: DeflatePolicy.forEcho
            ) { head.headers.combined($0) }
            stream.clearTimeout()
            stream.send(shared: handshake.response)
            socket = EchoSocket(stream, deflate: handshake.deflate, sizeMax: Self.sizeMax)
        } catch {
            stream.send(shared: error.response)
            stream.close()
        }
    }

    private func refuse(_ status: HTTPStatus, _ reason: StaticString) {
        var response = ResponseWriter()
        var out: [UInt8] = []
        response.begin(status, date: HTTPDate(secondsSince1970: Int(WallClock.milliseconds / 1000)), into: &out)
        reason.withUTF8Buffer { response.end(body: $0.span, into: &out) }
        stream.send(shared: out)
        stream.close()
    }

    func shutdownRequested(_ stream: Stream) {
        socket?.end()
        stream.close(.shutdown)
    }

    func closed(_ stream: Stream, reason: CloseReason) {}
}

extension DeflatePolicy {
    /// Context takeover is up to the client, so that all forms of compression can be tested.
    fileprivate static var forEcho: DeflatePolicy {
        var policy = DeflatePolicy()
        policy.serverNoContextTakeover = false
        policy.clientNoContextTakeover = false
        return policy
    }
}

/// The connection after the handshake.
private final class EchoSocket {
    private unowned let stream: Stream
    private var decoder: WebSocketDecoder
    private let deflater: Deflater?
    private var goodbye = CloseHandshake(role: .server)

    init(_ stream: Stream, deflate: DeflateParameters?, sizeMax: Int) {
        self.stream = stream
        decoder = WebSocketDecoder(
            role: .server, limits: .init(frameSizeMax: sizeMax, messageSizeMax: sizeMax), deflate: deflate)
        deflater = deflate.map { Deflater($0.outgoing(.server)) }
    }

    func receive(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        while let event = decoder.next(&input) {
            switch event {
            case .message(let kind, let payload): if goodbye.maySend { echo(kind, payload) }
            case .ping(let payload): if goodbye.maySend { send { FrameEncoder.append(.pong, payload.bytes, to: &$0) } }
            case .pong: break
            case .close(let code, _): follow(goodbye.received(code))
            case .failure(let violation): follow(goodbye.failed(violation))
            }
        }
    }

    private func echo(_ kind: MessageKind, _ payload: UnsafeRawBufferPointer) {
        send { out in
            var compressed: [UInt8] = []
            if let deflater, deflater.compress(payload.bytes, to: &compressed) {
                FrameEncoder.append(kind.opcode, compressed.span.bytes, isCompressed: true, to: &out)
            } else {
                FrameEncoder.append(kind.opcode, payload.bytes, to: &out)
            }
        }
    }

    func end() { follow(goodbye.close(.goingAway)) }

    private func follow(_ step: CloseHandshake.Step) {
        if let frame = step.send { send { FrameEncoder.appendClose(frame.code, reason: frame.reason, to: &$0) } }
        switch step.transport {
        case .keep: break
        case .awaitPeer: stream.setTimeout(after: .seconds(5))
        case .shut: stream.close()
        }
    }

    private func send(_ write: (inout [UInt8]) -> Void) {
        var bytes: [UInt8] = []
        write(&bytes)
        stream.send(shared: bytes)
    }
}
