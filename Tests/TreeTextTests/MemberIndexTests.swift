import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Index of members") struct MemberIndexTests {
    @Test("finds the children that a walk finds, and no others", arguments: Array(1...6) as [UInt64])
    func children(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        var tree = TreeModel()
        let count = random.pick([0, 1, 2, 500])
        while tree.children.count < count {
            tree.children[random.key()] =
                random.chance(1, in: 20) ? random.tree(depth: 2) : TreeModel(leaf: random.leaf())
        }
        if random.chance(1, in: 2) { tree.priority = random.priority() }
        // Somewhere within a longer text.
        let inner = try CanonicalJSON.parse(Array(random.noisyText(tree).utf8)).value
        let json = CanonicalJSON(trusted: Array("{\"a\":\"long\",\"b\":".utf8) + inner.bytes + Array(",\"c\":1}".utf8))
        let range = 16..<16 + inner.bytes.count
        let index = MemberIndex(json, range)
        for child in json.children(in: range) {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            #expect(segment.withUnsafeBytes { index.value(of: $0, in: json) } == child.value, "seed \(seed)")
        }
        for _ in 0..<200 {
            let key = String(decoding: random.key(), as: UTF16.self)
            var segment: [UInt8] = []
            Array(key.utf8).withUnsafeBytes { Segment.append(key: $0, to: &segment) }
            let found = segment.withUnsafeBytes { index.value(of: $0, in: json) }
            #expect(found == segment.withUnsafeBytes { json.range(ofEncoded: $0, in: range) }, "seed \(seed): \(key)")
        }
    }
}
