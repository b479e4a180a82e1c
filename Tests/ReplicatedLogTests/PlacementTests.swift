import Testing

@testable import HearthReplicatedLog

@Suite("Placement of databases") struct PlacementTests {
    private static func member(_ number: Int, weight: UInt8 = 1, zone: String = "") -> ClusterMember {
        ClusterMember(name: Array("n\(number)".utf8), zone: Array(zone.utf8), weight: weight)
    }

    private static func placement(_ numbers: some Sequence<Int>) -> Placement {
        Placement(ClusterMembers(numbers.map { member($0) }))
    }

    private static let databases = (0..<2000).map { Array("db\($0)".utf8) }

    /// How many databases each node holds.
    private static func loads(_ placement: Placement, copies: Int) -> [[UInt8]: Int] {
        var loads: [[UInt8]: Int] = [:]
        for database in databases {
            for node in placement.holders(of: database, copies: copies) { loads[node, default: 0] += 1 }
        }
        return loads
    }

    /// The numbers were computed by another program.
    @Test("two versions of the program agree: scores are these numbers") func scores() {
        #expect(Placement.score(of: "main".utf8, at: "n1".utf8) == 0x2380_E0EF_E529_A785)
        #expect(Placement.score(of: "main".utf8, at: "n2".utf8) == 0xC474_877E_F366_0688)
        #expect(Placement.score(of: "main".utf8, at: "n3".utf8) == 0x7BDC_29A3_2EE0_83D4)
        let order = ["n4", "n2", "n5", "n3", "n1"]
        #expect(NodeRecord.candidates(for: "main", of: ["n1", "n2", "n3", "n4", "n5"]) == order)
        let members = Self.placement(1...5).order(of: "main".utf8)
        #expect(members.map { String(decoding: $0.name, as: UTF8.self) } == order)
    }

    @Test("copies are at different nodes, and as many as there are nodes at most") func copies() {
        for count in 0...6 {
            let placement = Self.placement(0..<5)
            for database in Self.databases.prefix(100) {
                let holders = placement.holders(of: database, copies: count)
                #expect(holders.count == min(count, 5))
                #expect(Set(holders).count == holders.count)
            }
        }
        #expect(Placement(ClusterMembers([])).holders(of: [1], copies: 3).isEmpty)
    }

    /// The number of a node's databases is spread like that of successes in as many trials. Four standard deviations are
    /// exceeded by one node in 16,000.
    @Test("each node holds its share of the databases", arguments: [1, 3]) func balance(copies: Int) {
        for nodes in [3, 10, 50] {
            let loads = Self.loads(Self.placement(0..<nodes), copies: copies)
            let share = min(1, Double(copies) / Double(nodes))
            let mean = share * Double(Self.databases.count)
            let bound = 4 * (mean * (1 - share)).squareRoot()
            #expect(loads.count == nodes)
            for (node, load) in loads { #expect(abs(Double(load) - mean) <= bound, "\(node) of \(nodes): \(load)") }
        }
    }

    @Test("a node of a higher weight holds more") func weights() throws {
        let members = (0..<10).map { Self.member($0, weight: $0 == 0 ? 4 : 2) }
        let loads = Self.loads(Placement(ClusterMembers(members)), copies: 1)
        let mean = 2000.0 * 4 / 22
        #expect(abs(Double(try #require(loads[members[0].name])) - mean) <= 4 * (mean * 18 / 22).squareRoot())
    }

    @Test("a node that joins takes its share, and nothing else moves") func joining() {
        let (before, after) = (Self.placement(0..<10), Self.placement(0...10))
        let joined = Self.member(10).name
        var taken = 0
        for database in Self.databases {
            let old = before.holders(of: database, copies: 3)
            let new = after.holders(of: database, copies: 3)
            if new.contains(joined) { taken += 1 }
            #expect(new.filter { $0 != joined } == (new.contains(joined) ? old.dropLast() : old))
        }
        let mean = 2000.0 * 3 / 11
        #expect(abs(Double(taken) - mean) <= 4 * (mean * 8 / 11).squareRoot())
    }

    @Test("when a node leaves, only what it held gets a new node, and other owners stay") func leaving() {
        let (before, after) = (Self.placement(0..<10), Self.placement((0..<10).filter { $0 != 4 }))
        let gone = Self.member(4).name
        var found = 0
        for database in Self.databases {
            let old = before.holders(of: database, copies: 3)
            let new = after.holders(of: database, copies: 3)
            if old.contains(gone) { found += 1 }
            #expect((old.contains(gone) ? new.dropLast() : new) == old.filter { $0 != gone })
        }
        #expect(found > 0)
    }

    @Test("a node that drains is as good as gone, unless no other one is left") func draining() {
        var drained = (0..<10).map { Self.member($0) }
        drained[4].isDraining = true
        let (without, draining) = (Self.placement((0..<10).filter { $0 != 4 }), Placement(ClusterMembers(drained)))
        for database in Self.databases.prefix(200) {
            #expect(draining.holders(of: database, copies: 3) == without.holders(of: database, copies: 3))
            #expect(draining.holders(of: database, copies: 10).last == Self.member(4).name)
        }
    }

    @Test("more copies are the same nodes and further ones", arguments: [1, 3]) func growing(zones: Int) {
        let placement = Placement(ClusterMembers((0..<10).map { Self.member($0, zone: "z\($0 % zones)") }))
        for database in Self.databases.prefix(200) {
            var nodes: Set<[UInt8]> = []
            for copies in 1...10 {
                let more = Set(placement.holders(of: database, copies: copies))
                #expect(more.isSuperset(of: nodes))
                nodes = more
            }
        }
    }

    @Test("copies are in different zones, and a node that leaves changes one of them") func zones() {
        let members = (0..<12).map { Self.member($0, zone: "z\($0 % 4)") }
        let placement = Placement(ClusterMembers(members))
        for database in Self.databases.prefix(200) {
            let holders = placement.holders(of: database, copies: 3)
            #expect(holders.first == placement.order(of: database).first?.name)
            #expect(Set(holders.map { name in members.first { $0.name == name }?.zone }).count == 3)
            for member in members {
                let rest = Placement(ClusterMembers(members.filter { $0 != member }))
                let lost = Set(holders).subtracting(rest.holders(of: database, copies: 3))
                #expect(lost == (holders.contains(member.name) ? [member.name] : []))
            }
        }
        let two = Placement(ClusterMembers((0..<6).map { Self.member($0, zone: $0 == 0 ? "a" : "b") }))
        #expect(Self.databases.prefix(50).allSatisfy { two.holders(of: $0, copies: 3).contains(members[0].name) })
    }

    @Test("followers are further nodes, in the same order") func followers() {
        let placement = Self.placement(0..<10)
        let base = placement.holders(of: "main".utf8, copies: 3)
        let further = placement.followers(of: "main".utf8, besides: base, count: 4)
        #expect(base + further == placement.holders(of: "main".utf8, copies: 7))
        #expect(placement.followers(of: "main".utf8, besides: [Array("elsewhere".utf8)], count: 20).count == 10)
    }

    @Test("members are read as they were written, and nothing else is") func bytes() {
        let members = ClusterMembers([
            Self.member(2, weight: 255, zone: "r1"), ClusterMember(name: [65], isDraining: true), Self.member(1),
        ])
        #expect(ClusterMembers(members.bytes) == members)
        #expect(ClusterMembers(ClusterMembers([]).bytes)?.list.isEmpty == true)
        #expect(ClusterMembers([2]) == nil)
        let readable = members.bytes.indices.filter { ClusterMembers(Array(members.bytes.prefix($0))) != nil }
        #expect(readable == [1, 6, 12], "shorter lists of members")
        #expect(ClusterMembers([1, 1, 65, 0, 1, 0, 1, 65, 0, 1, 0]) == nil, "two of one name")
        #expect(ClusterMembers([1, 1, 65, 0, 0, 0]) == nil, "no weight")
        #expect(ClusterMembers([1, 1, 65, 0, 1, 2]) == nil, "neither draining nor not")
    }
}
