import JSONTree

extension Database {
    /// What a query selects may have this many bytes; it is assembled in memory.
    static let selectedBytesMax = 32 << 20

    // MARK: Requests

    func get(_ path: Path, _ query: Query, needsIndex: Bool, for request: Request, in turn: inout Turn) {
        let reply: Reply
        do throws(Failure) {
            if needsIndex, !hasIndex(for: query, at: path) { throw .noIndex(query.index, at: path) }
            if let tornBy { throw .unavailable(tornBy) }
            let value = try selection(query, at: path, bytesMax: Self.selectedBytesMax)
            turn.readBytes += value.bytes.count
            reply = .value(value)
        } catch {
            reply = .failed(error)
        }
        turn.outputs.append(.reply(request.connection, number: request.number, reply))
    }

    /// As for a plain listener: first the data, then the membership, then the reply (wire-protocol 2.3).
    func listen(
        _ path: Path, _ query: Query, _ form: ListenerForm, hash: [UInt8]?, for request: Request, in turn: inout Turn
    ) {
        let connection = request.connection
        do throws(Failure) {
            if let failure = refusal(ofListener: { $0.queries[form.name] != nil }, on: connection) { throw failure }
            // REST refuses what SDKs are only warned of.
            if form == .eventStream, !hasIndex(for: query, at: path) { throw .noIndex(query.index, at: path) }
            if let tornBy { throw .unavailable(tornBy) }
            let live = try liveQuery(query, at: path, keepsOrder: form.needsOrder)
            let value = try selection(live.query, at: path, members: live.window, bytesMax: Self.selectedBytesMax)
            if !Self.isCurrent(hash, value) {
                turn.readBytes += value.bytes.count
                turn.outputs.append(.initialQuery(connection, initialPush(of: live, form, value)))
            }
            join(live, form, connection, in: &turn)
            let reply: Reply = hasIndex(for: query, at: path) ? .listening : .listeningUnindexed
            turn.outputs.append(.reply(connection, number: request.number, reply))
        } catch {
            // To the client a listener that failed is none, even if it had one by that name before.
            endQueryListener(form.name, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .failed(error)))
        }
    }

    func endQueryListener(_ name: ListenerForm.Name, of connection: ConnectionID, in turn: inout Turn) {
        guard let (live, form) = sessions[connection]?.queries.removeValue(forKey: name) else { return }
        if sessions[connection]?.isEmpty == true { sessions[connection] = nil }
        if let group = leave(live, form, loop: connection.loop) { turn.outputs.append(.leave(group, connection)) }
    }

    private func join(_ live: LiveQuery, _ form: ListenerForm, _ connection: ConnectionID, in turn: inout Turn) {
        if let old = sessions[connection]?.queries[form.name] {
            if old.live === live, old.form == form { return }
            endQueryListener(form.name, of: connection, in: &turn)
        }
        if live.isEmpty { listeners.add(live) }
        let group = live.join(form, loop: connection.loop) { listeners.makeGroup() }
        sessions[connection, default: SessionListens()].queries[form.name] = (live, form)
        turn.outputs.append(.join(group, connection))
    }

    @discardableResult
    func leave(_ live: LiveQuery, _ form: ListenerForm, loop: Int) -> GroupID? {
        defer { if live.isEmpty { listeners.remove(live) } }
        return live.leave(form, loop: loop)
    }

    private func initialPush(of live: LiveQuery, _ form: ListenerForm, _ value: CanonicalJSON) -> QueryPush {
        if case .events(_, let kinds) = form {
            let events = QueryEvents(window: live.window, before: .null, after: value)
            return QueryPush(form: form, path: live.path, content: .events(events.initial(kinds)))
        }
        let change = Change.set(Assignment(target: WriteTarget(path: live.path), value: value))
        return QueryPush(form: form, path: live.path, content: .change(change))
    }

    // MARK: Reading

    /// Whether a query can be answered without looking at all children.
    func hasIndex(for query: Query, at path: Path) -> Bool {
        switch query.index {
        case .key, .priority: true
        case .value, .child: query.selectsEverything || indexNumber(for: query, at: path) != nil
        }
    }

    /// The query as it is listened to already, or with a window of its own that nobody shares yet.
    private func liveQuery(_ query: Query, at path: Path, keepsOrder: Bool) throws(Failure) -> LiveQuery {
        let live = listeners.query(query, at: path) ?? LiveQuery(path: path, query: query)
        if !live.isEmpty, live.window.keepsOrder || !keepsOrder { return live }
        if keepsOrder { live.window = QueryWindow(query, keepsOrder: true) }
        do throws(StorageError) { try fill(live) } catch { throw .unavailable(error) }
        return live
    }

    /// Makes the window what the tree says.
    func fill(_ live: LiveQuery) throws(StorageError) {
        guard live.window.keepsOrder else { return }
        let places = try places(of: live.query, at: live.path, count: live.query.limit?.count)
        if live.query.limit?.side == .last { live.window.fill(places.reversed()) } else { live.window.fill(places) }
    }

    /// The object of the children that a query selects; null if there are none (wire-protocol 4.6). `members` are those of a limited
    /// query, if they are known.
    func selection(
        _ query: Query, at path: Path, members: QueryWindow? = nil, bytesMax: Int = .max
    ) throws(Failure) -> CanonicalJSON {
        do throws(TreeRows.ReadError) {
            var object = ObjectText(bytesMax: bytesMax)
            if query.selectsEverything {
                // The whole value, but for a priority of its own.
                let value = try rows.read(path, bytesMax: bytesMax)
                if value.isLeaf || value.priorityRange == nil { return value.isLeaf ? .null : value }
                for child in value.children {
                    var segment: [UInt8] = []
                    child.appendSegment(to: &segment)
                    try object.append(segment, value.part(child.value))
                }
            } else if query.limit != nil || indexNumber(for: query, at: path) != nil {
                var places: [IndexPlace]
                if let members, members.keepsOrder {
                    places = Array(members.members)
                } else {
                    places = try limitedPlaces(of: query, at: path)
                }
                places.sort { $0.segment.precedesBytewise($1.segment) }
                for segment in places.map(\.segment) {
                    let value = try rows.read(Path(encoded: path.encoded + segment), bytesMax: object.bytesLeft)
                    try object.append(segment, value)
                }
            } else {
                try appendInterval(of: query, at: path, to: &object)
            }
            return object.finish()
        } catch .storage(let error) {
            throw .unavailable(error)
        } catch {
            throw .tooLarge
        }
    }

    private func limitedPlaces(of query: Query, at path: Path) throws(TreeRows.ReadError) -> [IndexPlace] {
        do throws(StorageError) {
            return try places(of: query, at: path, count: query.limit?.count)
        } catch {
            throw .storage(error)
        }
    }

    /// Appends the children of an interval in key order.
    private func appendInterval(
        of query: Query, at path: Path, to object: inout ObjectText
    ) throws(TreeRows.ReadError) {
        var failure: TreeRows.ReadError?
        let (lower, upper) = query.segmentBounds
        do throws(StorageError) {
            try rows.forEachChild(of: path, from: lower, below: upper, .ascending) { (child) throws(StorageError) in
                guard let place = try rows.place(of: child, below: path, in: query.index), query.contains(place) else {
                    return true
                }
                do throws(TreeRows.ReadError) {
                    let path = Path(encoded: path.encoded + child.segment)
                    let value: CanonicalJSON
                    if let known = child.value {
                        value = known
                    } else {
                        value = try rows.read(path, bytesMax: object.bytesLeft)
                    }
                    try object.append(child.segment, value)
                } catch {
                    failure = error
                }
                return failure == nil
            }
        } catch {
            throw .storage(error)
        }
        if let failure { throw failure }
    }

    /// The places in a query's interval, from the side that its limit keeps: up to `count` of them, those beyond a place if one is given.
    func places(
        of query: Query, at path: Path, beyond: IndexPlace? = nil, count: Int?
    ) throws(StorageError) -> [IndexPlace] {
        let isDescending = query.limit?.side == .last
        let interval = query.interval(beyond: beyond)
        if let number = indexNumber(for: query, at: path) {
            let prefix = IndexEntries.prefix(of: number, at: path)
            var places: [IndexPlace] = []
            try entries.scan(
                from: prefix + interval.lower, below: prefix + interval.upper, isDescending ? .descending : .ascending
            ) { key in
                places.append(IndexPlace(Array(key[prefix.count...])))
                return count.map { places.count < $0 } ?? true
            }
            return places
        }
        let (lower, upper) = query.index == .key ? interval.segmentBounds : ScanBounds.allSegments
        var found = BestPlaces(count: count, isDescending: isDescending)
        try rows.forEachChild(
            of: path, from: lower, below: upper, isDescending ? .descending : .ascending
        ) { (child) throws(StorageError) in
            guard let place = try rows.place(of: child, below: path, in: query.index) else { return true }
            if interval.contains(place) { found.add(place) }
            // Keys come in their order.
            return query.index != .key || !found.isFull
        }
        return found.finish()
    }
}

/// Bounds of index places, or of segments.
struct ScanBounds {
    var lower: [UInt8]
    var upper: [UInt8]

    static let allSegments: ([UInt8], [UInt8]) = ([0], [0xFF])

    /// The same for the segments of keys, which are not empty.
    var segmentBounds: ([UInt8], [UInt8]) { (lower.isEmpty ? [0] : lower, upper) }

    func contains(_ place: IndexPlace) -> Bool {
        !place.bytes.precedesBytewise(lower) && place.bytes.precedesBytewise(upper)
    }
}

extension Query {
    /// The interval, or what lies of it beyond a place, as seen from the side that the limit keeps.
    fileprivate func interval(beyond: IndexPlace?) -> ScanBounds {
        var bounds = ScanBounds(lower: lower, upper: upper)
        guard let beyond else { return bounds }
        if limit?.side == .last {
            if beyond.bytes.precedesBytewise(upper) { bounds.upper = beyond.bytes }
        } else {
            // No place is a prefix of another, so this is behind the place and before all that follow.
            let next = beyond.bytes + [0]
            if lower.precedesBytewise(next) { bounds.lower = next }
        }
        return bounds
    }

    /// Between which segments the children are that the interval may hold.
    fileprivate var segmentBounds: ([UInt8], [UInt8]) {
        index == .key ? ScanBounds(lower: lower, upper: upper).segmentBounds : ScanBounds.allSegments
    }
}

/// The first places in a direction, of many that come in any order. O(n log count).
private struct BestPlaces {
    private let count: Int?
    private let isDescending: Bool
    private var places: [IndexPlace] = []

    init(count: Int?, isDescending: Bool) {
        self.count = count
        self.isDescending = isDescending
    }

    var isFull: Bool { count.map { places.count >= $0 } ?? false }

    mutating func add(_ place: IndexPlace) {
        places.append(place)
        if let count, places.count >= 2 * count + 1024 { cut(to: count) }
    }

    consuming func finish() -> [IndexPlace] {
        cut(to: count ?? .max)
        return places
    }

    private mutating func cut(to count: Int) {
        places.sort { isDescending ? $1 < $0 : $0 < $1 }
        if places.count > count { places.removeLast(places.count - count) }
    }
}

/// The text of an object, made of children in key order.
struct ObjectText {
    private let bytesMax: Int
    private var bytes: [UInt8] = []

    init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

    var bytesLeft: Int { bytesMax - bytes.count }

    mutating func append(_ segment: [UInt8], _ value: CanonicalJSON) throws(TreeRows.ReadError) {
        if value.isNull { return }
        bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
        segment.withUnsafeBytes { Key.appendJSON(encoded: $0, to: &bytes) }
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: value.bytes)
        if bytes.count > bytesMax { throw .tooLarge }
    }

    consuming func finish() -> CanonicalJSON {
        if bytes.isEmpty { return .null }
        bytes.append(UInt8(ascii: "}"))
        return CanonicalJSON(trusted: bytes)
    }
}
