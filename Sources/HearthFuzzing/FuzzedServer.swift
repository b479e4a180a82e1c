import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthServer
import HearthIdentity
import HearthServerLog
import HearthTreeStorage
import HearthWebSocketCodec
import HearthWireProtocol
import HearthAccountEndpoints

/// A whole server in development mode, in the process of the fuzzer, where everything is an administrator's who says
/// so. It lives as long as the process: its threads run the code that is fuzzed.
final class FuzzedServer: Sendable {
    static let shared = FuzzedServer()

    private let server: Server

    private init() {
        var template = Array("/tmp/hearth-fuzz-XXXXXX".utf8CString)
        precondition(mkdtemp(&template) != nil, "no folder")
        let folder = template.withUnsafeBufferPointer {
            String(decoding: $0.map { UInt8(bitPattern: $0) }.dropLast(), as: UTF8.self)
        }
        var configuration = ServerConfiguration(address: .loopback(port: 0), dataFolder: folder)
        configuration.isDevelopment = true
        configuration.durability = .memory
        configuration.loops = 1
        configuration.logLevel = .error
        var identity = IdentityConfiguration()
        // Passwords cost nothing, so that there are many of them; mails go nowhere.
        identity.options.passwordCost = .init(logarithm: 2, blockSize: 1, rounds: 1)
        identity.options.attemptsPerAccountMax = .max
        identity.delivery = .none
        configuration.identity = identity
        do throws(Server.StartError) { server = try Server(configuration) } catch {
            fatalError("no server: \(error.message)")
        }
    }

    func connect() -> FuzzedConnection { FuzzedConnection(port: server.address.port) }

    /// Makes a request on a connection of its own, which it may spoil.
    func ask(
        _ method: HTTPMethod, _ target: String, isAdmin: Bool = false, body: [UInt8] = []
    ) -> (status: Int, body: [UInt8]) {
        guard let answer = connect().ask(method, Array(target.utf8), isAdmin: isAdmin, body: body) else {
            fatalError("\(target): no answer")
        }
        return answer
    }
}

/// A client of it. A request without an answer within five minutes is a failure: the machine may have other things to
/// do.
final class FuzzedConnection {
    private let connection: WaitingConnection
    private var input: [UInt8] = []
    private var responses = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: 1 << 26))
    private var frames = WebSocketDecoder(
        role: .client, limits: .init(frameSizeMax: 1 << 26, messageSizeMax: 1 << 26), deflate: nil)
    private var joiner = FrameJoiner(bytesMax: 1 << 26)

    init(port: UInt16) {
        do throws(WaitingConnection.Failure) {
            connection = try WaitingConnection(host: "127.0.0.1", port: port, timeout: .seconds(300))
        } catch { fatalError("no connection: \(error)") }
    }

    private func send(_ bytes: [UInt8]) {
        do throws(WaitingConnection.Failure) { try connection.send(bytes) } catch { fatalError("\(error)") }
    }

    /// False at the end.
    private func receive() -> Bool {
        do throws(WaitingConnection.Failure) {
            let bytes = try connection.receive(maximum: 1 << 16)
            input += bytes
            return !bytes.isEmpty
        } catch { fatalError("no answer: \(error)") }
    }

    // MARK: HTTP

    /// Makes a request. Nil if the server has ended the connection without an answer.
    func ask(
        _ method: HTTPMethod, _ target: [UInt8], isAdmin: Bool, body: [UInt8]
    ) -> (status: Int, body: [UInt8])? {
        var request: [UInt8] = []
        RequestWriter.begin(method, target: target.span, host: Array("localhost".utf8).span, into: &request)
        if isAdmin { RequestWriter.header("Authorization", "Bearer owner", into: &request) }
        RequestWriter.end(body: body.span, into: &request)
        send(request)
        responses.requestMethod = method
        var status = 0
        var answer: [UInt8] = []
        while true {
            let (event, left) = input.withUnsafeBytes { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                var isDone = false
                while !isDone, let event = responses.next(&rest) {
                    switch event {
                    case .head(let head): status = head.status.code
                    case .body(let bytes): answer += bytes
                    case .end: isDone = true
                    case .failure(let failure): fatalError("no HTTP: \(failure.reason)")
                    }
                }
                return (isDone, rest.count)
            }
            input.removeFirst(input.count - left)
            if event { return (status, answer) }
            if !receive() { return nil }
        }
    }

    // MARK: Realtime

    /// Becomes a realtime connection of an administrator.
    func upgrade() {
        let request = """
            GET /.ws?v=5&ns=example HTTP/1.1\r
            Host: localhost\r
            Upgrade: websocket\r
            Connection: Upgrade\r
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
            Sec-WebSocket-Version: 13\r
            \r

            """
        send(Array(request.utf8))
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = input.indices.first(where: { input[$0...].starts(with: end) }) {
                input.removeFirst(place + end.count)
                break
            }
            precondition(receive(), "no handshake")
        }
        send(message: Array(#"{"t":"d","d":{"r":0,"a":"gauth","b":{"cred":"owner"}}}"#.utf8))
    }

    func send(message: [UInt8]) {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, message.span.bytes, key: MaskingKey(0x1234_5678), to: &frame)
        send(frame)
    }

    /// The next messages; nil when the server has closed the connection.
    func receiveMessages() -> [[UInt8]]? {
        while true {
            var messages: [[UInt8]] = []
            var isClosed = false
            var bytes = input
            input = []
            bytes.withUnsafeMutableBytes { bytes in
                var rest = bytes
                while let event = frames.next(&rest) {
                    switch event {
                    case .message(_, let payload):
                        switch joiner.add(UnsafeRawBufferPointer(payload)) {
                        case .message: messages.append(Array(payload))
                        case .joined: messages.append(joiner.takeMessage())
                        case .more: break
                        case .tooLarge: fatalError("a message is too large")
                        }
                    case .close: isClosed = true
                    case .failure(let violation): fatalError("no WebSocket: \(violation)")
                    case .ping, .pong: break
                    }
                }
            }
            if !messages.isEmpty { return messages }
            if isClosed || !receive() { return nil }
        }
    }
}
