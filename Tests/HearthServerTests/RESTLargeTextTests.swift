import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthDelivery
@testable import HearthDatabaseHost
@testable import HearthServer

@Suite("Text of large values from rows") struct RESTLargeTextTests {
    /// Cuts a value into rows as the tree does: nodes larger than `limit` are spread over their children.
    private static func rows(of value: CanonicalJSON, at path: [UInt8], limit: Int, into rows: inout [Row]) {
        guard value.bytes.count > limit, !value.isLeaf else {
            if !value.isNull { rows.append(Row(key: path, value: .subtree(value))) }
            return
        }
        if !value.priority.isNull { rows.append(Row(key: path, value: .header(priority: value.priority))) }
        for child in value.children {
            var place = path
            child.appendSegment(to: &place)
            Self.rows(of: value.part(child.value), at: place, limit: limit, into: &rows)
        }
    }

    private static func walk<Visitor: RowVisitor>(_ rows: [Row], base: Int, _ visitor: Visitor) -> Visitor {
        var walk = RowWalk(base: base, visitor)
        for row in rows { walk.append(row) }
        walk.close()
        return walk.visitor
    }

    @Test(
        "rows give the plain text and the hash of the whole, however they are cut",
        arguments: 1...4 as ClosedRange<UInt64>)
    func agreesWithWhole(seed: UInt64) {
        var random = RandomTrees(seed: seed)
        for round in 0..<30 {
            // Arrays come of few keys that are indices.
            random.keyPool = round % 2 == 0 ? (0..<5).map { Array(String($0).utf16) } : nil
            random.priorities = round % 3 == 0
            let value = CanonicalJSON(random.tree(depth: 4).canonicalText)
            let path: Path = round % 5 == 0 ? .root : "base/7/x"
            for limit in [0, 20, 120] {
                var rows: [Row] = []
                Self.rows(of: value, at: path.encoded, limit: limit, into: &rows)
                let base = path.encoded.count
                let arrays = Self.walk(rows, base: base, ArrayFinder()).areArrays
                var plain = Self.walk(rows, base: base, PlainText(areArrays: arrays))
                let text = String(decoding: rows.isEmpty ? Array("null".utf8) : plain.takeText(), as: UTF8.self)
                let expected = String(decoding: JSONOutput.plain.text(value), as: UTF8.self)
                #expect(text == expected, "seed \(seed), limit \(limit), \(value)")
                let hash = Self.walk(rows, base: base, NodeHashBuilder()).finish()
                #expect(hash == NodeHash.hash(value), "seed \(seed), limit \(limit), \(value)")
            }
        }
    }

    @Test("a shallow text is null, or an object of keys, in parts or whole")
    func shallowText() {
        var text = ShallowText()
        #expect(text.finish() == Array("null".utf8))
        text = ShallowText()
        text.append(keyText: "\"a\"".utf8)
        var out = text.takeText()
        text.append(keyText: "\"b\\\"\"".utf8)
        out += text.finish()
        #expect(String(decoding: out, as: UTF8.self) == #"{"a":true,"b\"":true}"#)
    }

    @Test("a range of children is the part of the keys after one, and so many of them")
    func ranges() throws {
        let value: CanonicalJSON = #"{"-1":1,"0":2,"a":3,"b":4}"#
        func text(_ after: String?, _ limit: Int?) throws -> String {
            let range = ShallowRange(after: try after.map { try Key(validating: $0) }, limit: limit)
            return String(decoding: range.text(of: value), as: UTF8.self)
        }
        #expect(try text(nil, nil) == #"{"-1":true,"0":true,"a":true,"b":true}"#)
        #expect(try text("-1", 2) == #"{"0":true,"a":true}"#)
        #expect(try text("5", nil) == #"{"a":true,"b":true}"#)
        #expect(try text("b", 1) == "null")
    }
}
