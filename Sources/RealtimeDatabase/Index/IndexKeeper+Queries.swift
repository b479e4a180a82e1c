import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules
import HearthStorageErrors

extension IndexKeeper {
    /// A complete index that has what a query selects, alone or among others.
    struct Plan {
        let index: IndexCatalog.Index
        let ranges: IndexRanges

        /// Whether the index has exactly the selected children.
        var isExact: Bool { ranges.isExact }

        /// How many values the index compares: of those that serve a query, more leave less to be looked at.
        var valueCount: Int {
            if case .conditions(let query) = index.definition.index { query.orders.count } else { 1 }
        }
    }

    /// The best index for a query, if there is one.
    func plan(for query: Query, at path: Path) -> Plan? {
        if trie.isEmpty { return nil }
        var best: Plan?
        for index in trie.indexes(at: path) where index.isComplete {
            guard let ranges = IndexRanges(of: query, in: index.definition.index) else { continue }
            let plan = Plan(index: index, ranges: ranges)
            if plan.isExact { return plan }
            if best.map({ $0.valueCount < plan.valueCount }) ?? true { best = plan }
        }
        return best
    }

    /// The places of a query that an index has in an interval, from one side, up to `count` of them; and how many
    /// entries were read for that.
    func places(
        _ plan: Plan, at path: Path, in interval: KeyRange, _ direction: ScanDirection, count: Int?
    ) throws(StorageError) -> (places: [IndexPlace], entryCount: Int) {
        let prefix = IndexEntries.prefix(of: plan.index.number, at: path)
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
        _ plan: Plan, at path: Path, in interval: KeyRange, countMax: Int
    ) throws(StorageError) -> (places: [IndexPlace], entryCount: Int, isMore: Bool) {
        let prefix = IndexEntries.prefix(of: plan.index.number, at: path)
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
                try Database.reading { () throws(RuleTreeError) in
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
