package import HearthReplicatedLog

/// How a server takes part in a cluster.
package struct ClusterConfiguration: Sendable {
    /// The etcd clusters; the first one is home.
    package var stores: [EtcdStore]
    /// The name of this node, which no other node has.
    package var node: String

    /// How nodes reach each other; nil if they do not: then writes are refused where they are not made.
    package var peers: PeerConfiguration?

    /// Encrypts connections to etcd and to other nodes; nil for connections that are not encrypted.
    package var security: ClusterSecurity?

    /// When databases move between nodes.
    package var timing = PlacementTiming()

    /// When etcd forgets old revisions.
    package var compaction = CompactionSchedule.Options()

    /// Etcd keeps so many bytes of each log, even if all nodes have them.
    package var tailBytesMin = ReplicatedLog.Options().tailBytesMin

    package init(
        _ stores: [EtcdStore], node: String, peers: PeerConfiguration? = nil, security: ClusterSecurity? = nil
    ) {
        precondition(!stores.isEmpty)
        self.stores = stores
        self.node = node
        self.peers = peers
        self.security = security
    }
}
