import HearthJSONTree
import HearthTreeQueries
import HearthStorageErrors

/// The places in a query's interval, if no index has exactly these, or if they are too many for one step. They are
/// found by a walk that can stop anywhere and continue later, between commits. It visits all children, or the entries
/// of an index that includes the selected ones.
///
/// Of a query with a limit those are kept that its limit keeps and some more beyond them, so that a window that loses
/// members can be filled up from here for a while. Of a query that tells aggregates the totals are kept, and the places
/// only if extremes are told.
struct QueryScan {
    private static let spareMin = 1000

    private let query: Query
    private let countMax: Int?
    private let keepsPlaces: Bool
    /// For a query with aggregates: the figures so far.
    private(set) var totals = AggregateTotals()
    private var places = SortedChunks<IndexPlace>()
    /// There are places beyond the outermost that is kept, or were.
    private var isCut = false
    /// The index whose entries are visited; nil for the children in the order of their keys.
    private var indexNumber: UInt32?
    /// Children whose segments come before these bytes have been visited, or whose places in the query do if it is the
    /// entries of an index; nil when all have.
    private var done: [UInt8]? = [0]
    /// How many children or entries have been visited.
    private(set) var visitedCount = 0

    init(_ query: Query) {
        self.query = query
        keepsPlaces = query.conditions?.aggregates?.needsOrder ?? true
        countMax = query.limit.map { $0.count + max(Self.spareMin, $0.count) }
    }

    var isDone: Bool { done == nil }

    /// Should be made again, before a window asks for more than there is.
    var isLow: Bool { isCut && query.limit.map { places.count < $0.count + Self.spareMin / 2 } ?? false }

    /// Visits some more children or entries. If the index was removed, or one was added, it starts over.
    mutating func step(
        _ rows: TreeRows, _ path: Path, _ indexes: IndexKeeper, childrenMax: Int
    ) throws(StorageError) {
        guard let start = done else { return }
        let plan = query.conditions == nil ? nil : indexes.plan(for: query, at: path)
        if plan?.index.number != indexNumber {
            let visitedCount = visitedCount
            self = QueryScan(query)
            (self.visitedCount, indexNumber) = (visitedCount, plan?.index.number)
            return try step(rows, path, indexes, childrenMax: childrenMax)
        }
        if let plan {
            try visitEntries(of: plan, from: start, rows, path, indexes, countMax: childrenMax)
        } else {
            try visitChildren(from: start, rows, path, countMax: childrenMax)
        }
    }

    private mutating func visitChildren(
        from start: [UInt8], _ rows: TreeRows, _ path: Path, countMax: Int
    ) throws(StorageError) {
        var found: [IndexPlace] = []
        var left = countMax
        var last: [UInt8]?
        let query = query
        try rows.forEachChild(
            of: path, from: start, below: [0xFF], .ascending
        ) { (child) throws(StorageError) in
            if left <= 0 { return false }
            if let place = try rows.place(of: child, below: path, in: query.index), query.contains(place) {
                found.append(place)
            }
            left -= 1
            last = child.segment
            return true
        }
        for place in found { insert(place) }
        visitedCount += countMax - left
        done = left > 0 ? nil : last.map { Path.subtreeEnd(of: $0) }
    }

    private mutating func visitEntries(
        of plan: IndexKeeper.Plan, from start: [UInt8], _ rows: TreeRows, _ path: Path, _ indexes: IndexKeeper,
        countMax: Int
    ) throws(StorageError) {
        let lower = start.precedesBytewise(query.lower) ? query.lower : start
        let interval = KeyRange(lower: lower, upper: query.upper)
        let next = try indexes.firstPlaces(plan, at: path, in: interval, countMax: countMax)
        var found = next.places
        if !plan.isExact {
            found = []
            for place in next.places where try rows.selects(place, query, at: path) { found.append(place) }
        }
        for place in found { insert(place) }
        visitedCount += next.entryCount
        // No place is a prefix of another.
        done = next.isMore ? next.places.last.map { $0.bytes + [0] } : nil
        // Entries come in the query's order.
        if let max = self.countMax, places.count >= max { (isCut, done) = (true, nil) }
    }

    /// Takes in what a commit did to a child.
    mutating func take(_ change: ChildChange) {
        if let before = change.before, isVisited(before) { remove(before) }
        if let after = change.after, query.contains(after), isVisited(after) { insert(after) }
    }

    /// Whether the walk has passed a place. Later places are visited in their state at that time.
    private func isVisited(_ place: IndexPlace) -> Bool {
        guard let done else { return true }
        return (indexNumber == nil ? place.segment : place.bytes).precedesBytewise(done)
    }

    /// Up to a number of places beyond one, or from the first one on, in the direction from the side that the limit
    /// keeps. Nil if it is not known what comes.
    func next(beyond: IndexPlace? = nil, count: Int?) -> [IndexPlace]? {
        if !keepsPlaces { return nil }
        let interval = query.interval(beyond: beyond)
        let direction: ScanDirection = query.limit?.side == .last ? .descending : .ascending
        var walk = places.walk(from: interval.lower, below: interval.upper, direction)
        var next: [IndexPlace] = []
        while next.count != count, let place = walk.next() { next.append(place) }
        return isCut && next.count != count ? nil : next
    }

    private mutating func remove(_ place: IndexPlace) {
        if let asked = query.conditions, asked.aggregates != nil, query.contains(place) {
            totals.remove(asked.number(in: place))
        }
        if keepsPlaces { places.remove(place.bytes) }
    }

    private mutating func insert(_ place: IndexPlace) {
        if let asked = query.conditions, asked.aggregates != nil { totals.add(asked.number(in: place)) }
        if !keepsPlaces { return }
        if isCut, outermost.map({ isBeyond($0, place) }) ?? true { return }
        places.insert(place)
        guard let countMax, places.count > countMax, let last = outermost else { return }
        places.remove(last.bytes)
        isCut = true
    }

    private var outermost: IndexPlace? { query.limit?.side == .last ? places.first : places.last }

    private func isBeyond(_ boundary: IndexPlace, _ place: IndexPlace) -> Bool {
        query.limit?.side == .last ? place < boundary : boundary < place
    }
}
