import HearthEtcdGateway
import HearthEventLoop
import HearthReplicatedLog
import HearthSystem
import Synchronization

/// One of the etcd clusters, as a node uses it: the node has a lease in each of them, which the logs there depend on.
/// Any thread.
final class NodeStore: Sendable {
    /// In the order of the configuration; 0 for home.
    let index: Int
    let name: String
    let members: [EtcdMember]
    let cluster: EtcdCluster
    let validity = LeaseValidity()
    let removals = FilesRemovals()
    /// The node has no lease before the members agree.
    let identities = Mutex(MemberIdentities())
    /// Of the thread that keeps the lease.
    let wakeUp = Semaphore()
    /// Nodes prefer different members.
    let preferredMember: Int

    init(_ store: EtcdStore, index: Int, tls: TLSContext?, incarnation: UInt64) {
        self.index = index
        name = store.name
        members = store.members
        cluster = EtcdCluster(store.members, tls: tls)
        preferredMember = Int(incarnation % UInt64(store.members.count))
    }

    var isHome: Bool { index == 0 }

    /// For one thread.
    func makeClient() -> EtcdClient { EtcdClient(cluster, preferredMember: preferredMember) }
}

/// What a node has last heard of an etcd cluster.
struct StoreState {
    var lease: Int64?
    /// Since when the node has that lease.
    var leaseSince: MonotonicTime?
    /// The nodes that run, sorted.
    var nodes: [String] = []
    /// Kept while the node has no lease.
    var records: [String: NodeRecord] = [:]
    /// Other nodes do not reach this one.
    var isCutOff = false
    /// A log has another owner, or none: the nodes that run may be others.
    var hasOwnerChanged = false

    /// Whether the node has had its lease for a while.
    func isSettled(_ timing: PlacementTiming) -> Bool {
        leaseSince.map { MonotonicTime.current - $0 >= .milliseconds(timing.settleMilliseconds) } ?? false
    }
}
