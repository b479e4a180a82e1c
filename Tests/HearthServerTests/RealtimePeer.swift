import Glibc
import HearthTestSupport
import Testing
import HearthWebSocketCodec

/// The client's end of a realtime connection, over a blocking socket: frames go out and come in as they are on the
/// wire. Waiting ends after `Patience.limit`.
final class RealtimePeer {
    enum Incoming: Equatable {
        case text(String)
        case close(UInt16?, reason: String)
        /// The transport ended.
        case end
    }

    /// The whole response to the opening handshake, without the empty line.
    let response: String
    private let descriptor: Int32
    private var decoder: WebSocketDecoder
    /// Bytes that came in frames.
    private(set) var bytesReceived = 0
    private var incoming: [Incoming] = []
    private var next = 0
    /// A close frame of the server was taken.
    private(set) var isClosed = false
    private(set) var hasSentClose = false

    /// The key and its answer are those of RFC 6455 section 1.3.
    static func request(host: String, target: String, offersCompression: Bool = false) -> String {
        """
        GET \(target) HTTP/1.1\r
        Host: \(host)\r
        Upgrade: websocket\r
        Connection: Upgrade\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
        Sec-WebSocket-Version: 13\r
        \(offersCompression ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "")\r

        """
    }

    /// - parameter early: text frames that are sent with the opening handshake.
    init(
        port: UInt16, host: String, target: String, offersCompression: Bool = false, receiveBuffer: Int32? = nil,
        early: [String] = []
    ) throws {
        let each = DeflateParameters.Direction(noContextTakeover: true)
        decoder = WebSocketDecoder(
            role: .client, limits: .init(frameSizeMax: 64 << 20, messageSizeMax: 64 << 20),
            deflate: offersCompression ? DeflateParameters(server: each, client: each) : nil)
        let descriptor = try LoopbackSocket.make(receiveBuffer: receiveBuffer)
        self.descriptor = descriptor
        let error = LoopbackSocket.connect(descriptor, to: port)
        try #require(error == 0, "connect to port \(port): \(error)")
        let request = Self.request(host: host, target: target, offersCompression: offersCompression)
        try Self.write(Array(request.utf8) + Self.frames(early), to: descriptor)
        // Byte by byte up to the empty line: what follows are frames.
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            var byte: UInt8 = 0
            try #require(recv(descriptor, &byte, 1, 0) == 1, "the server ended the handshake")
            head.append(byte)
        }
        response = String(decoding: head.dropLast(4), as: UTF8.self)
    }

    deinit { Glibc.close(descriptor) }

    /// Ends the transport without a word.
    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Resets the connection, which a server notices although it does not read.
    func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        _ = Glibc.connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    // MARK: Sending

    /// Sends one text frame.
    func send(_ text: String) throws { try send(.text, Array(text.utf8)) }

    /// Sends a request.
    func send(_ number: Int, _ action: String, _ body: String) throws {
        try send(#"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#)
    }

    /// What answers a request.
    static func response(_ number: Int, _ status: String = "ok", _ data: String = #""""#) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"\#(status)","d":\#(data)}}}"#
    }

    func send(_ opcode: Opcode, _ payload: [UInt8]) throws {
        var frame: [UInt8] = []
        FrameEncoder.append(opcode, payload.span.bytes, key: MaskingKey(0x1234_5678), to: &frame)
        try Self.write(frame, to: descriptor)
    }

    /// Sends a text frame whose payload is compressed.
    func sendCompressed(_ payload: [UInt8]) throws {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, payload.span.bytes, key: MaskingKey(0x1234_5678), to: &frame)
        frame[0] |= 0x40
        try Self.write(frame, to: descriptor)
    }

    /// Sends the first bytes of a text frame.
    func send(_ text: String, upTo count: Int) throws {
        var frame: [UInt8] = []
        FrameEncoder.append(.text, Array(text.utf8).span.bytes, key: MaskingKey(0x1234_5678), to: &frame)
        try Self.write(Array(frame.prefix(count)), to: descriptor)
    }

    /// Sends one more byte of a frame that has begun. False when the connection takes none.
    func drips() -> Bool {
        var byte: UInt8 = 0
        return Glibc.send(descriptor, &byte, 1, Int32(MSG_NOSIGNAL)) == 1
    }

    /// Something has come that was not received.
    var hasInput: Bool {
        var byte: UInt8 = 0
        if next < incoming.count { return true }
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0 || errno != EAGAIN
    }

    /// Sends several text frames at once, so that the server is likely to read them at once.
    func send(_ texts: [String]) throws { try Self.write(Self.frames(texts), to: descriptor) }

    private static func frames(_ texts: [String]) -> [UInt8] {
        var frames: [UInt8] = []
        for text in texts {
            FrameEncoder.append(.text, Array(text.utf8).span.bytes, key: MaskingKey(0x1234_5678), to: &frames)
        }
        return frames
    }

    func sendClose(_ code: UInt16, reason: String = "") throws {
        var frame: [UInt8] = []
        FrameEncoder.appendClose(
            CloseCode(rawValue: code), reason: reason, key: MaskingKey(0x1234_5678), to: &frame)
        try Self.write(frame, to: descriptor)
        hasSentClose = true
    }

    struct SendFailure: Error {
        let code: Int32
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            // Not a failed expectation: a test may send to a server that is about to end the connection.
            guard count > 0 else { throw SendFailure(code: errno) }
            sent += count
        }
    }

    // MARK: Receiving

    /// The next frame, pongs of WebSocket left out.
    func receive() throws -> Incoming {
        while next == incoming.count {
            incoming.removeAll(keepingCapacity: true)
            next = 0
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            try #require(count >= 0 || errno == ECONNRESET, "nothing came: \(errno)")
            if count <= 0 { return .end }
            bytesReceived += count
            buffer[..<count].withUnsafeMutableBytes { decode($0) }
        }
        defer { next += 1 }
        if case .close = incoming[next] { isClosed = true }
        return incoming[next]
    }

    private func decode(_ bytes: UnsafeMutableRawBufferPointer) {
        var input = bytes
        while let event = decoder.next(&input) {
            switch event {
            case .message(let kind, let payload):
                if kind != .text { Issue.record("a frame that is not text") }
                incoming.append(.text(String(decoding: payload, as: UTF8.self)))
            case .close(let code, let reason):
                incoming.append(.close(code?.rawValue, reason: String(decoding: reason, as: UTF8.self)))
            case .failure(let violation): Issue.record("the server broke the WebSocket protocol: \(violation)")
            case .ping: Issue.record("the server sent a ping, which some clients cannot take")
            case .pong: break
            }
        }
    }

    /// The next message, its chunks joined; nil at the end of the connection.
    func receiveMessage() throws -> String? {
        guard case .text(let first) = try receive() else { return nil }
        guard let count = Int(first) else { return first }
        var message = ""
        for _ in 0..<count {
            guard case .text(let chunk) = try receive() else { return nil }
            message += chunk
        }
        return message
    }
}
