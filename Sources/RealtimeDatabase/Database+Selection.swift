import HearthJSONTree
import HearthTreeQueries
import HearthStorageErrors

/// Selections of queries from the tree.
extension Database {
    /// Whether a query can be answered without looking at children that it does not select.
    func hasIndex(for query: Query, at path: Path) -> Bool {
        switch query.index {
        case .key, .priority: true
        case .conditions(let asked):
            asked.isKeyOrder || indexes.plan(for: query, at: path)?.isExact == true
                || indexes.hasCandidates(for: query, at: path)
        case .value, .child: query.selectsEverything || indexes.plan(for: query, at: path) != nil
        case .unexpired(let index, _, at: _): hasIndex(for: Query(query, in: index), at: path)
        }
    }

    /// The object of the children that a query selects; null if there are none (Protocol.md 16.1). `members` are those
    /// of a limited query, if they are known, and `found` is the result of a scan.
    func selection(
        _ query: Query, at path: Path, members: QueryWindow? = nil, found: QueryScan? = nil, bytesMax: Int = .max
    ) throws(Failure) -> CanonicalJSON {
        do throws(TreeRows.ReadError) {
            var object = ObjectText(bytesMax: bytesMax)
            if query.selectsEverything {
                // The whole value, except its own priority.
                let value = try rows.read(path, bytesMax: bytesMax)
                if value.isLeaf || value.priorityRange == nil { return value.isLeaf ? .null : value }
                for child in value.children {
                    var segment: [UInt8] = []
                    child.appendSegment(to: &segment)
                    try object.append(segment, value.part(child.value))
                }
            } else if query.limit != nil || found != nil || indexes.plan(for: query, at: path) != nil {
                let places: [IndexPlace]
                if let members, members.keepsOrder {
                    places = Array(members.members)
                } else if let found = found?.next(count: query.limit?.count) {
                    places = found
                } else {
                    places = try selectedPlaces(of: query, at: path)
                }
                for segment in places.map(\.segment).sorted(by: { $0.precedesBytewise($1) }) {
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

    private func selectedPlaces(of query: Query, at path: Path) throws(TreeRows.ReadError) -> [IndexPlace] {
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
        let segments = query.segments(of: query.interval(beyond: nil))
        do throws(StorageError) {
            try rows.forEachChild(
                of: path, from: segments.lower, below: segments.upper, .ascending
            ) { (child) throws(StorageError) in
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

    /// The places in a query's interval, from the side that its limit keeps: up to `count` of them, those beyond a
    /// place if one is given.
    func places(
        of query: Query, at path: Path, beyond: IndexPlace? = nil, count: Int?
    ) throws(StorageError) -> [IndexPlace] {
        let direction: ScanDirection = query.limit?.side == .last ? .descending : .ascending
        let interval = query.interval(beyond: beyond)
        let plan = indexes.plan(for: query, at: path)
        if let plan, plan.isExact {
            return try indexes.places(plan, at: path, in: interval, direction, count: count).places
        }
        for var walk in try indexes.candidateWalks(for: query, at: path, beside: plan).walks {
            try walk.collect(indexes.entries, path, countMax: .max)
            if walk.isDone {
                return try selectedPlaces(among: walk.segments, query, at: path, in: interval, direction, count: count)
            }
        }
        if let plan {
            return try selectedPlaces(among: plan, query, at: path, in: interval, direction, count: count)
        }
        let segments = query.segments(of: interval)
        var found = BestPlaces(count: count, direction)
        try rows.forEachChild(
            of: path, from: segments.lower, below: segments.upper, direction
        ) { (child) throws(StorageError) in
            guard let place = try rows.place(of: child, below: path, in: query.index) else { return true }
            if interval.contains(place.bytes) { found.add(place) }
            // Keys come in their order.
            return !query.isOrderedByKey || !found.isFull
        }
        return found.finish()
    }

    private func selectedPlaces(
        among segments: [[UInt8]], _ query: Query, at path: Path, in interval: KeyRange, _ direction: ScanDirection,
        count: Int?
    ) throws(StorageError) -> [IndexPlace] {
        var found = BestPlaces(count: count, direction)
        for segment in segments {
            let child = Path(encoded: path.encoded + segment)
            let place = try rows.place(of: child, segment: segment, in: query.index, remembering: false)
            if let place, interval.contains(place.bytes) { found.add(place) }
        }
        return found.finish()
    }

    /// Those places of an index in an interval whose children a query selects.
    private func selectedPlaces(
        among plan: IndexPlan, _ query: Query, at path: Path, in interval: KeyRange, _ direction: ScanDirection,
        count: Int?
    ) throws(StorageError) -> [IndexPlace] {
        let stepCount = 256
        var rest = interval
        var found: [IndexPlace] = []
        while true {
            let next = try indexes.places(plan, at: path, in: rest, direction, count: stepCount).places
            for place in next where try rows.selects(place, query, at: path) {
                found.append(place)
                if found.count == count { return found }
            }
            guard next.count == stepCount, let last = next.last else { return found }
            // No place is a prefix of another.
            if direction == .ascending { rest.lower = last.bytes + [0] } else { rest.upper = last.bytes }
        }
    }
}

extension TreeRows {
    /// Whether the child at a place, which is in an index that serves a query, is selected by all of its conditions.
    func selects(_ place: IndexPlace, _ query: Query, at path: Path) throws(StorageError) -> Bool {
        let segment = place.segment
        let child = Path(encoded: path.encoded + segment)
        return try self.place(of: child, segment: segment, in: query.index, remembering: false) == place
    }
}

extension Query {
    /// The interval, or what lies of it beyond a place, as seen from the side that the limit keeps.
    func interval(beyond: IndexPlace?) -> KeyRange {
        var bounds = KeyRange(lower: lower, upper: upper)
        guard let beyond else { return bounds }
        if limit?.side == .last {
            if beyond.bytes.precedesBytewise(upper) { bounds.upper = beyond.bytes }
        } else {
            // No place is a prefix of another, so this is after the place and before all that follow.
            let next = beyond.bytes + [0]
            if lower.precedesBytewise(next) { bounds.lower = next }
        }
        return bounds
    }

    /// Between which segments the children are whose places lie in an interval of the index.
    func segments(of interval: KeyRange) -> KeyRange {
        guard isOrderedByKey else { return KeyRange(lower: [0], upper: [0xFF]) }
        // Those of a query with conditions have two bytes before the segment.
        let lower = index.named == .key ? interval.lower : Array(interval.lower.dropFirst(2))
        // No segment is empty.
        return KeyRange(lower: lower.isEmpty ? [0] : lower, upper: index.named == .key ? interval.upper : [0xFF])
    }

    /// Whether the rows of the children are in the order of the query, and only the interval selects from them.
    var isInKeyOrder: Bool { !hidesExpired && (index == .key || conditions?.isKeyOrder == true) }

    /// Whether they stand in the order of the query, and conditions can select from them as well.
    var isOrderedByKey: Bool { index.named == .key || conditions?.orders.isEmpty == true }

    /// In the order of keys, the segment before which no child is in the interval.
    var firstSegment: [UInt8] { segments(of: interval(beyond: nil)).lower }
}

/// The first places in a direction, of many that come in any order. O(n log count).
private struct BestPlaces {
    private let count: Int?
    private let direction: ScanDirection
    private var places: [IndexPlace] = []

    init(count: Int?, _ direction: ScanDirection) {
        self.count = count
        self.direction = direction
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
        places.sort { direction == .descending ? $1 < $0 : $0 < $1 }
        if places.count > count { places.removeLast(places.count - count) }
    }
}
