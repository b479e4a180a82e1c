import HearthJSONTree

/// What observers see of what the server said and of the writes under way, and what they are told of it.
extension SyncTree {
    // MARK: Values

    /// The value at a place as observers would see it, without one of the writes under way.
    func localValue(at path: Path, without hidden: Int? = nil) -> KnownNode {
        unsettled(at: path, over: serverKnown(at: path)) { $0 != hidden }
    }

    /// The value at a place as observers saw it when a write was made.
    func localValue(at path: Path, before write: Int) -> KnownNode {
        unsettled(at: path, over: serverKnown(at: path)) { $0 < write }
    }

    /// What observers see of a query at a place, if the server has said all of that.
    func observedValue(at path: Path, _ query: Query) -> Node? {
        let isWhole = serverValue(at: path) != nil
        if let view = place(at: path)?.views.first(where: { $0.query == query }), isWhole || view.selection != nil {
            return view.value
        }
        return isWhole ? query.select(from: localValue(at: path).node) : nil
    }

    func place(at path: Path) -> SyncPlace? { root.way(to: path).last.flatMap { $0.path == path ? $0 : nil } }

    /// What the server said of a place, nil unless it said all.
    func serverValue(at path: Path) -> Node? {
        root.way(to: path).lazy.compactMap { place in
            place.server.flatMap { server in path.suffix(after: place.path).map { server.value(at: $0) } }
        }.first
    }

    /// What the server has said of a place. Acknowledged writes stand for what it has not said yet.
    func serverKnown(at path: Path) -> KnownNode {
        let way = root.way(to: path)
        if let holder = way.first(where: { $0.server != nil }), let relative = path.suffix(after: holder.path) {
            let known = KnownNode(node: holder.server?.value(at: relative) ?? .null, extent: .all)
            let isOfEarlierProcess = holder.listen.map(awaited.contains) ?? false
            return isOfEarlierProcess ? acknowledged(at: path, over: known) : known
        }
        var known = acknowledged(at: path, over: .nothing)
        guard let place = way.last, place.path == path else { return known }
        let children = place.children.values.compactMap { child -> (key: Key, node: Node)? in
            guard let server = child.server, let key = child.path.lastKey else { return nil }
            return (key, server)
        }
        if known == .nothing { return KnownNode(node: Node(children: children), extent: .children) }
        for child in children { known.set(child.node, at: Path.root.appending(child.key)) }
        return known
    }

    /// A place after the writes that the server has agreed to, if it has not said their effect everywhere.
    private func acknowledged(at path: Path, over base: KnownNode) -> KnownNode {
        let ids = writes.acknowledged
        return ids.isEmpty ? base : writes.overlay(path, base, where: ids.contains)
    }

    /// A place after the writes that the server has not agreed to yet.
    private func unsettled(
        at path: Path, over base: KnownNode, where isIncluded: @escaping (Int) -> Bool = { _ in true }
    ) -> KnownNode {
        let ids = writes.acknowledged
        return writes.overlay(path, base, where: ids.isEmpty ? isIncluded : { !ids.contains($0) && isIncluded($0) })
    }

    /// What the server has said of what a view observes.
    private func serverKnown(of view: QueryView) -> KnownNode {
        let server = serverKnown(at: view.path)
        guard let selection = view.selection, serverValue(at: view.path) == nil else { return server }
        let known = KnownNode(node: selection, extent: .selection)
        // It is kept up to date by the view's own listen alone.
        if let listen = view.listen, !awaited.contains(listen) { return known }
        return acknowledged(at: view.path, over: known)
    }

    /// Tells the observers of a view what a change means to them.
    ///
    /// - parameter keys: the children that changed; nil if anything may have.
    func refresh(_ view: QueryView, keys: [Key]? = nil, _ output: inout SyncOutput) {
        let server = serverKnown(of: view)
        let isWhole = server.extent == .all && view.known.extent == .all
        if isWhole, !writes.concern(view.path) {
            output.events += view.update(server, keys: keys)
        } else if isWhole, let keys, let node = part(of: view, server.node, keys) {
            output.events += view.update(KnownNode(node: node, extent: .all), keys: keys)
        } else {
            output.events += view.update(unsettled(at: view.path, over: server), keys: nil)
        }
    }

    /// What a view should know after some children changed, if the others and the node itself cannot look otherwise
    /// than before: nothing replaces the whole, and it has children, or had neither a value nor children to begin with.
    private func part(of view: QueryView, _ server: Node, _ keys: [Key]) -> Node? {
        let known = view.known.node
        guard server.isNull || !(server.children.isEmpty || known.children.isEmpty),
            known.leaf == nil, known.priority == server.priority, !writes.replace(view.path)
        else { return nil }
        return keys.reduce(known) { node, key in
            let child = KnownNode(node: server.child(key), extent: .all)
            let path = Path.root.appending(key)
            return node.setting(unsettled(at: view.path.appending(path), over: child).node, at: path)
        }
    }

    // MARK: Telling

    /// Tells all observers of these places, of those above and those below.
    func refresh(_ paths: [Path], _ output: inout SyncOutput) {
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
