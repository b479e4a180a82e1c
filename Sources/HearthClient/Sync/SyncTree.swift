import JSONTree
import WireProtocol

/// What a client knows of a database, and who observes what of it.
///
/// - It keeps what the server said, for every place that is listened to, and lays the writes under way over it.
/// - Every change of either becomes events for the observers it concerns, deeper places first.
/// - It says which listens the server should have: one for all observers that one whole place covers.
///
/// It raises no events and sends nothing itself, knows no clock, and belongs to one thread. A change costs about the
/// number of observed queries on the way to its place and below it, and the writes under way for each of them.
final class SyncTree {
    let root = SyncPlace(path: .root)
    private(set) var writes = PendingWrites()
    /// Listens that the server has not answered yet.
    private(set) var awaited: Set<ServerListen> = []
    private var tagged: [Int64: QueryView] = [:]
    private var observed: [Int: QueryView] = [:]
    private var lastTag: Int64 = 0
    private var lastListen = 0
    /// Places whose listens the server was asked to end and has not ended yet.
    private var stopping: [Path: Int] = [:]

    // MARK: Observers

    /// Adds an observer with a number of its own.
    ///
    /// - parameter kinds: none for somebody who only wants the data to be kept up to date.
    func observe(_ id: Int, _ path: Path, _ query: QueryObject, _ kinds: EventKinds) -> SyncOutput {
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
            refresh(view, &output)
        }
        observed[observer.id] = view
        output.events += view.add(observer)
        return output
    }

    /// Takes an observer out. Without effect when it is gone.
    func removeObserver(_ id: Int) -> SyncOutput {
        guard let view = observed.removeValue(forKey: id) else { return SyncOutput() }
        view.remove(id)
        guard view.observers.isEmpty else { return SyncOutput() }
        var output = remove([view], at: view.path)
        settleAcknowledged(&output)
        return output
    }

    /// The observers of a query, or of all queries at a place, that want events.
    func observers(at path: Path, _ query: Query?) -> [Int] {
        guard let place = place(at: path) else { return [] }
        let observers = place.views.filter { query == nil || $0.query == query }.flatMap(\.observers)
        return observers.filter { !$0.kinds.isEmpty }.map(\.id)
    }

    /// The listens that may end with an observer.
    func listens(endingWith id: Int) -> [ServerListen] {
        guard let view = observed[id], view.observers.count == 1 else { return [] }
        return [view.listen, place(at: view.path)?.listen].compactMap(\.self)
    }

    private func remove(_ views: [QueryView], at path: Path) -> SyncOutput {
        var output = SyncOutput()
        guard let place = place(at: path) else { return output }
        place.views.removeAll { view in views.contains { $0 === view } }
        for view in views {
            for observer in view.observers { observed[observer.id] = nil }
            if let listen = view.listen { stop(listen, &output) }
            view.listen = nil
        }
        if let listen = place.listen, !place.wantsAll { uncover(place, listen, &output) }
        root.dropUnused(on: path)
        return output
    }

    // MARK: Listens

    /// Sees that a new view gets its data.
    private func coverage(of place: SyncPlace, _ view: QueryView, _ output: inout SyncOutput) {
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

    /// Ends a listen to a whole place. What lies below and is still observed gets listens of its own, and keeps its
    /// data.
    private func uncover(_ place: SyncPlace, _ listen: ServerListen, _ output: inout SyncOutput) {
        place.listen = nil
        let (value, position) = (place.server, place.position)
        place.server = nil
        hold(value, position, at: place, &output)
        stop(listen, &output)
        for path in dropping { root.dropUnused(on: path) }
        dropping = []
    }

    /// Places that may have become useless.
    private var dropping: [Path] = []

    private func hold(
        _ value: Node?, _ position: CommitPosition, at place: SyncPlace, _ output: inout SyncOutput
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
            hold(key.flatMap { key in value.map { $0.child(key) } }, position, at: child, &output)
        }
        dropping.append(place.path)
    }

    private func start(_ place: SyncPlace, _ output: inout SyncOutput) {
        lastListen += 1
        let listen = ServerListen(number: lastListen, path: place.path, query: nil, tag: nil)
        place.listen = listen
        awaited.insert(listen)
        output.starts.append(listen)
    }

    private func startSelection(_ view: QueryView, _ output: inout SyncOutput) {
        lastTag += 1
        lastListen += 1
        let listen = ServerListen(number: lastListen, path: view.path, query: view.object, tag: lastTag)
        view.listen = listen
        tagged[lastTag] = view
        awaited.insert(listen)
        output.starts.append(listen)
    }

    private func stop(_ listen: ServerListen, _ output: inout SyncOutput) {
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

    /// What the server has said for a listen; nil if it has not.
    func cached(_ listen: ServerListen) -> Node? {
        if let tag = listen.tag { return tagged[tag]?.selection }
        return serverValue(at: listen.path)
    }

    /// The last commit that is part of what the server has said for a listen; empty if that is not known.
    func position(of listen: ServerListen) -> CommitPosition {
        listen.tag == nil ? place(at: listen.path)?.position ?? [] : []
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

    /// Takes what a listen had in an earlier process for what the server says, until it says something. What is known
    /// of places below is newer.
    func restore(_ listen: ServerListen, _ value: Node, _ position: CommitPosition = []) -> SyncOutput {
        var output = SyncOutput()
        if let tag = listen.tag, let view = tagged[tag], view.selection == nil {
            view.selection = value
            refresh(view, &output)
        } else if listen.tag == nil, let place = place(at: listen.path), serverValue(at: listen.path) == nil {
            var (value, position) = (value, position)
            place.forEachFromBelow { below in
                guard let known = below.server, let relative = below.path.suffix(after: place.path) else { return }
                value = value.setting(known, at: relative)
                // Parts of different times are no value of any.
                if below.position != position { position = [] }
            }
            absorb(value, position, at: place)
            refresh([listen.path], &output)
        }
        return output
    }

    /// The server has answered a listen. If it had nothing to say, there is nothing (wire-protocol 2.3).
    ///
    /// - parameter position: everything up to it was said; empty if the server does not say.
    func listenCompleted(_ listen: ServerListen, _ position: CommitPosition = []) -> SyncOutput {
        if listen.tag == nil, let place = place(at: listen.path), place.listen == listen, place.server != nil,
            position.isBehind(place.position)
        {
            place.position = position
        }
        guard awaited.remove(listen) != nil else { return SyncOutput() }
        var output = SyncOutput()
        if let tag = listen.tag, let view = tagged[tag], view.selection == nil {
            view.selection = .null
            refresh(view, &output)
        } else if listen.tag == nil, let place = place(at: listen.path), serverValue(at: listen.path) == nil {
            absorb(.null, position, at: place)
            refresh([listen.path], &output)
        }
        settleAcknowledged(&output)
        return output
    }

    /// The server refuses a listen, or has revoked it. The observers that depended on it are gone; answers their
    /// numbers.
    func listenFailed(_ listen: ServerListen) -> (observers: [Int], SyncOutput) {
        awaited.remove(listen)
        let views: [QueryView]
        if let tag = listen.tag {
            views = tagged[tag].map { [$0] } ?? []
        } else {
            guard let place = place(at: listen.path), place.listen == listen else { return ([], SyncOutput()) }
            views = place.views
        }
        let observers = views.flatMap(\.observers).map(\.id)
        var output = remove(views, at: listen.path)
        // The server has no such listen.
        output.stops.removeAll { $0 == listen }
        settleAcknowledged(&output)
        return (observers, output)
    }

    /// The server was asked to end a listen. Until it says that it has, it may still report changes for it, which are
    /// not those of a new listen to the same place.
    func stopSent(_ listen: ServerListen) {
        if listen.tag == nil { stopping[listen.path, default: 0] += 1 }
    }

    func stopAnswered(_ listen: ServerListen) {
        guard listen.tag == nil, let count = stopping[listen.path] else { return }
        stopping[listen.path] = count > 1 ? count - 1 : nil
    }

    // MARK: The server's changes

    /// Takes in one commit, as the server reports it to the listens to whole places.
    ///
    /// - parameter position: behind the commit; empty if the server does not say, and for a value that is the beginning
    ///   of a listen.
    func serverChanged(_ assignments: [NodeAssignment], _ position: CommitPosition = []) -> SyncOutput {
        let news = assignments.filter { isNews($0.target.path, position) }
        for assignment in news { apply(assignment, position) }
        var output = SyncOutput()
        refresh(news.map(\.target.path), &output)
        return output
    }

    /// Whether a commit is behind what is known of a place: what another listen missed is not (Protocol.md 18.2).
    private func isNews(_ path: Path, _ position: CommitPosition) -> Bool {
        guard !position.isEmpty, let holder = root.way(to: path).first(where: { $0.server != nil }) else { return true }
        return position.isBehind(holder.position)
    }

    /// Takes in one commit, as the server reports it to the listen with a tag.
    func serverChanged(tag: Int64, _ assignments: [NodeAssignment]) -> SyncOutput {
        var output = SyncOutput()
        guard let view = tagged[tag] else { return output }
        var known = view.selection.map { KnownNode(node: $0, extent: .selection) } ?? .nothing
        for assignment in assignments { known.apply(assignment, at: view.path) }
        // Before the first whole value, changes are parts of something unknown.
        guard known.isComplete else { return output }
        view.selection = trimmed(known.node, to: view, after: assignments)
        refresh(view, &output)
        return output
    }

    /// Without what the view's query does not select. Looks at changed children only, if it can.
    private func trimmed(_ node: Node, to view: QueryView, after assignments: [NodeAssignment]) -> Node {
        let query = view.query
        var node = node
        for assignment in assignments {
            guard let key = assignment.target.path.suffix(after: view.path)?.firstKey else {
                return query.select(from: node)
            }
            if let place = query.index.place(of: node.child(key), key: key), !query.contains(place) {
                node = node.setting(.null, at: Path.root.appending(key))
            }
        }
        if let limit = query.limit, node.children.count > limit.count { return query.select(from: node) }
        return node
    }

    private func apply(_ assignment: NodeAssignment, _ position: CommitPosition) {
        let target = assignment.target
        let way = root.way(to: target.path)
        if let holder = way.first(where: { $0.server != nil }), let relative = target.path.suffix(after: holder.path) {
            var known = KnownNode(node: holder.server ?? .null, extent: .all)
            holder.server = nil
            known.apply(
                NodeAssignment(
                    target: WriteTarget(path: relative, isPriority: target.isPriority), value: assignment.value),
                at: .root)
            holder.set(known.node, position)
        } else if !target.isPriority, let place = way.last, place.path == target.path {
            absorb(assignment.value, position, at: place)
        }
    }

    /// Keeps what is listened to of a value that the server reported whole.
    private func absorb(_ value: Node, _ position: CommitPosition, at place: SyncPlace) {
        if place.server == nil, stopping[place.path] != nil { return }
        if place.listen != nil || place.server != nil {
            place.forEachFromBelow { below in
                below.server = nil
                for view in below.views { view.selection = nil }
            }
            place.set(value, position)
        } else {
            for child in place.children.values {
                guard let key = child.path.suffix(after: place.path)?.firstKey else { continue }
                absorb(value.child(key), position, at: child)
            }
        }
    }

    // MARK: Writes

    /// Adds a write of this client.
    ///
    /// - parameter replaced: a write that it takes the place of, so that observers do not see what was between.
    func write(_ write: PendingWrite, replacing replaced: Int? = nil) -> SyncOutput {
        let old = replaced.flatMap { writes.remove($0) }
        writes.add(write)
        var output = SyncOutput()
        refresh((old.map(shownPaths) ?? []) + shownPaths(write), &output)
        return output
    }

    /// The server has agreed to a write, and has said before what it changed where somebody listens. Observers of
    /// places whose listen is not answered yet go on to see the write until it is.
    func acknowledge(_ id: Int) -> SyncOutput {
        guard let write = writes.write(id) else { return SyncOutput() }
        if write.isVisible, write.paths.contains(where: isAwaited) {
            writes.acknowledge(id)
            return SyncOutput()
        }
        return removeWrite(id)
    }

    /// Takes a write back.
    func removeWrite(_ id: Int) -> SyncOutput {
        var output = SyncOutput()
        if let write = writes.remove(id) { refresh(shownPaths(write), &output) }
        return output
    }

    private func shownPaths(_ write: PendingWrite) -> [Path] { write.isVisible ? write.paths : [] }

    private func isAwaited(_ path: Path) -> Bool {
        awaited.contains { $0.path.contains(path) || path.contains($0.path) }
    }

    private func settleAcknowledged(_ output: inout SyncOutput) {
        let settled = writes.writes.filter { $0.isAcknowledged && !$0.paths.contains(where: isAwaited) }
        for write in settled { _ = writes.remove(write.id) }
        refresh(settled.flatMap(\.paths), &output)
    }

    // MARK: Values

    /// The value at a place as observers would see it, without one of the writes under way.
    func localValue(at path: Path, without hidden: Int? = nil) -> KnownNode {
        writes.overlay(path, serverKnown(at: path), without: hidden)
    }

    /// What observers see of a query at a place, if the server has said all of that.
    func observedValue(at path: Path, _ query: Query) -> Node? {
        let isWhole = serverValue(at: path) != nil
        if let view = place(at: path)?.views.first(where: { $0.query == query }), isWhole || view.selection != nil {
            return view.value
        }
        return isWhole ? query.select(from: localValue(at: path).node) : nil
    }

    private func place(at path: Path) -> SyncPlace? { root.way(to: path).last.flatMap { $0.path == path ? $0 : nil } }

    /// What the server said of a place, nil unless it said all.
    private func serverValue(at path: Path) -> Node? {
        root.way(to: path).lazy.compactMap { place in
            place.server.flatMap { server in path.suffix(after: place.path).map { server.value(at: $0) } }
        }.first
    }

    private func serverKnown(at path: Path) -> KnownNode {
        if let value = serverValue(at: path) { return KnownNode(node: value, extent: .all) }
        guard let place = place(at: path) else { return .nothing }
        let children = place.children.values.compactMap { child -> (key: Key, node: Node)? in
            guard let server = child.server, let key = child.path.lastKey else { return nil }
            return (key, server)
        }
        return KnownNode(node: Node(children: children), extent: .children)
    }

    /// Tells the observers of a view what a change means to them.
    ///
    /// - parameter keys: the children that changed; nil if anything may have.
    private func refresh(_ view: QueryView, keys: [Key]? = nil, _ output: inout SyncOutput) {
        var server = serverKnown(at: view.path)
        if server.extent != .all, let selection = view.selection {
            server = KnownNode(node: selection, extent: .selection)
        }
        let isWhole = server.extent == .all && view.known.extent == .all
        if isWhole, !writes.concern(view.path) {
            output.events += view.update(server, keys: keys)
        } else if isWhole, let keys, let node = part(of: view, server.node, keys) {
            output.events += view.update(KnownNode(node: node, extent: .all), keys: keys)
        } else {
            output.events += view.update(writes.overlay(view.path, server), keys: nil)
        }
    }

    /// What a view should know after some children changed, if the others and the node itself cannot look otherwise
    /// than before.
    private func part(of view: QueryView, _ server: Node, _ keys: [Key]) -> Node? {
        guard !server.children.isEmpty, !view.known.node.children.isEmpty, !writes.replace(view.path) else {
            return nil
        }
        return keys.reduce(view.known.node) { node, key in
            let child = KnownNode(node: server.child(key), extent: .all)
            let path = Path.root.appending(key)
            return node.setting(writes.overlay(view.path.appending(path), child).node, at: path)
        }
    }

    // MARK: Telling

    /// Tells all observers of these places, of those above and those below.
    private func refresh(_ paths: [Path], _ output: inout SyncOutput) {
        if !paths.isEmpty { refresh(root, paths[...], &output) }
    }

    /// `paths` lie at or below the place.
    private func refresh(_ place: SyncPlace, _ paths: ArraySlice<Path>, _ output: inout SyncOutput) {
        if paths.contains(where: { $0 == place.path }) {
            place.forEachFromBelow { below in for view in below.views { refresh(view, &output) } }
            return
        }
        var groups: [[UInt8]: [Path]] = [:]
        for path in paths {
            let start = place.path.encoded.count
            groups[Array(path.encoded[start..<path.segmentEnd(from: start)]), default: []].append(path)
        }
        for (segment, paths) in groups.sorted(by: { $0.key.precedesBytewise($1.key) }) {
            if let child = place.child(segment) { refresh(child, paths[...], &output) }
        }
        guard !place.views.isEmpty else { return }
        let keys = groups.keys.map { Path(encoded: $0).firstKey }.compactMap(\.self)
        for view in place.views { refresh(view, keys: keys, &output) }
    }
}
