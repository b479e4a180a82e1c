import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthStorageErrors
import HearthTreeStorage
import Synchronization
package import HearthSystem

/// The databases that the node holds, and the removal of the files of others.
extension ClusterNode {
    /// Takes over the members as etcd has them.
    static func take(
        document: EtcdKeyValue?, _ name: String, _ shared: Shared, _ news: @Sendable (ClusterNews) -> Void
    ) {
        let change = shared.state.withLock { state -> (before: Placement, after: Placement, (@Sendable () -> Void)?)? in
            if state.document == .read(document) { return nil }
            state.document = .read(document)
            let before = state.table.placement
            state.table.placement.take(document.map { ($0.value, $0.modRevision) })
            guard state.table.placement != before else { return nil }
            for (database, keeper) in state.keepers { keeper.post(.rank(state.rank(of: name, for: database))) }
            return (before, state.table.placement, state.placementChanged)
        }
        guard let (before, after, changed) = change else { return }
        if case .known(let members, _) = after.members {
            if members != before.last { news(.members(members.names)) }
        } else if case .known = before.members {
            news(.members(nil))
        }
        changed?()
    }

    /// Reads the members of the cluster from etcd. Waits.
    package func readMembers(until deadline: MonotonicTime) {
        let client = home.makeClient()
        let pause = Semaphore()
        while MonotonicTime.current < deadline {
            if let reply = try? client.call(EtcdRange(.key(ClusterMembers.key)), within: .seconds(2)) {
                return Self.take(document: reply.values.first, name, shared, news)
            }
            _ = pause.wait(atMost: .milliseconds(100))
        }
    }

    /// - parameter changed: called when the databases that this node holds may be others, on a thread of the node.
    package func observePlacement(_ changed: @escaping @Sendable () -> Void) {
        shared.state.withLock { $0.placementChanged = changed }
    }

    /// Whether databases are distributed, so that a node need not hold all. That is assumed until etcd was read.
    package var isPlaced: Bool { shared.state.withLock { $0.table.placement.isDistributed } }

    /// Whether the node has read the members of the cluster from etcd, or remembers them.
    package var knowsMembers: Bool { shared.state.withLock { $0.table.placement.members != .unknown } }

    /// How many members the cluster has, as far as this node knows, and how many of them drain.
    package var memberCounts: (all: Int, draining: Int) {
        let states = shared.state.withLock { $0.table.placement.last }?.states ?? [:]
        return (states.count, states.values.count { $0 == .draining })
    }

    /// Whether this node holds a database.
    package func holds(_ database: String) -> Bool {
        shared.state.withLock { $0.table.holds(name, database) }
    }

    /// Whether the node has a database only because its clients use it. Then it never claims the log, unless it holds
    /// the database.
    package func setVisited(_ database: String, _ isVisited: Bool) {
        shared.state.withLock { state in
            if isVisited { state.visited.insert(database) } else { state.visited.remove(database) }
            state.keepers[database]?.post(.rank(state.rank(of: name, for: database)))
        }
    }

    /// The milliseconds after which a database that is not used is not followed any more by a node that does not hold
    /// it.
    package var idleMilliseconds: Int64 { timing.idleMilliseconds }

    /// Says, for databases whose files this node would remove, of which that seems to be possible now.
    package func removable(of databases: Set<String>) -> Set<String> {
        let located = shared.state.withLock { $0.located }
        var removable: Set<String> = []
        for store in stores {
            let own = databases.filter { located[$0] == store.index }
            store.removals.want(own, at: name)
            removable.formUnion(store.removals.removable(of: own))
        }
        return removable
    }

    /// Says in etcd that this node has no files of a database, if no other node needs them. The log is closed. Waits
    /// for etcd.
    ///
    /// - returns: whether the files can be removed.
    package func stateRemoval(of database: String) -> Bool {
        let (placement, state) = shared.state.withLock { state in
            state.syncFailures[database] = state.syncFailure(of: database)
            state.keepers[database] = nil
            return (state.table.placement, state.store(of: database))
        }
        guard let store = store(of: database), let state, let lease = state.lease,
            let files = filesEnd(of: database),
            store.removals.state(
                database, files, placement, lease: lease, isSettled: state.isSettled(timing), store.makeClient())
        else { return false }
        shared.state.withLock { state in
            (state.syncFailures[database], state.copied[database]) = (nil, nil)
            // The note of where the log is goes with the files.
            state.located[database] = nil
        }
        return true
    }

    /// Where the files of a database end; nil if they cannot be read.
    private func filesEnd(of database: String) -> LogPosition? {
        do throws(StorageError) {
            let end = try folder.logEnd(of: database)
            return LogPosition(epoch: end?.epoch, sequence: end?.sequence ?? 0)
        } catch {
            return nil
        }
    }
}
