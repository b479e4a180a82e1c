import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

extension IndexKeeper {
    /// The best index that has what a query selects in the query's order, if there is one. `parts` are those of the
    /// query's conditions, for who asks often.
    func plan(for query: Query, at path: Path, _ parts: ConditionParts? = nil) -> IndexPlan? {
        if trie.isEmpty { return nil }
        let parts = parts ?? query.conditions.map(ConditionParts.init)
        var best: IndexPlan?
        for index in trie.indexes(at: path) where index.isComplete {
            guard let ranges = IndexRanges(of: query, parts, in: index.definition.index) else { continue }
            let plan = IndexPlan(index: index, ranges: ranges)
            if plan.isExact { return plan }
            if best.map({ $0.constraintCount < plan.constraintCount }) ?? true { best = plan }
        }
        return best
    }

    /// The indexes that have what a query with conditions selects in another order, and leave less to be looked at than
    /// the one that has it in order, if that does not have it alone; the best come first.
    private func candidatePlans(for query: Query, at path: Path, beside plan: IndexPlan?) -> [IndexPlan] {
        if trie.isEmpty || query.conditions == nil || plan?.isExact == true { return [] }
        let parts = query.conditions.map(ConditionParts.init)
        var plans: [IndexPlan] = []
        for index in trie.indexes(at: path) where index.isComplete {
            guard let ranges = IndexRanges(candidatesOf: query, parts, in: index.definition.index),
                ranges.constraintCount > plan?.constraintCount ?? 0
            else { continue }
            plans.append(IndexPlan(index: index, ranges: ranges))
        }
        return plans.sorted {
            ($1.constraintCount, $0.index.number) < ($0.constraintCount, $1.index.number)
        }
    }

    /// Whether some index has what a query with conditions selects and nothing else, in another order.
    func hasCandidates(for query: Query, at path: Path) -> Bool {
        candidatePlans(for: query, at: path, beside: nil).contains(where: \.isExact)
    }

    /// Walks through the entries of the indexes that have, among others, what a query with conditions selects; the best
    /// come first: those that have few, then those of which conditions bound more values. Reads some entries of each
    /// index to find that out.
    func candidateWalks(
        for query: Query, at path: Path, beside plan: IndexPlan?
    ) throws(StorageError) -> (walks: [CandidateWalk], entryCount: Int) {
        let plans = candidatePlans(for: query, at: path, beside: plan).prefix(Self.comparedMax)
        // What comes in order can end when there is enough of it.
        let endsEarly = query.limit != nil && (plan != nil || query.isOrderedByKey)
        let countMax = endsEarly ? CandidateWalk.countMax / 10 : CandidateWalk.countMax
        let walks = plans.map { CandidateWalk($0, countMax: countMax) }
        if walks.count < 2 { return (walks, 0) }
        var entryCount = 0
        var (short, long): ([CandidateWalk], [CandidateWalk]) = ([], [])
        for walk in walks {
            var begun = walk
            try begun.collect(entries, path, countMax: Self.comparedEntries)
            entryCount += begun.segments.count
            if begun.isDone { short.append(begun) } else { long.append(walk) }
        }
        short.sort { $0.segments.count < $1.segments.count }
        return (short + long, entryCount)
    }

    /// Indexes that are compared, and entries that are read of each.
    private static let comparedMax = 10
    private static let comparedEntries = 100

    /// Whether an index is still there with all of its entries.
    func isUsable(_ index: IndexCatalog.Index) -> Bool {
        catalog.indexes.contains { $0.number == index.number && $0.isComplete }
    }

    /// The places of a query that an index has in an interval, from one side, up to `count` of them; and how many
    /// entries were read for that.
    func places(
        _ plan: IndexPlan, at path: Path, in interval: KeyRange, _ direction: ScanDirection, count: Int?
    ) throws(StorageError) -> (places: [IndexPlace], entryCount: Int) {
        let prefix = IndexEntryKey.prefix(of: plan.index.number, at: path)
        var places: [IndexPlace] = []
        for range in plan.ranges.ranges {
            let bounds = range.bounds(lower: interval.lower, upper: interval.upper)
            var left = count ?? .max
            try entries.scan(from: prefix + bounds.lower, below: prefix + bounds.upper, direction) { key in
                places.append(range.place(ofEntry: key[prefix.count...]))
                left -= 1
                return left > 0
            }
        }
        let entryCount = places.count
        if plan.ranges.ranges.count > 1 {
            places.sort { direction == .ascending ? $0 < $1 : $1 < $0 }
            if let count, places.count > count { places.removeLast(places.count - count) }
        }
        return (places, entryCount)
    }

    /// The first places of a query that an index has in an interval. About `countMax` entries are read, of all ranges
    /// together; there are more places beyond those that are answered if `isMore`.
    func firstPlaces(
        _ plan: IndexPlan, at path: Path, in interval: KeyRange, countMax: Int
    ) throws(StorageError) -> (places: [IndexPlace], entryCount: Int, isMore: Bool) {
        let prefix = IndexEntryKey.prefix(of: plan.index.number, at: path)
        let rangeMax = max(1, countMax / max(1, plan.ranges.ranges.count)) + 1
        var places: [IndexPlace] = []
        // Up to here all ranges were read.
        var end: IndexPlace?
        for range in plan.ranges.ranges {
            let bounds = range.bounds(lower: interval.lower, upper: interval.upper)
            var left = rangeMax
            try entries.scan(from: prefix + bounds.lower, below: prefix + bounds.upper, .ascending) { key in
                places.append(range.place(ofEntry: key[prefix.count...]))
                left -= 1
                return left > 0
            }
            if left == 0, let last = places.last { end = end.map { min($0, last) } ?? last }
        }
        let entryCount = places.count
        if plan.ranges.ranges.count > 1 { places.sort() }
        if let end { places.removeLast(places.count - places.partitioningIndex { end < $0 }) }
        return (places, entryCount, end != nil)
    }

    /// The first value that a write gives to two children of a collection where it must be unique. `assignments` are
    /// those of one commit, not applied yet; `prepared` are the rows of the first large value among them.
    func uniqueConflict(
        _ assignments: [Assignment], _ prepared: PreparedRows?, in rows: TreeRows
    ) throws(Failure) -> UniqueConflict? {
        var check = UniqueCheck(rows, entries, assignments)
        for assignment in assignments where !assignment.target.isPriority {
            let path = assignment.target.path
            var concerned: [(indexes: [IndexCatalog.Index], child: Range<Int>)] = []
            let nodes = trie.walk(path) { concerned.append(($0, $1)) }
            for (indexes, range) in concerned {
                let (collection, child) = (path.prefix(bytes: range.lowerBound), path.prefix(bytes: range.upperBound))
                try Failure.reading { () throws(RuleTreeError) in
                    for index in indexes where index.isUnique { try check.add(child, of: collection, index) }
                }
            }
            if let prepared, let entries = prepared.entries, entries.isOf(catalog.indexes),
                prepared.value.isSameText(as: assignment.value)
            {
                guard let found = entries.conflict else { continue }
                return UniqueConflict(collection: path.appending(found.collection), index: found.index)
            }
            for node in nodes {
                let value = assignment.value
                if let found = UniqueCheck.conflict(in: value, value.range, at: path, node) { return found }
            }
        }
        do throws(StorageError) {
            return try check.conflict()
        } catch {
            throw .unavailable(error)
        }
    }
}
