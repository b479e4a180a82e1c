import HearthTreeText
import HearthJSONTree
import HearthStorageErrors

extension Database {
    // MARK: Before the commit

    /// The places with queries that assignments concern, which are not applied yet.
    /// - parameter children: those of a ``Change/setChildren(of:_:)``.
    func concernedPlaces(by change: Change, _ children: PreparedRows? = nil) -> [ConcernedPlace] {
        if listeners.trie.queriesCount == 0 { return [] }
        var concerned: [ConcernedPlace] = []
        var indices: [ObjectIdentifier: Int] = [:]
        if case .setChildren(of: let base, _) = change {
            // Tells the queries at the place, and at and below its children, their present selection.
            listeners.trie.forEachPlaceOfQueries(concernedBy: base) { place, child in
                let queries = place.queries.values.sorted { $0.serial < $1.serial }
                let path = queries[0].path
                if child == nil, path != base {
                    let written = path.prefix(bytes: path.segmentEnd(from: base.encoded.count))
                    guard children?.holdsChild(written, of: base) == true else { return }
                }
                let concernedPlace = ConcernedPlace(path: path, queries: queries)
                concernedPlace.isReplaced = child == nil
                if let child {
                    let segment = Array(base.encoded[child])
                    for assignment in change.assignments { concernedPlace.add(assignment, to: segment) }
                }
                concerned.append(concernedPlace)
            }
        }
        for assignment in change.assignmentsOneByOne {
            let path = assignment.target.path
            listeners.trie.forEachPlaceOfQueries(concernedBy: path) { place, child in
                // The selection of a query has no priority.
                if child == nil, assignment.target.isPriority { return }
                let index = indices[ObjectIdentifier(place)] ?? concerned.count
                if index == concerned.count {
                    let queries = place.queries.values.sorted { $0.serial < $1.serial }
                    indices[ObjectIdentifier(place)] = index
                    concerned.append(ConcernedPlace(path: queries[0].path, queries: queries))
                }
                guard let child else {
                    concerned[index].isReplaced = true
                    return
                }
                concerned[index].add(assignment, to: Array(path.encoded[child]))
            }
        }
        for place in concerned { lookAround(place) }
        return concerned
    }

    /// Notes what has to be known of the state before the commit. A selection that is too large or cannot be read must
    /// not stop a write, which may be somebody else's: it ends listeners, once the commit concerns them.
    private func lookAround(_ place: ConcernedPlace) {
        do throws(StorageError) {
            if !place.isReplaced {
                try place.locateBefore { (segment, index) throws(StorageError) in
                    try self.place(of: segment, at: place.path, in: index)
                }
            }
        } catch {
            place.isReplaced = true
        }
        let reads = SharedReads(path: place.path)
        var cost = 0
        for live in place.queries where (live.needsEvents || live.query.choosesFields) && cost <= tellingCostMax {
            do throws(Failure) {
                let value =
                    if live.query.limit == nil || !live.needsEvents, !place.isReplaced, !live.wantsValue {
                        try children(place.children.map(\.segment), in: reads)
                    } else {
                        try selection(of: live, in: reads)
                    }
                place.valuesBefore[ObjectIdentifier(live)] = value
            } catch .tooLarge {
                // About so much was read for nothing.
                cost += Self.selectedBytesMax
            } catch {}
            cost += reads.takeCost()
        }
    }

    // MARK: After it

    /// How the commit that is being told concerns a query at one of its places; nil if it does not.
    private func concern(
        _ live: LiveQuery, _ place: ConcernedPlace, _ telling: Telling
    ) throws(Failure) -> ConcernedQuery? {
        if place.isReplaced { return ConcernedQuery(live: live, place: place, changes: [], isReplaced: true) }
        do throws(StorageError) {
            try place.locateAfter { (segment, index) throws(StorageError) in
                try self.place(of: segment, at: place.path, in: index)
            }
        } catch {
            throw .unavailable(error)
        }
        let changes = place.changes(in: live.query)
        if changes.isEmpty { return nil }
        return ConcernedQuery(live: live, place: place, changes: changes, isReplaced: telling.isInterrupted)
    }

    /// Some listeners have yet to be told of the last commit: until ``tellSome(now:)`` has done so, nothing
    /// else may be processed.
    package var isTelling: Bool { telling != nil }

    /// Continues telling them. The output comes from ``takeReady()`` like that of a turn.
    package func tellSome(now: Int64) {
        guard tornBy == nil, telling != nil else { return }
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [])
        try? tellOn(in: &turn)
        log.append(
            WaitingTurn(
                requests: [], now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes))
    }

    /// A step of telling listeners, and the work after the last one. Throws only if memory is torn.
    func tellOn(in turn: inout Turn, costMax: Int? = nil) throws(Failure) {
        guard var telling else { return }
        self.telling = nil
        defer { if !telling.isDone { self.telling = telling } }
        try tell(&telling, in: &turn, costMax: costMax ?? tellingStepCostMax)
        if telling.isDone { turn.outputs += telling.rest }
    }

    /// Ends listeners that are not allowed any more, and tells those of whole values, up to the cost of one step.
    private func tellOfWholeValues(_ telling: inout Telling, in turn: inout Turn, costMax: Int) {
        while turn.tellingCost < costMax, let listener = telling.takeJudged() {
            judge(listener, in: &turn)
            turn.tellingCost += Self.judgementCost
        }
        while turn.tellingCost < costMax, let part = telling.takePart(of: listeners.trie) {
            push(part, at: telling.position, in: &turn)
            turn.readBytes += part.cost
            turn.tellingCost += part.cost
        }
    }

    /// Memory was built again. The other listeners of queries receive the present value, not the change; those of whole
    /// values are told of it at once, before any of them is moved.
    func interruptTelling(in turn: inout Turn) {
        telling?.interrupt()
        guard var telling else { return }
        tellOfWholeValues(&telling, in: &turn, costMax: .max)
        turn.tellingCost = 0
        self.telling = telling
    }

    /// The same for all listeners, up to the cost of one step.
    func tell(_ telling: inout Telling, in turn: inout Turn, costMax: Int) throws(Failure) {
        tellOfWholeValues(&telling, in: &turn, costMax: costMax)
        var ending: [LiveQuery] = []
        defer { endListeners(of: ending, in: &turn) }
        while turn.tellingCost < costMax, let (live, place) = telling.nextQuery {
            var isConcerned = true
            do throws(Failure) {
                if let query = try concern(live, place, telling) {
                    // All of it was too much: the rest ends.
                    if telling.cost > tellingCostMax || telling.isInterrupted && live.needsEvents { throw .tooLarge }
                    try tell(query, isSet: telling.isSet, isInterrupted: telling.isInterrupted, in: &turn)
                } else {
                    isConcerned = false
                }
            } catch .tooLarge {
                ending.append(live)
            } catch .unavailable(.damaged) {
                // A row of what it selects stays damaged: it would be the same at the next attempt.
                live.startOver()
                ending.append(live)
            } catch {
                // Memory has the commit, and the window perhaps half of it.
                if case .unavailable(let reason) = error, tornBy == nil { tree.tear(by: reason) }
                throw error
            }
            telling.passQuery()
            let bytes = place.reads.takeCost()
            turn.readBytes += bytes
            turn.tellingCost += bytes + (isConcerned ? Self.queryCost : Self.passedQueryCost)
            if isConcerned { telling.cost += bytes + Self.queryCost }
        }
    }

    /// The fixed costs, in bytes (``SharedReads/cost``): of telling the listeners of a query of a commit, of finding
    /// that it does not concern them, and of asking the rules whether a listener may go on.
    private static let queryCost = 4096
    private static let passedQueryCost = 512
    private static let judgementCost = 4096

    /// - parameter isInterrupted: memory was built again meanwhile, and all windows with it.
    private func tell(
        _ query: ConcernedQuery, isSet: Bool, isInterrupted: Bool, in turn: inout Turn
    ) throws(Failure) {
        let live = query.live
        let (change, difference) = try takeIn(query, isInterrupted: isInterrupted)
        // A child can have another place although none of its fields has changed.
        guard change != nil || live.query.choosesFields && live.needsEvents else { return }
        var events: QueryEvents?
        if live.needsEvents {
            // The earlier values were too large to keep, or could not be read.
            guard query.place.valuesBefore[ObjectIdentifier(live)] != nil else { throw .tooLarge }
            events = try self.events(of: query, difference)
        }
        for group in live.groups {
            let contents: [QueryPush.Content]
            switch group.form {
            case .events(_, let kinds):
                let told = events?.list(kinds) ?? []
                contents = told.isEmpty ? [] : [.events(told)]
            case .eventStream where isSet:
                // A set that changes several children counts as several sets (rest.md 4).
                contents = (change?.assignments ?? []).map { .change(.set($0)) }
            case .eventStream: contents = change.map { [.change($0.narrowed)] } ?? []
            case .tagged: contents = change.map { [.change($0)] } ?? []
            }
            let address = GroupAddress(group: group.group, loops: group.members.loops)
            for content in contents {
                let push = QueryPush(form: group.form, path: live.path, content: content)
                turn.outputs.append(.pushQuery(push, to: address))
                countTold(push, to: address, in: turn)
            }
        }
    }

    /// Answers the change of the query's selection, if any; the difference only if the write was below the query.
    private func takeIn(_ query: ConcernedQuery, isInterrupted: Bool) throws(Failure) -> (Change?, WindowDifference?) {
        let (live, reads) = (query.live, query.place.reads)
        do throws(StorageError) {
            if query.isReplaced {
                live.startOver()
                if live.isEmpty { return (nil, nil) }
                let told = live.told
                try fill(live, in: reads)
                if live.aggregates != nil {
                    return (live.told == told && !isInterrupted ? nil : live.toldChange, nil)
                }
            } else {
                for change in query.changes {
                    live.scan?.take(change)
                    live.spare?.take(change)
                }
                if live.isEmpty { return (nil, nil) }
                let difference = try live.window.apply(query.changes) { (beyond, count) throws(StorageError) in
                    defer { scanAhead(live) }
                    return Array(try places(of: live, beyond: beyond, count: count, in: reads))
                }
                if live.aggregates != nil { return (takeIntoTotals(query.changes, of: live), nil) }
                let isChosen = live.query.choosesFields
                return (
                    try isChosen ? chosen(for: difference, of: query) : change(for: difference, of: query), difference
                )
            }
        } catch {
            throw .unavailable(error)
        }
        let value = live.query.chosen(ofChildren: try selection(of: live, in: reads))
        if live.query.choosesFields, !isInterrupted,
            let before = query.place.valuesBefore[ObjectIdentifier(live)],
            live.query.chosen(ofChildren: before) == value
        {
            return (nil, nil)
        }
        return (.set(Assignment(target: WriteTarget(path: live.path), value: value)), nil)
    }

    private func events(of query: ConcernedQuery, _ difference: WindowDifference?) throws(Failure) -> QueryEvents {
        let live = query.live
        var after: CanonicalJSON
        if let difference, !live.wantsValue {
            let places = difference.entered + difference.changed.map(\.after)
            after = try children(places.map(\.segment), in: query.place.reads)
        } else {
            after = try selection(of: live, in: query.place.reads)
        }
        return QueryEvents(window: live.window, before: query.valueBefore, after: after, difference: difference)
    }

    /// Children that left become null, those that entered come whole, those that stayed as they were written
    /// (Protocol.md 5).
    private func change(
        for difference: WindowDifference, of query: ConcernedQuery
    ) throws(StorageError) -> Change? {
        let live = query.live
        var parts: [Assignment] = []
        for place in difference.left {
            parts.append(Assignment(target: WriteTarget(path: live.path.appending(place.path)), value: .null))
        }
        for place in difference.entered { parts.append(try whole(place, of: query)) }
        for place in difference.changed {
            let inside = query.place.assignments(of: place.after)
            // Clients apply one assignment after the other. A client knows only the selected parts, so it could drop a
            // child without children left, and then miss the later ones.
            if inside.count > 1, !live.query.selectsEverything, inside.contains(where: \.value.isNull) {
                parts.append(try whole(place.after, of: query))
            } else {
                parts += inside
            }
        }
        if parts.isEmpty { return nil }
        return parts.count == 1 ? .set(parts[0]) : .merge(base: live.path, parts)
    }

    /// The same of the fields that somebody wants of the children: those that are as they were are left out.
    private func chosen(for difference: WindowDifference, of query: ConcernedQuery) throws(StorageError) -> Change? {
        let live = query.live
        let before = query.place.valuesBefore[ObjectIdentifier(live)]
        var parts: [Assignment] = []
        func add(_ place: IndexPlace, _ value: CanonicalJSON, isNew: Bool) {
            let old = isNew ? .null : before.map { live.query.chosen(of: $0.value(at: place.path)) }
            if old == value { return }
            parts.append(Assignment(target: WriteTarget(path: live.path.appending(place.path)), value: value))
        }
        for place in difference.left {
            // One that was not written itself is as it was.
            let isWritten = before == nil || !query.place.assignments(of: place).isEmpty
            let old = isWritten ? before?.value(at: place.path) : try whole(place, of: query).value
            if let old, live.query.chosen(of: old).isNull { continue }
            parts.append(Assignment(target: WriteTarget(path: live.path.appending(place.path)), value: .null))
        }
        for place in difference.entered {
            add(place, live.query.chosen(of: try whole(place, of: query).value), isNew: true)
        }
        for change in difference.changed {
            add(change.after, live.query.chosen(of: try whole(change.after, of: query).value), isNew: false)
        }
        if parts.isEmpty { return nil }
        return parts.count == 1 ? .set(parts[0]) : .merge(base: live.path, parts)
    }

    /// The assignment of a child's whole value.
    private func whole(_ place: IndexPlace, of query: ConcernedQuery) throws(StorageError) -> Assignment {
        let target = WriteTarget(path: query.live.path.appending(place.path))
        do throws(TreeRows.ReadError) {
            return Assignment(target: target, value: try child(place.segment, in: query.place.reads))
        } catch .storage(let error) {
            throw error
        } catch {
            // Nothing is too large without a limit.
            return Assignment(target: target, value: .null)
        }
    }

    // MARK: Reading for several queries

    private func place(
        of segment: [UInt8], at path: Path, in index: QueryIndex
    ) throws(StorageError) -> IndexPlace? {
        try rows.place(of: Path(encoded: path.encoded + segment), segment: segment, in: index)
    }

    private func child(_ segment: [UInt8], in reads: SharedReads) throws(TreeRows.ReadError) -> CanonicalJSON {
        try reads.child(segment) { (path) throws(TreeRows.ReadError) in try rows.read(path) }
    }

    /// An object of these children, as far as they are there.
    private func children(_ segments: [[UInt8]], in reads: SharedReads) throws(Failure) -> CanonicalJSON {
        try Self.object(bytesMax: .max) { (object) throws(TreeRows.ReadError) in
            for segment in segments.sorted(by: { $0.precedesBytewise($1) }) {
                try object.append(segment, try child(segment, in: reads))
            }
        }
    }

    private static func object(
        bytesMax: Int, _ fill: (inout ObjectText) throws(TreeRows.ReadError) -> Void
    ) throws(Failure) -> CanonicalJSON {
        var object = ObjectText(bytesMax: bytesMax)
        do throws(TreeRows.ReadError) {
            try fill(&object)
        } catch .storage(let error) {
            throw .unavailable(error)
        } catch {
            throw .tooLarge
        }
        return object.finish()
    }

    /// The places of a query's interval in the direction of its limit, beyond one of them if that is given.
    private func places(
        of live: LiveQuery, beyond: IndexPlace? = nil, count: Int?, in reads: SharedReads
    ) throws(StorageError) -> ArraySlice<IndexPlace> {
        if let known = live.spare?.next(beyond: beyond, count: count) { return known[...] }
        let query = live.query
        let side = query.limit?.side ?? .first
        guard mustScan(query, at: live.path) else {
            if let beyond { return try places(of: query, at: live.path, beyond: beyond, count: count)[...] }
            return try reads.places(SharedReads.Order(query), count: count) { (count) throws(StorageError) in
                try self.places(of: query, at: live.path, count: count)
            }
        }
        // All children have to be looked at, so that is done once for all intervals.
        let all = Query(index: query.index)
        let places = try reads.places(SharedReads.Order(all), count: nil) { (_) throws(StorageError) in
            try self.places(of: all, at: live.path, count: nil)
        }
        let interval = query.interval(beyond: beyond)
        let start = places.partitioningIndex { !$0.bytes.precedesBytewise(interval.lower) }
        let end = places.partitioningIndex { !$0.bytes.precedesBytewise(interval.upper) }
        let inside = start < end ? places[start..<end] : []
        if side == .first { return inside.prefix(count ?? .max) }
        return ArraySlice(inside.suffix(count ?? .max).reversed())
    }

    /// Fills the window from the tree.
    private func fill(_ live: LiveQuery, in reads: SharedReads) throws(StorageError) {
        if live.aggregates != nil {
            return try recount(live) { () throws(StorageError) in try self.places(of: live, count: nil, in: reads) }
        }
        guard live.window.keepsOrder else { return }
        let places = try places(of: live, count: live.query.limit?.count, in: reads)
        if live.query.limit?.side == .last {
            reads.fill(&live.window, with: places.reversed(), Self.selection(live.query, places.reversed()))
        } else {
            reads.fill(&live.window, with: places, Self.selection(live.query, places))
        }
    }

    private static func selection(
        _ query: Query, _ places: some BidirectionalCollection<IndexPlace>
    ) -> SharedReads.Selection? {
        guard let first = places.first, let last = places.last else { return nil }
        return SharedReads.Selection(index: query.index, first: first, last: last)
    }

    /// The selection of a query, according to its window.
    private func selection(of live: LiveQuery, in reads: SharedReads) throws(Failure) -> CanonicalJSON {
        let query = live.query
        let places: [IndexPlace]
        if query.selectsEverything {
            places = []
        } else if live.window.keepsOrder {
            places = Array(live.window.members)
        } else {
            do throws(StorageError) {
                places = Array(try self.places(of: live, count: nil, in: reads))
            } catch {
                throw .unavailable(error)
            }
        }
        if query.selectsEverything || !places.isEmpty && places.count == reads.childCount {
            return try reads.everything { () throws(Failure) in
                try selection(.everything, at: live.path, bytesMax: Self.selectedBytesMax)
            }
        }
        guard let selected = Self.selection(query, places) else { return .null }
        return try reads.value(of: selected) { () throws(Failure) in
            try Self.object(bytesMax: Self.selectedBytesMax) { (object) throws(TreeRows.ReadError) in
                for segment in places.map(\.segment).sorted(by: { $0.precedesBytewise($1) }) {
                    try object.append(segment, try child(segment, in: reads))
                }
            }
        }
    }

    // MARK: Ends

    /// Ends the listeners of queries that are too much to be told, or cannot be.
    func endListeners(of queries: [LiveQuery], in turn: inout Turn) {
        if queries.isEmpty { return }
        let ending = Set(queries.map(ObjectIdentifier.init))
        for connection in listeners.connections {
            let queries = listeners.sessions[connection]?.queries ?? [:]
            for (_, listener) in queries.sorted(by: { $0.key < $1.key })
            where ending.contains(ObjectIdentifier(listener.live)) {
                endQueryListener(listener.form.name, of: connection, in: &turn)
                turn.outputs.append(
                    .revoked(connection, listener.live.path, listener.revoked, because: StaticText("too_big")))
            }
        }
    }

    /// Fills all windows from the tree, after memory was built again.
    func refillWindows() throws(StorageError) {
        restartScans()
        for live in listeners.trie.queries where !live.isEmpty { try fill(live) }
    }
}
