import HearthEventLoop
import Glibc
import HearthHTTPCodec
import HearthServer
import HearthSystem
import HearthTestSupport
import Testing

extension RealtimeTestServer {
    var port: UInt16 { server.address.port }

    /// - parameter receiveBuffer: bytes that the kernel takes for a client that does not read; nil for its usual.
    func connectREST(receiveBuffer: Int32? = nil, from: UInt8? = nil) throws -> RESTClient {
        try RESTClient(port: port, receiveBuffer: receiveBuffer, from: from, of: self)
    }

    /// To where administrators are answered.
    func connectAdminREST() throws -> RESTClient { try RESTClient(port: server.adminAddress.port, of: self) }
}

/// The client's end of an HTTP connection, over a blocking socket. Waiting ends after `Patience.limit`.
final class RESTClient {
    /// The header of an administrator of a server in development mode.
    static let owner = ["Authorization: Bearer owner"]

    struct Answer {
        var head: ResponseHead
        var body: [UInt8]

        var status: Int { head.status.code }
        var text: String { String(decoding: body, as: UTF8.self) }

        /// The field of that name, in lower case.
        func field(_ name: StaticString) -> String? {
            head.headers.first(name).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private let descriptor: Int32
    private var decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: 1 << 30))
    /// Bytes that are not decoded yet.
    private var input: [UInt8] = []

    /// Lives as long as its clients, so that it need not wait for them at its end.
    private let server: RealtimeTestServer?

    /// - parameter from: the last number of the client's address, 127.0.0.x.
    init(port: UInt16, receiveBuffer: Int32? = nil, from: UInt8? = nil, of server: RealtimeTestServer? = nil) throws {
        self.server = server
        descriptor = try LoopbackSocket.make(receiveBuffer: receiveBuffer)
        if let from {
            let error = LoopbackSocket.bind(descriptor, host: from)
            try #require(error == 0, "bind: \(error)")
        }
        let error = LoopbackSocket.connect(descriptor, to: port)
        guard error == 0 else { throw SystemError("connect to port \(port)", code: error) }
    }

    deinit { Glibc.close(descriptor) }

    // MARK: Sending

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            // An error, which a test may expect, and no failure of the test.
            guard count > 0 else { throw SystemError("send", code: errno) }
            sent += count
        }
    }

    /// Sends a few bytes; false if the connection has ended.
    func sends(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    /// Ends the connection without a word.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Says that nothing more comes.
    func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// The text of a request.
    static func request(
        _ method: String, _ target: String, _ fields: [String] = [], body: [UInt8]? = nil
    ) -> [UInt8] {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields
        if let body { lines.append("Content-Length: \(body.count)") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? [])
    }

    // MARK: Receiving

    /// The next response; `method` is that of its request.
    func receive(answering method: HTTPMethod = .get) throws -> Answer {
        decoder.requestMethod = method
        var head: ResponseHead?
        var body: [UInt8] = []
        while true {
            while let event = next() {
                switch event {
                case .head(let received): head = received
                case .body(let bytes): body += bytes
                case .end: return Answer(head: try #require(head), body: body)
                case .failure(let failure):
                    Issue.record("the server broke HTTP: \(failure.reason)")
                    throw failure
                }
            }
            guard try readMore() else {
                guard decoder.finish() != nil, let head else {
                    throw SystemError("receive a whole response", code: ECONNRESET)
                }
                return Answer(head: head, body: body)
            }
        }
    }

    enum Event {
        case head(ResponseHead)
        case body([UInt8])
        case end
        case failure(HTTPFailure)
    }

    /// The next part of a response, as it comes; nil at the end of the connection.
    func receivePart() throws -> Event? {
        while true {
            if let event = next() { return event }
            guard try readMore() else { return nil }
        }
    }

    private func next() -> Event? {
        let (event, left): (Event?, Int) = input.withUnsafeBytes { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            let event: Event? =
                switch decoder.next(&rest) {
                case nil: nil
                case .head(let head): .head(head)
                case .body(let bytes): .body(Array(bytes))
                case .end: .end
                case .failure(let failure): .failure(failure)
                }
            return (event, rest.count)
        }
        input.removeFirst(input.count - left)
        return event
    }

    /// False at the end of the connection.
    private func readMore() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0 { throw SystemError("recv", code: errno) }
        input += buffer[..<count]
        return count > 0
    }

    /// Bytes as they come, once.
    func receiveSome() throws -> [UInt8] {
        if input.isEmpty { _ = try readMore() }
        defer { input = [] }
        return input
    }

    /// Whether the server ends the connection, in good order or with a reset, without another byte.
    func receivesEnd() -> Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, 0)
        return input.isEmpty && (count == 0 || count < 0 && errno == ECONNRESET)
    }

    /// Whether the server ends the connection in good order, without another byte.
    func receivesCleanEnd() -> Bool {
        var byte: UInt8 = 0
        return input.isEmpty && recv(descriptor, &byte, 1, 0) == 0
    }

    /// Whether bytes, or the end, can be received at once.
    var hasInput: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Waits, without reading, until the server has torn the connection down.
    func isReset(within limit: Duration = Patience.limit) -> Bool {
        var error = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&error, 1, Int32(limit / .milliseconds(1))) == 1 && error.revents & Int16(POLLERR) != 0
    }

    // MARK: Both

    @discardableResult
    func ask(
        _ method: String, _ target: String, _ fields: [String] = [], body: [UInt8]? = nil
    ) throws -> Answer {
        try send(Self.request(method, target, fields, body: body))
        return try receive(answering: method == "HEAD" ? .head : .get)
    }

    @discardableResult
    func ask(_ method: String, _ target: String, _ fields: [String] = [], _ body: String) throws -> Answer {
        try ask(method, target, fields, body: Array(body.utf8))
    }
}
