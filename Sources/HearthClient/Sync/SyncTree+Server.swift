import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// Answers and pushes of the server.
extension SyncTree {
    // MARK: Answers

    /// Uses the saved value of a listen as the server's value until the server answers. Known values of places below
    /// are newer.
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
                // Parts from different times may never have existed together.
                if below.position != position { position = [] }
            }
            absorb(value, position, at: place)
            refresh([listen.path], &output)
        }
        return output
    }

    /// The server has answered a listen. If it sent no value before, there is none (Protocol.md 4.2).
    ///
    /// - parameters:
    ///   - position: the last commit that the answer includes; empty if the server does not report it.
    ///   - isRecovered: whether the listen resumes. One that starts over may have gone back to an earlier position.
    func listenCompleted(
        _ listen: ServerListen, _ position: CommitPosition = [], isRecovered: Bool = false
    ) -> SyncOutput {
        if listen.tag == nil, let place = place(at: listen.path), place.listen == listen, place.server != nil,
            !isRecovered || position.isBehind(place.position)
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

    /// The server refuses a listen, or has revoked it. Removes the observers that depended on it, and answers their
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

    /// The server was asked to end a listen. Until it confirms, it may still report changes for it, which are out of
    /// date for listens that begin later.
    func stopSent(_ listen: ServerListen) {
        if listen.tag == nil { stopping[listen] = lastListen }
    }

    func stopAnswered(_ listen: ServerListen) { stopping[listen] = nil }

    /// Whether the server's present reports of a listen's data are older than the listen: they belong to one that it
    /// was asked to end, and may come long before the new listen takes effect.
    private func isStillToBegin(_ listen: ServerListen) -> Bool {
        stopping.contains { stopped, last in
            last < listen.number && (stopped.path.contains(listen.path) || listen.path.contains(stopped.path))
        }
    }

    // MARK: Changes

    /// Applies one commit that the server reports to the listens to whole places.
    ///
    /// - parameter isMerge: whether it consists of several changes. Where no value is known yet, such children come
    ///   from an earlier listen.
    /// - parameter position: the position after the commit; empty if the server does not report it, and for the initial
    ///   value of a listen.
    func serverChanged(
        _ assignments: [NodeAssignment], _ position: CommitPosition = [], isMerge: Bool = false
    ) -> SyncOutput {
        let news = assignments.filter { isNews($0.target.path, position) }
        for assignment in news { apply(assignment, position, isMerge: isMerge) }
        var output = SyncOutput()
        refresh(news.map(\.target.path) + takeSettled(), &output)
        return output
    }

    /// Whether a change is newer than the known value of a place. A change for another listen that resumes may be older
    /// (Protocol.md 18.2).
    private func isNews(_ path: Path, _ position: CommitPosition) -> Bool {
        guard !position.isEmpty, let holder = root.way(to: path).first(where: { $0.server != nil }) else { return true }
        return position.isBehind(holder.position)
    }

    /// Applies one commit that the server reports to the listen with a tag.
    func serverChanged(tag: Int64, _ assignments: [NodeAssignment]) -> SyncOutput {
        var output = SyncOutput()
        guard let view = tagged[tag] else { return output }
        if let place = place(at: view.path) { handDown(at: place) }
        var known = view.selection.map { KnownNode(node: $0, extent: .selection) } ?? .nothing
        for assignment in assignments { known.apply(assignment, at: view.path) }
        // Before the first whole value, changes are parts of an unknown value.
        guard known.isComplete else { return output }
        let wasAwaited = view.listen.map { awaited.remove($0) != nil } ?? false
        let trimmed = trimmed(known.node, to: view, after: assignments)
        view.selection = trimmed.node
        let settled = takeSettled()
        refresh(view, keys: wasAwaited ? nil : trimmed.keys, &output)
        refresh(settled, &output)
        return output
    }

    /// Only the children that the view's query selects. Checks only changed children if possible, and then answers
    /// their keys as well.
    private func trimmed(
        _ node: Node, to view: QueryView, after assignments: [NodeAssignment]
    ) -> (node: Node, keys: [Key]?) {
        let query = view.query
        var node = node
        var keys: Set<Key> = []
        for assignment in assignments {
            guard let key = assignment.target.path.suffix(after: view.path)?.firstKey else {
                return (query.select(from: node), nil)
            }
            keys.insert(key)
            if let place = query.index.place(of: node.child(key), key: key), !query.contains(place) {
                node = node.setting(.null, at: Path.root.appending(key))
            }
        }
        if let limit = query.limit, node.children.count > limit.count { return (query.select(from: node), nil) }
        return (node, keys.sorted())
    }

    /// The server also reports to listens that it was asked to end. A listen that replaces them may skip the first
    /// reports, but must apply all later ones: its answer carries no value if the data is unchanged since the request.
    private func apply(_ assignment: NodeAssignment, _ position: CommitPosition, isMerge: Bool) {
        let target = assignment.target
        let way = root.way(to: target.path)
        if let listen = way.first(where: { $0.listen != nil || $0.server != nil })?.listen, isStillToBegin(listen) {
            return
        }
        if let holder = way.first(where: { $0.server != nil }), let relative = target.path.suffix(after: holder.path) {
            var known = KnownNode(node: holder.server ?? .null, extent: .all)
            holder.server = nil
            known.apply(
                NodeAssignment(
                    target: WriteTarget(path: relative, isPriority: target.isPriority), value: assignment.value),
                at: .root)
            holder.set(known.node, position)
            if relative.isRoot, !target.isPriority { said(holder) }
        } else if !target.isPriority, let deepest = way.last {
            if deepest.path == target.path {
                let isBelowListen = way.contains { $0.listen != nil }
                absorb(assignment.value, position, at: deepest, isReport: true, isBelowListen: isBelowListen)
            } else if deepest.listen != nil, target.path.parent == deepest.path,
                !isMerge || deepest.children.values.contains(where: { $0.server != nil })
            {
                // A child of a value that has not been received yet.
                deepest.makePlace(Path(encoded: Array(target.path.encoded[deepest.path.encoded.count...])))
                    .set(assignment.value, position)
            }
        }
    }

    /// Keeps the observed parts of a wholly known value.
    ///
    /// - parameters:
    ///   - isReport: whether the server reports it now, and not for listens that are about to begin.
    ///   - isBelowListen: whether a listen above covers the place, but has no whole value yet. The place's earlier
    ///     listen continues until that one begins, so its reports are not out of date.
    private func absorb(
        _ value: Node, _ position: CommitPosition, at place: SyncPlace, isReport: Bool = false,
        isBelowListen: Bool = false
    ) {
        let isConcerned = isBelowListen || place.listen != nil || place.server != nil || !place.views.isEmpty
        if isConcerned, !isReport || isBelowListen || takesReports(place) {
            place.forEachFromBelow { below in
                below.server = nil
                for view in below.views { view.selection = nil }
            }
            place.set(value, position)
            if isReport { said(place) }
        } else if place.listen == nil {
            for child in place.children.values {
                if let key = child.path.lastKey { absorb(value.child(key), position, at: child, isReport: isReport) }
            }
        }
    }

    /// Whether an untagged report of the server is for a listen to a place, or for queries there that the server has no
    /// index for. Other listens have tags: data that an ending listen still receives would not be kept up to date for
    /// them.
    private func takesReports(_ place: SyncPlace) -> Bool {
        if let listen = place.listen { return !isStillToBegin(listen) }
        return place.server != nil
            || !stopping.keys.contains { $0.path.contains(place.path) || place.path.contains($0.path) }
    }

    /// The server has sent the whole value of a place, which is the data of its answer to the listens.
    private func said(_ place: SyncPlace) {
        for listen in place.views.map(\.listen) + [place.listen] { listen.map { _ = awaited.remove($0) } }
    }

    /// Without a listen to the whole place, its value came from a server that has no index for a query there. Passes it
    /// to the queries at the place and to the listens below, since it is no longer kept up to date.
    func handDown(at place: SyncPlace) {
        guard let value = place.server, !root.way(to: place.path).contains(where: { $0.listen != nil }) else { return }
        let position = place.position
        place.server = nil
        for view in place.views { view.selection = view.query.select(from: value) }
        for child in place.children.values {
            if let key = child.path.lastKey { absorb(value.child(key), position, at: child) }
        }
    }
}
