import Testing

@testable import HearthReplicatedLog
@Suite("Members of a cluster") struct MemberChangesTests {
    private static let nodes = (0..<5).map { ClusterMember(name: [UInt8(65 + $0)]) }

    private static func names(_ members: ClusterMembers) -> String {
        String(decoding: members.list.flatMap(\.name), as: UTF8.self)
    }

    /// Members as they are after nodes have run as listed, for so many seconds each.
    private static func members(_ start: String, _ history: [(running: String, seconds: Int)]) -> String {
        func nodes(_ names: String) -> [ClusterMember] { names.utf8.map { ClusterMember(name: [$0]) } }
        var members = ClusterMembers(nodes(start))
        var changes = MemberChanges()
        var time: Int64 = 0
        for (running, seconds) in history {
            for _ in 0..<seconds {
                members = changes.change(members, running: nodes(running), at: time) ?? members
                time += 1000
            }
        }
        return names(members)
    }

    @Test("a node joins after half a minute") func joining() {
        #expect(Self.members("ABC", [("ABCD", 30)]) == "ABC")
        #expect(Self.members("ABC", [("ABCD", 31)]) == "ABCD")
        #expect(Self.members("ABC", [("ABCD", 20), ("ABC", 1), ("ABCD", 20)]) == "ABC")
    }

    @Test("a restart changes nothing; ten minutes of absence do") func leaving() {
        #expect(Self.members("ABCD", [("ABC", 600), ("ABCD", 60)]) == "ABCD")
        #expect(Self.members("ABCD", [("ABC", 400), ("ABCD", 1), ("ABC", 400)]) == "ABCD")
        #expect(Self.members("ABCD", [("ABC", 601)]) == "ABC")
    }

    @Test("nodes that are upgraded one after the other remain members") func upgrading() {
        var steps: [(running: String, seconds: Int)] = []
        for away in "ABCDE" { steps += [("ABCDE".filter { $0 != away }, 120), ("ABCDE", 60)] }
        #expect(Self.members("ABCDE", steps + steps + steps) == "ABCDE")
    }

    @Test("while many are away, none leaves") func manyAway() {
        #expect(Self.members("ABCDEFGH", [("ABCDE", 2000)]) == "ABCDEFGH")
        #expect(Self.members("ABCDEFGH", [("ABCDE", 2000), ("ABCDEF", 1)]) == "ABCDEF")
        #expect(Self.members("ABC", [("AB", 2000)]) == "ABC")
    }

    @Test("a node with another weight is counted with it after a while, and still drains") func weight() {
        var members = ClusterMembers([ClusterMember(name: [65], isDraining: true)])
        let heavy = ClusterMember(name: [65], weight: 3)
        var changes = MemberChanges()
        #expect(changes.change(members, running: [heavy], at: 0) == nil)
        members = changes.change(members, running: [heavy], at: 30_000) ?? members
        #expect(members.list == [ClusterMember(name: [65], weight: 3, isDraining: true)])
        #expect(changes.change(members, running: [heavy], at: 60_000) == nil)
    }

    @Test("a node whose clock starts over changes members later, not earlier") func takingOver() {
        let members = ClusterMembers(Self.nodes)
        var first = MemberChanges()
        #expect(first.change(members, running: Array(Self.nodes.dropLast()), at: 0) == nil)
        var second = MemberChanges()
        #expect(second.change(members, running: Array(Self.nodes.dropLast()), at: 9_000_000) == nil)
        #expect(second.change(members, running: Array(Self.nodes.dropLast()), at: 9_599_999) == nil)
        let changed = second.change(members, running: Array(Self.nodes.dropLast()), at: 9_600_000)
        #expect(changed.map(Self.names) == "ABCD")
    }
}
