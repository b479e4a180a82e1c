import HearthJSONTree

/// The values that observers see, made of the server's values and the pending writes, and the resulting events.
extension SyncTree {
    // MARK: Values

    /// The value at a place as observers see it.
    func localValue(at path: Path) -> KnownNode { writes.overlay(path, serverKnown(at: path)) }

    /// The value at a place that a transaction is computed from: after all pending writes but some, including those
    /// that observers do not see.
    func localValue(at path: Path, without excluded: Set<Int>) -> KnownNode {
        writes.overlay(path, serverKnown(at: path), withHidden: true) { !excluded.contains($0) }
    }

    /// The value at a place as observers saw it when a write was made.
    func localValue(at path: Path, before write: Int) -> KnownNode {
        writes.overlay(path, serverKnown(at: path)) { $0 < write }
    }

    /// The observers' view of a query at a place, if the server has sent all of it.
    func observedValue(at path: Path, _ query: Query) -> Node? {
        let isWhole = serverValue(at: path) != nil
        if let view = place(at: path)?.views.first(where: { $0.query == query }), isWhole || view.selection != nil {
            return view.value
        }
        return isWhole ? query.select(from: localValue(at: path).node) : nil
    }

    func place(at path: Path) -> SyncPlace? { root.way(to: path).last.flatMap { $0.path == path ? $0 : nil } }

    /// The server's whole value of a place; nil if only parts are known.
    func serverValue(at path: Path) -> Node? {
        root.way(to: path).lazy.compactMap { place in
            place.server.flatMap { server in path.suffix(after: place.path).map { server.value(at: $0) } }
        }.first
    }

    /// The server's value of a place. Acknowledged writes replace the parts that it has not reported yet.
    func serverKnown(at path: Path) -> KnownNode {
        let way = root.way(to: path)
        if let holder = way.first(where: { $0.server != nil }), let relative = path.suffix(after: holder.path) {
            let known = KnownNode(node: holder.server?.value(at: relative) ?? .null, extent: .all)
            return isOfEarlierProcess(holder) ? writes.overlayAcknowledged(path, known) : known
        }
        var known = writes.overlayAcknowledged(path, .nothing)
        guard let place = way.last, place.path == path else { return known }
        let children = place.children.values.compactMap { child -> (key: Key, node: Node)? in
            guard let server = child.server, let key = child.path.lastKey else { return nil }
            return (key, server)
        }
        if known == .nothing { return KnownNode(node: Node(children: children), extent: .children) }
        for child in children { known.set(child.node, at: Path.root.appending(child.key)) }
        return known
    }

    private func isOfEarlierProcess(_ holder: SyncPlace) -> Bool { holder.listen.map(awaited.contains) ?? false }

    /// The server's value of the part that a view observes.
    private func serverKnown(of view: QueryView) -> KnownNode {
        let server = serverKnown(at: view.path)
        guard let selection = view.selection, serverValue(at: view.path) == nil else { return server }
        let known = KnownNode(node: selection, extent: .selection)
        return isKeptUpToDate(view) ? known : writes.overlayAcknowledged(view.path, known)
    }

    /// Whether only the view's own listen keeps its selection up to date.
    private func isKeptUpToDate(_ view: QueryView) -> Bool { view.listen.map { !awaited.contains($0) } ?? false }

    /// The value that a view should have.
    private func known(of view: QueryView) -> KnownNode { writes.overlay(view.path, serverKnown(of: view)) }

    /// Adds the events of a change for the observers of a view.
    ///
    /// - parameter keys: the children that changed; nil if anything may have.
    func refresh(_ view: QueryView, keys: [Key]? = nil, _ output: inout SyncOutput) {
        let whole = serverValue(at: view.path)
        if let whole, view.known.extent == .all, !writes.concern(view.path) {
            output.events += view.update(KnownNode(node: whole, extent: .all), keys: keys)
        } else if let keys, let known = known(of: view, whole, changed: keys) {
            output.events += view.update(known, keys: keys)
        } else {
            output.events += view.update(known(of: view), keys: nil)
        }
    }

    /// The value that a view should have after some children changed, if the others and the node itself cannot look
    /// different; nil if they can. The cost depends on these children only, not on the number of pending writes.
    ///
    /// - parameter whole: the server's value of the view's place, if it is known whole.
    private func known(of view: QueryView, _ whole: Node?, changed keys: [Key]) -> KnownNode? {
        let extent = whole != nil ? .all : view.selection != nil ? .selection : KnownNode.Extent.children
        guard view.known.extent == extent, !writes.replace(view.path) else { return nil }
        var known = view.known
        if let whole {
            // It has children, or had neither a value nor children before.
            guard whole.isNull || !(whole.children.isEmpty || known.node.children.isEmpty),
                known.node.leaf == nil, known.node.priority == whole.priority
            else { return nil }
        }
        for key in keys {
            let path = Path.root.appending(key)
            let child = self.known(of: view, whole, extent, child: key).node.child(key)
            known.node = known.node.setting(child, at: path)
        }
        return known
    }

    /// One child of the value that a view should have.
    private func known(of view: QueryView, _ whole: Node?, _ extent: KnownNode.Extent, child key: Key) -> KnownNode {
        let child = view.path.appending(Path.root.appending(key))
        let said = (whole ?? view.selection)?.child(key) ?? .null
        var known = KnownNode(node: Node(children: [(key, said)]), extent: extent)
        let isSaid =
            switch extent {
            case .all: !(root.way(to: view.path).first { $0.server != nil }.map(isOfEarlierProcess) ?? false)
            case .selection: isKeptUpToDate(view)
            case .children: false
            }
        if !isSaid { known = writes.overlayAcknowledged(view.path, known, concerning: child) }
        if extent == .children, let server = place(at: child)?.server {
            known.set(server, at: Path.root.appending(key))
        }
        return writes.overlay(view.path, known, concerning: child)
    }

    // MARK: Telling

    /// Adds the events for all observers of these places, above and below.
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
