import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthSystem
import Synchronization

/// The databases whose files a node would remove (``FilesRemoval``). Any thread.
final class FilesRemovals: Sendable {
    private struct State {
        var removals: [String: FilesRemoval] = [:]
        var removable: Set<String> = []
        /// Databases whose files were removed, until no request of their logs can be under way any more.
        var removed: [String: MonotonicTime] = [:]
    }

    private let state = Mutex(State())

    private static let callDuration = Duration.seconds(3)
    /// A statement whose outcome is not known is repeated for so long.
    private static let patience = Duration.seconds(10)

    /// Says of which databases the files can be removed, as far as was seen at the last look.
    func removable(of wanted: Set<String>) -> Set<String> {
        state.withLock { state in
            state.removals = state.removals.filter { wanted.contains($0.key) }
            state.removable.formIntersection(wanted)
            return state.removable
        }
    }

    /// Notes which databases are to be looked at.
    func want(_ wanted: Set<String>, at node: String) {
        state.withLock { state in
            for database in wanted where state.removals[database] == nil {
                state.removals[database] = FilesRemoval(of: database, at: node)
            }
        }
    }

    /// Looks at each of them. Waits for etcd.
    func look(_ placement: Placement, isSettled: Bool, _ client: EtcdClient, isStopping: () -> Bool) {
        for (database, removal) in state.withLock({ $0.removals }).sorted(by: { $0.key < $1.key }) {
            if isStopping() { return }
            var removal = removal
            var isRemovable = false
            do {
                let reply = try client.call(removal.look, within: Self.callDuration)
                _ = try removal.decide(reply, placement, isSettled: isSettled)
                isRemovable = true
            } catch is FilesRemoval.Obstacle {
            } catch {
                return
            }
            state.withLock { state in
                guard state.removals[database] != nil else { return }
                state.removals[database] = removal
                if isRemovable { state.removable.insert(database) } else { state.removable.remove(database) }
            }
        }
    }

    private static let lateClaims = Duration.seconds(60)

    /// Gives up logs that a claim has given to this process, which was under way when the files were removed.
    ///
    /// - parameter isOpen: tells whether the log of a database is open again.
    func giveUp(
        _ owner: OwnerRecord, isOpen: (String) -> Bool, _ client: EtcdClient, isStopping: () -> Bool
    ) {
        let removed = state.withLock { state in
            state.removed = state.removed.filter { $0.value > .current }
            return state.removed.keys.sorted()
        }
        for database in removed where !isOpen(database) && !isStopping() {
            let key = LogKeys(database: database).owner
            guard let reply = try? client.call(EtcdRange(.key(key)), within: Self.callDuration) else { return }
            guard let value = reply.values.first, OwnerRecord(value.value) == owner else { continue }
            _ = try? client.call(FilesRemoval.giveUp(database, value), within: Self.callDuration)
        }
    }

    /// Looks once more, and says in etcd that there are no files.
    ///
    /// - parameter files: where they end.
    func state(
        _ database: String, _ files: LogPosition, _ placement: Placement, lease: Int64, isSettled: Bool,
        _ client: EtcdClient
    ) -> Bool {
        let removal = state.withLock { state in
            state.removable.remove(database)
            return state.removals[database]
        }
        guard var removal else { return false }
        do {
            let look = try client.call(removal.look, within: Self.callDuration)
            let permit = try removal.decide(look, placement, isSettled: isSettled)
            try FilesRemoval.check(files, in: try client.call(removal.lookAtHistory, within: Self.callDuration))
            let deadline = MonotonicTime.current + Self.patience
            while true {
                do throws(EtcdError) {
                    let reply = try client.call(removal.state(permit, lease: lease), within: Self.callDuration)
                    guard FilesRemoval.isStated(reply, by: permit, lease: lease) else { return false }
                    state.withLock { $0.removed[database] = .current + Self.lateClaims }
                    return true
                } catch {
                    guard error.isOfOneMember, MonotonicTime.current < deadline else { return false }
                }
            }
        } catch {
            return false
        }
    }
}
