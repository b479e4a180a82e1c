import HearthJSONTree
import HearthTestSupport
import Testing
import HearthWireProtocol
import HearthServerProtocol

@Suite("Query objects")
struct QueryObjectTests {
    private func query(_ text: String) throws(RequestError) -> Query {
        try QueryObject(parsing: Array(text.utf8)).query
    }

    @Test("a text that is too long is refused, however it is written")
    func longTexts() {
        let max = QueryObject.textBytesMax
        let tooLong = RequestError.missing("query \"q\" of at most \(max) bytes")
        for (start, end) in [("{", "}"), ("[{", "}]")] {
            func text(_ count: Int) -> [UInt8] {
                Array((start + String(repeating: " ", count: count - start.count - end.count) + end).utf8)
            }
            let isList = start == "[{"
            func parse(_ text: [UInt8]) throws(RequestError) {
                _ = try isList ? QueryObject(parsingList: text) : QueryObject(parsing: text)
            }
            #expect(throws: Never.self) { try parse(text(max)) }
            #expect(throws: tooLong) { try parse(text(max + 1)) }
        }
        #expect(throws: tooLong) {
            try QueryObject(parsingConditions: Array(repeating: UInt8(ascii: " "), count: max + 1))
        }
    }

    @Test("what the SDKs make of public calls (Protocol.md 16.1)")
    func forms() throws {
        let two = try json("2")
        let b = QueryBound.BoundKey.key(utf8: Array("b".utf8))
        let x = QueryIndex.child(try path("x"))
        let long = String(repeating: "k", count: 785) + "\u{FFFF}"
        let table: [(String, Query)] = [
            ("{}", .everything),
            (#"{"i":".priority"}"#, .everything),
            (#"{"i":".key"}"#, Query(index: .key)),
            (#"{"i":"a/b"}"#, Query(index: .child(try path("a/b")))),
            (
                #"{"sp":2,"sin":true,"ep":2,"ein":true,"i":"x"}"#,
                try Query(index: x, start: QueryBound(two), end: QueryBound(two))
            ),
            (
                #"{"sp":2,"sn":"b","sin":true,"ep":2,"en":"b","ein":true,"i":"x"}"#,
                try Query(index: x, start: QueryBound(two, key: b), end: QueryBound(two, key: b))
            ),
            (
                #"{"sp":null,"sin":true,"ep":null,"ein":true}"#,
                try Query(index: .priority, end: QueryBound(.null))
            ),
            (#"{"sp":2,"sn":"b","sin":true,"i":"x"}"#, try Query(index: x, start: QueryBound(two, key: b))),
            (#"{"sp":2.0,"sn":"b","i":"x"}"#, try Query(index: x, start: QueryBound(two, key: b))),
            (
                #"{"sp":2,"sn":"[MAX_NAME]","sin":false,"i":"x"}"#,
                try Query(index: x, start: QueryBound(two, key: .highest, isInclusive: false))
            ),
            (#"{"sp":2,"sn":"[MAX_KEY]","i":"x"}"#, try Query(index: x, start: QueryBound(two, key: .highest))),
            (
                #"{"sp":2,"sn":"b","sin":false,"i":"x"}"#,
                try Query(index: x, start: QueryBound(two, key: b, isInclusive: false))
            ),
            (
                #"{"ep":"zz","en":"[MIN_NAME]","ein":false,"i":".value"}"#,
                try Query(index: .value, end: QueryBound(try json(#""zz""#), key: .lowest))
            ),
            (
                #"{"sp":"k","sin":false,"l":3,"vf":"l","i":".key"}"#,
                try Query(
                    index: .key, start: QueryBound(try json(#""k""#), isInclusive: false), limit: QueryLimit(.first, 3))
            ),
            (#"{"l":2,"vf":"r"}"#, try Query(index: .priority, limit: QueryLimit(.last, 2))),
            (#"{"l":2,"vf":"l"}"#, try Query(index: .priority, limit: QueryLimit(.first, 2))),
            (#"{"l":2}"#, try Query(index: .priority, limit: QueryLimit(.last, 2))),
            (
                #"{"l":2,"sp":2}"#,
                try Query(index: .priority, start: QueryBound(two), limit: QueryLimit(.first, 2))
            ),
            (#"{"ep":"[MAX_NAME]","i":".key","x":[{}]}"#, Query(index: .key)),
            (#"{"sp":"[MIN_NAME]","i":".key"}"#, Query(index: .key)),
            (#"{ "i" : null, "l":null, "vf":"l", "sn":"b", "sin":false, "\u0078":1 }"#, .everything),
            (#"{"i":"\u002ekey"}"#, Query(index: .key)),
            (
                #"{"sp":2,"sn":"\#(long)","i":"x"}"#,
                try Query(index: x, start: QueryBound(two, key: .key(utf8: Array(long.utf8))))
            ),
            (
                #"{"sp":"\#(long)","i":".key"}"#,
                try Query(index: .key, start: QueryBound(CanonicalJSON(string: Array(long.utf8))))
            ),
        ]
        for (text, expected) in table {
            let object = try QueryObject(parsing: Array(text.utf8))
            #expect(object.query == expected, "\(text)")
            #expect(object.text == Array(text.utf8))
        }
    }

    @Test(
        "what is not a query",
        arguments: [
            ("[]", .missing(#"query "q""#)), ("5", .missing(#"query "q""#)), ("{", .missing(#"query "q""#)),
            (#"{"i":5}"#, .missing(#"index "i" of the query"#)), (#"{"i":""}"#, .missing(#"index "i" of the query"#)),
            (#"{"i":".x"}"#, .missing(#"index "i" of the query"#)),
            (#"{"i":"a/$b"}"#, .missing(#"index "i" of the query"#)),
            (#"{"i":"a/.priority"}"#, .missing(#"index "i" of the query"#)),
            (#"{"l":0}"#, .query(.limitNotPositive)), (#"{"l":-3,"vf":"l"}"#, .query(.limitNotPositive)),
            (#"{"l":1.5}"#, .missing(#"limit "l" of the query"#)),
            (#"{"l":"2"}"#, .missing(#"limit "l" of the query"#)),
            (#"{"l":1e99}"#, .missing(#"limit "l" of the query"#)),
            (#"{"l":2,"vf":"x"}"#, .missing(#"side "vf" of the query's limit"#)),
            (#"{"l":2,"vf":true}"#, .missing(#"side "vf" of the query's limit"#)),
            (#"{"sp":{}}"#, .query(.boundNotPrimitive)), (#"{"sp":[1]}"#, .query(.boundNotPrimitive)),
            (#"{"ep":{".value":1}}"#, .query(.boundNotPrimitive)),
            (#"{"ep":{".sv":"timestamp"}}"#, .query(.boundNotPrimitive)),
            (#"{"sp":nul}"#, .missing("start of the query")), (#"{"ep":1e400}"#, .missing("end of the query")),
            (#"{"sp":5,"i":".key"}"#, .query(.keyBoundNotString)),
            (#"{"ep":null,"i":".key"}"#, .query(.keyBoundNotString)),
            (#"{"sp":5,"sn":7}"#, .missing("start key of the query")),
            (#"{"ep":5,"en":true}"#, .missing("end key of the query")),
            (#"{"ep":5,"ein":1}"#, .missing("end of the query")),
        ] as [(String, RequestError)])
    func mistakes(text: String, error: RequestError) {
        #expect(throws: error) { try query(text) }
        #expect(!error.message.isEmpty)
    }

    @Test("a mistake is one of the request, not of the connection", arguments: ["q", "n", "g"])
    func request(action: String) throws {
        let text = #"{"t":"d","d":{"r":7,"a":"\#(action)","b":{"p":"a","q":{"l":0},"t":1}}}"#
        let message = try text.withBytes { (bytes) throws(MessageError) in try ClientMessage.parse(bytes) }
        #expect(message == .invalidRequest(number: 7, .query(.limitNotPositive)))
    }

    @Test("what is written is read again as it was", arguments: 0..<200)
    func roundTrip(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        let object = random.queryObject()
        #expect(try QueryObject(parsing: object.text) == object, "seed \(seed)")
    }

    @Test("every beginning of a query object is an error, and no trap")
    func prefixes() {
        let text = Array(#"{"sp":"\u00e9","sn":"b","sin":false,"ep":-1.5e3,"l":3,"vf":"r","i":"a/b"}"#.utf8)
        for count in 0..<text.count {
            #expect(throws: RequestError.self, "\(count) bytes") { try QueryObject(parsing: Array(text[..<count])) }
        }
    }
}

extension RandomTrees {
    mutating func queryObject() -> QueryObject {
        let index = pick([QueryIndex.key, .value, .priority, .child("x/y")])
        let limit = chance(1, in: 2) ? nil : QueryLimit(pick([.first, .last]), Int.random(in: 1...9, using: &random))
        let (start, end) = (bound(in: index), bound(in: index))
        guard let object = try? QueryObject(index: index, start: start, end: end, limit: limit) else {
            preconditionFailure("bounds that are none")
        }
        return object
    }

    private mutating func bound(in index: QueryIndex) -> QueryBound? {
        if chance(1, in: 3) { return nil }
        let leaf = index == .key ? .string(key()) : leaf()
        let key = pick([nil, .lowest, .highest, .key(utf8: Array("a".utf8))] as [QueryBound.BoundKey?])
        return QueryBound(
            CanonicalJSON(TreeModel.text(of: leaf)), key: index == .key ? nil : key, isInclusive: chance(1, in: 2))
    }
}
