import HearthJSONTree
import HearthTreeQueries
import HearthStorageErrors

/// Collects the children among which is what a query with conditions selects, from an index that has them in another
/// order. It can stop anywhere and go on later.
struct CandidateWalk {
    /// Of more the children are looked at in order.
    static let countMax = 10_000

    private let plan: IndexPlan
    private let countMax: Int
    /// The range that is read, and the entry after which it goes on.
    private var range = 0
    private var last: [UInt8]?
    /// Those that were found.
    private(set) var segments: [[UInt8]] = []

    init(_ plan: IndexPlan, countMax: Int) {
        self.plan = plan
        self.countMax = countMax
    }

    var index: IndexCatalog.Index { plan.index }
    var isDone: Bool { range == plan.ranges.ranges.count }
    /// There are more than are collected.
    var isTooMuch: Bool { segments.count > countMax }

    /// Reads up to so many entries.
    mutating func collect(_ entries: IndexEntries, _ path: Path, countMax: Int) throws(StorageError) {
        let prefix = IndexEntryKey.prefix(of: plan.index.number, at: path)
        var left = min(countMax, self.countMax + 1 - segments.count)
        while left > 0, !isDone {
            let bounds = plan.ranges.ranges[range].bounds(lower: [], upper: [0xFF])
            // No place is a prefix of another.
            let lower = last.map { $0 + [0] } ?? prefix + bounds.lower
            var found: [[UInt8]] = []
            var end: [UInt8]?
            try entries.scan(from: lower, below: prefix + bounds.upper, .ascending) { key in
                found.append(IndexPlace(Array(key[prefix.count...])).segment)
                left -= 1
                if left == 0 { end = Array(key) }
                return left > 0
            }
            segments += found
            last = end
            if end == nil { range += 1 }
        }
    }
}
