import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Queries") struct QueryTests {
    private static let node: CanonicalJSON = #"""
        {".priority":9,"7":{"x":2},"a":{".priority":"p","x":1},"b":{"x":2},"c":{"x":2},"d":{"x":"zz"},"e":{"w":1},"f":{".priority":2,".value":3}}
        """#

    private func keys(_ query: Query) -> String {
        query.select(from: Self.node).children.map(\.key.description).joined(separator: " ")
    }

    private static let two: CanonicalJSON = "2"

    private static func key(_ text: String) -> QueryBound.BoundKey { .key(utf8: Array(text.utf8)) }

    @Test("calls of the SDKs (Protocol.md 16.1)")
    func calls() throws {
        let x = QueryIndex.child("x")
        let two = QueryBound(Self.two)
        let table: [(Query, String)] = [
            // equalTo(2), equalTo(2, "b"), equalTo(null)
            (try Query(index: x, start: two, end: two), "7 b c"),
            (
                try Query(
                    index: x, start: QueryBound(Self.two, key: Self.key("b")),
                    end: QueryBound(Self.two, key: Self.key("b"))), "b"
            ),
            (try Query(index: x, start: QueryBound(.null), end: QueryBound(.null)), "e f"),
            // startAt(2, "b"), startAfter(2), startAfter(2, "b")
            (try Query(index: x, start: QueryBound(Self.two, key: Self.key("b"))), "b c d"),
            (try Query(index: x, start: QueryBound(Self.two, key: .highest, isInclusive: false)), "d"),
            (try Query(index: x, start: QueryBound(Self.two, key: Self.key("b"), isInclusive: false)), "c d"),
            // The same in neighbouring keys: the successors of "b" and 7.
            (try Query(index: x, start: QueryBound(Self.two, key: Self.key("b-"))), "c d"),
            (try Query(index: x, start: QueryBound(Self.two, key: Self.key("8"))), "b c d"),
            (try Query(index: x, start: QueryBound(Self.two, key: .highest)), "d"),
            // endBefore(2), endBefore(2, "b"), and the latter by the predecessor of "b"
            (try Query(index: x, end: QueryBound(Self.two, key: .lowest, isInclusive: false)), "a e f"),
            (try Query(index: x, end: QueryBound(Self.two, key: Self.key("b"), isInclusive: false)), "7 a e f"),
            (
                try Query(
                    index: x, end: QueryBound(Self.two, key: Self.key("a" + String(repeating: "z", count: 785)))),
                "7 a e f"
            ),
            // Without a key the flag alone leaves nothing out: the bound is the position next to the value's children.
            (try Query(index: x, start: QueryBound(Self.two, isInclusive: false)), "7 b c d"),
            (try Query(index: x, end: QueryBound(Self.two, isInclusive: false)), "7 a b c e f"),
            (try Query(index: .value, end: QueryBound(#""zz""#, key: .lowest, isInclusive: false)), "f"),
            (try Query(index: .value, start: QueryBound("false")), "7 a b c d e f"),
            (
                try Query(index: .key, start: QueryBound(#""b""#, isInclusive: false), limit: QueryLimit(.first, 3)),
                "c d e"
            ),
            (try Query(index: .key, end: QueryBound(#""a""#)), "7 a"),
            (try Query(index: .key, start: QueryBound(#""[MAX_KEY]""#)), ""),
            (try Query(index: .key, start: QueryBound(#""""#), end: QueryBound(#""b""#)), "a b"),
            (try Query(index: .priority, limit: QueryLimit(.last, 2)), "a f"),
            (try Query(index: .priority, start: QueryBound("0")), "a f"),
        ]
        for (query, expected) in table { #expect(keys(query) == expected, "\(query)") }
    }

    @Test("a filtered value has its children's priorities and not its own")
    func priorities() throws {
        let last = try Query(index: .priority, limit: QueryLimit(.last, 2))
        #expect(
            last.select(from: Self.node) == #"{"a":{".priority":"p","x":1},"f":{".priority":2,".value":3}}"#)
        #expect(last.select(from: "5").isNull)
        #expect(last.select(from: #"{".priority":1,".value":5}"#).isNull)
        #expect(last.select(from: .null).isNull)
        #expect(Query.everything.select(from: Self.node) == Self.node)
        #expect(Query(index: .value).select(from: "5") == "5")
    }

    @Test("queries that ask for the same are equal")
    func normalForm() throws {
        let all = Query(index: .key)
        #expect(all.selectsEverything)
        #expect(try Query(index: .key, start: QueryBound(#""[MIN_NAME]""#)) == all)
        #expect(try Query(index: .key, end: QueryBound(#""[MAX_NAME]""#)) == all)
        #expect(try Query(index: .priority, start: QueryBound(.null)) == .everything)
        #expect(try Query(index: .value, start: QueryBound("1.0"), end: nil).lower == IndexValue.encoded("1"))
        #expect(
            try Query(index: .value, start: QueryBound("1", key: .lowest, isInclusive: false))
                == Query(index: .value, start: QueryBound("1")))
        #expect(
            try Query(index: .value, end: QueryBound("1", key: .highest, isInclusive: false))
                == Query(index: .value, end: QueryBound("1")))
        let nothing = try Query(
            index: .value, start: QueryBound("2"), end: QueryBound("1"), limit: QueryLimit(.last, 1))
        #expect(nothing.selectsNothing)
        #expect(!nothing.selectsEverything)
        #expect(try Query(index: .value, start: QueryBound("true"), end: QueryBound("false")) == nothing)
        #expect(nothing.select(from: Self.node).isNull)
        #expect(try !Query(index: .key, limit: QueryLimit(.last, 1)).selectsEverything)
    }

    @Test("bounds that are invalid")
    func mistakes() {
        #expect(throws: QueryError.limitNotPositive) { try Query(index: .key, limit: QueryLimit(.first, 0)) }
        #expect(throws: QueryError.keyBoundNotString) { try Query(index: .key, start: QueryBound("5")) }
        #expect(throws: QueryError.keyBoundNotString) { try Query(index: .key, end: QueryBound(.null)) }
        #expect(throws: QueryError.boundNotPrimitive) { try Query(index: .value, end: QueryBound(#"{"a":1}"#)) }
        #expect(throws: QueryError.boundNotPrimitive) {
            try Query(index: .value, start: QueryBound(#"{".priority":1,".value":2}"#))
        }
    }

    @Test("agrees with a naive selection", arguments: 0..<300 * TestScale.factor)
    func model(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = RandomTrees.indexedKeys
        for _ in 0..<5 {
            var node = TreeModel()
            for _ in 0..<Int.random(in: 0...12, using: &random.random) {
                node.children[random.key()] = random.indexedChild()
            }
            node.priority = node.isEmpty ? nil : random.priority()
            let model = random.query()
            let query = try model.query()
            var expected = TreeModel()
            for (key, value) in model.select(node) { expected.children[key] = value }
            let selected = query.select(from: CanonicalJSON(node.canonicalText))
            if query.selectsEverything { expected = node }
            #expect(selected.description == expected.canonicalText, "seed \(seed): \(model)")
            let interval = model.interval(node).map(\.key)
            for (key, value) in node.children {
                #expect(
                    query.contains(model.place(of: (key, value))) == interval.contains(key), "seed \(seed): \(model)")
            }
        }
    }
}
