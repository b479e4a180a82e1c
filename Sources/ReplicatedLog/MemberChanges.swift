/// Makes nodes members once they have run for a while, and removes those that were away for long, so that the restart of
/// a node moves no database. A pure value: times come in.
///
/// One node changes the members, the owner of `$cluster`. Its times are of its own clock: if another node takes over, it
/// begins to count again, and changes come later, never earlier.
package struct MemberChanges: Sendable {
    package struct Options: Hashable, Sendable {
        /// A node joins after it has run for so long without a break, in milliseconds.
        package var joinMilliseconds: Int64 = 30_000
        /// A member leaves after it was away for so long, in milliseconds.
        package var leaveMilliseconds: Int64 = 600_000
        /// While more than one of so many members is away, none leaves by itself: that is probably a network, and
        /// copies of all that they hold would make it worse.
        package var membersForOneAway = 4

        package init() {}
    }

    private let options: Options
    /// Since when a node has been as it is, and not as the members say.
    private var runningSince: [[UInt8]: (member: ClusterMember, time: Int64)] = [:]
    private var awaySince: [[UInt8]: Int64] = [:]

    package init(options: Options = Options()) { self.options = options }

    /// Compares the members with the nodes that run. To be called every second or so.
    ///
    /// - parameter running: the nodes with a lease. Whether they drain is not looked at: operators decide that.
    /// - parameter time: in milliseconds, by a monotonic clock.
    /// - returns: the members as they should be; nil if they are.
    package mutating func change(
        _ members: ClusterMembers, running: [ClusterMember], at time: Int64
    ) -> ClusterMembers? {
        var present = Dictionary(uniqueKeysWithValues: members.list.map { ($0.name, $0) })
        let running = Dictionary(
            running.map { node in
                var node = node
                node.isDraining = present[node.name]?.isDraining ?? false
                return (node.name, node)
            }, uniquingKeysWith: { first, _ in first })
        awaySince = present.filter { running[$0.key] == nil }.mapValues { awaySince[$0.name] ?? time }
        runningSince = running.filter { present[$0.key] != $0.value }.mapValues { node in
            if let since = runningSince[node.name], since.member == node { since } else { (node, time) }
        }
        for (name, since) in runningSince where time - since.time >= options.joinMilliseconds {
            present[name] = since.member
        }
        if awaySince.count * options.membersForOneAway <= members.list.count {
            for (name, since) in awaySince where time - since >= options.leaveMilliseconds { present[name] = nil }
        }
        let result = ClusterMembers(present.values)
        return result == members ? nil : result
    }
}
