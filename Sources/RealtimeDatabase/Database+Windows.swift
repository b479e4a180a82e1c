import JSONTree

/// A query that a commit concerns, and what is to be known of the tree before the commit.
struct ConcernedQuery {
    let live: LiveQuery
    /// The write is at the query's place or above it.
    var isReplaced = false
    /// The children that change, with their places before.
    var children: [(segment: [UInt8], before: IndexPlace?)] = []
    /// What the query selected of these children, or at all; for those who want events.
    var valueBefore = CanonicalJSON.null
}

extension Database {
    /// The queries that assignments concern, which are not applied yet.
    func concernedQueries(by assignments: [Assignment]) throws(Failure) -> [ConcernedQuery] {
        if listeners.queriesCount == 0 { return [] }
        var concerned: [ConcernedQuery] = []
        var indices: [ObjectIdentifier: Int] = [:]
        for assignment in assignments {
            let path = assignment.target.path
            listeners.forEachQuery(concernedBy: path) { live, child in
                // What a query selects has no priority of its own.
                if child == nil, assignment.target.isPriority { return }
                let index = indices[ObjectIdentifier(live)] ?? concerned.count
                if index == concerned.count {
                    indices[ObjectIdentifier(live)] = index
                    concerned.append(ConcernedQuery(live: live))
                }
                guard let child else {
                    concerned[index].isReplaced = true
                    return
                }
                let segment = Array(path.encoded[child])
                if !concerned[index].children.contains(where: { $0.segment == segment }) {
                    concerned[index].children.append((segment, nil))
                }
            }
        }
        concerned.sort { $0.live.serial < $1.live.serial }
        for index in concerned.indices { try lookAround(&concerned[index]) }
        return concerned
    }

    private func lookAround(_ concerned: inout ConcernedQuery) throws(Failure) {
        let live = concerned.live
        do throws(StorageError) {
            if !concerned.isReplaced {
                for child in concerned.children.indices {
                    concerned.children[child].before = try place(of: concerned.children[child].segment, in: live)
                }
            }
        } catch {
            throw .unavailable(error)
        }
        if !live.needsEvents { return }
        if live.query.limit == nil, !concerned.isReplaced, !live.wantsValue {
            concerned.valueBefore = try children(concerned.children.map(\.segment), of: live)
        } else {
            concerned.valueBefore = try selection(live.query, at: live.path, members: live.window)
        }
    }

    /// Takes what was applied into the windows, and tells the listeners.
    func pushToQueries(
        _ concerned: [ConcernedQuery], _ assignments: [Assignment], in turn: inout Turn
    ) throws(Failure) {
        for query in concerned {
            let live = query.live
            let (change, difference) = try takeIn(query, assignments)
            guard let change else { continue }
            var events: QueryEvents?
            if live.needsEvents { events = try self.events(of: query, difference) }
            for group in live.groups {
                let contents: [QueryPush.Content]
                switch group.form {
                case .events(_, let kinds):
                    let told = events?.list(kinds) ?? []
                    contents = told.isEmpty ? [] : [.events(told)]
                case .eventStream where assignments.count == 1:
                    // What a set does to several children are so many sets (rest 8).
                    contents = change.assignments.map { .change(.set($0)) }
                case .eventStream, .tagged: contents = [.change(change)]
                }
                let address = GroupAddress(group: group.group, loops: group.members.loops)
                for content in contents {
                    let push = QueryPush(form: group.form, path: live.path, content: content)
                    turn.outputs.append(.pushQuery(push, to: address))
                }
            }
        }
    }

    /// Answers what changed of what the query selects, if anything; the difference only if the write was below the query.
    private func takeIn(
        _ query: ConcernedQuery, _ assignments: [Assignment]
    ) throws(Failure) -> (Change?, WindowDifference?) {
        let live = query.live
        do throws(StorageError) {
            if query.isReplaced {
                try fill(live)
            } else {
                var changes: [ChildChange] = []
                for (segment, before) in query.children {
                    changes.append(ChildChange(before: before, after: try place(of: segment, in: live)))
                }
                let difference = try live.window.apply(changes) { (beyond, count) throws(StorageError) in
                    try places(of: live.query, at: live.path, beyond: beyond, count: count)
                }
                return (try change(for: difference, of: live, assignments), difference)
            }
        } catch {
            // Memory has the commit and the window perhaps half of it.
            tornBy = error
            throw .unavailable(error)
        }
        let value = try selection(live.query, at: live.path, members: live.window)
        return (.set(Assignment(target: WriteTarget(path: live.path), value: value)), nil)
    }

    private func events(of query: ConcernedQuery, _ difference: WindowDifference?) throws(Failure) -> QueryEvents {
        let live = query.live
        var after: CanonicalJSON
        if let difference, !live.wantsValue {
            let places = difference.entered + difference.changed.map(\.after)
            after = try children(places.map(\.segment), of: live)
        } else {
            after = try selection(live.query, at: live.path, members: live.window)
        }
        return QueryEvents(window: live.window, before: query.valueBefore, after: after, difference: difference)
    }

    /// An object of these children, as far as they are there.
    private func children(_ segments: [[UInt8]], of live: LiveQuery) throws(Failure) -> CanonicalJSON {
        do throws(TreeRows.ReadError) {
            var object = ObjectText()
            for segment in segments.sorted(by: { $0.precedesBytewise($1) }) {
                try object.append(segment, try rows.read(Path(encoded: live.path.encoded + segment)))
            }
            return object.finish()
        } catch .storage(let error) {
            throw .unavailable(error)
        } catch {
            throw .tooLarge
        }
    }

    /// Children that left become null, those that entered come whole, those that stayed as they were written (wire-protocol 2.6).
    private func change(
        for difference: WindowDifference, of live: LiveQuery, _ assignments: [Assignment]
    ) throws(StorageError) -> Change? {
        var parts: [Assignment] = []
        for place in difference.left {
            parts.append(Assignment(target: WriteTarget(path: live.path.appending(place.path)), value: .null))
        }
        for place in difference.entered { parts.append(try whole(live.path.appending(place.path))) }
        for place in difference.changed {
            let path = live.path.appending(place.after.path)
            let inside = assignments.filter { path.contains($0.target.path) }
            // Clients take one after the other. One that no longer has the child for want of children, as it does not know
            // what is not selected, would miss those that follow.
            if inside.count > 1, !live.query.selectsEverything, inside.contains(where: \.value.isNull) {
                parts.append(try whole(path))
            } else {
                parts += inside
            }
        }
        if parts.isEmpty { return nil }
        return parts.count == 1 ? .set(parts[0]) : .merge(base: live.path, parts)
    }

    /// The assignment that makes a place what it is.
    private func whole(_ path: Path) throws(StorageError) -> Assignment {
        do throws(TreeRows.ReadError) {
            return Assignment(target: WriteTarget(path: path), value: try rows.read(path))
        } catch .storage(let error) {
            throw error
        } catch {
            // Nothing is too large without a limit.
            return Assignment(target: WriteTarget(path: path), value: .null)
        }
    }

    private func place(of segment: [UInt8], in live: LiveQuery) throws(StorageError) -> IndexPlace? {
        let child = Path(encoded: live.path.encoded + segment)
        return try rows.place(of: child, segment: segment, in: live.query.index)
    }

    /// Makes all windows what the tree says, after memory was built anew.
    func refillWindows() throws(StorageError) {
        for live in listeners.queries { try fill(live) }
    }
}
