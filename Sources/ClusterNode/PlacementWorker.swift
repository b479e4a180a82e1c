import HearthEtcdGateway
import HearthEtcdMessages
import HearthEventLoop
import HearthReplicatedLog
import HearthSystem
import HearthTreeStorage

/// What a node does about the placement of the databases in one etcd cluster: it keeps the members if it owns the
/// nodes' own database, moves logs that it owns to where they belong, and finds out which files it can remove. Home has
/// the members; the other etcd clusters have copies, as a transaction cannot depend on two of them. Used by one thread,
/// which waits for etcd.
struct PlacementWorker {
    /// What the worker has to know of its node.
    struct Node {
        var placement: Placement
        var lease: Int64?
        var isSettled: Bool
        /// Whether it owns the log of the nodes' own database.
        var keepsMembers: Bool
        /// For home: the databases whose logs are in other etcd clusters, with their numbers.
        var elsewhere: [String: Int] = [:]
        /// The databases of the etcd cluster whose logs it owns.
        var owned: [String]
        /// Those whose logs are open.
        var open: Set<String>
    }

    private let name: String
    private let incarnation: UInt64
    private let store: NodeStore
    /// Of all etcd clusters, in order.
    private let storeNames: [String]
    private let tls: TLSContext?
    private let client: EtcdClient
    private let folder: DataFolder
    private let timing: PlacementTiming
    private let news: @Sendable (ClusterNews) -> Void
    private var keeper: MembersKeeper
    private var home: OwnerHome
    /// The members that the node's folder has.
    private var keptMembers: ClusterMembers?
    /// The nodes that run, with the revisions of their registrations, and since when.
    private var running: [String: (revision: Int64, since: Int64)] = [:]
    private var nextLost: Int64 = 0
    /// The databases that home was told of under a lease. One that has lost everything has ended the lease.
    private var told: (lease: Int64, databases: Set<String>) = (0, [])

    private static let callDuration = Duration.seconds(3)
    /// Logs that are looked at in one run.
    private static let looksMax = 50
    private static let lostMilliseconds: Int64 = 3000

    init(
        _ name: String, incarnation: UInt64, _ store: NodeStore, _ tls: TLSContext?, _ folder: DataFolder,
        _ timing: PlacementTiming, storeNames: [String], news: @escaping @Sendable (ClusterNews) -> Void
    ) {
        self.name = name
        self.incarnation = incarnation
        self.store = store
        self.storeNames = storeNames
        self.tls = tls
        self.folder = folder
        self.timing = timing
        self.news = news
        client = store.makeClient()
        keptMembers = folder.keptMembers.flatMap { ClusterMembers($0) }
        keeper = MembersKeeper(options: timing.members)
        home = OwnerHome(at: name, runMilliseconds: timing.settleMilliseconds)
    }

    private var now: Int64 { MonotonicTime.currentWithSleep.milliseconds }

    mutating func run(_ node: Node, isStopping: () -> Bool) {
        if store.isHome { keepMembers(node.placement.last) }
        guard let lease = node.lease else {
            keeper.pause()
            running = [:]
            return
        }
        guard look(node) else { return }
        if store.isHome, !node.elsewhere.isEmpty { tellHome(node, lease, isStopping: isStopping) }
        store.removals.giveUp(
            OwnerRecord(node: name, incarnation: incarnation), isOpen: { node.open.contains($0) }, client,
            isStopping: isStopping)
        store.removals.look(node.placement, isSettled: node.isSettled, client, isStopping: isStopping)
        if !isStopping() { moveHome(node, isStopping: isStopping) }
        if !isStopping(), node.placement.last != nil, now >= nextLost { stateLost(lease, isStopping: isStopping) }
    }

    // MARK: Members

    /// Notes the members in the node's folder. The disk may be slow, and the thread that renews the lease must not wait
    /// for it.
    private mutating func keepMembers(_ members: ClusterMembers?) {
        guard let members, members != keptMembers, (try? folder.keepMembers(members.bytes)) != nil else { return }
        keptMembers = members
    }

    /// Looks who runs, and keeps the members if that is up to this node. False if etcd did not answer.
    private mutating func look(_ node: Node) -> Bool {
        let ownerKey = LogKeys(database: DataFolder.clusterDatabase).owner
        let question = EtcdTransaction(
            then: [
                .range(EtcdRange(NodeRecord.folder)), .range(EtcdRange(UnreachedNodes.folder)),
                .range(EtcdRange(.key(ClusterMembers.key))), .range(EtcdRange(.key(ownerKey))),
            ], isRepeatable: true)
        guard let reply = try? client.call(question, within: Self.callDuration) else { return false }
        let nodes = Self.nodes(in: reply.values(0))
        let time = now
        running = Dictionary(
            uniqueKeysWithValues: nodes.map { name, revision in
                let before = running[name].flatMap { $0.revision == revision ? $0.since : nil }
                return (name, (revision, before ?? time))
            })
        for name in UnreachedNodes.cutOff(Set(nodes.keys), UnreachedNodes.statements(in: reply.values(1))) {
            running[name] = nil
        }
        guard store.isHome else {
            copyMembers(over: reply.values(2).first, node)
            return true
        }
        guard let owner = reply.values(3).first,
            OwnerRecord(owner.value) == OwnerRecord(node: name, incarnation: incarnation)
        else {
            keeper.pause()
            return true
        }
        let document = reply.values(2).first
        let present = document.flatMap { ClusterMembers($0.value) }
        if document != nil, present == nil {
            news(.membersNotKept(reason: "what etcd has of them is damaged, or of a later version"))
            return true
        }
        // A node that is registered again is another one: it was away, or has another process.
        let new = keeper.look(
            nodes.mapValues { UInt64($0) }, present, last: document == nil ? node.placement.last : nil, at: time)
        guard let new else { return true }
        let isOwner = EtcdTransaction.Comparison(ownerKey, .equal, .modRevision(owner.modRevision))
        do throws(EtcdError) {
            _ = try client.call(new.replace(document?.modRevision ?? 0, if: [isOwner]), within: Self.callDuration)
        } catch {
            news(.membersNotKept(reason: "\(error)"))
        }
        return true
    }

    /// Has the etcd cluster have the members that home has. The removal of files depends on them, and is safe whichever
    /// members it depends on.
    private func copyMembers(over document: EtcdKeyValue?, _ node: Node) {
        guard node.keepsMembers, case .known(let members, _) = node.placement.members,
            document.flatMap({ ClusterMembers($0.value) }) != members
        else { return }
        do throws(EtcdError) {
            _ = try client.call(members.replace(document?.modRevision ?? 0), within: Self.callDuration)
        } catch {
            news(.membersNotKept(reason: "the etcd cluster '\(store.name)': \(error)"))
        }
    }

    /// The nodes that can hold databases, with the revisions of their registrations. Those that others do not reach
    /// have no copies, and get none; of those that cannot be read nothing is known.
    static func nodes(in values: [EtcdKeyValue]) -> [String: Int64] {
        var nodes: [String: Int64] = [:]
        for value in values {
            let name = NodeRecord.name(of: value.key)
            guard NodeName.isValid(name), NodeRecord(value.value)?.peerAddress != nil else { continue }
            nodes[name] = value.createRevision
        }
        return nodes
    }

    // MARK: Other etcd clusters

    /// Tells home where the logs are that it has not, in case it has forgotten.
    private mutating func tellHome(_ node: Node, _ lease: Int64, isStopping: () -> Bool) {
        if told.lease != lease { told = (lease, []) }
        for (database, index) in node.elsewhere.sorted(by: { $0.key < $1.key })
        where !told.databases.contains(database) {
            let entry = StoreDirectory.enter(database, in: storeNames[index])
            guard !isStopping(), let reply = try? client.call(entry, within: Self.callDuration) else { return }
            told.databases.insert(database)
            if !reply.hasSucceeded, StoreDirectory.found(reply) != .store(storeNames[index]) {
                news(.cannotFollow(database: database, reason: Self.contradiction(storeNames[index])))
            }
        }
    }

    private static func contradiction(_ name: String) -> String {
        "this node follows its log in the etcd cluster '\(name)', and home says that it is elsewhere"
    }

    // MARK: Logs

    private mutating func moveHome(_ node: Node, isStopping: () -> Bool) {
        guard case .known(let members, _) = node.placement.members else { return }
        home.keep(only: Set(node.owned), at: now)
        var looks = 0
        for database in node.owned.shuffled() where looks < Self.looksMax && !isStopping() {
            guard let holders = members.holders(of: database), holders.first != name else { continue }
            looks += 1
            guard let reply = try? client.call(OwnerHome.look(at: database), within: Self.callDuration) else { return }
            let target = home.decide(
                database, reply, holders: holders, runningSince: running.mapValues(\.since), at: now)
            guard let target else { continue }
            news(.movesHome(database: database, node: target))
            let move = OwnerMoves.Move(database: database, from: name, to: target)
            let moves = OwnerMoves([EtcdStore(store.name, store.members)], tls: tls, areCompared: true)
            moves.make([move], isWanted: { !isStopping() }) { _, _ in }
            // One log at a time.
            return
        }
    }

    // MARK: Lost logs

    /// States of logs that etcd has lost, and that other nodes miss, that this node has no files of them: so an
    /// operator knows whom not to wait for.
    private mutating func stateLost(_ lease: Int64, isStopping: () -> Bool) {
        nextLost = now + Self.lostMilliseconds
        guard let reply = try? client.call(EtcdRange(LogKeys.filesOfAll, keysOnly: true), within: Self.callDuration)
        else { return }
        let statements = reply.values.compactMap { LogKeys.filesOwner(of: $0.key) }
        let own = Set(statements.filter { $0.node == name }.map(\.database))
        for database in Set(statements.map(\.database)).subtracting(own).sorted()
        where DataFolder.isFileName(database) && !hasFiles(of: database) {
            let statement = LogReplacement.stateNone(database, at: name, lease: lease)
            if isStopping() || (try? client.call(statement, within: Self.callDuration)) == nil { return }
        }
    }

    /// Files without an operation say nothing of the log.
    private func hasFiles(of database: String) -> Bool {
        guard folder.hasDatabase(database) else { return false }
        do { return try folder.logEnd(of: database) != nil } catch { return true }
    }
}
