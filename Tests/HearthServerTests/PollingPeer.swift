import HearthBytes
import Testing
import HearthWireProtocol

/// A client that uses long polling. Each poll goes out on the connection that it is given, so the test decides which of
/// them come when, and by the listener's turns, to which loop.
final class PollingPeer {
    /// What a script calls, in order.
    enum Call: Equatable {
        case packet(Int, String)
        case close(after: Int?)
        case start
    }

    let server: RealtimeTestServer
    let first: RESTClient
    /// The whole first script.
    let script: String
    let id: String
    let password: String
    /// The session that the hello names.
    let session: String
    private var serial = 100
    private var segment = 0

    init(_ server: RealtimeTestServer, parameters: String = "&cb=7") throws {
        self.server = server
        first = try server.connectREST()
        let answer = try first.ask("GET", "/.lp?start=t&ser=5&v=5&ns=example\(parameters)")
        script = answer.text
        try #require(answer.status == 200, "\(script)")
        let start = try #require(script.firstMatch(of: /pLPCommand\('start','([^']*)','([^']*)'\);/))
        id = String(start.1)
        password = String(start.2)
        session = String(try #require(script.firstMatch(of: /"s":"([^"]*)"/)).1)
    }

    /// The target of the next poll, which brings these messages.
    func target(_ messages: [String] = [], segmentSize: Int = 1840) -> String {
        serial += 1
        return target(serial: serial, segments(of: messages, size: segmentSize))
    }

    /// Numbers the slices of messages.
    func segments(of messages: [String], size: Int = 1840) -> [(number: Int, count: Int, text: String)] {
        messages.flatMap { message in
            let text = Array(Self.base64(Array(message.utf8)))
            let slices = stride(from: 0, to: text.count, by: size).map { String(text[$0..<min($0 + size, text.count)]) }
            return slices.map { slice in
                segment += 1
                return (segment - 1, slices.count, slice)
            }
        }
    }

    func target(serial: Int, _ segments: [(number: Int, count: Int, text: String)] = []) -> String {
        let parts = segments.enumerated().map { index, segment in
            "&seg\(index)=\(segment.number)&ts\(index)=\(segment.count)&d\(index)=\(segment.text)"
        }
        return "/.lp?id=\(id)&pw=\(password)&ser=\(serial)&ns=example" + parts.joined()
    }

    /// Polls on a new connection, which by turns comes to another loop, and waits for the answer.
    func poll(_ messages: [String] = []) throws -> [Call] {
        Self.calls(try server.connectREST().ask("GET", target(messages)).text)
    }

    /// Sends a poll and does not wait.
    func open(_ messages: [String] = []) throws -> RESTClient {
        let connection = try server.connectREST()
        try connection.send(RESTClient.request("GET", target(messages)))
        return connection
    }

    /// Polls until so many messages have come, each in a line of its own.
    func receive(_ count: Int, sending messages: [String] = []) throws -> [String] {
        var received: [String] = []
        var messages = messages
        while received.count < count {
            for call in try poll(messages) {
                guard case .packet(_, let text) = call else {
                    Issue.record("\(call) instead of messages")
                    return received
                }
                received += Self.messages(text)
            }
            messages = []
        }
        return received
    }

    // MARK: Texts

    static func calls(_ script: String) -> [Call] {
        script.split(separator: "\n").compactMap { line in
            if let match = line.wholeMatch(of: /pRTLPCB\(([0-9]+),\[(.*)\]\);/) {
                return .packet(Int(match.1) ?? -1, String(match.2))
            }
            if let match = line.wholeMatch(of: /pLPCommand\('close'(?:,([0-9]+))?\);/) {
                return .close(after: match.1.flatMap { Int($0) })
            }
            return line.hasPrefix("pLPCommand('start'") ? .start : nil
        }
    }

    /// The messages of a packet. Good for those without this separator in strings.
    static func messages(_ packet: String) -> [String] {
        packet.isEmpty ? [] : packet.replacing(#"},{"t""#, with: "}\n{\"t\"").split(separator: "\n").map(String.init)
    }

    /// Padded with dots, as the SDKs do.
    static func base64(_ bytes: [UInt8]) -> String {
        let text = String(decoding: Base64.url.encode(bytes), as: UTF8.self)
        return text + String(repeating: ".", count: (4 - text.count % 4) % 4)
    }
}
