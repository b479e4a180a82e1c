import HearthJSONTree
import HearthStorageErrors

/// The places in a query's interval for which there is no index, found by a walk through all children that can stop
/// anywhere and go on later, while commits go on.
///
/// Of a query with a limit those are kept that its limit keeps and some more beyond them, so that a window that loses
/// members can be filled up from here for a while. Of a query that tells aggregates the totals are kept, and the places
/// only if extremes are told.
struct QueryScan {
    private static let spareMin = 1000

    private let query: Query
    private let countMax: Int?
    private let keepsPlaces: Bool
    /// Of a query that tells aggregates: what was found so far.
    private(set) var totals = AggregateTotals()
    private var places = SortedChunks<IndexPlace>()
    /// There are places beyond the outermost that is kept, or were.
    private var isCut = false
    /// Children before this segment have been visited; nil when all have.
    private var done: [UInt8]? = [0]
    /// How many those are.
    private(set) var visitedCount = 0

    init(_ query: Query) {
        self.query = query
        keepsPlaces = query.conditions?.aggregates?.needsOrder ?? true
        countMax = query.limit.map { $0.count + max(Self.spareMin, $0.count) }
    }

    var isDone: Bool { done == nil }

    /// Should be made anew, before a window asks for more than there is.
    var isLow: Bool { isCut && query.limit.map { places.count < $0.count + Self.spareMin / 2 } ?? false }

    /// Visits some more children.
    mutating func step(_ rows: TreeRows, _ path: Path, childrenMax: Int) throws(StorageError) {
        guard let start = done else { return }
        var found: [IndexPlace] = []
        var left = childrenMax
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
        visitedCount += childrenMax - left
        done = left > 0 ? nil : last.map { Path.subtreeEnd(of: $0) }
    }

    /// Takes in what a commit did to a child.
    mutating func take(_ change: ChildChange) {
        guard let place = change.before ?? change.after else { return }
        // Others will be visited as they are then.
        if let done, !place.segment.precedesBytewise(done) { return }
        if let before = change.before { remove(before) }
        if let after = change.after, query.contains(after) { insert(after) }
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
