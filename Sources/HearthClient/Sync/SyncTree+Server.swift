import HearthJSONTree
import HearthWireProtocol
import HearthClientSession

/// What the server says, to listens and about places.
extension SyncTree {
    // MARK: Answers

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

    /// The server has answered a listen. If it had nothing to say, there is nothing (Protocol.md 4.2).
    ///
    /// - parameters:
    ///   - position: everything up to it was said; empty if the server does not say.
    ///   - isRecovered: whether the listen resumes. One that begins anew may have gone back to an earlier position.
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
    /// out of date for listens that begin from now on.
    func stopSent(_ listen: ServerListen) {
        if listen.tag == nil { stopping[listen] = lastListen }
    }

    func stopAnswered(_ listen: ServerListen) { stopping[listen] = nil }

    /// Whether all that the server says of a listen's data now is from before the listen: for one that it was asked to
    /// end earlier, and perhaps long before the listen takes effect.
    private func isStillToBegin(_ listen: ServerListen) -> Bool {
        stopping.contains { stopped, last in
            last < listen.number && (stopped.path.contains(listen.path) || listen.path.contains(stopped.path))
        }
    }

    // MARK: Changes

    /// Takes in one commit, as the server reports it to the listens to whole places.
    ///
    /// - parameter isMerge: whether it is several changes. Where nothing is known yet, such children come from an
    ///   earlier listen.
    /// - parameter position: after the commit; empty if the server does not say, and for a value that is the beginning
    ///   of a listen.
    func serverChanged(
        _ assignments: [NodeAssignment], _ position: CommitPosition = [], isMerge: Bool = false
    ) -> SyncOutput {
        let news = assignments.filter { isNews($0.target.path, position) }
        for assignment in news { apply(assignment, position, isMerge: isMerge) }
        var output = SyncOutput()
        refresh(news.map(\.target.path) + takeSettled(), &output)
        return output
    }

    /// Whether a change comes later than what is known of a place: that for another listen which resumes may not
    /// (Protocol.md 18.2).
    private func isNews(_ path: Path, _ position: CommitPosition) -> Bool {
        guard !position.isEmpty, let holder = root.way(to: path).first(where: { $0.server != nil }) else { return true }
        return position.isBehind(holder.position)
    }

    /// Takes in one commit, as the server reports it to the listen with a tag.
    func serverChanged(tag: Int64, _ assignments: [NodeAssignment]) -> SyncOutput {
        var output = SyncOutput()
        guard let view = tagged[tag] else { return output }
        if let place = place(at: view.path) { handDown(at: place) }
        var known = view.selection.map { KnownNode(node: $0, extent: .selection) } ?? .nothing
        for assignment in assignments { known.apply(assignment, at: view.path) }
        // Before the first whole value, changes are parts of something unknown.
        guard known.isComplete else { return output }
        let wasAwaited = view.listen.map { awaited.remove($0) != nil } ?? false
        let trimmed = trimmed(known.node, to: view, after: assignments)
        view.selection = trimmed.node
        let settled = takeSettled()
        refresh(view, keys: wasAwaited ? nil : trimmed.keys, &output)
        refresh(settled, &output)
        return output
    }

    /// Without what the view's query does not select. Looks at changed children only, if it can: then it answers their
    /// keys as well.
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

    /// What the server says is also for listens that it was asked to end. A listen that takes over from them may leave
    /// out the first reports, but has to take in all from then on: its answer says nothing if the data is what the
    /// client had when it asked.
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
                // A child of a value that is still to come.
                deepest.makePlace(Path(encoded: Array(target.path.encoded[deepest.path.encoded.count...])))
                    .set(assignment.value, position)
            }
        }
    }

    /// Keeps what is listened to of a value that is known whole.
    ///
    /// - parameters:
    ///   - isReport: whether the server says it now, and not to listens that are still to begin.
    ///   - isBelowListen: whether a listen above covers the place, and has not said the whole. The listen that the place
    ///     had before goes on until that one begins, so what it says is not out of date.
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

    /// Whether what the server says without a tag is for a listen to a place, or for queries there that a server has no
    /// index for. Others have tags: what listens that are ending still hear would not be kept up to date for them.
    private func takesReports(_ place: SyncPlace) -> Bool {
        if let listen = place.listen { return !isStillToBegin(listen) }
        return place.server != nil
            || !stopping.keys.contains { $0.path.contains(place.path) || place.path.contains($0.path) }
    }

    /// The server has said the whole value of a place. That is its answer to the listens, as far as the data goes.
    private func said(_ place: SyncPlace) {
        for listen in place.views.map(\.listen) + [place.listen] { listen.map { _ = awaited.remove($0) } }
    }

    /// Without a listen to the whole place, its value came from a server that has no index for a query there. Gives it
    /// to the queries at the place, and to the listens below: it is not kept up to date any more.
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
