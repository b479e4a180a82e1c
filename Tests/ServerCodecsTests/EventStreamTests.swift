import HearthHTTPCodec
import HearthServerCodecs
import HearthTestSupport
import Testing

@Suite("Event streams")
struct EventStreamTests {
    /// What a parser saw: `event|data` for each event.
    private func parse(
        _ pieces: [ArraySlice<UInt8>], eventBytesMax: Int = 1 << 20
    ) throws -> (events: [String], id: String, retry: Int?) {
        var parser = EventStreamParser(eventBytesMax: eventBytesMax)
        var events: [String] = []
        for piece in pieces {
            // Returned rather than thrown: the closure's error type is erased.
            let failure: HTTPFailure? = Array(piece).withUnsafeBytes { bytes in
                var input = bytes
                do throws(HTTPFailure) {
                    while let event = try parser.next(&input) {
                        events.append("\(text(event.event))|\(text(event.data))")
                    }
                    #expect(input.isEmpty)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
        return (events, text(parser.lastEventID), parser.reconnectMilliseconds)
    }

    private func verify(
        _ stream: String, _ expected: [String], id: String = "", retry: Int? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let bytes = Array(stream.utf8)
        var ways = [("whole", [bytes[...]]), ("byte by byte", bytes.indices.map { bytes[$0...$0] })]
        for seed in 1...8 as ClosedRange<UInt64> {
            var random = SeededRandom(seed: seed)
            ways.append(("seed \(seed)", split(bytes, using: &random)))
        }
        for (how, pieces) in ways {
            let result = try parse(pieces)
            #expect(result.events == expected, "\(how)", sourceLocation: sourceLocation)
            #expect(result.id == id, "\(how)", sourceLocation: sourceLocation)
            #expect(result.retry == retry, "\(how)", sourceLocation: sourceLocation)
        }
    }

    @Test("are framed as Firebase frames them (rest.md 4)")
    func framing() {
        var output: [UInt8] = []
        ServerSentEvent.append("put", data: Array(#"{"path":"/","data":{"a":{"t":"hi"}}}"#.utf8).span, to: &output)
        ServerSentEvent.append("keep-alive", data: Array("null".utf8).span, to: &output)
        ServerSentEvent.append("auth_revoked", data: Array("credential is no longer valid".utf8).span, to: &output)
        #expect(
            text(output) == """
                event: put
                data: {"path":"/","data":{"a":{"t":"hi"}}}

                event: keep-alive
                data: null

                event: auth_revoked
                data: credential is no longer valid


                """)
    }

    @Test("in pieces are the same, and no data can start an event")
    func pieces() {
        var output: [UInt8] = []
        ServerSentEvent.begin("put", to: &output)
        ServerSentEvent.append(data: Array("a\n\nevent: x".utf8).span, to: &output)
        ServerSentEvent.append(data: Array("\rb".utf8).span, to: &output)
        ServerSentEvent.end(to: &output)
        #expect(text(output) == "event: put\ndata: a  event: x b\n\n")
    }

    @Test("of rest.md 4 are taken apart")
    func constructedRun() throws {
        let stream = """
            event: put
            data: {"path":"/","data":{"a":{"t":"hi"}}}

            event: patch
            data: {"path":"/a","data":{"t":"hi!","n":1}}

            event: keep-alive
            data: null


            """
        let events = [
            #"put|{"path":"/","data":{"a":{"t":"hi"}}}"#, #"patch|{"path":"/a","data":{"t":"hi!","n":1}}"#,
            "keep-alive|null",
        ]
        for lineEnd in ["\n", "\r\n", "\r"] {
            try verify(
                stream.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: lineEnd), events)
        }
    }

    @Test("of the HTML standard, 9.2.6, are taken apart")
    func standardExamples() throws {
        try verify(
            "data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\n",
            ["message|This is the first message.", "message|This is the second message, it\nhas two lines."])
        try verify("data: YHOO\ndata: +2\ndata: 10\n\n", ["message|YHOO\n+2\n10"])
        try verify(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
            ["message|first event", "message|second event", "message| third event"])
        try verify("data\n\ndata\ndata\n\ndata:", ["message|", "message|\n"])
        try verify("data:test\n\ndata: test\n\n", ["message|test", "message|test"])
    }

    @Test("carry ids and reconnection times")
    func idAndRetry() throws {
        try verify("id: 7\nretry: 3000\ndata: x\n\nid: 8\ndata: never ended", ["message|x"], id: "7", retry: 3000)
        try verify("id: 7\n\nid: a\u{0}b\nretry: 1s\nretry:\nretry: 1234567890123456\n\n", [], id: "7")
        try verify("id: 7\n\nid\n\n", [], id: "")
    }

    @Test("skip a byte order mark at the start only, unknown fields and events without data")
    func skips() throws {
        try verify("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n", ["message|a"])
        try verify("event: x\n\nfoo: bar\n:comment\n::\nDATA: no\ndata: y\n\n", ["message|y"])
        try verify("data: a\r\n\r\n\r\n\r\ndata: b\r\r", ["message|a", "message|b"])
    }

    @Test("dispatch at the CR that ends an event, without waiting for more")
    func promptness() throws {
        #expect(try parse([Array("data: a\r\r".utf8)[...]]).events == ["message|a"])
    }

    @Test("have events of a bounded size")
    func limit() throws {
        let exact = Array("data:abcd\n\n".utf8)
        #expect(try parse([exact[...]], eventBytesMax: 9).events == ["message|abcd"])
        #expect(throws: HTTPFailure.eventTooLarge) { try parse([exact[...]], eventBytesMax: 8) }
        #expect(throws: HTTPFailure.eventTooLarge) { try parse(exact.indices.map { exact[$0...$0] }, eventBytesMax: 8) }
        let lines = Array("data:ab\ndata:cd\n\n".utf8)
        #expect(try parse([lines[...]], eventBytesMax: 9).events == ["message|ab\ncd"])
        #expect(throws: HTTPFailure.eventTooLarge) { try parse([lines[...]], eventBytesMax: 8) }
    }
}
