import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// Finds the etcd cluster that has the log of a database, and chooses one for a new database. Waits for etcd.
struct StoreFinder {
    let stores: [NodeStore]
    let folder: DataFolder
    /// The name of this node.
    let node: String

    private let begun = MonotonicTime.current

    private static let callDuration = Duration.seconds(2)
    /// Nodes that start together register with one etcd cluster after the other. So long a new database waits for that.
    private static let registering = Duration.seconds(5)

    private var home: NodeStore { stores[0] }

    /// - parameter hasData: the node has files with data.
    /// - parameter client: of home.
    func find(
        _ database: String, hasData: Bool, _ client: EtcdClient
    ) throws(LogPlace.Failure) -> NodeStore {
        // Every node has the nodes' own databases, which say how nodes work together.
        if ClusterMembers.allHold(database) { return home }
        let kept = folder.keptStore(of: database)
        let found: StoreDirectory.Found
        do throws(EtcdError) {
            found = StoreDirectory.found(
                try client.call(StoreDirectory.look(for: database), within: Self.callDuration))
        } catch {
            // What was noted never changes, so that home can be away.
            guard let kept else { throw .unreachable(error) }
            return try store(kept)
        }
        guard case .nothing = found else { return try take(found, noted: kept, of: database) }
        // Home has lost what it knew, and is told again later (`PlacementWorker`).
        if let kept { return try store(kept) }
        return try enter(database, in: try choose(for: database, hasData: hasData, client), client)
    }

    /// For a database of which neither home nor this node knows where it is. No etcd cluster may have its log, so all
    /// must answer.
    private func choose(
        for database: String, hasData: Bool, _ client: EtcdClient
    ) throws(LogPlace.Failure) -> String {
        if stores.count == 1 { return StoreDirectory.home }
        var others: [(name: String, nodes: Set<String>)] = []
        for store in stores.dropFirst() {
            let other: StoreDirectory.Elsewhere
            do throws(EtcdError) {
                other = StoreDirectory.elsewhere(
                    try store.makeClient().call(
                        StoreDirectory.lookElsewhere(for: database), within: Self.callDuration))
            } catch {
                throw .notYet("a new database needs all etcd clusters, and '\(store.name)' does not answer: \(error)")
            }
            if let name = other.name, name != store.name { throw .mixedUp(store.name, name) }
            if other.hasLog { return store.name }
            others.append((store.name, other.nodes))
        }
        // Files of a server that was alone, or of a cluster that began at home.
        if hasData { return StoreDirectory.home }
        let home: StoreDirectory.Home
        do throws(EtcdError) {
            let question = StoreDirectory.lookAtHome(own: DataFolder.clusterDatabase)
            home = StoreDirectory.home(try client.call(question, within: Self.callDuration))
        } catch {
            throw .unreachable(error)
        }
        guard home.nodes.contains(node), let choice = StoreDirectory.choice(home, others) else {
            throw .notYet(
                "a new database begins once this node is registered, and '\(DataFolder.clusterDatabase)' has begun")
        }
        if MonotonicTime.current - begun < Self.registering,
            let other = others.first(where: { !home.nodes.isSubset(of: $0.nodes) })
        {
            throw .notYet("not all nodes are registered with the etcd cluster '\(other.name)'")
        }
        return choice
    }

    private func enter(
        _ database: String, in name: String, _ client: EtcdClient
    ) throws(LogPlace.Failure) -> NodeStore {
        let reply: EtcdTransactionReply
        do throws(EtcdError) {
            reply = try client.call(StoreDirectory.enter(database, in: name), within: Self.callDuration)
        } catch {
            throw .unreachable(error)
        }
        if reply.hasSucceeded { return try take(.store(name), noted: nil, of: database) }
        let found = StoreDirectory.found(reply)
        guard case .nothing = found else { return try take(found, noted: nil, of: database) }
        if name == StoreDirectory.home { return home }
        throw .notYet("nodes miss a log of it that was at \(StoreDirectory.home)")
    }

    /// Notes where the log is, before the node has files of it.
    ///
    /// - parameter kept: what was noted before.
    private func take(
        _ found: StoreDirectory.Found, noted kept: String?, of database: String
    ) throws(LogPlace.Failure) -> NodeStore {
        switch found {
        case .store(let name):
            let store = try store(name)
            if let kept, kept != name {
                throw .never(
                    "this node has noted that its log is in the etcd cluster '\(kept)', and home says '\(name)'")
            }
            if store.isHome || kept == name { return store }
            do throws(StorageError) { try folder.keepStore(name, of: database) } catch {
                throw .notYet("where its log is cannot be noted: \(error.message)")
            }
            return store
        case .otherStore(let name): throw .mixedUp(StoreDirectory.home, name)
        case .damaged, .nothing: throw .never("what etcd says of where its log is cannot be read")
        }
    }

    private func store(_ name: String) throws(LogPlace.Failure) -> NodeStore {
        guard let store = stores.first(where: { $0.name == name }) else {
            throw .never("its log is in the etcd cluster '\(name)', which --cluster does not name")
        }
        return store
    }
}

extension LogPlace.Failure {
    fileprivate static func mixedUp(_ expected: String, _ found: String) -> Self {
        .never("--cluster calls an etcd cluster '\(expected)' that is called '\(found)'")
    }
}
