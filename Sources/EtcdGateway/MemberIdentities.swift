/// Which etcd cluster the members of a list are of. Two clusters in one list would each take some of the writes, and a
/// node that asks one member at a time may never notice. A pure value: what members say comes in.
package struct MemberIdentities: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// None has answered yet.
        case unknown
        case agreed(UInt64)
        /// They contradict each other, or what was found before: one line for operators.
        case mixed(String)
    }

    package private(set) var state = State.unknown
    /// Of the first members that agreed.
    private var first: UInt64?

    package init() {}

    /// Takes note of a look at all members. A node that has found a contradiction believes only all of them together,
    /// or most of them if they are of the cluster that it knew before.
    ///
    /// - parameter clusters: in the order of the list; nil for members that do not answer.
    package mutating func look(_ clusters: [(member: EtcdMember, cluster: UInt64?)]) {
        let found = clusters.compactMap { entry in entry.cluster.map { (entry.member, $0) } }
        guard let cluster = found.first?.1 else { return }
        let isConvincing = found.count == clusters.count || first == cluster && 2 * found.count > clusters.count
        if let text = Self.contradiction(in: found) {
            state = .mixed(text)
        } else if case .mixed = state, !isConvincing {
            return
        } else if let first, first != cluster {
            state = .mixed(
                "the members are of the etcd cluster \(Self.text(cluster)), and were of \(Self.text(first)) when this node "
                    + "started: start it again if they were made anew")
        } else {
            first = cluster
            state = .agreed(cluster)
        }
    }

    /// Which members are of which cluster, if there are several clusters.
    package static func contradiction(in members: [(member: EtcdMember, cluster: UInt64)]) -> String? {
        var order: [UInt64] = []
        for (_, cluster) in members where !order.contains(cluster) { order.append(cluster) }
        guard order.count > 1 else { return nil }
        let parts = order.map { cluster in
            let names = members.filter { $0.cluster == cluster }.map { "\($0.member)" }
            return "\(names.joined(separator: ", ")) of \(text(cluster))"
        }
        return "the members are not of one etcd cluster: " + parts.joined(separator: "; ")
    }

    private static func text(_ cluster: UInt64) -> String { String(cluster, radix: 16) }
}
