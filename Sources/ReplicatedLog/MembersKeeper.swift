/// Decides who is a member of the cluster: the owner of the nodes' own database runs it, and a new owner begins anew. A
/// pure value: the nodes that run come in, the members go out.
///
/// * Without members, there are some once four nodes have run for half a minute without a break: with fewer, every node
///   holds everything anyway.
/// * A node that has run for half a minute without a break joins.
/// * One that was away for ten minutes leaves. While more than a quarter of those that do not drain is away, nobody
///   leaves: that is a network, and copies of all that they hold would make it worse.
package struct MembersKeeper: Sendable {
    package struct Options: Hashable, Sendable {
        /// In milliseconds.
        package var joinMilliseconds: Int64 = 30_000
        package var leaveMilliseconds: Int64 = 600_000
        /// So many nodes begin.
        package var beginCount = 4

        package init() {}
    }

    private let options: Options
    /// Since when each node has run, as this process.
    private var running: [String: (incarnation: UInt64, since: Int64)] = [:]
    /// Since when each member has been away.
    private var away: [String: Int64] = [:]

    package init(options: Options = Options()) { self.options = options }

    /// Another node keeps the members meanwhile.
    package mutating func pause() { (running, away) = ([:], [:]) }

    /// Looks at the nodes that run.
    ///
    /// - parameters:
    ///   - nodes: their processes, by name.
    ///   - members: the present ones; nil for none.
    ///   - last: those that this node has known before, for when etcd has lost them.
    ///   - time: in milliseconds, by a monotonic clock.
    /// - returns: the members as they are to be from now on; nil if they remain the same.
    package mutating func look(
        _ nodes: [String: UInt64], _ members: ClusterMembers?, last: ClusterMembers? = nil, at time: Int64
    ) -> ClusterMembers? {
        running = Dictionary(
            uniqueKeysWithValues: nodes.map { name, incarnation in
                let before = running[name].flatMap { $0.incarnation == incarnation ? $0.since : nil }
                return (name, (incarnation, before ?? time))
            })
        let steady = running.filter { time - $0.value.since >= options.joinMilliseconds }.keys
        guard let members else {
            away = [:]
            if let last { return last }
            return steady.count >= options.beginCount
                ? ClusterMembers(Dictionary(uniqueKeysWithValues: steady.map { ($0, .member) })) : nil
        }
        away = Dictionary(
            uniqueKeysWithValues: members.names.filter { nodes[$0] == nil }.map { ($0, away[$0] ?? time) })
        var new = members
        for name in steady where new.states[name] == nil { new.states[name] = .member }
        let missed = away.keys.count { !members.isDraining($0) }
        let staying = members.names.count { !members.isDraining($0) }
        if 4 * missed <= staying {
            for (name, since) in away where time - since >= options.leaveMilliseconds { new.states[name] = nil }
        }
        return new == members ? nil : new
    }
}
