import HearthClusterNode
import HearthDatabaseScheduler
import HearthRealtimeDatabase
import HearthServerLog
import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// Databases that are distributed over the nodes of a cluster: a node opens those that it holds, those of which it has
/// files, and those that its clients use. It removes its files of others once their holders have them.
extension HostedDatabases {
    static let isElsewhere = StorageError.ownedElsewhere(node: nil)

    /// Whether this node holds a database. A server that is alone holds all.
    func isHeld(_ index: UInt32) -> Bool { host.cluster?.holds(directory.name(of: index)) ?? true }

    /// Opens a database, unless it is open, or will be.
    func follow(_ index: UInt32) {
        guard finished == nil, open[index] == nil, copied[index] == nil, !opening.has(index), !placed.isRemoving(index)
        else { return }
        open(index)
    }

    /// Opens and removes databases as they are placed by now. Looks at the folder once at most.
    ///
    /// - parameter opensAll: looks for all databases that are to be open, not only for restored ones.
    func followPlacement(opensAll: Bool) {
        guard finished == nil, let cluster = host.cluster else { return }
        let listed = cluster.isPlaced ? folder.listed : nil
        if let listed {
            removeUnneeded(listed, cluster)
            openRestored(listed)
        }
        if opensAll { openPlaced(listed) }
    }

    /// Opens all that this node holds by now, and those of which it has files.
    ///
    /// - parameter listed: what the folder has, if that is known.
    func openPlaced(_ listed: ListedDatabases? = nil) {
        guard let cluster = host.cluster, finished == nil else { return }
        var others: [UInt32] = []
        for index in directory.served(with: host.rules.databasesWithOwn) {
            let name = directory.name(of: index)
            if cluster.holds(name) {
                if placed.visited.remove(index) != nil {
                    folder.endVisit(name)
                    cluster.setVisited(name, false)
                }
                follow(index)
            } else if open[index] == nil {
                others.append(index)
            }
        }
        if others.isEmpty { return }
        let listed = listed ?? folder.listed
        for index in others where listed.withFiles.contains(directory.name(of: index)) { follow(index) }
    }

    /// A restore has put a copy into the folder, which the cluster waits for.
    private func openRestored(_ listed: ListedDatabases) {
        for name in listed.withRestoredCopies.sorted() {
            let index = directory.index(ofServed: name)
            if open[index] == nil { follow(index) }
        }
    }

    /// Before the files of a database are opened: notes whether that is only because clients use it here.
    func noteVisit(of index: UInt32, _ name: String) throws(StorageError) {
        guard let cluster = host.cluster, cluster.isPlaced else { return }
        try folder.endRemoval(name)
        if cluster.holds(name) {
            if folder.isVisited(name) { folder.endVisit(name) }
            placed.visited.remove(index)
        } else if folder.isVisited(name) {
            placed.visited.insert(index)
        }
    }

    /// Clients use a database that this node does not have.
    func openOnDemand(_ index: UInt32, for requests: [Request]) {
        let own = requests.filter { !$0.connection.isForwarded }
        if own.count < requests.count {
            host.refuse(requests.filter { $0.connection.isForwarded }, because: Self.isElsewhere)
        }
        // Nothing is known of a connection that ends.
        if own.allSatisfy(\.operation.isOfEnd) { return }
        if let error = failures[index] ?? beginVisit(index) { return host.refuse(own, because: error) }
        open(index, for: own)
    }

    /// Notes that a database will have files only because clients use it here, if that is so.
    func beginVisit(_ index: UInt32) -> StorageError? {
        let name = directory.name(of: index)
        guard !isHeld(index), !folder.hasDatabase(name) else { return nil }
        do throws(StorageError) { try folder.beginVisit(name) } catch { return error }
        host.log.info("database.visited", [("database", name)])
        return nil
    }

    // MARK: Arriving

    /// Has requests wait for a database that is on its way here or away, as far as there is room; those of other nodes
    /// have to ask elsewhere.
    ///
    /// - returns: whether it is.
    func hold(_ requests: [Request], of index: UInt32) -> Bool {
        guard let turned = placed.hold(requests, of: index, at: MonotonicTime.current.milliseconds) else {
            return false
        }
        if !turned.forwarded.isEmpty { host.refuse(turned.forwarded, because: Self.isElsewhere) }
        if !turned.excess.isEmpty { host.refuse(turned.excess, because: Self.isFull, abandons: true) }
        return true
    }

    private static let isFull = StorageError.overloaded(
        "too many requests wait for databases that this node is copying from other nodes: try again later")

    static let isRemoved = StorageError.overloaded(
        "this node is removing its files of the database, which other nodes hold: try again later")

    /// The node has what the log has. Clients that were refused meanwhile are expected again.
    func endArrival(_ index: UInt32, _ database: HostedDatabase) {
        if placed.visited.contains(index) { database.noteUse() }
        let requests = placed.endArrival(index)
        if !requests.isEmpty { database.handle(.requests(requests)) }
        // The end of the process was announced meanwhile.
        if finished != nil { database.handle(.endSessions) }
    }

    /// Clients do not wait longer than for a write.
    func refuseLate() {
        for (index, requests) in placed.takeLate(at: MonotonicTime.current.milliseconds) {
            host.refuse(requests, because: placed.isRemoving(index) ? Self.isRemoved : Self.isCopied, abandons: true)
        }
    }

    // MARK: Removing

    /// Begins to remove the files of a database that other nodes hold and nobody uses here.
    private func removeUnneeded(_ listed: ListedDatabases, _ cluster: ClusterNode) {
        // What is being removed stays among those that were looked at.
        guard !placed.isRemovingAny, cluster.knowsMembers else { return }
        var wanted: [String: UInt32] = [:]
        for (index, database) in open
        where !cluster.holds(database.name) && !listed.withRestoredCopies.contains(database.name)
            && profilers[index] == nil && tails[index] == nil
            && !placed.isArriving(index) && database.isUnused(milliseconds: cluster.idleMilliseconds)
            && database.hasCaughtUp && host.readiness.isFollowing(database.name)
        {
            wanted[database.name] = index
        }
        let removable = cluster.removable(of: Set(wanted.keys))
        guard let name = removable.min(), let index = wanted[name], let database = open.removeValue(forKey: index)
        else {
            return
        }
        placed.beginRemoval(index)
        host.copier.close(database.abandon())
    }

    /// The files are gone, or had to stay.
    func endRemoval(_ index: UInt32) {
        let hasFiles = folder.hasDatabase(directory.name(of: index))
        if !hasFiles { host.readiness.forget(directory.name(of: index)) }
        let requests = placed.endRemoval(index, isRemoved: !hasFiles)
        guard finished == nil else { return host.refuse(requests, because: .stopping) }
        if hasFiles || isHeld(index) {
            open(index, for: requests)
        } else if !requests.isEmpty {
            openOnDemand(index, for: requests)
        }
    }
}
