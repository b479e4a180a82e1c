/// News for operators of a node.
package enum ClusterNews: Hashable, Sendable {
    case leaseBegan(store: String, isHome: Bool)
    /// The etcd cluster could not be reached for too long, or has ended the lease.
    case leaseEnded(store: String, isHome: Bool)
    /// An etcd cluster has another name than here, so the node does not use it.
    case otherStore(expected: String, found: String)
    /// The members of an etcd cluster are not of one, for this reason, so the node does not use it; nil if they are
    /// again.
    case mixedMembers(String?, store: String, isHome: Bool)
    /// A member of etcd does not answer, for this reason; nil if it does again.
    case member(String, problem: String?, store: String)
    /// An etcd cluster has reached its quota and takes no writes, or does again.
    case full(Bool, store: String, isHome: Bool)
    /// An etcd cluster could not be told to forget old revisions, for this reason.
    case notCompacted(store: String, reason: String)
    /// A process at this address runs under the name of this node.
    case nameTaken(address: String, store: String, isHome: Bool)
    /// The files of a database cannot follow the log from where they are, or a value in etcd is damaged.
    case cannotFollow(database: String, reason: String)
    /// The log is followed again.
    case follows(database: String)
    /// A link to another node could not be made, for this reason.
    case peerRefused(node: String, reason: String)
    /// Somebody at this address has called the port of `--peer-listen`, and does not have the cluster's secret.
    case callerRefused(address: String)
    /// The other nodes that use an etcd cluster do not reach this one, so it gives up what it owns there; or they do
    /// again.
    case cutOff(Bool, store: String)
    /// This node goes by these members from now on; nil if etcd does not have them any more, or they cannot be read.
    case members([String]?)
    /// This node keeps the members, and could not.
    case membersNotKept(reason: String)
    /// The log of a database is to be owned by the node that comes first among its holders.
    case movesHome(database: String, node: String)
}
