import HearthEventLoop
import Glibc
import HearthHTTPCodec

/// Asks a server something, as a client on its own connection.
struct DoctorProbe {
    /// The host and port of a URL.
    struct Address {
        let isSecure: Bool
        let host: String
        let port: UInt16
        /// As in `Host`: without the port that the scheme has anyway.
        let authority: String

        /// `http://HOST[:PORT]` or `https://HOST[:PORT]`.
        init?(_ url: String) {
            isSecure = url.hasPrefix("https://")
            guard isSecure || url.hasPrefix("http://") else { return nil }
            var rest = url.dropFirst(isSecure ? 8 : 7)
            if rest.hasSuffix("/") { rest.removeLast() }
            let usual: UInt16 = isSecure ? 443 : 80
            let end = rest.hasPrefix("[") ? rest.firstIndex(of: "]").map(rest.index(after:)) : rest.firstIndex(of: ":")
            let name = rest[..<(end ?? rest.endIndex)]
            let tail = end.map { rest[$0...] } ?? ""
            guard let port = tail.isEmpty ? usual : tail.hasPrefix(":") ? UInt16(tail.dropFirst()) : nil,
                !name.isEmpty, !name.contains("/")
            else { return nil }
            host = name.filter { $0 != "[" && $0 != "]" }
            self.port = port
            authority = port == usual ? String(name) : "\(name):\(port)"
        }

        var text: String { "\(isSecure ? "https" : "http")://\(authority)" }

        var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
    }

    struct Answer {
        var head: ResponseHead
        var body: [UInt8]

        var status: Int { head.status.code }
        var text: String { String(decoding: body, as: UTF8.self) }

        /// How many seconds the server's clock is ahead; nil if it does not say.
        func clockDifference(now: Int64) -> Int64? {
            guard let date = head.headers.first("date") else { return nil }
            // As in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
            let words = String(decoding: date, as: UTF8.self).split { $0 == " " || $0 == ":" }
            let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
            guard words.count == 8, let day = Int32(words[1]), let month = months.firstIndex(of: String(words[2])),
                let year = Int32(words[3]), let hour = Int32(words[4]), let minute = Int32(words[5]),
                let second = Int32(words[6]), (1900...9999).contains(year)
            else { return nil }
            var parts = tm()
            (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, Int32(month), day)
            (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
            return Int64(timegm(&parts)) - now
        }
    }

    /// Whose certificates are good.
    enum Trust {
        case system
        /// Authorities in a PEM file.
        case file(String)
        /// Any, at a loopback address: the certificate names the public host.
        case thisMachine

        init(authorities: String?) { self = authorities.map { .file($0) } ?? .system }

        fileprivate func context() throws(TLSError) -> TLSContext {
            switch self {
            case .system: try .client(trusting: .system)
            case .file(let path): try .client(trusting: .file(path))
            case .thisMachine: try .clientOfThisMachine()
            }
        }
    }

    let address: Address
    let trust: Trust

    init(_ address: Address, _ trust: Trust) {
        self.address = address
        self.trust = trust
    }

    /// Asks the server that has a data folder.
    init(serverOf address: Address, authorities: String?) {
        self.init(address, address.isLoopback ? .thisMachine : Trust(authorities: authorities))
    }

    /// Connects, with TLS if the address says so.
    func connect() throws(WaitingConnection.Failure) -> WaitingConnection {
        let connection = try WaitingConnection(host: address.host, port: address.port, timeout: .seconds(5))
        guard address.isSecure else { return connection }
        let context: TLSContext
        do throws(TLSError) {
            context = try trust.context()
        } catch {
            throw WaitingConnection.Failure(description: error.description)
        }
        try connection.startTLS(context, serverName: address.host)
        return connection
    }

    func get(_ target: String) throws(WaitingConnection.Failure) -> Answer {
        let connection = try connect()
        try connection.send(
            Array("GET \(target) HTTP/1.1\r\nHost: \(address.authority)\r\nConnection: close\r\n\r\n".utf8))
        var decoder = ResponseDecoder(limits: HTTPLimits(bodyBytesMax: 1 << 20))
        decoder.requestMethod = .get
        var input: [UInt8] = []
        var head: ResponseHead?
        var body: [UInt8] = []
        while true {
            let part = try connection.receive()
            input += part
            var left = 0
            var isDone = false
            var isBroken = false
            input.withUnsafeBytes { bytes in
                var rest = UnsafeRawBufferPointer(bytes)
                while !isDone, !isBroken, let event = decoder.next(&rest) {
                    switch event {
                    case .head(let received): head = received
                    case .body(let bytes): body += bytes
                    case .end: isDone = true
                    case .failure: isBroken = true
                    }
                }
                left = rest.count
            }
            input.removeFirst(input.count - left)
            if isDone, let head { return Answer(head: head, body: body) }
            if isBroken || part.isEmpty { throw WaitingConnection.Failure(description: "what it answers is not HTTP") }
        }
    }

    /// Opens a WebSocket to the realtime endpoint. Answers the status, and the server's first message as far as it is
    /// text.
    func openWebSocket() throws(WaitingConnection.Failure) -> (status: Int, hello: String) {
        let connection = try connect()
        let lines = [
            "GET /.ws?v=5 HTTP/1.1", "Host: \(address.authority)", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "", "",
        ]
        try connection.send(Array(lines.joined(separator: "\r\n").utf8))
        var text = ""
        // The head and one small frame, whose text ends with braces.
        while !text.contains("}}"), text.utf8.count < 16_384 {
            let part = try connection.receive()
            if part.isEmpty { break }
            text += String(decoding: part, as: UTF8.self)
            if text.contains("\r\n\r\n"), !text.hasPrefix("HTTP/1.1 101") { break }
        }
        let status = Int(text.dropFirst("HTTP/1.1 ".count).prefix(3)) ?? 0
        let start = text.firstIndex(of: "{") ?? text.endIndex
        return (status, status == 101 ? String(text[start...]) : "")
    }
}
