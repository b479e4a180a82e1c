import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

@Suite("Messages of a client, written")
struct ClientMessageWriterTests {
    private func text(_ request: ClientRequest, number: Int64 = 5) -> String {
        var out = Array("before ".utf8)
        ClientMessageWriter.append(request, number: number, to: &out)
        return String(decoding: out.dropFirst(7), as: UTF8.self)
    }

    @Test("the forms of the SDKs (Protocol.md 3.3, 4.2, 4.4, 4.5, 4.6)")
    func forms() throws {
        let table: [(ClientRequest, String)] = [
            (
                .put(try assignment("rooms/a", #"{"n":3}"#), hash: nil),
                #"{"t":"d","d":{"r":5,"a":"p","b":{"p":"rooms/a","d":{"n":3}}}}"#
            ),
            (.put(try assignment("n", "6"), hash: []), #"{"t":"d","d":{"r":5,"a":"p","b":{"p":"n","d":6,"h":""}}}"#),
            (
                .put(try assignment("a/.priority", "null"), hash: nil),
                #"{"t":"d","d":{"r":5,"a":"p","b":{"p":"a/.priority","d":null}}}"#
            ),
            (
                .merge(try path("a"), [try assignment("a/t", "1"), try assignment("a/x/.priority", "2")]),
                #"{"t":"d","d":{"r":5,"a":"m","b":{"p":"a","d":{"t":1,"x/.priority":2}}}}"#
            ),
            (.get(.root, query: nil), #"{"t":"d","d":{"r":5,"a":"g","b":{"p":"","q":{}}}}"#),
            (
                .listen(try path("rooms"), query: nil, tag: nil, hash: []),
                #"{"t":"d","d":{"r":5,"a":"q","b":{"p":"rooms","h":""}}}"#
            ),
            (
                .listen(try path("rooms"), query: try queryObject(#"{"l":2}"#), tag: 1, hash: nil),
                #"{"t":"d","d":{"r":5,"a":"q","b":{"p":"rooms","q":{"l":2},"t":1}}}"#
            ),
            (.unlisten(try path("rooms"), query: nil, tag: nil), #"{"t":"d","d":{"r":5,"a":"n","b":{"p":"rooms"}}}"#),
            (
                .onDisconnect(try assignment("p/a", #"{".sv":"timestamp"}"#)),
                #"{"t":"d","d":{"r":5,"a":"o","b":{"p":"p/a","d":{".sv":"timestamp"}}}}"#
            ),
            (
                .onDisconnectMerge(try path("p"), [try assignment("p/a", "false"), try assignment("p/b", "null")]),
                #"{"t":"d","d":{"r":5,"a":"om","b":{"p":"p","d":{"a":false,"b":null}}}}"#
            ),
            (.cancelOnDisconnect(try path("p/a")), #"{"t":"d","d":{"r":5,"a":"oc","b":{"p":"p/a","d":null}}}"#),
            (
                .events(try path("a"), query: try queryObject(#"{"i":"n"}"#), tag: 3, [.childAdded, .value]),
                #"{"t":"d","d":{"r":5,"a":"ev","b":{"p":"a","q":{"i":"n"},"t":3,"e":["childAdded","value"]}}}"#
            ),
            (
                .get(try path("a"), query: try conditions(#"{"where":[["n","==",1]]}"#)),
                #"{"t":"d","d":{"r":5,"a":"cg","b":{"p":"a","q":{"where":[["n","==",1]]}}}}"#
            ),
            (
                .listen(try path("a"), query: try conditions("{}"), tag: 1, hash: []),
                #"{"t":"d","d":{"r":5,"a":"cq","b":{"p":"a","q":{},"t":1,"h":""}}}"#
            ),
            (
                .events(try path("a"), query: try conditions("{}"), tag: 2, .childAdded),
                #"{"t":"d","d":{"r":5,"a":"cq","b":{"p":"a","q":{},"t":2,"e":["childAdded"]}}}"#
            ),
            (
                .unlisten(try path("a"), query: try conditions("{}"), tag: 1),
                #"{"t":"d","d":{"r":5,"a":"n","b":{"p":"a","t":1}}}"#
            ),
            (.noEvents(tag: 3), #"{"t":"d","d":{"r":5,"a":"nev","b":{"t":3}}}"#),
            (.authenticate(credential: Array("e\"J".utf8)), #"{"t":"d","d":{"r":5,"a":"auth","b":{"cred":"e\"J"}}}"#),
            (
                .authenticate(credential: Array("x".utf8), acting: Array(#"{"uid":"a"}"#.utf8)),
                #"{"t":"d","d":{"r":5,"a":"auth","b":{"cred":"x","authvar":{"uid":"a"}}}}"#
            ),
            (
                .authenticate(credential: Array("x".utf8), acting: Array("null".utf8)),
                #"{"t":"d","d":{"r":5,"a":"auth","b":{"cred":"x","noauth":true}}}"#
            ),
            (.unauthenticate, #"{"t":"d","d":{"r":5,"a":"unauth","b":{}}}"#),
            (.statistics, #"{"t":"d","d":{"r":5,"a":"s","b":{"c":{}}}}"#),
        ]
        for (request, expected) in table { #expect(text(request) == expected) }
    }

    private func conditions(_ text: String) throws -> QueryObject {
        try QueryObject(parsingConditions: Array(text.utf8))
    }

    @Test("queries with conditions are read again as they were")
    func conditions() throws {
        let object = try conditions(#"{"where":[["a/b","in",[1,"x"]]],"orderBy":[["n","desc"]],"limit":null}"#)
        for request in [
            .get(.root, query: object), .listen(try path("a"), query: object, tag: 7, hash: Array("h".utf8)),
            .events(try path("a"), query: object, tag: 7, .child),
        ] as [ClientRequest] {
            let message = try text(request).withBytes { try ClientMessage.parse($0) }
            #expect(message == .request(number: 5, request))
        }
        for (body, error) in [
            (#"{"p":"a","q":{}}"#, RequestError.missing("tag \"t\"")), (#"{"p":"a","t":1}"#, .missing("query \"q\"")),
        ] {
            let message = try #"{"t":"d","d":{"r":5,"a":"cq","b":\#(body)}}"#.withBytes { try ClientMessage.parse($0) }
            #expect(message == .invalidRequest(number: 5, error))
        }
    }

    @Test("numbers", arguments: [0, 1, -1, 10, 123_456_789, .max, .min] as [Int64])
    func numbers(number: Int64) {
        #expect(text(.unauthenticate, number: number) == #"{"t":"d","d":{"r":\#(number),"a":"unauth","b":{}}}"#)
    }

    @Test("what is written is read again as it was", arguments: 0..<200)
    func roundTrip(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        let request = random.request()
        let number = Int64(bitPattern: random.random.next())
        let message = try text(request, number: number).withBytes { try ClientMessage.parse($0) }
        #expect(message == .request(number: number, request), "seed \(seed)")
    }

    @Test("a ping")
    func ping() throws {
        var out: [UInt8] = []
        ClientMessageWriter.appendPing(to: &out)
        #expect(try out.withBytes { try ClientMessage.parse($0) } == .ping)
    }
}

extension RandomTrees {
    fileprivate mutating func request() -> ClientRequest {
        let query = chance(1, in: 2) ? nil : queryObject()
        let tag = query.map { _ in Int64.random(in: 1...9, using: &random) }
        let hash = chance(1, in: 2) ? nil : bytes()
        switch Int.random(in: 0..<14, using: &random) {
        case 10: return .onDisconnect(assignment())
        case 11:
            let (base, assignments) = merge()
            return .onDisconnectMerge(base, assignments)
        case 12: return .cancelOnDisconnect(path())
        case 13:
            let tag = Int64.random(in: 1...9, using: &random)
            let kinds = EventKinds(rawValue: UInt8.random(in: 1...31, using: &random))
            return chance(1, in: 4) ? .noEvents(tag: tag) : .events(path(), query: query, tag: tag, kinds)
        case 0: return .get(path(), query: queryObject())
        case 1:
            let posts = chance(1, in: 2) ? nil : (0..<Int.random(in: 0...3, using: &random)).map { _ in path() }
            let parts = posts.map { CompoundHash.Parts(hashes: ($0 + [.root]).map { _ in bytes() }, posts: $0) }
            return .listen(path(), query: query, tag: tag, hash: hash, parts: parts)
        case 2: return .unlisten(path(), query: query, tag: tag)
        case 3:
            let acting = pick([nil, "null", #"{"uid":"a","token":{"x.y":[1]}}"#] as [String?])
            return .authenticate(credential: bytes(), acting: acting.map { Array($0.utf8) })
        case 4: return pick([.unauthenticate, .statistics, .appCheck, .unknown(action: Array("zz".utf8))])
        case 5, 6, 7:
            let (base, assignments) = merge()
            return .merge(base, assignments)
        default: return .put(assignment(), hash: hash)
        }
    }
}
