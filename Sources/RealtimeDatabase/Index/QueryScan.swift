import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

/// The places in a query's interval that no index has alone, or too many for once: found by a walk that can stop
/// anywhere and go on later, while commits go on. It goes through all children, through the entries of an index that
/// has what is selected among others in the query's order, or through some children that another index has named. In
/// the query's order it ends when it has found enough.
///
/// Of a query with a limit those are kept that its limit keeps and some more beyond them, so that a window that loses
/// members can be filled up from here for a while; for a page, one more, as it tells whether there is another one. Of a
/// query that tells aggregates the totals are kept, and the places only if extremes are told.
struct QueryScan {
    private static let spareMin = 1000

    private enum Walk: Equatable {
        case toBegin
        case children
        /// Of the index with this number.
        case entries(UInt32)
        case candidates
    }

    private let query: Query
    private let parts: ConditionParts?
    /// It is for a page alone, not for a window.
    let isPage: Bool
    private let countMax: Int?
    private let keepsPlaces: Bool
    /// For a query with aggregates: the figures so far.
    private(set) var totals = AggregateTotals()
    private var places = SortedChunks<IndexPlace>()
    /// There are places beyond the outermost that is kept, or were.
    private var isCut = false
    private var walk = Walk.toBegin
    /// The index whose entries are visited, or that has named the candidates; nil for the children in the order of
    /// their keys.
    private(set) var index: QueryIndex?
    /// Children whose segments come before these bytes have been visited, or whose places in the query do if it is the
    /// entries of an index; nil when all have.
    private var done: [UInt8]?
    /// All indexes that name candidates have too many.
    private var isCollected = false
    /// The candidates are being collected by the first of these; the others come if there are too many.
    private var collecting: ArraySlice<CandidateWalk> = []
    /// Children that have changed meanwhile.
    private var settled: Set<[UInt8]> = []
    /// The segments of the candidates, the next one last; and those of them that are yet to be visited.
    private var candidates: [[UInt8]] = []
    private var unvisited: Set<[UInt8]> = []
    /// Some of what was found comes from commits, perhaps from beyond the candidates that were visited.
    private var hasChanged = false
    /// How many children or entries have been visited.
    private(set) var visitedCount = 0

    init(_ query: Query, isPage: Bool = false) {
        self.query = query
        parts = query.conditions.map(ConditionParts.init)
        self.isPage = isPage
        keepsPlaces = query.conditions?.aggregates?.needsOrder ?? true
        countMax = query.limit.map { $0.count + (isPage ? 1 : max(Self.spareMin, $0.count)) }
        done = query.firstSegment
    }

    var isDone: Bool { done == nil }

    /// Should be made again, before a window asks for more than there is.
    var isLow: Bool { isCut && query.limit.map { places.count < $0.count + Self.spareMin / 2 } ?? false }

    /// Visits some more children or entries. If the index was removed, or one was added, it starts over.
    mutating func step(
        _ rows: TreeRows, _ path: Path, _ indexes: IndexKeeper, childrenMax: Int
    ) throws(StorageError) {
        guard let start = done else { return }
        if walk == .candidates {
            if collecting.isEmpty { return try visitCandidates(rows, path, countMax: childrenMax) }
            return try collectSome(path, indexes, countMax: Self.entriesPerChild * childrenMax)
        }
        let isServed = query.conditions != nil || query.hidesExpired
        let plan = isServed ? indexes.plan(for: query, at: path, parts) : nil
        let next = plan.map { Walk.entries($0.index.number) } ?? .children
        if walk != next {
            startOver(isCollected: isCollected)
            (walk, index) = (next, plan?.index.definition.index)
            if plan != nil { done = [0] }
            try beginCollecting(beside: plan, path, indexes)
            return try step(rows, path, indexes, childrenMax: childrenMax)
        }
        if let plan {
            try visitEntries(of: plan, from: start, rows, path, indexes, countMax: childrenMax)
        } else {
            try visitChildren(from: start, rows, path, countMax: childrenMax)
        }
    }

    /// So many entries of an index are read as quickly as one child is visited, at least.
    private static let entriesPerChild = 5

    /// Begins with candidates that an index has, if that leaves less to be visited.
    private mutating func beginCollecting(
        beside plan: IndexPlan?, _ path: Path, _ indexes: IndexKeeper
    ) throws(StorageError) {
        if query.conditions == nil || isCollected { return }
        let begun = try indexes.candidateWalks(for: query, at: path, beside: plan)
        visitedCount += begun.entryCount
        guard let first = begun.walks.first else { return }
        (walk, index, collecting) = (.candidates, first.index.definition.index, begun.walks[...])
    }

    /// Collects some candidates. If there are too many, another index is asked, and after the last one the walk is
    /// another one. If the index is gone, the scan starts over.
    private mutating func collectSome(_ path: Path, _ indexes: IndexKeeper, countMax: Int) throws(StorageError) {
        guard var walk = collecting.first else { return }
        guard indexes.isUsable(walk.index) else { return startOver(isCollected: false) }
        let before = walk.segments.count
        try walk.collect(indexes.entries, path, countMax: countMax)
        visitedCount += walk.segments.count - before
        if walk.isTooMuch {
            collecting = collecting.dropFirst()
            index = collecting.first?.index.definition.index
            return collecting.isEmpty ? startOver(isCollected: true) : ()
        }
        collecting[collecting.startIndex] = walk
        guard walk.isDone else { return }
        collecting = []
        let start = query.firstSegment
        unvisited = Set(walk.segments.filter { !$0.precedesBytewise(start) && !settled.contains($0) })
        candidates = unvisited.sorted { $1.precedesBytewise($0) }
        settled = []
        if candidates.isEmpty { done = nil }
    }

    private mutating func startOver(isCollected: Bool) {
        let visitedCount = visitedCount
        self = QueryScan(query, isPage: isPage)
        self.visitedCount = visitedCount
        self.isCollected = isCollected
    }

    private mutating func visitCandidates(_ rows: TreeRows, _ path: Path, countMax: Int) throws(StorageError) {
        var left = countMax
        while left > 0, let segment = candidates.popLast() {
            guard unvisited.remove(segment) != nil else { continue }
            left -= 1
            let child = Path(encoded: path.encoded + segment)
            let place = try rows.place(of: child, segment: segment, in: query.index, remembering: false)
            if let place, query.contains(place) { insert(place) }
            guard query.isOrderedByKey, !hasChanged, let max = enough, places.count >= max else { continue }
            isCut = !candidates.isEmpty
            candidates = []
        }
        if candidates.isEmpty { (done, unvisited) = (nil, []) }
    }

    private mutating func visitChildren(
        from start: [UInt8], _ rows: TreeRows, _ path: Path, countMax: Int
    ) throws(StorageError) {
        var found: [IndexPlace] = []
        var left = countMax
        var last: [UInt8]?
        let query = query
        let foundMax = query.isOrderedByKey ? enough.map { $0 - places.count } : nil
        try rows.forEachChild(
            of: path, from: start, below: [0xFF], .ascending
        ) { (child) throws(StorageError) in
            if left <= 0 || found.count == foundMax { return false }
            if let place = try rows.place(of: child, below: path, in: query.index), query.contains(place) {
                found.append(place)
            }
            left -= 1
            last = child.segment
            return true
        }
        for place in found { insert(place) }
        visitedCount += countMax - left
        isCut = isCut || found.count == foundMax
        done = left > 0 || found.count == foundMax ? nil : last.map { Path.subtreeEnd(of: $0) }
    }

    private mutating func visitEntries(
        of plan: IndexPlan, from start: [UInt8], _ rows: TreeRows, _ path: Path, _ indexes: IndexKeeper,
        countMax: Int
    ) throws(StorageError) {
        let lower = start.precedesBytewise(query.lower) ? query.lower : start
        let interval = KeyRange(lower: lower, upper: query.upper)
        let next = try indexes.firstPlaces(plan, at: path, in: interval, countMax: countMax)
        for (number, place) in next.places.enumerated() {
            if !plan.isExact {
                guard try rows.selects(place, query, at: path) else { continue }
            }
            insert(place)
            // Entries come in the query's order.
            if let max = enough, places.count >= max {
                visitedCount += number + 1
                (isCut, done) = (true, nil)
                return
            }
        }
        visitedCount += next.entryCount
        // No place is a prefix of another.
        done = next.isMore ? next.places.last.map { $0.bytes + [0] } : nil
    }

    /// Takes in what a commit did to a child.
    mutating func take(_ change: ChildChange) {
        if walk == .candidates, done != nil, let segment = (change.before ?? change.after)?.segment {
            // What is not among the candidates is not visited any more.
            let isNew = collecting.isEmpty ? unvisited.remove(segment) != nil : settled.insert(segment).inserted
            if !isNew, let before = change.before { remove(before) }
            if let after = change.after, query.contains(after) { insert(after) }
            hasChanged = true
            return
        }
        if let before = change.before, isVisited(before) { remove(before) }
        if let after = change.after, query.contains(after), isVisited(after) { insert(after) }
    }

    /// Whether the walk has passed a place. Later places are visited in their state at that time.
    private func isVisited(_ place: IndexPlace) -> Bool {
        guard let done else { return true }
        return (index == nil ? place.segment : place.bytes).precedesBytewise(done)
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

    /// So many places are enough if they are visited in the query's order.
    private var enough: Int? { query.limit?.side == .last ? nil : countMax }

    private var outermost: IndexPlace? { query.limit?.side == .last ? places.first : places.last }

    private func isBeyond(_ boundary: IndexPlace, _ place: IndexPlace) -> Bool {
        query.limit?.side == .last ? place < boundary : boundary < place
    }
}
