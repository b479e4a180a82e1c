import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Index places") struct IndexPlaceTests {
    private static let keys = [
        "-2147483648", "-10", "-1", "0", "-0", "00", "1", "01", "2", "10", "2147483647", " ", "+1", "-",
        "-2147483649", "-Kx", "1 5", "123456789012", "2147483648", "A", "_", "a", "z", "~", "é", "😀", "\u{FFFD}",
    ]

    private static func segment(_ key: String) throws -> [UInt8] { Path([try Key(validating: key)]).encoded }

    @Test(
        "children of one value order by key (Protocol.md 7.5)",
        arguments: [QueryIndex.key, .value, .priority, .child("x")])
    func keyOrder(index: QueryIndex) throws {
        let places = try Self.keys.map { try #require(index.place(of: "5", segment: Self.segment($0))) }
        for (a, b) in zip(places, places.dropFirst()) { #expect(a < b, "\(a.key) \(b.key)") }
        #expect(try places.map(\.key) == Self.keys.map { try Key(validating: $0) })
    }

    /// Values of one row are equal to an index.
    private static let values = [
        ["null"], ["false"], ["true"], ["-1e300"], ["-5"], ["-0.5"], ["0", "-0.0"], ["1e-320"], ["1", "1.0"], ["1.5"],
        ["9007199254740992", "9007199254740993"], ["1e21"], [#""""#], [#""\u0000""#], [#""\u0001""#], [#""\u0002""#],
        [#""\"""#], [#""10""#], [#""9""#], [#""a""#], [#""a\u0000""#], [#""a\u0000\u0000""#], [#""a\u0001""#],
        [#""a\u0002""#], [#""ab""#], [#""é""#], [#""😀""#], [#""\uff61""#], [#"{"a":1}"#, #"{"b":2}"#],
    ]

    @Test("values order as Firebase documents (Protocol.md 16.2)")
    func valueOrder() throws {
        let groups = try Self.values.map { try $0.map { IndexValue.encoded(try json($0)) } }
        for group in groups { #expect(Set(group).count == 1) }
        for (a, b) in zip(groups, groups.dropFirst()) { #expect(a[0].precedesBytewise(b[0]), "\(a) \(b)") }
    }

    @Test("encoded values compare as the values", arguments: 0..<20)
    func encodedValues(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        let values = (0..<25).map { _ in
            CanonicalJSON(
                random.chance(1, in: 3) ? TreeModel.text(of: random.leaf()) : random.tree(depth: 1).canonicalText)
        }
        for a in values {
            for b in values {
                let (x, y) = (IndexValue.encoded(a), IndexValue.encoded(b))
                let order = x.precedesBytewise(y) ? -1 : x == y ? 0 : 1
                #expect(order == ValueOrder.compare(a, b).signum(), "seed \(seed): \(a) \(b)")
                if order != 0 { #expect(!x.starts(with: y), "seed \(seed): \(a) \(b)") }
            }
        }
    }

    @Test("an index looks at its part of a child only")
    func indexed() throws {
        let child = try json(#"{".priority":"p","x":{".priority":1,"y":2},"z":{"y":true}}"#)
        let leaf = try json(#"{".priority":3,".value":"v"}"#)
        func value(_ index: QueryIndex, _ json: CanonicalJSON) -> [UInt8] {
            var out: [UInt8] = []
            index.appendValue(of: json, in: json.range, to: &out)
            return out
        }
        #expect(value(.key, child).isEmpty)
        #expect(value(.value, child) == IndexValue.object)
        #expect(value(.value, leaf) == IndexValue.encoded(#""v""#))
        #expect(value(.priority, child) == IndexValue.encoded(#""p""#))
        #expect(value(.priority, leaf) == IndexValue.encoded("3"))
        #expect(value(.priority, "5") == IndexValue.nothing)
        #expect(value(.child("x"), try json(#"{"x":{".priority":1,".value":5}}"#)) == IndexValue.encoded("5"))
        #expect(value(.child("z"), child) == IndexValue.object)
        #expect(value(.child("z/y"), child) == IndexValue.encoded("true"))
        #expect(value(.child("z/y"), leaf) == IndexValue.nothing)
        #expect(value(.child("w"), child) == IndexValue.nothing)
        #expect(QueryIndex.value.place(of: .null, segment: try Self.segment("a")) == nil)
    }

    @Test("a place tells its key, whatever value stands before it", arguments: 0..<200)
    func segments(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for _ in 0..<10 {
            let key = TreeModel.realKey(random.key())
            let leaf = CanonicalJSON(TreeModel.text(of: random.leaf()))
            for index in [QueryIndex.key, .value, .priority] {
                let place = try #require(index.place(of: leaf, segment: Path([key]).encoded))
                #expect(place.key == key, "seed \(seed): \(key) after \(leaf)")
                #expect(place.path == Path([key]))
                #expect(place.bytes[place.segmentRange] == Path([key]).encoded[...])
            }
        }
    }

    @Test("keys of all lengths after values that look like them")
    func lookalikes() throws {
        let keys = Self.keys + ["b", "ab", "abc", "abcd", "abcde", "abcdef", "    ", "      ", "0000000", "-000000001"]
        let values = Self.values.joined() + [#"" ""#, #""\u0010      ""#, #""a\u0010bcd ""#, "2.6e-310", "1e-309"]
        for value in values where value != "null" {
            for key in keys {
                let place = try #require(QueryIndex.value.place(of: json(value), segment: Self.segment(key)))
                #expect(place.key.description == key, "\(value)")
            }
        }
    }

    @Test("a child found in a node has the place of its value alone")
    func found() throws {
        let node = try json(#"{".priority":1,"0":{"x":3},"a\"b":{".priority":2,".value":true},"c":"é"}"#)
        for index in [QueryIndex.key, .value, .priority, .child("x")] {
            for child in node.children {
                let alone = index.place(of: node.part(child.value), segment: Path([child.key]).encoded)
                #expect(index.place(of: child, in: node) == alone)
            }
        }
    }
}
