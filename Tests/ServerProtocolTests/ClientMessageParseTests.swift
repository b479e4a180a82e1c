import HearthJSONTree
import Testing
import HearthWireProtocol
import HearthServerProtocol
import HearthTestSupport

@Suite("Messages of a client, read")
struct ClientMessageParseTests {
    private func parse(_ text: String) throws(MessageError) -> ClientMessage {
        try text.withBytes { (bytes) throws(MessageError) in try ClientMessage.parse(bytes) }
    }

    /// The message of a request with the number 7.
    private func request(_ action: String, _ body: String) throws -> ClientMessage {
        try parse(#"{"t":"d","d":{"r":7,"a":"\#(action)","b":\#(body)}}"#)
    }

    @Test(
        "a compound hash that makes no sense is as good as none",
        arguments: [
            "null", "7", "[]", "{}", #"{"hs":[""]}"#, #"{"hs":[],"ps":[]}"#, #"{"hs":["",""],"ps":["a.b"]}"#,
            #"{"hs":[1],"ps":[]}"#, #"{"hs":"x","ps":[]}"#, #"{"hs":[""],"ps":{}}"#, #"{"hs":["",""],"ps":[["a"]]}"#,
        ])
    func compoundHashes(text: String) throws {
        let listen = ClientRequest.listen(try path("a"), query: nil, tag: nil, hash: Array("x".utf8))
        #expect(try request("q", #"{"p":"a","h":"x","ch":\#(text)}"#) == .request(number: 7, listen))
    }

    @Test("a compound hash that is very long is as good as none, and of a long hash only the beginning is kept")
    func longHashes() throws {
        let count = 20_000
        let hashes = Array(repeating: #""x""#, count: count + 1).joined(separator: ",")
        let posts = (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
        let hash = String(repeating: "h", count: 1000)
        let body = #"{"p":"a","h":"\#(hash)","ch":{"hs":[\#(hashes)],"ps":[\#(posts)]}}"#
        let listen = ClientRequest.listen(try path("a"), query: nil, tag: nil, hash: Array(hash.utf8.prefix(64)))
        #expect(try request("q", body) == .request(number: 7, listen))
    }

    @Test("requests in the forms of the SDKs (Protocol.md 4, 4.5, 4.6)")
    func requests() throws {
        let table: [(action: String, body: String, request: ClientRequest)] = [
            (
                "p", #"{"p":"/rooms/a","d":{"title":"x","n":3}}"#,
                .put(try assignment("rooms/a", #"{"title":"x","n":3}"#), hash: nil)
            ),
            ("p", #"{"p":"rooms/a","d":null}"#, .put(try assignment("rooms/a", "null"), hash: nil)),
            ("p", #"{"p":"","d":[1,null,3]}"#, .put(try assignment("", #"{"0":1,"2":3}"#), hash: nil)),
            (
                "p", #"{"p":"/a","d":{".value":5,".priority":10}}"#,
                .put(try assignment("a", #"{".priority":10,".value":5}"#), hash: nil)
            ),
            ("p", #"{"p":"/a/.priority","d":10}"#, .put(try assignment("a/.priority", "10"), hash: nil)),
            (
                "p", #"{"p":"/a/.priority","d":{".sv":"timestamp"}}"#,
                .put(try assignment("a/.priority", #"{".sv":"timestamp"}"#), hash: nil)
            ),
            ("p", #"{"p":"/n","d":6,"h":"abc="}"#, .put(try assignment("n", "6"), hash: Array("abc=".utf8))),
            ("p", #"{"p":"/n","d":6,"h":""}"#, .put(try assignment("n", "6"), hash: [])),
            ("p", #"{"p":"/n","d":6,"h":null}"#, .put(try assignment("n", "6"), hash: nil)),
            (
                "p", #"{"p":"/n","d":{".sv":"timestamp"}}"#,
                .put(try assignment("n", #"{".sv":"timestamp"}"#), hash: nil)
            ),
            ("p", #"{"d":1,"x":{"p":"no"},"p":"\u00e9/\"b"}"#, .put(try assignment("é/\"b", "1"), hash: nil)),
            (
                "m", #"{"p":"/a","d":{"/t/":"y","m/by":"bob","old":null,"x/.priority":4,".priority":1}}"#,
                .merge(
                    try path("a"),
                    [
                        try assignment("a/t", #""y""#), try assignment("a/m/by", #""bob""#),
                        try assignment("a/old", "null"), try assignment("a/x/.priority", "4"),
                        try assignment("a/.priority", "1"),
                    ])
            ),
            ("m", #"{"p":"/","d":{}}"#, .merge(.root, [])),
            (
                "m", #"{"p":"/","d":{"a\/b":1,"\u0061c":2}}"#,
                .merge(.root, [try assignment("a/b", "1"), try assignment("ac", "2")])
            ),
            ("g", #"{"p":"/rooms","q":{}}"#, .get(try path("rooms"), query: try queryObject("{}"))),
            ("q", #"{"p":"/rooms","h":""}"#, .listen(try path("rooms"), query: nil, tag: nil, hash: [])),
            (
                "q", #"{"p":"/rooms","h":"x","ch":{"ps":["/","a/x"],"hs":["1","2",""]}}"#,
                .listen(
                    try path("rooms"), query: nil, tag: nil, hash: Array("x".utf8),
                    parts: .init(hashes: ["1", "2", ""].map { Array($0.utf8) }, posts: [.root, try path("a/x")]))
            ),
            ("q", #"{"p":"/rooms"}"#, .listen(try path("rooms"), query: nil, tag: nil, hash: nil)),
            (
                "q", #"{"p":"/rooms","q":{"l":2, "vf":"r"},"t":1,"h":""}"#,
                .listen(try path("rooms"), query: try queryObject(#"{"l":2, "vf":"r"}"#), tag: 1, hash: [])
            ),
            ("l", #"{"p":"/a"}"#, .listen(try path("a"), query: nil, tag: nil, hash: nil)),
            (
                "n", #"{"p":"/rooms","q":{"l":2},"t":1}"#,
                .unlisten(try path("rooms"), query: try queryObject(#"{"l":2}"#), tag: 1)
            ),
            ("u", #"{"p":"/a"}"#, .unlisten(try path("a"), query: nil, tag: nil)),
            ("s", #"{"c":{"sdk.node.12-18-0":1}}"#, .statistics),
            ("auth", #"{"cred":"eyJ"}"#, .authenticate(credential: Array("eyJ".utf8))),
            (
                "gauth", #"{"cred":"owner","noauth":true,"authvar":{"uid":"a"}}"#,
                .authenticate(credential: Array("owner".utf8), acting: Array("null".utf8))
            ),
            (
                "gauth", #"{"noauth":false,"authvar":{"uid":"a","token":{"x.y":[1]}},"cred":"owner"}"#,
                .authenticate(
                    credential: Array("owner".utf8), acting: Array(#"{"uid":"a","token":{"x.y":[1]}}"#.utf8))
            ),
            ("unauth", "{}", .unauthenticate),
            ("appcheck", #"{"token":"x"}"#, .appCheck),
            ("unappcheck", "{}", .appCheck),
            ("unappeck", "{}", .appCheck),
            ("xyz", #"{"p":"/"}"#, .unknown(action: Array("xyz".utf8))),
            ("", "{}", .unknown(action: [])),
            ("x", "{}", .unknown(action: Array("x".utf8))),
        ]
        for row in table {
            let message = try request(row.action, row.body)
            #expect(message == .request(number: 7, row.request), "\(row.action) \(row.body)")
        }
    }

    @Test("the order of members, white space and unknown members do not matter")
    func forms() throws {
        let expected = ClientMessage.request(number: -3, .get(try path("a"), query: nil))
        #expect(try parse(#"{"t":"d","d":{"r":-3,"a":"g","b":{"p":"a"}}}"#) == expected)
        #expect(
            try parse(#" { "x" : [1,{}] , "d" : { "b" : {"p":"a"} , "z":null, "a":"g","r" : -3 } , "t":"d" } "#)
                == expected)
    }

    @Test("a server value is told from a value")
    func serverValues() throws {
        let message = try request("p", #"{"p":"a","d":{"at":{".sv":"timestamp"},"n":1}}"#)
        guard case .request(_, .put(let assignment, _)) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(assignment.hasServerValues)
    }

    @Test(
        "control messages",
        arguments: [
            (#"{"t":"c","d":{"t":"p","d":{}}}"#, ClientMessage.ping), (#"{"t":"c","d":{"t":"p"}}"#, .ping),
            (#"{"t":"c","d":{"d":{},"t":"n"}}"#, .endOfTransmission), (#"{"t":"c","d":{"t":"a","d":{}}}"#, .switchAck),
            (#"{"t":"c","d":{}}"#, .otherControl),
            (#"{"t":"c","d":{"t":5}}"#, .otherControl), (#"{"t":"c","d":{"t":"pp"}}"#, .otherControl),
        ])
    func control(text: String, expected: ClientMessage) throws {
        #expect(try parse(text) == expected)
    }

    @Test(
        "a request that is wrong in itself is answered",
        arguments: [
            ("p", #"{"d":1}"#, RequestError.missing(#"path "p""#)), ("p", #"{"p":"a"}"#, .missing(#"data "d""#)),
            ("p", #"{"p":5,"d":1}"#, .missing(#"path "p""#)), ("p", #"[]"#, .missing(#"path "p""#)),
            ("p", #""x""#, .missing(#"path "p""#)), ("p", #"{"p":"a","d":1,"h":5}"#, .missing(#"hash "h""#)),
            ("p", #"{"p":"a","d":tru}"#, .value(JSONError(.unexpectedEnd, at: 3))),
            ("p", #"{"p":"a","d":{".priority":true,".value":1}}"#, .value(JSONError(.invalidPriority, at: 13))),
            ("p", #"{"p":"a/.priority","d":{"x":1}}"#, .value(JSONError(.invalidPriority, at: 0))),
            ("p", #"{"p":"a/.priority","d":true}"#, .value(JSONError(.invalidPriority, at: 0))),
            ("p", #"{"p":"a/.priority","d":{"x":{".sv":"timestamp"}}}"#, .value(JSONError(.invalidPriority, at: 0))),
            (
                "p", #"{"p":"a/.priority","d":{".sv":"timestamp",".priority":1}}"#,
                .value(JSONError(.invalidPriority, at: 0))
            ),
            ("m", #"{"p":"a","d":{".priority":[{".sv":"timestamp"}]}}"#, .value(JSONError(.invalidPriority, at: 13))),
            ("p", #"{"p":"a","d":{"b$":1}}"#, .value(JSONError(.key(.forbidden(byte: 0x24)), at: 1))),
            ("p", #"{"p":"a/b#","d":1}"#, .path(.key(.forbidden(byte: 0x23), index: 1))),
            ("p", #"{"p":"a/.info","d":1}"#, .path(.key(.forbidden(byte: 0x2E), index: 1))),
            ("p", #"{"p":"a/.priority/b","d":1}"#, .path(.key(.forbidden(byte: 0x2E), index: 1))),
            ("m", #"{"p":"a"}"#, .missing(#"object "d""#)), ("m", #"{"p":"a","d":[1]}"#, .missing(#"object "d""#)),
            ("m", #"{"d":{}}"#, .missing(#"path "p""#)),
            ("m", #"{"p":"a","d":{"":1}}"#, .key(.key(.empty, index: 0), at: 1)),
            ("m", #"{"p":"a","d":{"x":0,"//":1}}"#, .key(.key(.empty, index: 0), at: 7)),
            ("m", #"{"p":"a","d":{"b.c":1}}"#, .key(.key(.forbidden(byte: 0x2E), index: 0), at: 1)),
            ("m", #"{"p":"a","d":{"b":1,"c":[1,]}}"#, .value(JSONError(.unexpectedByte(0x5D), at: 14))),
            ("m", #"{"p":"a","d":{"b":1, "c" : {"x":01}}}"#, .value(JSONError(.invalidNumber, at: 19))),
            ("m", #"{"p":"a","d":{"b":1,"b/c":2}}"#, .overlappingPaths),
            ("m", #"{"p":"a","d":{"b/c/d":1,"x":0,"b":2}}"#, .overlappingPaths),
            ("m", #"{"p":"a","d":{"b":1,"b/c/.priority":2}}"#, .overlappingPaths),
            ("m", #"{"p":"a","d":{"b/.priority":1,"b":2}}"#, .overlappingPaths),
            ("m", #"{"p":"a","d":{"b":1,"/b":2}}"#, .overlappingPaths),
            ("g", #"{"q":{}}"#, .missing(#"path "p""#)), ("q", #"{"h":""}"#, .missing(#"path "p""#)),
            ("q", #"{"p":"a","t":"1"}"#, .missing(#"tag "t""#)), ("q", #"{"p":"a","t":1.5}"#, .missing(#"tag "t""#)),
            ("q", #"{"p":"a/.priority"}"#, .path(.key(.forbidden(byte: 0x2E), index: 1))),
            ("n", #"{}"#, .missing(#"path "p""#)), ("auth", #"{}"#, .missing(#"credential "cred""#)),
            ("auth", #"{"cred":7}"#, .missing(#"credential "cred""#)),
        ])
    func invalidRequests(action: String, body: String, error: RequestError) throws {
        #expect(try request(action, body) == .invalidRequest(number: 7, error))
        #expect(!error.message.isEmpty)
    }

    @Test("depth is counted from the root")
    func depth() throws {
        let deep = (1...30).map { "k\($0)" }.joined(separator: "/")
        #expect(
            try request("p", #"{"p":"\#(deep)","d":{"a":{"b":1}}}"#)
                == .request(
                    number: 7, .put(try assignment(deep, #"{"a":{"b":1}}"#), hash: nil)))
        let tooDeep = try request("p", #"{"p":"\#(deep)","d":{"a":{"b":{"c":1}}}}"#)
        #expect(tooDeep == .invalidRequest(number: 7, .value(JSONError(.tooDeep(limit: 2), at: 11))))
        let tooDeepKey = try request("m", #"{"p":"\#(deep)","d":{"a/b/c":1}}"#)
        #expect(tooDeepKey == .invalidRequest(number: 7, .key(.tooDeep, at: 1)))
        #expect(try request("g", #"{"p":"\#(deep)/a/b/c"}"#) == .invalidRequest(number: 7, .path(.tooDeep)))
    }

    @Test("a value that nests far too deep is an error of the request, not of the connection")
    func abyss() throws {
        let nested = String(repeating: #"{"a":"#, count: 500) + "1" + String(repeating: "}", count: 500)
        guard case .invalidRequest(7, .value(let error)) = try request("p", #"{"p":"a","d":\#(nested)}"#) else {
            Issue.record("not an invalid request")
            return
        }
        #expect(error.kind == .tooDeep(limit: 31))
    }

    @Test(
        "an unknown action",
        arguments: [#"{"r":7}"#, #"{"r":7,"a":5,"b":{}}"#, #"{"r":7,"a":null}"#, #"{"r":7,"a":{"a":"p"},"b":{}}"#])
    func actions(payload: String) throws {
        #expect(try parse(#"{"t":"d","d":\#(payload)}"#) == .invalidRequest(number: 7, .missing(#"action "a""#)))
    }

    @Test(
        "bytes that are no message end the connection",
        arguments: [
            (
                "malformed message: the JSON text ends too early",
                ["", " ", #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"a"}}"#, #"{"t":"c","d":{"t":"p"}"#]
            ),
            ("malformed message: unexpected character 0", ["0"]),
            ("malformed message: unexpected character 5", ["5"]),
            ("malformed message: unexpected character n", ["null"]),
            ("malformed message: unexpected character [", ["[]"]),
            (
                #"the layer "t" of a message is "c" or "d""#,
                [
                    "{}", #"{"d":{}}"#, #"{"t":"x","d":{}}"#, #"{"t":"","d":{}}"#, #"{"t":"dd","d":{}}"#,
                    #"{"t":5,"d":{}}"#,
                ]
            ),
            (
                #"a message needs an object "d""#,
                [#"{"t":"d"}"#, #"{"t":"d","d":[]}"#, #"{"t":"d","d":null}"#, #"{"t":"c","d":"p"}"#]
            ),
            (#"a request needs a number "r""#, [#"{"t":"d","d":{}}"#, #"{"t":"d","d":{"a":"g","b":{"p":"a"}}}"#]),
            (
                "malformed message: malformed number",
                [
                    #"{"t":"d","d":{"r":1.5,"a":"g"}}"#, #"{"t":"d","d":{"r":"1","a":"g"}}"#,
                    #"{"t":"d","d":{"r":99999999999999999999,"a":"g"}}"#,
                ]
            ),
            (
                "malformed message: unexpected text after the JSON value",
                [
                    #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"a"}}}}"#,
                    #"{"t":"d","d":{"r":1,"a":"g","b":{"p":"a"}}} x"#,
                ]
            ),
            (#"malformed message: unexpected character ""#, [#"{"t":"d" "d":{}}"#]),
            ("malformed message: unexpected character }", [#"{"t":"d",}"#]),
            ("malformed message: unescaped control character 0x1", ["{\"t\":\"d\u{1}\"}"]),
        ])
    func broken(reason: String, texts: [String]) {
        for text in texts { #expect(throws: MessageError(reason: reason), "\(text)") { try parse(text) } }
    }

    @Test("every beginning of a message is an error or a request, and no trap")
    func prefixes() {
        let text = Array(
            #"{"t":"d","d":{"r":9,"a":"m","b":{"p":"/a\u00e9","d":{"x\n":[1,{".sv":"timestamp"}],"y":-1.5e3}}}}"#.utf8)
        for count in 0..<text.count {
            #expect(throws: MessageError.self, "\(count) bytes") {
                try Array(text[..<count]).withBytes { (bytes) throws(MessageError) in try ClientMessage.parse(bytes) }
            }
        }
    }
}
