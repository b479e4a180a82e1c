import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@Suite("The builder of canonical text") struct CanonicalBuilderTests {
    @Test("puts a value together from its pieces", arguments: [1, 2, 3] as [UInt64])
    func builder(seed: UInt64) throws {
        func add(_ value: CanonicalJSON, to builder: inout CanonicalBuilder, _ random: inout RandomTrees) {
            if value.isLeaf || random.chance(1, in: 4) { return builder.value(value) }
            builder.openObject(priority: value.priority)
            for child in value.children {
                if random.chance(1, in: 8) {
                    builder.key(Key(-5))
                    builder.value(.null)
                }
                if random.chance(1, in: 8) {
                    builder.key(Key(-5))
                    builder.openObject(priority: CanonicalJSON(integer: 1))
                    builder.closeObject()
                }
                let segment = Path.root.appending(child.key).encoded
                random.chance(1, in: 2) ? builder.key(child.key) : builder.key(segment: segment.span.bytes)
                add(value.part(child.value), to: &builder, &random)
            }
            builder.closeObject()
        }
        var random = RandomTrees(seed: seed)
        for _ in 0..<80 {
            let value = try json(random.tree(depth: 4).canonicalText)
            var builder = CanonicalBuilder()
            add(value, to: &builder, &random)
            #expect(builder.finish() == value, "seed \(seed)")
        }
        var nothing = CanonicalBuilder()
        nothing.openObject()
        nothing.key(Key(1))
        nothing.openObject(priority: CanonicalJSON(integer: 1))
        nothing.closeObject()
        nothing.closeObject()
        #expect(nothing.finish() == .null)
    }
}
