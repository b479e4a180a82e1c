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
    struct State {
        var keepers: [String: LogKeeper] = [:]
        /// Failed syncs of files that have no keeper. They are remembered while the process runs, or until the files
        /// go.
        var syncFailures: [String: StorageError] = [:]
        /// Databases whose files are being copied, and what they need.
        var copied: [String: CopyNeed] = [:]
        /// In the order of the etcd clusters.
        var stores: [StoreState]
        /// The etcd clusters of the logs that were opened, as far as they were found.
        var located: [String: Int] = [:]
        /// The last operation of the cluster's own database that this node has put in force.
        var confirmed: UInt64 = 0
        var isStopping = false
        var table = HolderTable()
        /// The document that the placement was taken from.
        var document = ReadDocument.unread
        /// Databases that this node has only because its clients use them.
        var visited: Set<String> = []
        var placementChanged: (@Sendable () -> Void)?
        /// The nodes that databases are followed from, instead of etcd.
        var sources: [String: String] = [:]
    }

    package let name: String
    /// Home comes first.
    let stores: [NodeStore]
    let incarnation: UInt64
    let timing: PlacementTiming
    let folder: DataFolder
    let news: @Sendable (ClusterNews) -> Void
    let shared: Shared
    private let leaseThreads: [NamedThread]
    private let tickThread: NamedThread
    private let syncThread: NamedThread
    let peers: PeerConfiguration?
    let tls: (client: TLSContext, server: TLSContext)?
    private let placementThreads: [NamedThread]
    private let upkeepThreads: [NamedThread]
    private let tailBytesMin: Int

    final class Shared: Sendable {
        let state: Mutex<State>
        let hub = Mutex<PeerHub?>(nil)
        let stores: [NodeStore]
        let endsSyncing = Semaphore()

        init(_ stores: [NodeStore]) {
            self.stores = stores
            state = Mutex(State(stores: stores.map { _ in StoreState() }))
        }

        /// Posts an event to all logs.
        func post(_ event: ReplicatedLog.Event) {
            for keeper in state.withLock({ Array($0.keepers.values) }) { keeper.post(event) }
        }

        var isStopping: Bool { state.withLock { $0.isStopping } }

        func ownerChanged(of database: String) {
            let index = state.withLock { state in
                let index = state.located[database]
                if let index { state.stores[index].hasOwnerChanged = true }
                return index
            }
            if let index { stores[index].wakeUp.signal() }
        }
    }

    var home: NodeStore { stores[0] }

    /// - parameter folder: has the databases of which other nodes are given copies, and the members known last.
    /// - parameter address: where clients find this node, for operators of others.
    /// - parameter news: called on threads of the node.
    package init(
        _ configuration: ClusterConfiguration, _ folder: DataFolder, address: String,
        news: @escaping @Sendable (ClusterNews) -> Void
    ) throws {
        name = configuration.node
        timing = configuration.timing
        self.folder = folder
        let tls = try configuration.security.map { (client: try $0.client(), server: try $0.server()) }
        let incarnation = UInt64.random(in: 1 ... .max)
        stores = configuration.stores.enumerated().map {
            NodeStore($1, index: $0, tls: tls?.client, incarnation: incarnation)
        }
        shared = Shared(stores)
        if let members = folder.keptMembers.flatMap({ ClusterMembers($0) }) {
            shared.state.withLock { $0.table.placement = Placement(remembering: members) }
        }
        (self.tls, self.incarnation) = (tls, incarnation)
        self.news = news
        peers = configuration.peers
        let record = NodeRecord(
            incarnation: incarnation, address: address,
            peerAddress: configuration.peers.map { "\($0.reachableAddress)" })
        let (shared, name, timing) = (shared, name, timing)
        leaseThreads = try stores.map { store in
            try NamedThread(name: "lease") {
                var registration = NodeRegistration(name, record, store, news: news)
                while !shared.isStopping {
                    Self.run(&registration, in: store, of: name, shared, news)
                    _ = store.wakeUp.wait(atMost: .milliseconds(100))
                }
                registration.end()
            }
        }
        placementThreads = try stores.map { store in
            try NamedThread(name: "placement") {
                var worker = PlacementWorker(
                    name, incarnation: incarnation, store, tls?.client, folder, timing,
                    storeNames: configuration.stores.map(\.name), news: news)
                let pause = Semaphore()
                while !shared.isStopping {
                    worker.run(
                        shared.state.withLock { $0.seenByWorker(of: store, timing) },
                        isStopping: { shared.isStopping })
                    _ = pause.wait(atMost: .milliseconds(timing.lookMilliseconds))
                }
            }
        }
        tailBytesMin = configuration.tailBytesMin
        let compaction = configuration.compaction
        upkeepThreads = try stores.map { store in
            try NamedThread(name: "etcd-upkeep") {
                var upkeep = StoreUpkeep(name, store, compaction, news: news)
                let pause = Semaphore()
                while !shared.isStopping {
                    upkeep.run()
                    _ = pause.wait(atMost: .milliseconds(100))
                }
            }
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
                for keeper in shared.state.withLock({ Array($0.keepers.values) }) { keeper.syncIfBehind() }
            } while !shared.endsSyncing.wait(atMost: Self.syncInterval)
        }
    }

    /// Between two syncs of a log's file. Etcd keeps what was written meanwhile.
    private static let syncInterval = Duration.seconds(1)

    /// The cluster's own database has another history, whose numbers may be lower.
    package func forgetConfirmed() { shared.state.withLock { $0.confirmed = 0 } }

    func setConfirmed(_ sequence: UInt64) {
        shared.state.withLock { $0.confirmed = max($0.confirmed, sequence) }
        home.wakeUp.signal()
    }

    /// Whether the writes of clients are sent to the node that makes them.
    package var forwardsWrites: Bool { peers != nil }

    /// Begins to listen for other nodes, if they reach each other. Once.
    ///
    /// - parameter requests: gets the requests of other nodes' connections to a database, on a thread of the links.
    /// - parameter forwarded: told what came of the requests that this node has sent to others, on the same thread.
    /// - parameter queued: told how many bytes of answers wait for a link from now on, on the thread that has answered.
    /// - parameter passedOn: told how many of them wait no longer, on the thread of the links.
    package func beginPeering(
        requests: @escaping @Sendable (_ database: String, [Request]) -> Void,
        forwarded: @escaping @Sendable (_ database: String, [ForwardingNews]) -> Void,
        queued: @escaping @Sendable (_ bytes: Int, _ link: Int) -> Void,
        passedOn: @escaping @Sendable (_ bytes: Int, _ link: Int) -> Void
    ) throws(SystemError) {
        guard let peers else { return }
        let feeds = { @Sendable [weak shared] (database: String, node: String, news: FeedNews) in
            if let shared { Self.take(news, of: database, from: node, shared) }
        }
        let delegate = PeerDelegate(
            requests: requests, news: forwarded, feeds: feeds, report: news, queued: queued, passedOn: passedOn
        ) { [folder] request in OutgoingCopy.make(request, folder) }
        let hub = try PeerHub(peers, name: name, incarnation: incarnation, delegate, tls: tls)
        shared.state.withLock { state in
            shared.hub.withLock { $0 = hub }
            hub.set(state.records)
            hub.set(isRegistered: state.isRegistered)
        }
    }

    private var hub: PeerHub? { shared.hub.withLock { $0 } }

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

    /// Nothing is owed to connections of other nodes any more, and their requests are not answered.
    package func endForwarded(_ connections: [ConnectionID]) { hub?.end(connections) }

    /// Receives a copy of a database from one of the other nodes that run. Waits; not for event loops.
    ///
    /// - parameter path: the target of the copy; an existing file is replaced.
    /// - parameter isWanted: asked now and then. Once it is false, the call fails soon.
    /// - returns: the node that the copy is from, and its bytes.
    package func receiveCopy(
        of database: String, _ need: CopyNeed, to path: String, isWanted: @escaping () -> Bool
    ) throws(CopyFailure) -> (node: String, byteCount: Int) {
        guard let peers else { throw CopyFailure(description: "this node has no --peer-listen") }
        let (records, holders) = shared.state.withLock { ($0.records, $0.table.holders(of: database) ?? []) }
        var failures: [String] = []
        let others = records.keys.shuffled()
        for node in others.filter(holders.contains) + others.filter({ !holders.contains($0) }) where node != name {
            guard let record = records[node] else { continue }
            guard let address = record.peerAddress.flatMap({ SocketAddress(hostAndPort: $0) }) else { continue }
            do throws(CopyFailure) {
                let hello = PeerHandshake.Hello(
                    name: name, incarnation: incarnation, session: Cryptography.randomBytes(PeerHandshake.sessionSize))
                let request = CopyRequest(database: database, need: need)
                // An earlier version does not say.
                let size = try? CopyReceiver(hello, peers.secret, address, tls: tls?.client, isWanted: isWanted)
                    .receiveSize(of: database, epoch: need.epoch)
                if let size, let space = DiskSpace(of: folder.path), space.available / 2 < size {
                    throw CopyFailure(
                        description: "this node's disk has no room for the copy, which needs \(size >> 20) MiB twice: "
                            + "\(space.available >> 20) MiB are free")
                }
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
    /// - parameter isVisited: see ``setVisited(_:_:)``.
    /// - parameter report: gets the log's results, in order, on a separate thread.
    /// - parameter needsCopy: told, on the same thread, that the log cannot be followed from where the files end. The
    ///   log is to be closed then, and opened again on files that can, such as a copy of another node's
    ///   (``receiveCopy(of:_:to:isWanted:)``).
    package func openLog(
        of database: String, _ file: LogFile, sequence: UInt64, isVisited: Bool = false,
        report: @escaping @Sendable ([Arrival]) -> Void,
        needsCopy: @escaping @Sendable (CopyNeed) -> Void
    ) throws(StorageError) -> NodeLog {
        let (epochs, hasData) = (file.epochs, sequence > 0)
        var options = ReplicatedLog.Options()
        options.isFed = peers != nil
        options.tailBytesMin = tailBytesMin
        let log = ReplicatedLog(
            database: database, owner: OwnerRecord(node: name, incarnation: incarnation),
            position: LogPosition(epoch: hasData ? epochs.current.name : nil, sequence: sequence),
            past: LogPast(file), isOfLog: file.isOfCluster,
            foundingEpoch: hasData ? .random(in: 1 ... .max) : epochs.current.name, options: options)
        // Before the log is read: what is heard of it comes at any time from then on.
        let failure = shared.state.withLock { state in
            state.copied[database] = nil
            return state.syncFailure(of: database)
        }
        let disk = try LogSync(file, through: sequence, after: failure)
        try? disk.sync()
        let progress = LogProgress()
        let place = place(of: database, hasData: hasData)
        let keeper: LogKeeper
        do throws(SystemError) {
            keeper = try LogKeeper(
                log, database: database, node: name, place, progress, disk, news: news,
                report: { [weak shared] arrivals in
                    if case .ownership? = arrivals.first { shared?.ownerChanged(of: database) }
                    report(arrivals)
                },
                needsCopy: { [weak shared] need in
                    shared?.state.withLock { $0.copied[database] = need }
                    needsCopy(need)
                }, reachesNodes: peers != nil
            ) { [weak shared, name] action in
                if let shared { Self.carryOut(action, of: database, at: name, shared) }
            }
        } catch {
            throw .inputOutput("\(error)")
        }
        let nodeLog = NodeLog(file, progress, keeper)
        shared.state.withLock { state in
            state.keepers[database] = keeper
            state.syncFailures[database] = nil
            if isVisited { state.visited.insert(database) } else { state.visited.remove(database) }
            state.begin(keeper, of: database, at: name)
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
        guard let client = store(of: database)?.makeClient() else { return need }
        let request = ReplicatedLog.look(at: database)
        guard let reply = try? client.call(request, within: .seconds(3)) else { return need }
        let position = LogPosition(epoch: epoch, sequence: sequence)
        let present = ReplicatedLog.mismatch(of: position, in: reply).flatMap { mismatch, epoch, floor in
            CopyNeed(mismatch, epoch: epoch, floor: floor)
        }
        shared.state.withLock { $0.copied[database] = present }
        return present
    }

    /// A database has been told that its log is handed over (``Ownership/handingOver``), and all that it has begun to
    /// append was appended.
    package func drained(_ database: String) { shared.state.withLock { $0.keepers[database] }?.post(.drained) }

    /// Whether a database could take its writes at this node.
    package func note(isFit: Bool, of database: String) {
        shared.state.withLock { $0.keepers[database] }?.post(.applies(isFit))
    }

    /// Waits until all logs that were opened have caught up with etcd, or a time has come.
    ///
    /// - returns: why a log never will, if one cannot follow from where it is.
    package func awaitLogs(until deadline: MonotonicTime) -> String? {
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
        for store in stores { store.wakeUp.signal() }
        shared.endsSyncing.signal()
        for thread in leaseThreads { thread.join() }
        tickThread.join()
        syncThread.join()
        for thread in placementThreads + upkeepThreads { thread.join() }
    }
}
