import HearthTestSupport
import Testing

@testable import HearthJSONTree

@Suite("The children of a node") struct NodeChildrenTests {
    private func key(_ number: Int) throws -> Key { try Key(validating: "k\(number)") }

    private func children(_ model: [Int: Int]) throws -> [Node.Child] {
        try model.map { Node.Child(key: try key($0), node: Node(.integer(Int64($1)))) }.sorted { $0.key < $1.key }
    }

    @Test("agree with a sorted array while they grow and shrink", arguments: 0..<4)
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var model: [Int: Int] = [:]
        for number in stride(from: 0, to: 6000, by: 3) { model[number] = number }
        var tree = Node.Children(sorted: try children(model))
        for step in 0..<6000 {
            let number = Int.random(in: 0..<6000, using: &random)
            if Int.random(in: 0..<4, using: &random) == 0 || step < 3000 {
                tree.set(.init(key: try key(number), node: Node(.integer(Int64(step)))))
                model[number] = step
            } else {
                let wasThere = tree.remove(try key(number))
                #expect(wasThere == (model.removeValue(forKey: number) != nil), "seed \(seed)")
            }
            let found = tree.child(try key(number))
            #expect(found == model[number].map { Node(.integer(Int64($0))) })
            #expect(tree.count == model.count, "seed \(seed) step \(step)")
            guard step % 500 == 0 else { continue }
            let sorted = try children(model)
            #expect(Array(tree) == sorted, "seed \(seed) step \(step)")
            #expect(tree.indices.map { tree[$0] } == sorted, "seed \(seed) step \(step)")
            // The same children in other pages.
            #expect(tree == Node.Children(sorted: sorted) && tree.hashValue == Node.Children(sorted: sorted).hashValue)
        }
        for number in model.keys.sorted() { #expect(try tree.remove(key(number))) }
        #expect(tree.isEmpty)
        #expect(Array(tree).isEmpty)
        #expect(tree == Node.Children())
    }

    @Test("stay as they were when a copy changes")
    func persistence() throws {
        let before = Node.Children(sorted: try children(Dictionary(uniqueKeysWithValues: (0..<500).map { ($0, $0) })))
        var after = before
        after.set(.init(key: try key(7), node: Node(.bool(true))))
        after.remove(try key(300))
        #expect(before.count == 500)
        #expect(try before.child(key(7)) == Node(.integer(7)))
        #expect(after.count == 499)
        #expect(try after.child(key(300)) == nil)
        #expect(before != after)
    }
}
