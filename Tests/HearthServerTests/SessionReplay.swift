import Glibc
import Testing

/// Plays a session of the document against a server: sends what the client says, and compares what the server says,
/// frame by frame.
///
/// `C:` and `S:` begin a frame of the client and of the server, `#` a remark; a letter in front names the connection.
/// `(close 1000: text)` is a close frame, `…3×ab…` stands for `ababab`, and `<time>`, `<session>`, `<host>`, `<epoch>`
/// and `<check>` for what differs from run to run.
struct SessionReplay {
    private let server: RealtimeTestServer
    private let started = Self.milliseconds()
    private var peers: [String: RealtimePeer] = [:]
    private var sessions: Set<String> = []
    private var epoch: String?
    /// Of positions, by the numbers of their commits.
    private var checks: [String: String] = [:]

    init(server: RealtimeTestServer) { self.server = server }

    /// Stops at the first difference.
    mutating func play(_ block: ProtocolDocument.Block) throws {
        for (index, line) in block.lines.enumerated() where !line.hasPrefix("#") {
            let place = block.place(index)
            let match = try #require(
                line.wholeMatch(of: /(?:([A-Z]) )?([CS]): (.+)/), "\(place): neither C nor S: \(line)")
            let peer = try peer(String(match.1 ?? ""), showsHello: match.2 == "S")
            let text = Self.expanded(String(match.3))
            if match.2 == "C" {
                let checked = text.replacing(/:([0-9]+):<check>/) { ":\($0.1):\(checks[String($0.1)] ?? "")" }
                try send(checked.replacing("<epoch>", with: epoch ?? ""), from: peer)
            } else {
                try compare(try peer.receive(), with: text, place)
            }
        }
        for (name, peer) in peers { try checkNothingMoreCame(on: peer, "\(block.testDescription), connection \(name)") }
    }

    /// Connections begin when they are first named. Their hello is passed over unless it is shown.
    private mutating func peer(_ name: String, showsHello: Bool) throws -> RealtimePeer {
        if let peer = peers[name] { return peer }
        let peer = try server.connect()
        peers[name] = peer
        if !showsHello {
            let hello = #"{"t":"c","d":{"t":"h","d":{"ts":<time>,"v":"5","h":"<host>","s":"<session>"}}}"#
            try compare(try peer.receive(), with: hello, "the hello")
        }
        return peer
    }

    private func send(_ text: String, from peer: RealtimePeer) throws {
        guard let close = text.wholeMatch(of: /\(close ([0-9]+)(?:: (.*))?\)/) else { return try peer.send(text) }
        try peer.sendClose(UInt16(close.1) ?? 0, reason: String(close.2 ?? ""))
    }

    private mutating func compare(_ incoming: RealtimePeer.Incoming, with expected: String, _ place: String) throws {
        let actual: String
        switch incoming {
        case .text(let text):
            actual = text
            #expect(text.utf16.count <= 16384, "\(place): a frame of \(text.utf16.count) code units")
        case .close(let code, let reason):
            actual = "(close \(code.map { "\($0)" } ?? "")\(reason.isEmpty ? "" : ": \(reason)"))"
        case .end: actual = "the end of the connection"
        }
        try #require(
            matches(actual, expected), "\(place)\nexpected \(expected.prefix(400))\nreceived \(actual.prefix(400))")
    }

    /// A request that goes through everything is the last word of each connection that is still open.
    private func checkNothingMoreCame(on peer: RealtimePeer, _ place: String) throws {
        if peer.isClosed {
            if !peer.hasSentClose { try peer.sendClose(1000) }
            #expect(try peer.receive() == .end, "\(place): goes on after its end")
        } else {
            try peer.send(#"{"t":"d","d":{"r":999,"a":"s","b":{}}}"#)
            #expect(
                try peer.receive() == .text(#"{"t":"d","d":{"r":999,"b":{"s":"ok","d":""}}}"#),
                "\(place): more came than the document shows")
        }
    }

    // MARK: Texts

    private static func expanded(_ text: String) -> String {
        text.replacing(/…([0-9]+)×(.+?)…/) { String(repeating: String($0.2), count: Int($0.1) ?? 0) }
    }

    private mutating func matches(_ actual: String, _ expected: String) -> Bool {
        var rest = Array(actual.utf8)[...]
        func take(_ literal: Substring) -> Bool {
            guard rest.starts(with: literal.utf8) else { return false }
            rest = rest.dropFirst(literal.utf8.count)
            return true
        }
        func take(while isPart: (UInt8) -> Bool) -> String {
            let part = rest.prefix(while: isPart)
            rest = rest.dropFirst(part.count)
            return String(decoding: part, as: UTF8.self)
        }
        var literal = expected[...]
        var time: Int64?
        var number = ""
        while let placeholder = literal.firstMatch(of: /<(time|session|host|epoch|check)>/) {
            let before = literal[..<placeholder.range.lowerBound]
            guard take(before) else { return false }
            if let colons = before.wholeMatch(of: /:([0-9]+):/) { number = String(colons.1) }
            literal = literal[placeholder.range.upperBound...]
            switch placeholder.1 {
            case "time":
                // All times of one message are the same.
                guard let value = Int64(take { (0x30...0x39).contains($0) }), time ?? value == value else {
                    return false
                }
                guard value >= started, value <= Self.milliseconds() else { return false }
                time = value
            case "session":
                let session = take { $0 != UInt8(ascii: "\"") }
                guard session.wholeMatch(of: /[0-9A-Za-z_-]{24}/) != nil else { return false }
                guard sessions.insert(session).inserted else { return false }
            case "epoch":
                // That of a database does not change.
                let text = take { $0 != UInt8(ascii: ":") }
                guard text.wholeMatch(of: /[0-9a-f]{16}/) != nil, epoch ?? text == text else { return false }
                epoch = text
            case "check":
                // That of a commit does not change.
                let text = take { $0 != UInt8(ascii: "\"") }
                guard text.wholeMatch(of: /[0-9a-f]{8}/) != nil, checks[number] ?? text == text else { return false }
                checks[number] = text
            default:
                guard take(server.host[...]) else { return false }
            }
        }
        return take(literal) && rest.isEmpty
    }

    private static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
