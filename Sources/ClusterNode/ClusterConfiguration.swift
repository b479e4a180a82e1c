import HearthEtcdGateway
package import HearthEventLoop
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

/// The certificates of a cluster's own authority: of this node, and of those that it talks to. All are both servers and
/// clients.
package struct ClusterSecurity: Sendable {
    /// PEM: the authority, whose certificates alone count.
    package var authorityFile: String
    /// PEM: the certificate of this node and its key.
    package var certificate: TLSContext.Certificate

    package init(authorityFile: String, certificate: TLSContext.Certificate) {
        self.authorityFile = authorityFile
        self.certificate = certificate
    }

    /// For connections that this node makes.
    package func client() throws(TLSError) -> TLSContext {
        try .client(trusting: .file(authorityFile), certificate: certificate)
    }

    /// For those that it accepts.
    package func server() throws(TLSError) -> TLSContext {
        try .server(
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile,
            clientAuthorities: authorityFile)
    }
}

/// How a node is reached by others.
package struct PeerConfiguration: Sendable {
    /// Where it listens for them.
    package var address: SocketAddress
    /// Where they find it, if that is elsewhere, as behind a translation of addresses.
    package var publicAddress: SocketAddress?
    package var secret: ClusterSecret
    package var times = PeerTimes()

    package init(address: SocketAddress, publicAddress: SocketAddress? = nil, secret: ClusterSecret) {
        self.address = address
        self.publicAddress = publicAddress
        self.secret = secret
    }

    /// Where other nodes find this one.
    package var reachableAddress: SocketAddress { publicAddress ?? address }
}

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
