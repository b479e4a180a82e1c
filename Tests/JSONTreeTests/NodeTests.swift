import HearthJSONTree
import HearthTestSupport
import Testing

@Suite("Nodes") struct NodeTests {
    @Test("text to node to text changes nothing", arguments: [1, 2, 3, 4] as [UInt64])
    func roundTrip(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        for _ in 0..<60 {
            let tree = random.tree(depth: 4)
            let text = try json(tree.canonicalText)
            let node = Node(text)
            #expect(node.canonical == text, "seed \(seed)")
            #expect(node.isNull == tree.isEmpty)
            #expect(node.children.map(\.key) == (try tree.sortedChildren.map { try key($0.key) }), "seed \(seed)")
            let rebuilt = Node(children: node.children.reversed().map { ($0.key, $0.node) }, priority: node.priority)
            if !node.children.isEmpty { #expect(rebuilt == node, "seed \(seed)") }
        }
    }

    @Test("edits of nodes, of texts and of the model agree", arguments: Array(1...6) as [UInt64])
    func edits(seed: UInt64) throws {
        var random = RandomTrees(seed: seed)
        random.keyPool = (0..<8).map { _ in random.key() }
        var model = TreeModel.null
        var node = Node.null
        for step in 0..<150 {
            let keys = random.path(in: model)
            let path = try path(keys)
            #expect(
                node.value(at: path).canonical.description == model.child(at: keys).canonicalText,
                "seed \(seed) step \(step)")
            if random.chance(1, in: 5) {
                let priority = random.chance(1, in: 3) ? nil : random.priority()
                let leaf = try priority.map { try #require(Node(json(TreeModel.text(of: $0))).leaf) }
                let edited = node.settingPriority(leaf, at: path)
                #expect((edited != nil) == model.setPriority(priority, at: keys[...]), "seed \(seed) step \(step)")
                node = edited ?? node
            } else {
                let value = random.chance(1, in: 3) ? .null : random.tree(depth: 2)
                model.set(value, at: keys[...])
                node = node.setting(Node(try json(value.canonicalText)), at: path)
            }
            #expect(node.canonical.description == model.canonicalText, "seed \(seed) step \(step)")
        }
    }

    @Test("leaves keep their types")
    func leaves() throws {
        #expect(Node(try json("5")).leaf == .integer(5))
        #expect(Node(try json("5.5")).leaf == .double(5.5))
        #expect(Node(try json("1e21")).leaf == .double(1e21))
        #expect(Node(try json("false")).leaf == .bool(false))
        #expect(Node(try json(#""a\"\ud800""#)).leaf == .string(Array("a\"".utf8) + [0xED, 0xA0, 0x80]))
        #expect(
            Node(try json(#"{".value":1,".priority":"p"}"#)) == Node(.integer(1), priority: .string(Array("p".utf8))))
        #expect(Leaf(number: 2) == .integer(2))
        #expect(Leaf(number: 2.5) == .double(2.5))
        #expect(Leaf(number: -0.0) == .integer(0))
        #expect(Leaf(number: .infinity) == nil)
        #expect(Leaf(number: .nan) == nil)
        #expect(Node(children: [(Key(1), .null)], priority: .integer(1)) == .null)
    }
}
