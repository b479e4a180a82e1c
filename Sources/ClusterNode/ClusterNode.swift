import EtcdGateway
import EtcdMessages
package import EventLoop
import RealtimeDatabase
import ReplicatedLog
package import StorageErrors
import Synchronization
package import DatabaseScheduler
package import TreeStorage

/// This process as a node of a cluster: its lease in etcd, its name, and the logs of its databases.
package final class ClusterNode: Sendable {
    private struct State {
        var keepers: [String: LogKeeper] = [:]
        var lease: Int64?
        /// The nodes that run, sorted.
        var nodes: [String] = []
        var isStopping = false
    }

    package let name: String
    private let cluster: EtcdCluster
    private let incarnation: UInt64
    private let news: @Sendable (ClusterNews) -> Void
    private let shared = Shared()
    private let leaseThread: NamedThread
    private let tickThread: NamedThread

    private final class Shared: Sendable {
        let state = Mutex(State())
        let wakeUp = Semaphore()

        /// Posts an event to all logs.
        func post(_ event: ReplicatedLog.Event) {
            for keeper in state.withLock({ Array($0.keepers.values) }) { keeper.post(event) }
        }

        var isStopping: Bool { state.withLock { $0.isStopping } }
    }

    /// - parameter address: where clients find this node, for operators of others.
    /// - parameter news: called on threads of the node.
    package init(
        _ configuration: ClusterConfiguration, address: String, news: @escaping @Sendable (ClusterNews) -> Void
    ) throws(SystemError) {
        name = configuration.node
        cluster = EtcdCluster(configuration.members)
        incarnation = .random(in: 1 ... .max)
        self.news = news
        let record = NodeRecord(incarnation: incarnation, address: address)
        let (shared, name, cluster) = (shared, name, cluster)
        leaseThread = try NamedThread(name: "lease") {
            var registration = NodeRegistration(name, record, cluster, news: news)
            while !shared.isStopping {
                Self.take(registration.run(), name, shared)
                _ = shared.wakeUp.wait(atMost: .milliseconds(100))
            }
            registration.end()
        }
        tickThread = try NamedThread(name: "log-ticks") {
            let pause = Semaphore()
            while !shared.isStopping {
                shared.post(.tick)
                _ = pause.wait(atMost: .milliseconds(50))
            }
        }
    }

    /// Tells the logs of the lease, and of their place among the nodes that run.
    private static func take(_ result: (lease: Int64?, nodes: [String]), _ name: String, _ shared: Shared) {
        shared.state.withLock { state in
            let (isNewLease, isNewOrder) = (state.lease != result.lease, state.nodes != result.nodes)
            (state.lease, state.nodes) = result
            for (database, keeper) in state.keepers {
                if isNewOrder { keeper.post(.rank(rank(of: name, for: database, among: result.nodes))) }
                if isNewLease { keeper.post(.lease(result.lease)) }
            }
        }
    }

    private static func rank(of name: String, for database: String, among nodes: [String]) -> Int? {
        NodeRecord.candidates(for: database, of: nodes).firstIndex(of: name)
    }

    /// Opens the log of a database.
    ///
    /// - parameter file: the node's own log, opened as one that is shared.
    /// - parameter sequence: the last operation in the node's files.
    /// - parameter report: told what comes of the log, in order, on a thread of its own.
    package func openLog(
        of database: String, _ file: LogFile, sequence: UInt64, report: @escaping @Sendable ([Arrival]) -> Void
    ) throws(StorageError) -> NodeLog {
        let log = ReplicatedLog(
            database: database, owner: OwnerRecord(node: name, incarnation: incarnation),
            position: LogPosition(epoch: sequence > 0 ? file.epochs.current.name : nil, sequence: sequence),
            foundingEpoch: file.epochs.current.name)
        let progress = LogProgress()
        let keeper: LogKeeper
        do throws(SystemError) {
            keeper = try LogKeeper(
                log, database: database, node: name, cluster,
                preferredMember: Int(incarnation % UInt64(cluster.members.count)), progress, news: news, report: report)
        } catch {
            throw .inputOutput("\(error)")
        }
        keeper.post(.kept(through: sequence))
        shared.state.withLock { state in
            state.keepers[database] = keeper
            keeper.post(.rank(Self.rank(of: name, for: database, among: state.nodes)))
            keeper.post(.lease(state.lease))
        }
        return NodeLog(file, progress, keeper)
    }

    /// Waits until all logs that were opened have caught up with etcd, for some time at most.
    ///
    /// - returns: why a log never will, if one cannot follow from where it is.
    package func awaitLogs(atMost duration: Duration) -> String? {
        let deadline = MonotonicTime.current + duration
        let pause = Semaphore()
        while true {
            let keepers = shared.state.withLock { $0.keepers }
            var isPending = false
            for (database, keeper) in keepers.sorted(by: { $0.key < $1.key }) {
                switch keeper.start.state {
                case .pending: isPending = true
                case .following: break
                case .stuck(let reason): return "the database '\(database)' cannot follow the cluster's log: \(reason)"
                }
            }
            if !isPending || MonotonicTime.current >= deadline { return nil }
            _ = pause.wait(atMost: .milliseconds(10))
        }
    }

    /// Gives everything up, so that other nodes take over at once. The logs are closed before.
    package func stop() {
        shared.state.withLock { $0.isStopping = true }
        shared.wakeUp.signal()
        leaseThread.join()
        tickThread.join()
    }
}
