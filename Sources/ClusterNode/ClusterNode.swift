import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthJSONWebTokens
package import HearthRealtimeDatabase
import HearthReplicatedLog
package import HearthStorageErrors
import Synchronization
package import HearthDatabaseScheduler
package import HearthSystem
package import HearthTreeStorage

/// This process as a node of a cluster: its lease in etcd, its name, and the logs of its databases.
package final class ClusterNode: Sendable {
    private struct State {
        var keepers: [String: LogKeeper] = [:]
        var logs: [String: OpenLog] = [:]
        var lease: Int64?
        /// The nodes that run, sorted.
        var nodes: [String] = []
        var records: [String: NodeRecord] = [:]
        var hub: PeerHub?
        /// The last operation of the cluster's own database that this node has put in force.
        var confirmed: UInt64 = 0
        /// Other nodes do not reach this one.
        var isCutOff = false
        var isStopping = false
    }

    package let name: String
    let cluster: EtcdCluster
    private let incarnation: UInt64
    private let news: @Sendable (ClusterNews) -> Void
    private let shared = Shared()
    private let validity = LeaseValidity()
    private let leaseThread: NamedThread
    private let tickThread: NamedThread
    private let syncThread: NamedThread
    let peers: PeerConfiguration?
    private let tls: (client: TLSContext, server: TLSContext)?

    private struct OpenLog {
        /// Until it is closed.
        weak var log: NodeLog?
        /// A failure is remembered if the log is opened again.
        let disk: LogSync
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
        let wakeUp = Semaphore()
        let endsSyncing = Semaphore()

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
    ) throws {
        name = configuration.node
        tls = try configuration.security.map { (try $0.client(), try $0.server()) }
        cluster = EtcdCluster(configuration.members, tls: tls?.client)
        incarnation = .random(in: 1 ... .max)
        self.news = news
        peers = configuration.peers
        let record = NodeRecord(
            incarnation: incarnation, address: address,
            peerAddress: configuration.peers.map { "\($0.reachableAddress)" })
        let (shared, name, cluster, validity) = (shared, name, cluster, validity)
        leaseThread = try NamedThread(name: "lease") {
            var registration = NodeRegistration(name, record, cluster, validity, news: news)
            while !shared.isStopping {
                let (confirmed, hub) = shared.state.withLock { ($0.confirmed, $0.hub) }
                registration.confirmed = confirmed
                registration.unreached = UnreachedNodes(names: hub?.unreached ?? [])
                let (lease, nodes) = registration.run()
                Self.take(lease, nodes, isCutOff: registration.isCutOff, name, shared)
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
        syncThread = try NamedThread(name: "log-sync") {
            repeat {
                for open in shared.state.withLock({ Array($0.logs.values) }) { open.log?.syncIfBehind() }
            } while !shared.endsSyncing.wait(atMost: Self.syncInterval)
        }
    }

    /// Between two syncs of a log's file. Etcd keeps what was written meanwhile.
    private static let syncInterval = Duration.seconds(1)

    /// Tells the logs of the lease, and of their place among the nodes that run.
    private static func take(
        _ lease: Int64?, _ all: [String: NodeRecord?], isCutOff: Bool, _ name: String, _ shared: Shared
    ) {
        let nodes = all.keys.sorted()
        let records = all.compactMapValues { $0 }
        shared.state.withLock { state in
            let (isNewLease, isNewOrder) = (state.lease != lease, state.nodes != nodes)
            let isNewReach = state.isCutOff != isCutOff
            // A node without a lease keeps its present links.
            if !records.isEmpty, records != state.records {
                state.records = records
                state.hub?.set(records)
            }
            (state.lease, state.nodes, state.isCutOff) = (lease, nodes, isCutOff)
            if isNewLease { state.hub?.set(isRegistered: lease != nil) }
            for (database, keeper) in state.keepers {
                if isNewOrder { keeper.post(.rank(rank(of: name, for: database, among: nodes))) }
                if isNewLease { keeper.post(.lease(lease)) }
                if isNewReach { keeper.post(.reached(!isCutOff)) }
            }
        }
    }

    private static func rank(of name: String, for database: String, among nodes: [String]) -> Int? {
        NodeRecord.candidates(for: database, of: nodes).firstIndex(of: name)
    }

    /// The cluster's own database has another history, whose numbers may be lower.
    package func forgetConfirmed() { shared.state.withLock { $0.confirmed = 0 } }

    func setConfirmed(_ sequence: UInt64) {
        shared.state.withLock { $0.confirmed = max($0.confirmed, sequence) }
        shared.wakeUp.signal()
    }

    /// Whether the writes of clients are sent to the node that makes them.
    package var forwardsWrites: Bool { peers != nil }

    /// Begins to listen for other nodes, if they reach each other. Once.
    ///
    /// - parameter folder: the databases of which other nodes are given copies.
    /// - parameter requests: gets the requests of other nodes' connections to a database, on a thread of the links.
    /// - parameter forwarded: told what came of the requests that this node has sent to others, on the same thread.
    package func beginPeering(
        _ folder: DataFolder,
        requests: @escaping @Sendable (_ database: String, [Request]) -> Void,
        forwarded: @escaping @Sendable (_ database: String, [ForwardingNews]) -> Void
    ) throws(SystemError) {
        guard let peers else { return }
        let delegate = PeerDelegate(requests: requests, news: forwarded, report: news) { request in
            OutgoingCopy.make(request, folder)
        }
        let hub = try PeerHub(peers, name: name, incarnation: incarnation, delegate, tls: tls)
        shared.state.withLock { state in
            state.hub = hub
            hub.set(state.records)
            hub.set(isRegistered: state.lease != nil)
        }
    }

    private var hub: PeerHub? { shared.state.withLock { $0.hub } }

    /// Sends requests to the node that takes the writes of a database.
    package func forward(_ requests: [ForwardedRequest], of database: String, to node: String) {
        hub?.forward(requests, of: database, to: node)
    }

    /// Answers requests of connections of other nodes. The answers are true as of the operation `sequence`. What was
    /// refused because the files of this node take no records, the next owner does.
    package func answer(
        _ answers: [(connection: ConnectionID, number: Int64, reply: Reply)], of database: String, sequence: UInt64
    ) {
        var answers = answers
        if shared.state.withLock({ $0.keepers[database] })?.storesRecords == false {
            for index in answers.indices {
                guard case .failed(.unavailable) = answers[index].reply else { continue }
                answers[index].reply = .failed(.unavailable(.ownedElsewhere(node: nil)))
            }
        }
        hub?.answer(answers, sequence: sequence)
    }

    /// Answers requests of connections of other nodes that no database here works on. While this node stops, the next
    /// owner does them.
    package func turnAway(_ requests: [Request], because error: StorageError) {
        let error = error == .stopping ? StorageError.ownedElsewhere(node: nil) : error
        hub?.answer(requests.map { ($0.connection, $0.number, .failed(.unavailable(error))) }, sequence: 0)
    }

    /// Nothing is owed to connections of other nodes any more.
    package func endForwarded(_ connections: [ConnectionID]) { hub?.end(connections) }

    /// Tells the nodes that got requests from this one that all its connections have ended. Unanswered requests are
    /// reported as lost.
    package func endForwarding() { hub?.endOutgoing() }

    /// Receives a copy of a database from one of the other nodes that run. Waits; not for event loops.
    ///
    /// - parameter path: the target of the copy; an existing file is replaced.
    /// - parameter isWanted: asked now and then. Once it is false, the call fails soon.
    /// - returns: the node that the copy is from, and its bytes.
    package func receiveCopy(
        of database: String, _ need: CopyNeed, to path: String, isWanted: @escaping () -> Bool
    ) throws(CopyFailure) -> (node: String, byteCount: Int) {
        guard let peers else { throw CopyFailure(description: "this node has no --peer-listen") }
        let records = shared.state.withLock { $0.records }
        var failures: [String] = []
        for (node, record) in records.sorted(by: { $0.key < $1.key }).shuffled() where node != name {
            guard let address = record.peerAddress.flatMap({ SocketAddress(hostAndPort: $0) }) else { continue }
            do throws(CopyFailure) {
                let hello = PeerHandshake.Hello(
                    name: name, incarnation: incarnation, session: Cryptography.randomBytes(PeerHandshake.sessionSize))
                let request = CopyRequest(database: database, need: need)
                let receiver = try CopyReceiver(hello, peers.secret, address, tls: tls?.client, isWanted: isWanted)
                return (node, try receiver.receive(request, to: path))
            } catch {
                failures.append("\(node): \(error)")
            }
            guard isWanted() else { break }
        }
        throw CopyFailure(
            description: failures.isEmpty ? "no other node with --peer-listen runs" : failures.joined(separator: "; "))
    }

    /// Opens the log of a database.
    ///
    /// - parameter file: the node's own log, opened as one that is shared.
    /// - parameter sequence: the last operation in the node's files.
    /// - parameter report: gets the log's results, in order, on a separate thread.
    /// - parameter needsCopy: told, on the same thread, that the log cannot be followed from where the files end. The
    ///   log is to be closed then, and opened again on files that can, such as a copy of another node's
    ///   (``receiveCopy(of:_:to:isWanted:)``).
    package func openLog(
        of database: String, _ file: LogFile, sequence: UInt64, report: @escaping @Sendable ([Arrival]) -> Void,
        needsCopy: @escaping @Sendable (CopyNeed) -> Void
    ) throws(StorageError) -> NodeLog {
        let (epochs, hasData) = (file.epochs, sequence > 0)
        let log = ReplicatedLog(
            database: database, owner: OwnerRecord(node: name, incarnation: incarnation),
            position: LogPosition(epoch: hasData ? epochs.current.name : nil, sequence: sequence),
            past: LogPast(file), isOfLog: file.isOfCluster,
            foundingEpoch: hasData ? .random(in: 1 ... .max) : epochs.current.name)
        // Before the log is read: what is heard of it comes at any time from then on.
        let failure = shared.state.withLock { $0.logs[database]?.disk.failure }
        let disk = try LogSync(file, through: sequence, after: failure)
        try? disk.sync()
        let progress = LogProgress()
        let keeper: LogKeeper
        do throws(SystemError) {
            keeper = try LogKeeper(
                log, database: database, node: name, cluster,
                preferredMember: Int(incarnation % UInt64(cluster.members.count)), progress, news: news, report: report,
                needsCopy: needsCopy, reachesNodes: peers != nil)
        } catch {
            throw .inputOutput("\(error)")
        }
        let nodeLog = NodeLog(file, disk, progress, keeper, validity)
        shared.state.withLock { state in
            state.keepers[database] = keeper
            state.logs[database] = OpenLog(log: nodeLog, disk: disk)
            keeper.post(.rank(Self.rank(of: name, for: database, among: state.nodes)))
            keeper.post(.reached(!state.isCutOff))
            keeper.post(.lease(state.lease))
        }
        return nodeLog
    }

    /// What the files of a database need now to follow its log; nil if they can follow it, or if no copy would help.
    /// The log is not open. Waits for etcd.
    ///
    /// - parameter epoch: the history of the files; nil for empty ones.
    /// - parameter sequence: the last operation in them.
    /// - parameter need: what they needed before.
    package func need(of database: String, epoch: UInt64?, sequence: UInt64, before need: CopyNeed) -> CopyNeed? {
        let client = EtcdClient(cluster, preferredMember: Int(incarnation % UInt64(cluster.members.count)))
        let request = ReplicatedLog.look(at: database)
        guard let reply = try? client.call(request, within: .seconds(3)) else { return need }
        let position = LogPosition(epoch: epoch, sequence: sequence)
        guard let (mismatch, epoch, floor) = ReplicatedLog.mismatch(of: position, in: reply) else { return nil }
        return CopyNeed(mismatch, epoch: epoch, floor: floor)
    }

    /// A database has been told that its log is handed over (``Ownership/handingOver``), and all that it has begun to
    /// append was appended.
    package func drained(_ database: String) { shared.state.withLock { $0.keepers[database] }?.post(.drained) }

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
                case .following, .lost: break
                case .stuck(let reason): return "the database '\(database)' cannot follow the cluster's log: \(reason)"
                }
            }
            if !isPending || MonotonicTime.current >= deadline { return nil }
            _ = pause.wait(atMost: .milliseconds(10))
        }
    }

    /// Gives everything up, so that other nodes take over at once. The logs are closed before.
    package func stop() {
        hub?.stop()
        shared.state.withLock { $0.isStopping = true }
        shared.wakeUp.signal()
        shared.endsSyncing.signal()
        leaseThread.join()
        tickThread.join()
        syncThread.join()
    }
}
