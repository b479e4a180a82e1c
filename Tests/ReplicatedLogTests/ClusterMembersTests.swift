import HearthReplicatedLog
import HearthTestSupport
import Testing

@Suite("The members of a cluster") struct ClusterMembersTests {
    private static func members(_ names: [String], draining: Set<String> = []) -> ClusterMembers {
        ClusterMembers(
            Dictionary(uniqueKeysWithValues: names.map { ($0, draining.contains($0) ? .draining : .member) }))
    }

    private static let five = ["n1", "n2", "n3", "n4", "n5"]

    @Test("are read as they were written, and nothing else is", arguments: 0..<50 as Range<UInt64>)
    func bytes(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let members = Self.members(["a", "n-1.b", "z_9"], draining: ["a"])
        #expect(ClusterMembers(members.bytes) == members)
        #expect(ClusterMembers(ClusterMembers([:]).bytes) == ClusterMembers([:]))
        var damaged = members.bytes
        damaged[Int.random(in: 0..<damaged.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
        #expect(ClusterMembers(damaged) == nil, "seed \(seed)")
        let short = Array(members.bytes.prefix(Int.random(in: 0..<members.bytes.count, using: &random)))
        #expect(ClusterMembers(short) == nil, "seed \(seed)")
        #expect(ClusterMembers(members.bytes + [0]) == nil)
    }

    @Test("hold a database as the first three in the order in which nodes claim it") func holders() {
        #expect(Self.members(Self.five).holders(of: "main") == ["n4", "n2", "n5"])
        #expect(Self.members(["n1", "n3"]).holders(of: "main") == ["n3", "n1"])
        #expect(Self.members(Self.five).holders(of: "$cluster") == nil)
    }

    @Test("that drain hold nothing, unless too few others are there") func draining() {
        #expect(Self.members(Self.five, draining: ["n4"]).holders(of: "main") == ["n2", "n5", "n3"])
        #expect(Self.members(Self.five, draining: ["n4", "n2", "n5"]).holders(of: "main") == ["n3", "n1", "n4"])
    }

    @Test("take over a share each, and no database moves between others") func sharing() {
        let names = (1...8).map { "n\($0)" }
        let (all, before) = (Self.members(names), Self.members(names.filter { $0 != "n3" }))
        var held = 0
        for number in 0..<400 {
            let database = "d\(number)"
            let (old, new) = (before.holders(of: database) ?? [], all.holders(of: database) ?? [])
            #expect(Set(new).subtracting(old).isSubset(of: ["n3"]))
            #expect(Set(old).subtracting(new).count == (new.contains("n3") ? 1 : 0))
            if new.contains("n3") { held += 1 }
        }
        // Three of eight hold each.
        #expect((100...200).contains(held), "\(held)")
    }

    @Test("are what nodes go by; if they are gone or cannot be read, nodes go on with those before") func placement() {
        var placement = Placement()
        let nodes = ["n5", "n1", "n3", "n2", "n4"]
        placement.take(nil)
        #expect(placement.members == .none)
        #expect(!placement.isDistributed)
        #expect(placement.holds("n1", "main"))
        #expect(placement.claimants(for: "main", of: nodes) == ["n4", "n2", "n5", "n3", "n1"])
        let members = Self.members(["n1", "n2", "n3", "n4"], draining: ["n4"])
        placement.take((members.bytes, 7))
        #expect(placement.members == .known(members, revision: 7))
        #expect(!placement.holds("n5", "main"))
        #expect(placement.holds("n5", "$cluster"))
        #expect(placement.claimants(for: "main", of: nodes) == ["n2", "n3", "n1", "n4", "n5"])
        #expect(placement.claimants(for: "main", of: ["n4", "n1"]) == ["n1", "n4"])
        for found in [nil, (value: [1, 2, 3] as [UInt8], revision: 9 as Int64)] {
            placement.take(found)
            #expect(placement.members == .missing(members))
            #expect(!placement.holds("n5", "main"))
        }
    }

    @Test("are not known before etcd was read: until then a node holds only the nodes' own databases") func unknown() {
        var placement = Placement()
        let nodes = ["n5", "n1", "n3", "n2", "n4"]
        let members = Self.members(["n1", "n2", "n3", "n4"])
        // The second document cannot be read, so there are members, but which is not known.
        for found in [nil, (value: [1, 2, 3] as [UInt8], revision: 9 as Int64)] {
            if let found { placement.take(found) }
            #expect(placement.members == .unknown)
            #expect(placement.isDistributed)
            #expect(placement.last == nil)
            #expect(!placement.holds("n1", "main"))
            #expect(placement.holds("n1", "$cluster"))
            // A node with files claims as if there were no members.
            #expect(placement.claimants(for: "main", of: nodes) == ["n4", "n2", "n5", "n3", "n1"])
        }
        var other = placement
        placement.take((members.bytes, 7))
        #expect(placement.members == .known(members, revision: 7))
        other.take(nil)
        #expect(other.members == .none)
        other.take((value: [1, 2, 3], revision: 9))
        #expect(other.members == .none)
        other.take((members.bytes, 7))
        other.take(nil)
        #expect(other.members == .missing(members))
        #expect(Placement(remembering: members).members == .missing(members))
        #expect(Placement(remembering: members).isDistributed)
    }
}

@Suite("The keeper of the members") struct MembersKeeperTests {
    /// So that a decision can be expected in one expression.
    private final class Keeper {
        private var keeper = MembersKeeper()

        func pause() { keeper.pause() }

        func look(
            _ nodes: [String: UInt64], _ members: ClusterMembers?, last: ClusterMembers? = nil, at time: Int64
        ) -> ClusterMembers? {
            keeper.look(nodes, members, last: last, at: time)
        }
    }

    private static func nodes(_ names: String...) -> [String: UInt64] {
        Dictionary(uniqueKeysWithValues: names.map { ($0, 1) })
    }

    private static func members(_ names: String..., draining: Set<String> = []) -> ClusterMembers {
        ClusterMembers(
            Dictionary(uniqueKeysWithValues: names.map { ($0, draining.contains($0) ? .draining : .member) }))
    }

    @Test("begins with four nodes that have run for half a minute, and never with three") func beginning() {
        let keeper = Keeper()
        let three = Self.nodes("a", "b", "c")
        for time in stride(from: 0 as Int64, to: 100_000, by: 1000) {
            #expect(keeper.look(three, nil, at: time) == nil)
        }
        let four = Self.nodes("a", "b", "c", "d")
        #expect(keeper.look(four, nil, at: 100_000) == nil)
        #expect(keeper.look(four, nil, at: 129_999) == nil)
        #expect(keeper.look(four, nil, at: 130_000) == Self.members("a", "b", "c", "d"))
    }

    @Test("lets a node join after half a minute without a break, which a restart is") func joining() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d")
        var nodes = Self.nodes("a", "b", "c", "d", "e")
        #expect(keeper.look(nodes, members, at: 0) == nil)
        nodes["e"] = 2
        #expect(keeper.look(nodes, members, at: 20_000) == nil)
        #expect(keeper.look(nodes, members, at: 30_000) == nil)
        nodes["e"] = nil
        #expect(keeper.look(nodes, members, at: 40_000) == nil)
        nodes["e"] = 2
        #expect(keeper.look(nodes, members, at: 50_000) == nil)
        #expect(keeper.look(nodes, members, at: 79_999) == nil)
        #expect(keeper.look(nodes, members, at: 80_000) == Self.members("a", "b", "c", "d", "e"))
    }

    @Test("lets a member leave after ten minutes of absence; a return in between begins them anew") func leaving() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d")
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 0) == nil)
        #expect(keeper.look(Self.nodes("a", "b", "c", "d"), members, at: 500_000) == nil)
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 501_000) == nil)
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 1_100_999) == nil)
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 1_101_000) == Self.members("a", "b", "c"))
    }

    @Test("lets none leave while more than a quarter is away") func network() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d", "e")
        for time in [0, 700_000] as [Int64] {
            #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: time) == nil)
        }
        #expect(keeper.look(Self.nodes("a", "b", "c", "d"), members, at: 800_000) == Self.members("a", "b", "c", "d"))
        // One of three is more than a quarter: so a cluster never shrinks to two by itself.
        let small = Keeper()
        for time in [0, 700_000] as [Int64] {
            #expect(small.look(Self.nodes("a", "b"), Self.members("a", "b", "c"), at: time) == nil)
        }
    }

    @Test("does not count members as away that drain; these leave like others") func draining() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d", "e", draining: ["d", "e"])
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 0) == nil)
        #expect(keeper.look(Self.nodes("a", "b", "c"), members, at: 600_000) == Self.members("a", "b", "c"))
    }

    @Test("begins anew at another node, so that nobody joins or leaves because the keeper has changed") func pausing() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d")
        let nodes = Self.nodes("a", "b", "c", "e")
        #expect(keeper.look(nodes, members, at: 0) == nil)
        keeper.pause()
        #expect(keeper.look(nodes, members, at: 1_000_000) == nil)
        #expect(keeper.look(nodes, members, at: 1_030_000) == Self.members("a", "b", "c", "d", "e"))
    }

    @Test("puts back what it knows when etcd has lost the members") func losing() {
        let keeper = Keeper()
        let members = Self.members("a", "b", "c", "d", draining: ["b"])
        #expect(keeper.look(Self.nodes("a"), nil, last: members, at: 0) == members)
    }
}
