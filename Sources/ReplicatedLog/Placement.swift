/// Which nodes hold a database: rendezvous hashing. Every node comes to the same answer from the same members, without
/// asking another one.
///
/// A node has a number of *seats*, its weight. Each seat has a score for each database, and the node the highest one of
/// its seats. The nodes of a database are those with the highest scores.
///
/// ```
/// state = FNV-1a, 64 bits, of the bytes of  database "/" node
/// score = output number 1 + seat of SplitMix64, from that state;  seat = 0 ..< weight
/// mix z = SplitMix64's last step: z ^= z >> 30, z *= 0xBF58476D1CE4E5B9, z ^= z >> 27, z *= 0x94D049BB133111EB,
///         z ^= z >> 31;  the score of a seat is mix(state + seat * 0x9E3779B97F4A7C15)
/// ```
/// Nodes with the same score are in descending order of their names. These definitions never change: two versions of the
/// program in one cluster must agree. Names have no `/` (``LogKeys``), so no two pairs have the same bytes.
///
/// Invariants, for members that do not drain and are of one zone:
/// * A member that joins is put among the nodes of a database, and moves no other node of it up or down.
/// * If a member leaves, each database that it held gets one new node, its next one, and no other database changes.
/// * More copies are the same nodes and further ones.
///
/// With zones, a node that joins or leaves still changes at most one node of a database.
package struct Placement: Sendable {
    private let members: [ClusterMember]

    package init(_ members: ClusterMembers) { self.members = members.list }

    /// The members in the order in which they are to hold a database; those that drain come last.
    ///
    /// Costs a hash for each seat, and a sort: about 12 µs for 100 members of one seat.
    package func order(of database: some Sequence<UInt8>) -> [ClusterMember] {
        let prefix = Self.hash(database, from: Self.hashStart)
        return members.map { (score: Self.score(Self.hash($0.name, from: prefix, after: "/"), $0.weight), member: $0) }
            .sorted { first, second in
                if first.member.isDraining != second.member.isDraining { return second.member.isDraining }
                if first.score != second.score { return first.score > second.score }
                return second.member.name.lexicographicallyPrecedes(first.member.name)
            }.map(\.member)
    }

    /// The nodes that hold a database. The first one is to own its log. They are in different zones as far as there are
    /// enough of them, and fewer than `copies` only if there are fewer members.
    package func holders(of database: some Sequence<UInt8>, copies: Int) -> [[UInt8]] {
        let order = order(of: database)
        var (zones, chosen) = (Set<[UInt8]>(), Set<Int>())
        for (index, member) in order.enumerated() where chosen.count < copies && !member.isDraining {
            if zones.insert(member.zone).inserted { chosen.insert(index) }
        }
        for index in order.indices where chosen.count < copies { chosen.insert(index) }
        return chosen.sorted().map { order[$0].name }
    }

    /// Nodes that hold a database for their clients only, in addition to others, which may be of another cell.
    package func followers(of database: some Sequence<UInt8>, besides holders: [[UInt8]], count: Int) -> [[UInt8]] {
        Array(order(of: database).lazy.map(\.name).filter { !holders.contains($0) }.prefix(count))
    }

    // MARK: Scores

    /// The score of a node with one seat.
    static func score(of database: some Sequence<UInt8>, at node: some Sequence<UInt8>) -> UInt64 {
        score(hash(node, from: hash(database, from: hashStart), after: "/"), 1)
    }

    private static let hashStart: UInt64 = 0xCBF2_9CE4_8422_2325

    private static func hash(
        _ bytes: some Sequence<UInt8>, from start: UInt64, after separator: Unicode.Scalar? = nil
    ) -> UInt64 {
        func add(_ byte: UInt8, to hash: UInt64) -> UInt64 { (hash ^ UInt64(byte)) &* 0x0100_0000_01B3 }
        return bytes.reduce(separator.map { add(UInt8(ascii: $0), to: start) } ?? start) { add($1, to: $0) }
    }

    private static func score(_ state: UInt64, _ weight: UInt8) -> UInt64 {
        var highest: UInt64 = 0
        for seat in 0..<UInt64(weight) {
            var z = state &+ seat &* 0x9E37_79B9_7F4A_7C15
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            highest = max(highest, z ^ (z >> 31))
        }
        return highest
    }
}
