import HearthJSONTree
import HearthWireProtocol

/// A client's knowledge of a database, and its observers.
///
/// - It keeps the server's values for every place with a listen, and applies the pending writes to them.
/// - Every change of either becomes events for the affected observers, deeper places first.
/// - It decides which listens the server should have: one for all observers that one whole place covers.
///
/// It only returns events and requests, uses no clock, and belongs to one thread. The cost of a change is about the
/// number of observed queries on the way to its place and below it, times the pending writes of each.
final class SyncTree {
    let root = SyncPlace(path: .root)
    var writes = PendingWrites()
    /// Listens without data from the server yet.
    var awaited: Set<ServerListen> = []
    var tagged: [Int64: QueryView] = [:]
    var observed: [Int: QueryView] = [:]
    var lastTag: Int64 = 0
    var lastListen = 0
    /// Listens to whole places that the server was asked to end but has not ended yet, and the last listen that had
    /// begun at the time of the request.
    var stopping: [ServerListen: Int] = [:]

    // MARK: Observers

    /// Adds an observer with a unique number.
    ///
    /// - parameters:
    ///   - kinds: none if the data only has to be kept up to date.
    ///   - restore: loads the saved values of a listen that begins, before the observer's first event.
    func observe(
        _ id: Int, _ path: Path, _ query: QueryObject, _ kinds: EventKinds,
        restore: (ServerListen) -> [SyncEvent] = { _ in [] }
    ) -> SyncOutput {
        let observer = QueryView.Observer(id: id, kinds: kinds)
        let place = root.makePlace(path)
        var output = SyncOutput()
        let view: QueryView
        if let known = place.views.first(where: { $0.query == query.query }) {
            view = known
        } else {
            view = QueryView(path: path, query: query)
            place.views.append(view)
            coverage(of: place, view, &output)
            for listen in output.starts { output.events += restore(listen) }
            refresh(view, &output)
        }
        observed[observer.id] = view
        output.events += view.add(observer)
        return output
    }

    /// Removes an observer. Without effect if it was removed already.
    func removeObserver(_ id: Int) -> SyncOutput {
        guard let view = observed.removeValue(forKey: id) else { return SyncOutput() }
        view.remove(id)
        guard view.observers.isEmpty else { return SyncOutput() }
        var output = remove([view], at: view.path)
        settleAcknowledged(&output)
        return output
    }

    /// The observers of a query, or of all queries at a place.
    func observers(at path: Path, _ query: Query?) -> [Int] {
        guard let place = place(at: path) else { return [] }
        return place.views.filter { query == nil || $0.query == query }.flatMap(\.observers).map(\.id)
    }

    /// The listens that may end with an observer.
    func listens(endingWith id: Int) -> [ServerListen] {
        guard let view = observed[id], view.observers.count == 1 else { return [] }
        return [view.listen, place(at: view.path)?.listen].compactMap(\.self)
    }

    func remove(_ views: [QueryView], at path: Path) -> SyncOutput {
        var output = SyncOutput()
        guard let place = place(at: path) else { return output }
        place.views.removeAll { view in views.contains { $0 === view } }
        for view in views {
            for observer in view.observers { observed[observer.id] = nil }
            if let listen = view.listen { stop(listen, &output) }
            view.listen = nil
        }
        if let listen = place.listen, !place.wantsAll { uncover(place, listen, &output) }
        if place.views.isEmpty { handDown(at: place) }
        root.dropUnused(on: path)
        return output
    }

    // MARK: Writes

    /// Adds a write of this client.
    ///
    /// - parameter replaced: a write that it replaces, so that observers do not see the state in between.
    func write(_ write: PendingWrite, replacing replaced: Int? = nil) -> SyncOutput {
        let old = replaced.flatMap { writes.remove($0) }
        writes.add(write)
        var output = SyncOutput()
        refresh((old.map(shownPaths) ?? []) + shownPaths(write), &output)
        return output
    }

    /// The server has acknowledged a write, after reporting its changes to the listens. Where a listen is not answered
    /// yet, observers continue to see the write until it is.
    func acknowledge(_ id: Int) -> SyncOutput {
        guard let write = writes.write(id) else { return SyncOutput() }
        if write.isVisible, write.paths.contains(where: isAwaited) {
            writes.acknowledge(id)
            var output = SyncOutput()
            refresh(write.paths, &output)
            return output
        }
        return removeWrite(id)
    }

    /// Rolls a write back.
    func removeWrite(_ id: Int) -> SyncOutput {
        var output = SyncOutput()
        if let write = writes.remove(id) { refresh(shownPaths(write), &output) }
        return output
    }

    func shownPaths(_ write: PendingWrite) -> [Path] { write.isVisible ? write.paths : [] }

    func isAwaited(_ path: Path) -> Bool {
        awaited.contains { $0.path.contains(path) || path.contains($0.path) }
    }

    func settleAcknowledged(_ output: inout SyncOutput) {
        refresh(takeSettled(), &output)
    }

    /// Removes the acknowledged writes whose effect the server has reported, and answers their paths.
    func takeSettled() -> [Path] {
        let settled = writes.acknowledged.filter { writes.write($0)?.paths.contains(where: isAwaited) == false }
        return settled.sorted().compactMap { writes.remove($0) }.flatMap(\.paths)
    }
}
