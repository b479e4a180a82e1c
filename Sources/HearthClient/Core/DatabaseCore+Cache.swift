import HearthClientTransport
import HearthJSONTree
import HearthPlatform
import HearthWireProtocol

/// The data on disk. Values are saved shortly after they change, writes immediately.
extension DatabaseCore {
    private static let saveDelay = Duration.seconds(1)

    /// Loads the pending writes of an earlier process.
    func restoreWrites() {
        guard let cache else { return }
        for (number, request) in cache.writes() {
            outgoing.reserve(number)
            switch request {
            case .put(let assignment, hash: nil): restore(number, [assignment], request)
            case .merge(_, let assignments): restore(number, assignments, request)
            default: cache.removeWrite(number)
            }
        }
    }

    private func restore(_ number: Int, _ assignments: [WireAssignment], _ request: ClientRequest) {
        if assignments.contains(where: \.hasServerValues) { restoredWrites[number] = assignments }
        submit(number, assignments, request, isRestored: true) { _ in }
    }

    /// The saved values for a new listen.
    func restore(_ listen: ServerListen) -> [SyncEvent] {
        guard let cache, tree.cached(listen) == nil, let saved = cache.value(of: listen) else { return [] }
        return tree.restore(listen, saved.value, saved.position).events + estimateRestoredWrites(at: listen.path)
    }

    /// The server's values for listens changed.
    func saveLater(_ listens: [ServerListen]) {
        guard cache != nil, !listens.isEmpty else { return }
        if unsaved.isEmpty { loop.callLater(after: Self.saveDelay) { [weak self] in self?.save() } }
        unsaved.formUnion(listens)
    }

    func save() { save(Array(unsaved)) }

    /// Saves the unsaved values of some listens, before they are dropped with them.
    func save(_ listens: [ServerListen]) {
        let values = listens.compactMap { unsaved.remove($0) }.compactMap { listen in
            tree.cached(listen).map { CachedValue(listen: listen, value: $0, position: tree.position(of: listen)) }
        }
        cache?.save(values, at: WallClock.milliseconds, whileInUse: tree.listens)
    }
}
