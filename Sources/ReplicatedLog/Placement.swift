/// The databases that a node holds, as far as it knows the members of its cluster.
package struct Placement: Hashable, Sendable {
    package enum Members: Hashable, Sendable {
        /// Nothing was read yet. The cluster may have members, so the node holds only the nodes' own databases, and has
        /// others only if it has files of them or clients use them.
        case unknown
        /// etcd had no such document, and never had as far as this node knows: every node holds everything.
        case none
        /// As etcd had it at a revision.
        case known(ClusterMembers, revision: Int64)
        /// etcd does not have the document any more, or has not been asked: nodes go on with the one before, and
        /// remove no files.
        case missing(ClusterMembers)
    }

    package private(set) var members = Members.unknown

    /// Begins without knowledge.
    package init() {}

    /// Begins with the document that the node has kept.
    package init(remembering members: ClusterMembers) { self.members = .missing(members) }

    /// Takes over the document from etcd. One that cannot be read keeps files from being removed, and changes nothing
    /// else: ``Members/unknown`` stays.
    ///
    /// - parameter found: the value and its revision; nil if there is none.
    package mutating func take(_ found: (value: [UInt8], revision: Int64)?) {
        if let found, let new = ClusterMembers(found.value) {
            members = .known(new, revision: found.revision)
        } else if let last {
            members = .missing(last)
        } else if found == nil {
            members = .none
        }
    }

    /// Whether a node need not have all databases.
    package var isDistributed: Bool { members != .none }

    /// The last known members; nil if none are known.
    package var last: ClusterMembers? {
        switch members {
        case .unknown, .none: nil
        case .known(let members, _), .missing(let members): members
        }
    }

    /// The nodes that hold a database, the first one first; nil if all do, or if that is not known.
    package func holders(of database: String) -> [String]? { last?.holders(of: database) }

    package func holds(_ node: String, _ database: String) -> Bool {
        if members == .unknown { return ClusterMembers.allHold(database) }
        return holders(of: database)?.contains(node) ?? true
    }

    /// The nodes that may own the log of a database, in the order in which they claim it: first its holders, then those
    /// that have files of it though they do not hold it any more.
    ///
    /// - parameter nodes: those that run.
    package func claimants(for database: String, of nodes: [String]) -> [String] {
        let all = NodeRecord.candidates(for: database, of: nodes)
        guard let holders = holders(of: database) else { return all }
        let running = holders.filter(all.contains)
        return running + all.filter { !running.contains($0) }
    }
}
