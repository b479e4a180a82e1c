import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// The listens that the server should have, and the views that each of them covers.
extension SyncTree {
    /// Provides a new view with its data.
    func coverage(of place: SyncPlace, _ view: QueryView, _ output: inout SyncOutput) {
        if root.way(to: place.path).contains(where: { $0.listen != nil }) { return }
        guard view.query.selectsEverything else { return startSelection(view, &output) }
        start(place, &output)
        place.forEachFromBelow { below in
            if below !== place, let listen = below.listen {
                stop(listen, &output)
                below.listen = nil
            }
            for view in below.views {
                if let listen = view.listen { stop(listen, &output) }
                view.listen = nil
            }
        }
    }

    /// Ends a listen to a whole place. Places below that are still observed get their own listens, and keep their data.
    func uncover(_ place: SyncPlace, _ listen: ServerListen, _ output: inout SyncOutput) {
        place.listen = nil
        let (value, position) = (place.server, place.position)
        place.server = nil
        var held: [Path] = []
        hold(value, position, at: place, &held, &output)
        stop(listen, &output)
        for path in held { root.dropUnused(on: path) }
    }

    /// - parameter held: places to remove if nothing lies below them.
    private func hold(
        _ value: Node?, _ position: CommitPosition, at place: SyncPlace, _ held: inout [Path],
        _ output: inout SyncOutput
    ) {
        if place.wantsAll {
            start(place, &output)
            if let value { place.set(value, position) }
            return
        }
        let (entry, entryPosition) = (place.server, place.position)
        place.server = nil
        let position = value == nil ? entryPosition : position
        let value = value ?? entry
        for view in place.views {
            if let value { view.selection = view.query.select(from: value) }
            startSelection(view, &output)
        }
        for child in place.sortedChildren {
            let key = child.path.suffix(after: place.path)?.firstKey
            hold(key.flatMap { key in value.map { $0.child(key) } }, position, at: child, &held, &output)
        }
        held.append(place.path)
    }

    private func start(_ place: SyncPlace, _ output: inout SyncOutput) {
        lastListen += 1
        let listen = ServerListen(number: lastListen, path: place.path, query: nil, tag: nil)
        place.listen = listen
        awaited.insert(listen)
        output.starts.append(listen)
    }

    func startSelection(_ view: QueryView, _ output: inout SyncOutput) {
        lastTag += 1
        lastListen += 1
        let listen = ServerListen(number: lastListen, path: view.path, query: view.object, tag: lastTag)
        view.listen = listen
        tagged[lastTag] = view
        awaited.insert(listen)
        output.starts.append(listen)
    }

    func stop(_ listen: ServerListen, _ output: inout SyncOutput) {
        if let tag = listen.tag { tagged[tag] = nil }
        awaited.remove(listen)
        output.stops.append(listen)
    }

    /// All listens that the server should have, the higher places first.
    var listens: [ServerListen] {
        var listens: [ServerListen] = []
        root.forEachFromBelow { place in
            listens += place.views.compactMap(\.listen)
            if let listen = place.listen { listens.append(listen) }
        }
        return listens.reversed()
    }

    /// The server's value for a listen; nil before there is one.
    func cached(_ listen: ServerListen) -> Node? {
        let value = serverValue(at: listen.path)
        guard let tag = listen.tag else { return value }
        return tagged[tag].flatMap { view in value.map { view.query.select(from: $0) } ?? view.selection }
    }

    /// The last commit in the server's value for a listen; empty if it is not known.
    func position(of listen: ServerListen) -> CommitPosition {
        listen.tag == nil ? place(at: listen.path)?.position ?? [] : []
    }

    /// The server cannot read the position of a listen. False if the listen has ended.
    func forgetPosition(of listen: ServerListen) -> Bool {
        guard let place = place(at: listen.path), place.listen == listen else { return false }
        place.position = []
        return true
    }

    /// The listens that report changes at some places, or the one with a tag.
    func listens(concernedBy paths: [Path], tag: Int64?) -> [ServerListen] {
        if let tag { return tagged[tag]?.listen.map { [$0] } ?? [] }
        var listens: Set<ServerListen> = []
        for path in paths {
            let way = root.way(to: path)
            listens.formUnion(way.compactMap(\.listen))
            if let place = way.last, place.path == path {
                place.forEachFromBelow { $0.listen.map { _ = listens.insert($0) } }
            }
        }
        return Array(listens)
    }
}
