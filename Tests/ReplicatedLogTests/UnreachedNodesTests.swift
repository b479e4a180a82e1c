import HearthEtcdMessages
import HearthReplicatedLog
import HearthTestSupport
import Testing

@Suite("Nodes that others do not reach") struct UnreachedNodesTests {
    private static func cutOff(_ nodes: Set<String>, _ statements: [String: Set<String>]) -> Set<String> {
        UnreachedNodes.cutOff(nodes, statements.mapValues { UnreachedNodes(names: $0) })
    }

    @Test("are cut off if more than half of all nodes say so") func majority() {
        let three: Set = ["a", "b", "c"]
        #expect(Self.cutOff(three, ["b": ["a"], "c": ["a"]]) == ["a"])
        #expect(Self.cutOff(three, ["a": ["b", "c"], "b": ["a"], "c": ["a"]]) == ["a"])
        // Only two do not reach each other: the third one reaches both.
        #expect(Self.cutOff(three, ["a": ["b"], "b": ["a"]]) == [])
        // Of two nodes, each could be the one that is cut off.
        #expect(Self.cutOff(["a", "b"], ["a": ["b"], "b": ["a"]]) == [])
        // One that does not run any more has no say, and is not missed.
        #expect(Self.cutOff(["a", "b"], ["b": ["a"], "c": ["a"]]) == [])
        #expect(Self.cutOff(three, ["b": ["d"], "c": ["d"]]) == [])
    }

    @Test("do not count nodes as cut off that they cannot know of: nobody is, if nobody reaches anybody") func nobody()
    {
        let all = ["a": ["b", "c"], "b": ["a", "c"], "c": ["a", "b"]].mapValues { Set($0) }
        #expect(Self.cutOff(["a", "b", "c"], all) == [])
    }

    @Test("are never all nodes", arguments: 0..<200 as Range<UInt64>) func some(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let nodes = Set((0..<Int.random(in: 1...7, using: &random)).map { "n\($0)" })
        let statements = nodes.map { node in
            (node, nodes.filter { $0 != node && Bool.random(using: &random) })
        }
        let cutOff = Self.cutOff(nodes, Dictionary(uniqueKeysWithValues: statements))
        #expect(cutOff.count < nodes.count, "seed \(seed)")
    }

    @Test("are written so that they can be read, and nothing else is") func bytes() {
        for names: Set<String> in [[], ["a"], ["a", "n-2.b"]] {
            #expect(UnreachedNodes(UnreachedNodes(names: names).bytes)?.names == names)
        }
        #expect(UnreachedNodes([]) == nil)
        #expect(UnreachedNodes([2]) == nil)
        #expect(UnreachedNodes([1, 0xFF]) == nil)
    }

    @Test("are read by the names of their nodes; invalid keys and values do no harm") func folder() {
        func value(_ name: [UInt8], _ bytes: [UInt8]) -> EtcdKeyValue {
            EtcdKeyValue(
                key: UnreachedNodes.folder.start + name, value: bytes, createRevision: 1, modRevision: 1)
        }
        let statement = UnreachedNodes(names: ["b"])
        let read = UnreachedNodes.statements(in: [
            value(Array("a".utf8), statement.bytes), value(Array("c".utf8), [2]),
            // Both are the same text when they are decoded.
            value([0xFE], statement.bytes), value([0xFF], statement.bytes),
        ])
        #expect(read == ["a": statement, "\u{FFFD}": statement])
    }
}
