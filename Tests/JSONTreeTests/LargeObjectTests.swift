import HearthJSONTree
import HearthTestSupport
import Testing

/// Objects of thousands of members, which are sorted in a separate buffer.
@Suite("Parsing large objects") struct LargeObjectTests {
    @Test("members in any order have one text", arguments: Array(1...4) as [UInt64])
    func anyOrder(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        var tree = TreeModel()
        // Around the number of members from which on they are kept in eight bytes each.
        let count = random.pick([4095, 4096, 4097, 5000])
        let prefixes = (0..<3).map { _ in String(repeating: "same\"", count: 2 << seed) }
        while tree.children.count < count {
            let prefix = random.chance(1, in: 3) ? Array(random.pick(prefixes).utf16) : []
            tree.children[prefix + random.key()] = TreeModel(leaf: random.leaf())
        }
        if random.chance(1, in: 2) { tree.priority = random.priority() }
        try expectOneText(random.noisyText(tree), tree, seed)
    }

    @Test("large objects may be inside one another", arguments: [1, 2] as [UInt64])
    func nested(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        var tree = TreeModel()
        for _ in 0..<3 {
            var child = TreeModel()
            while child.children.count < 4200 { child.children[random.key()] = TreeModel(leaf: random.leaf()) }
            tree.children[random.key()] = child
            var wide = TreeModel()
            while wide.children.count < 4200 { wide.children[random.key()] = TreeModel(leaf: random.leaf()) }
            tree.children[random.key(), default: TreeModel()].children[random.key()] = wide
        }
        try expectOneText(random.noisyText(tree), tree, seed)
    }

    @Test("few members of many bytes are put in order too")
    func fewLarge() throws {
        let long = String(repeating: "x", count: 40_000)
        for (text, expected) in [
            ("{\"b\":\"\(long)\",\"a\":\"\(long)\"}", "{\"a\":\"\(long)\",\"b\":\"\(long)\"}"),
            ("{\"b\":\"\(long)\",\"a\":\"\(long)\",\"a\":1}", "{\"a\":1,\"b\":\"\(long)\"}"),
            ("{\".value\":\"\(long)\(long)\",\".priority\":null}", "\"\(long)\(long)\""),
            (
                "{\"b\":\"\(long)\",\".priority\":2,\"a\":\"\(long)\"}",
                "{\".priority\":2,\"a\":\"\(long)\",\"b\":\"\(long)\"}"
            ),
        ] {
            #expect(try CanonicalJSON.parse(Array(text.utf8)).value.description == expected)
            var used = Array(text.utf8)
            #expect(try parseUsing(&used).description == expected)
        }
    }

    @Test("the last of equal keys counts, however many there are")
    func equalKeys() throws {
        let members = (0..<20_000).map {
            "\"\($0 % 50 == 7 ? "seven" : "k\($0 % 50)")\":\($0 < 19_950 ? "\($0)" : "null")"
        }
        let text = "{\(members.joined(separator: ",")),\"k3\":\"last\"}"
        var used = Array(text.utf8)
        #expect(try parseUsing(&used).description == #"{"k3":"last"}"#)
    }

    @Test("an error after a large object is reported with its line and column", arguments: [4096, 9000])
    func errors(count: Int) throws {
        var random = SeededRandom(seed: UInt64(count))
        let members = (0..<count).shuffled(using: &random).map { "  \"é\($0)\": {\"value of\": \"some €\"}" }
        let large = "{\n\(members.joined(separator: ",\n"))\n}"
        for (end, kind) in [
            (",\n \"b\": 1.x}", JSONError.Kind.invalidNumber), ("x", .unexpectedByte(0x78)), ("", .unexpectedEnd),
            (",\n \".b\":1}", .unknownMetadata),
        ] {
            let text = Array("{\"a\": \(large)\(end)".utf8)
            var used = text
            let error = try #require(throws: JSONError.self) { try CanonicalJSON.parse(text) }
            #expect(error.kind == kind)
            #expect(throws: error) { try parseUsing(&used) }
            #expect(used.count == text.count)
            #expect(error.position(in: used) == error.position(in: text))
        }
        // The place of this one is not known any more.
        var used = Array("{\".value\":1,\"a\": \(large)}".utf8)
        let error = try #require(throws: JSONError.self) { try parseUsing(&used) }
        #expect(error == JSONError(.invalidValueWrapper, at: used.count - 1))
        #expect(error.position(in: used) == (count + 2, 2))
    }

    @Test(
        "an array whose canonical text would be longer than the limit is refused", arguments: ["[1,2,3]", "[[1],[2]]"])
    func lengthOfText(text: String) throws {
        let length = try CanonicalJSON.parse(Array(text.utf8)).value.bytes.count
        let fits = CanonicalJSON.Limits(byteCount: length)
        #expect(try CanonicalJSON.parse(Array(text.utf8), limits: fits).value.bytes.count == length)
        let short = CanonicalJSON.Limits(byteCount: length / 2)
        let error = try #require(throws: JSONError.self) { try CanonicalJSON.parse(Array(text.utf8), limits: short) }
        #expect(error.kind == .textTooLong)
    }

    private func parseUsing(_ text: inout [UInt8]) throws(JSONError) -> CanonicalJSON {
        try CanonicalJSON.parse(using: &text, bytesMin: 0).value
    }

    private func expectOneText(_ text: String, _ tree: TreeModel, _ seed: UInt64) throws {
        let value = try CanonicalJSON.parse(Array(text.utf8)).value
        #expect(value.description == tree.canonicalText, "seed \(seed)")
        var used = Array(text.utf8)
        #expect(try parseUsing(&used) == value, "seed \(seed)")
        // A canonical text has nothing to be put in order.
        used = value.bytes
        #expect(try parseUsing(&used) == value, "seed \(seed)")
    }
}
