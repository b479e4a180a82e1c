import JSONTree

/// A query that a commit concerns, and what is to be known of the tree before the commit.
struct ConcernedQuery {
    let live: LiveQuery
    /// The write is at the query's place or above it.
    var isReplaced = false
    /// The children that change, and where each is in the list.
    private(set) var children: [Child] = []
    private var places: [[UInt8]: Int] = [:]
    /// What the query selected of these children, or at all; for those who want events.
    var valueBefore = CanonicalJSON.null

    struct Child {
        let segment: [UInt8]
        /// Its place before the commit.
        var before: IndexPlace?
        /// What the commit sets at it and below.
        var assignments: [Assignment]
    }

    init(live: LiveQuery) { self.live = live }

    mutating func add(_ assignment: Assignment, to segment: [UInt8]) {
        if let place = places[segment] {
            children[place].assignments.append(assignment)
        } else {
            places[segment] = children.count
            children.append(Child(segment: segment, assignments: [assignment]))
        }
    }

    /// Notes where the children are before the commit.
    mutating func locate<Failure>(_ place: ([UInt8]) throws(Failure) -> IndexPlace?) throws(Failure) {
        for index in children.indices { children[index].before = try place(children[index].segment) }
    }

    func assignments(of child: IndexPlace) -> [Assignment] {
        places[child.segment].map { children[$0].assignments } ?? []
    }
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
                concerned[index].add(assignment, to: Array(path.encoded[child]))
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
                try concerned.locate { (segment) throws(StorageError) in try place(of: segment, in: live) }
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

    /// Takes what was applied into the windows, and tells the listeners. `isSet` when the commit sets one place.
    func pushToQueries(
        _ concerned: [ConcernedQuery], isSet: Bool, in turn: inout Turn
    ) throws(Failure) {
        for query in concerned {
            let live = query.live
            let (change, difference) = try takeIn(query)
            guard let change else { continue }
            var events: QueryEvents?
            if live.needsEvents { events = try self.events(of: query, difference) }
            for group in live.groups {
                let contents: [QueryPush.Content]
                switch group.form {
                case .events(_, let kinds):
                    let told = events?.list(kinds) ?? []
                    contents = told.isEmpty ? [] : [.events(told)]
                case .eventStream where isSet:
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

    /// Answers what changed of what the query selects, if anything; the difference only if the write was below the
    /// query.
    private func takeIn(_ query: ConcernedQuery) throws(Failure) -> (Change?, WindowDifference?) {
        let live = query.live
        do throws(StorageError) {
            if query.isReplaced {
                live.spare = nil
                if live.scan != nil { live.scan = QueryScan(live.query) }
                if live.isEmpty { return (nil, nil) }
                try fill(live)
            } else {
                var changes: [ChildChange] = []
                for child in query.children {
                    changes.append(ChildChange(before: child.before, after: try place(of: child.segment, in: live)))
                }
                for change in changes {
                    live.scan?.take(change)
                    live.spare?.take(change)
                }
                if live.isEmpty { return (nil, nil) }
                let difference = try live.window.apply(changes) { (beyond, count) throws(StorageError) in
                    defer { scanAhead(live) }
                    return try places(of: live, beyond: beyond, count: count)
                }
                return (try change(for: difference, of: query), difference)
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

    /// Children that left become null, those that entered come whole, those that stayed as they were written
    /// (wire-protocol 2.6).
    private func change(
        for difference: WindowDifference, of query: ConcernedQuery
    ) throws(StorageError) -> Change? {
        let live = query.live
        var parts: [Assignment] = []
        for place in difference.left {
            parts.append(Assignment(target: WriteTarget(path: live.path.appending(place.path)), value: .null))
        }
        for place in difference.entered { parts.append(try whole(live.path.appending(place.path))) }
        for place in difference.changed {
            let inside = query.assignments(of: place.after)
            // Clients take one after the other. One that no longer has the child for want of children, as it does not
            // know what is not selected, would miss those that follow.
            if inside.count > 1, !live.query.selectsEverything, inside.contains(where: \.value.isNull) {
                parts.append(try whole(live.path.appending(place.after.path)))
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
        restartScans()
        for live in listeners.queries where !live.isEmpty { try fill(live) }
    }
}
