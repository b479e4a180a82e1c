import Synchronization
import HearthReplicatedLog
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// The etcd clusters of a node: its lease in each, and the logs that each has.
extension ClusterNode {
    /// Does due work for the lease in an etcd cluster, and tells the logs there of it. On the thread of the lease.
    static func run(
        _ registration: inout NodeRegistration, in store: NodeStore, of name: String, _ shared: Shared,
        _ news: @Sendable (ClusterNews) -> Void
    ) {
        let (confirmed, copied, hasOwnerChanged) = shared.state.withLock { state in
            defer { state.stores[store.index].hasOwnerChanged = false }
            let copied = state.copied.filter { $0.value.files != .continued && state.located[$0.key] == store.index }
            return (state.confirmed, copied, state.stores[store.index].hasOwnerChanged)
        }
        registration.copied = copied.mapValues { $0.floor - 1 }
        registration.isCopied = { database in shared.state.withLock { $0.copied[database] != nil } }
        if hasOwnerChanged { registration.lookSoon() }
        // Home has the database that this is about.
        if store.isHome { registration.confirmed = confirmed }
        registration.unreached = UnreachedNodes(names: shared.hub.withLock { $0 }?.unreached ?? [])
        let (lease, nodes) = registration.run()
        take(lease, nodes, isCutOff: registration.isCutOff, in: store, name, shared)
        if store.isHome, case .read(let document) = registration.document {
            take(document: document, name, shared, news)
        }
    }

    /// Tells the logs of the lease, and of their place among the nodes that run.
    private static func take(
        _ lease: Int64?, _ all: [String: NodeRecord?], isCutOff: Bool, in store: NodeStore, _ name: String,
        _ shared: Shared
    ) {
        let nodes = all.keys.sorted()
        let records = all.compactMapValues { $0 }
        shared.state.withLock { state in
            let before = state.stores[store.index]
            let recordsBefore = state.records
            let (isNewLease, isNewOrder) = (before.lease != lease, before.nodes != nodes)
            let (isNewReach, wasRegistered) = (before.isCutOff != isCutOff, state.isRegistered)
            state.stores[store.index].lease = lease
            state.stores[store.index].nodes = nodes
            state.stores[store.index].isCutOff = isCutOff
            if isNewLease { state.stores[store.index].leaseSince = lease.map { _ in .current } }
            // A node without a lease keeps its present links.
            if !records.isEmpty { state.stores[store.index].records = records }
            let known = state.records
            if known != recordsBefore { shared.hub.withLock { $0 }?.set(known) }
            if state.isRegistered != wasRegistered {
                shared.hub.withLock { $0 }?.set(isRegistered: state.isRegistered)
            }
            for (database, source) in state.sources
            where state.located[database] == store.index && state.stores[store.index].records[source] == nil {
                state.keepers[database]?.post(.feedEnded)
            }
            for (database, keeper) in state.keepers where state.located[database] == store.index {
                if isNewOrder { keeper.post(.rank(state.rank(of: name, for: database))) }
                if isNewLease { keeper.post(.lease(lease)) }
                if isNewReach { keeper.post(.reached(!isCutOff)) }
            }
        }
    }

    /// Whether the node has its lease, by name of the etcd cluster.
    package var leases: [String: Bool] {
        let states = shared.state.withLock { $0.stores }
        return Dictionary(uniqueKeysWithValues: zip(stores.map(\.name), states.map { $0.lease != nil }))
    }

    /// The etcd cluster of a log that was opened; nil if it was not found yet.
    func store(of database: String) -> NodeStore? {
        shared.state.withLock { $0.located[database] }.map { stores[$0] }
    }

    /// Where a log is, which is found before it is read for the first time.
    ///
    /// - parameter hasData: see ``StoreFinder/find(_:hasData:_:)``.
    func place(of database: String, hasData: Bool) -> LogPlace {
        let finder = StoreFinder(stores: stores, folder: folder, node: name)
        return LogPlace(home: home, known: store(of: database)) {
            [weak shared, name] client throws(LogPlace.Failure) in
            let store = try finder.find(database, hasData: hasData, client)
            shared?.state.withLock { state in
                state.located[database] = store.index
                if let keeper = state.keepers[database] { state.begin(keeper, of: database, at: name) }
            }
            return store
        }
    }
}

extension ClusterNode.State {
    /// The nodes that run, as far as any etcd cluster has them. One that the node has no lease in may be away.
    var records: [String: NodeRecord] {
        (stores.filter { $0.lease != nil } + stores.filter { $0.lease == nil })
            .reduce([:]) { $0.merging($1.records) { first, _ in first } }
    }

    /// Whether the node has its name in an etcd cluster.
    var isRegistered: Bool { stores.contains { $0.lease != nil } }

    /// The state of the etcd cluster with a database's log; nil until that cluster is found.
    func store(of database: String) -> StoreState? { located[database].map { stores[$0] } }

    /// Why the files of a database cannot be relied on, open or not.
    func syncFailure(of database: String) -> StorageError? { keepers[database]?.disk.failure ?? syncFailures[database] }

    mutating func rank(of name: String, for database: String) -> Int? {
        guard let nodes = store(of: database)?.nodes else { return nil }
        if visited.contains(database), !table.holds(name, database) { return nil }
        return table.placement.claimants(for: database, of: nodes).firstIndex(of: name)
    }

    /// Tells a log what it depends on, once it is known where it is.
    mutating func begin(_ keeper: LogKeeper, of database: String, at name: String) {
        guard let store = store(of: database) else { return }
        keeper.post(.rank(rank(of: name, for: database)))
        keeper.post(.reached(!store.isCutOff))
        keeper.post(.lease(store.lease))
    }

    func seenByWorker(of store: NodeStore, _ timing: PlacementTiming) -> PlacementWorker.Node {
        let open = keepers.filter { located[$0.key] == store.index }
        return PlacementWorker.Node(
            placement: table.placement, lease: stores[store.index].lease,
            isSettled: stores[store.index].isSettled(timing),
            keepsMembers: keepers[DataFolder.clusterDatabase]?.isOwner ?? false,
            elsewhere: store.isHome ? located.filter { $0.value != store.index } : [:],
            owned: open.filter { $0.value.isOwner }.keys.sorted(), open: Set(open.keys))
    }
}
