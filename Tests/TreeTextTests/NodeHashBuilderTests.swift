import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("Hashes of nodes in parts") struct NodeHashBuilderTests {
    /// Hands a value to the builder, some of its nodes as a whole and some child by child.
    private static func add(
        _ value: CanonicalJSON, _ key: [UInt8]?, to builder: inout NodeHashBuilder, _ random: inout RandomTrees
    ) {
        func withKey(_ body: (UnsafeRawBufferPointer?) -> Void) {
            if let key { key.withUnsafeBytes { body($0) } } else { body(nil) }
        }
        if value.isLeaf || value.isNull || random.chance(1, in: 3) {
            return withKey { builder.value($0, value) }
        }
        withKey { builder.beginObject($0) }
        if !value.priority.isNull { builder.priority(value.priority) }
        for child in value.children {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            add(value.part(child.value), segment, to: &builder, &random)
        }
        builder.endObject()
    }

    @Test("a node in parts has the hash of the whole", arguments: 1...6 as ClosedRange<UInt64>)
    func parts(seed: UInt64) {
        var random = RandomTrees(seed: seed)
        for round in 0..<100 {
            random.priorities = round % 3 > 0
            let value = CanonicalJSON(trusted: Array(random.tree(depth: 4).canonicalText.utf8))
            for variant in NodeHash.Variant.allCases {
                var builder = NodeHashBuilder(variant: variant)
                Self.add(value, nil, to: &builder, &random)
                let isOther = NodeHash.hash(value, variant: variant) != NodeHash.hash(value)
                #expect(builder.finish() == NodeHash.hash(value, variant: variant), "seed \(seed), \(value)")
                #expect(!isOther || builder.wrongVariants.contains(variant), "seed \(seed), \(value)")
            }
        }
    }

    @Test("the ways in which clients get hashes wrong are known in parts as well")
    func variants() throws {
        let value = try json(
            #"{"n":{"a":{".priority":2,".value":1},"b":{".priority":1,".value":9007199254740991}},"z":1}"#)
        for variant in [NodeHash.Variant.javaScriptNumbers, .appleOrder] {
            for seed in 0..<20 as Range<UInt64> {
                var random = RandomTrees(seed: seed)
                var builder = NodeHashBuilder(variant: variant)
                Self.add(value, nil, to: &builder, &random)
                #expect(builder.finish() == NodeHash.hash(value, variant: variant), "seed \(seed)")
                #expect(builder.finish() != NodeHash.hash(value))
                #expect(builder.wrongVariants.contains(variant))
            }
        }
    }

    @Test("children with priorities come after those without, by priority and then by key")
    func priorities() throws {
        let value = try json(
            #"{"n":{"a":{".priority":"x",".value":1},"b":{".priority":2,".value":1},"c":1,"d":{".priority":2,"e":1}}}"#)
        for seed in 0..<20 as Range<UInt64> {
            var random = RandomTrees(seed: seed)
            var builder = NodeHashBuilder()
            Self.add(value, nil, to: &builder, &random)
            #expect(builder.finish() == NodeHash.hash(value), "seed \(seed)")
        }
        #expect(NodeHashBuilder().finish().isEmpty)
    }
}
