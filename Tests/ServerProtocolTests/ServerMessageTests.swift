import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

@Suite("Messages of the server")
struct ServerMessageTests {
    private func parse(_ text: String) throws(MessageError) -> ServerMessage {
        try text.withBytes { (bytes) throws(MessageError) in try ServerMessage.parse(bytes) }
    }

    private func response(_ number: Int64, _ status: String, _ data: String) -> ServerMessage {
        .response(ServerResponse(number: number, status: Array(status.utf8), data: Array(data.utf8)))
    }

    @Test("control messages (Protocol.md 2)")
    func control() throws {
        let hello = #"{"t":"c","d":{"t":"h","d":{"ts":1700000000000,"v":"5","h":"db.example.com:9000","s":"Zk3"}}}"#
        let expected = ServerHello(
            time: 1_700_000_000_000, host: Array("db.example.com:9000".utf8), session: Array("Zk3".utf8))
        #expect(try parse(hello) == .hello(expected))
        #expect(try parse(#"{"t":"c","d":{"t":"o","d":null}}"#) == .pong)
        #expect(try parse(#"{"t":"c","d":{"t":"o","d":{}}}"#) == .pong)
        #expect(try parse(#"{"t":"c","d":{"t":"s","d":"moved \u00e9"}}"#) == .kill(reason: Array("moved é".utf8)))
        #expect(
            try parse(#"{"t":"c","d":{"t":"r","d":"s-7.example.com"}}"#) == .reset(host: Array("s-7.example.com".utf8)))
        #expect(try parse(#"{"t":"c","d":{"t":"e","d":"text"}}"#) == .otherControl)
        #expect(try parse(#"{"t":"c","d":{"t":"a","d":{}}}"#) == .otherControl)
        #expect(try parse(#"{"t":"c","d":{"t":"h"}}"#) == .otherControl)
    }

    @Test("responses (Protocol.md 4.1)")
    func responses() throws {
        #expect(try parse(#"{"t":"d","d":{"r":7,"b":{"s":"ok","d":{}}}}"#) == response(7, "ok", "{}"))
        #expect(try parse(#"{"t":"d","d":{"b":{"d":"","s":"ok"},"r":0}}"#) == response(0, "ok", "\"\""))
        #expect(try parse(#"{"t":"d","d":{"r":7,"b":{"s":"ok"}}}"#) == response(7, "ok", "null"))
        let denied = try parse(#"{"t":"d","d":{"r":8,"b":{"s":"permission_denied","d":"Permission \"x\" denied"}}}"#)
        guard case .response(let answer) = denied else {
            Issue.record("\(denied)")
            return
        }
        #expect(!answer.isOK)
        #expect(answer.text.elementsEqual("Permission \"x\" denied".utf8))
    }

    @Test("the data of a response is read as a value on demand")
    func values() throws {
        let answer = ServerResponse(number: 1, status: Array("ok".utf8), data: Array(#"{"b":[1,2],"a":null}"#.utf8))
        #expect(try answer.value().description == #"{"b":{"0":1,"1":2}}"#)
        #expect(answer.text.isEmpty)
        let broken = ServerResponse(number: 1, status: Array("ok".utf8), data: Array(#"{"b$":1}"#.utf8))
        #expect(throws: MessageError(malformed: JSONError(.key(.forbidden(byte: UInt8(ascii: "$"))), at: 1))) {
            try broken.value()
        }
    }

    @Test("pushes (Protocol.md 5)")
    func pushes() throws {
        let table: [(body: String, push: ServerPush)] = [
            (
                #"{"a":"d","b":{"p":"rooms","d":{"x":{"ts":5}},"t":1}}"#,
                .data(try assignment("rooms", #"{"x":{"ts":5}}"#), tag: 1)
            ),
            (#"{"a":"d","b":{"p":"/a/.priority","d":null}}"#, .data(try assignment("a/.priority", "null"), tag: nil)),
            (#"{"a":"d","b":{"p":"","d":[true]}}"#, .data(try assignment("", #"{"0":true}"#), tag: nil)),
            (
                #"{"a":"m","b":{"p":"r","d":{"b":null,"c/d":{"ts":7},".priority":2}}}"#,
                .merge(
                    try path("r"),
                    [
                        try assignment("r/b", "null"), try assignment("r/c/d", #"{"ts":7}"#),
                        try assignment("r/.priority", "2"),
                    ],
                    tag: nil)
            ),
            (#"{"a":"c","b":{"p":"/r","q":[{"l":2}]}}"#, .revoke(try path("r"), query: Array(#"[{"l":2}]"#.utf8))),
            (#"{"a":"c","b":{"p":"/r"}}"#, .revoke(try path("r"), query: nil)),
            (#"{"a":"rm","b":{"p":"r","d":[{"e":"a","m":1}]}}"#, .unknown(action: Array("rm".utf8))),
            (#"{"a":"ac","b":{"s":"expired_token","d":"x"}}"#, .unknown(action: Array("ac".utf8))),
            (#"{"a":"sd","b":7}"#, .unknown(action: Array("sd".utf8))),
        ]
        for row in table {
            let message = try parse(#"{"t":"d","d":\#(row.body)}"#)
            #expect(message == .push(row.push), "\(row.body)")
        }
    }

    @Test(
        "bytes that are no message",
        arguments: [
            ("malformed message: the JSON text ends too early", [""]),
            ("malformed message: unexpected character 7", ["7"]),
            (#"the layer "t" of a message is "c" or "d""#, ["{}", #"{"t":"x","d":{}}"#]),
            ("a message is neither a response nor a push", [#"{"t":"d","d":{}}"#, #"{"t":"d","d":{"error":"x"}}"#]),
            (#"a response needs a status "s""#, [#"{"t":"d","d":{"r":7}}"#, #"{"t":"d","d":{"r":7,"b":{}}}"#]),
            (
                "malformed message: unexpected character 5",
                [
                    #"{"t":"d","d":{"r":7,"b":{"s":5}}}"#, #"{"t":"d","d":{"a":5,"b":{}}}"#,
                    #"{"t":"c","d":{"t":"h","d":5}}"#, #"{"t":"c","d":{"t":"s","d":5}}"#,
                ]
            ),
            (
                "malformed message: malformed number",
                [#"{"t":"d","d":{"r":"7","b":{"s":"ok"}}}"#, #"{"t":"c","d":{"t":"h","d":{"ts":1.5}}}"#]
            ),
            (#"malformed message: unexpected character ""#, [#"{"t":"d","d":{"r":7,"b":"ok"}}"#]),
            (
                #"malformed push: the request has no valid path "p""#,
                [
                    #"{"t":"d","d":{"a":"d","b":{"d":1}}}"#, #"{"t":"d","d":{"a":"d"}}"#,
                    #"{"t":"d","d":{"a":"c","b":{}}}"#,
                ]
            ),
            (#"malformed push: the request has no valid data "d""#, [#"{"t":"d","d":{"a":"d","b":{"p":"a"}}}"#]),
            (
                "malformed push: invalid data: unexpected character } at byte 8",
                [#"{"t":"d","d":{"a":"d","b":{"p":"a","d":{"x":tru}}}}"#]
            ),
            (
                "malformed push: invalid path: a key contains one of . $ # [ ] / or a control character",
                [#"{"t":"d","d":{"a":"d","b":{"p":"a$","d":1}}}"#]
            ),
            (
                #"malformed push: the request has no valid object "d""#,
                [#"{"t":"d","d":{"a":"m","b":{"p":"a","d":[1]}}}"#]
            ),
            (
                "malformed push: an update may not set a path and another one above it",
                [#"{"t":"d","d":{"a":"m","b":{"p":"a","d":{"b":1,"b/c":2}}}}"#]
            ),
            ("malformed message: unexpected character n", [#"{"t":"c","d":{"t":"r","d":null}}"#]),
        ])
    func broken(reason: String, texts: [String]) {
        for text in texts { #expect(throws: MessageError(reason: reason), "\(text)") { try parse(text) } }
    }

    @Test("what the server writes, the client reads as it was", arguments: 0..<200)
    func roundTrip(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        var out: [UInt8] = []
        let expected: ServerMessage
        switch Int.random(in: 0..<8, using: &random.random) {
        case 6:
            let path = random.path()
            let query = random.chance(1, in: 2) ? nil : #"{"l":2,"vf":"r"}"#
            ServerMessageWriter.appendRevoke(path, query: query.map { Array($0.utf8) }, to: &out)
            expected = .push(.revoke(path, query: query.map { Array("[\($0)]".utf8) }))
        case 0:
            let hello = ServerHello(
                time: Int64.random(in: 0...(.max), using: &random.random), host: random.bytes(), session: random.bytes()
            )
            ServerMessageWriter.appendHello(time: hello.time, host: hello.host, session: hello.session, to: &out)
            expected = .hello(hello)
        case 1:
            ServerMessageWriter.appendPong(to: &out)
            expected = .pong
        case 2:
            let reason = random.bytes()
            ServerMessageWriter.appendKill(reason: reason, to: &out)
            expected = .kill(reason: reason)
        case 3:
            let value = random.value()
            ServerMessageWriter.appendResponse(number: 12, data: value.bytes, to: &out)
            expected = .response(ServerResponse(number: 12, status: Array("ok".utf8), data: value.bytes))
        case 4:
            let reason = random.chance(1, in: 2) ? "b\"\n" : nil
            let retryAfter: Int64? = random.chance(1, in: 2) ? 1200 : nil
            ServerMessageWriter.appendFailure(
                number: 3, status: "datastale", text: "a\"é\n", reason: reason, retryAfter: retryAfter, to: &out)
            expected = .response(
                ServerResponse(
                    number: 3, status: Array("datastale".utf8), data: Array(#""a\"é\n""#.utf8),
                    reason: reason.map { Array($0.utf8) }, retryAfter: retryAfter))
        case 5:
            let assignment = random.assignment()
            ServerMessageWriter.appendData(assignment.target, assignment.value, to: &out)
            expected = .push(.data(assignment, tag: nil))
        default:
            let (base, assignments) = random.merge()
            ServerMessageWriter.appendMerge(base: base, assignments.map { ($0.target, $0.value) }, to: &out)
            expected = .push(.merge(base, assignments, tag: nil))
        }
        #expect(try out.withBytes { try ServerMessage.parse($0) } == expected, "seed \(seed)")
    }

    @Test("a message whose data is streamed is the message in one piece")
    func streamed() throws {
        var whole: [UInt8] = []
        var pieces: [UInt8] = []
        let assignment = try assignment("a/b", #"{"x":1}"#)
        ServerMessageWriter.appendData(assignment.target, assignment.value, to: &whole)
        ServerMessageWriter.appendDataHead(assignment.target, to: &pieces)
        pieces += assignment.value.bytes + ServerMessageWriter.dataTail
        ServerMessageWriter.appendResponse(number: 4, data: Array("7".utf8), to: &whole)
        ServerMessageWriter.appendResponseHead(number: 4, to: &pieces)
        pieces += "7".utf8
        ServerMessageWriter.appendResponseTail(to: &pieces)
        #expect(pieces == whole)
    }

    @Test(
        "the answer that is written in one piece is the one that is put together",
        arguments: [0, 7, 10, 1_234_567_890, -1, .max, .min] as [Int64])
    func done(number: Int64) {
        var (whole, pieces) = ([UInt8](), [UInt8]())
        ServerMessageWriter.appendDone(number: number, to: &whole)
        ServerMessageWriter.appendResponse(number: number, literal: "\"\"", to: &pieces)
        #expect(whole == pieces)
    }
}
