package import HearthJSONTree

/// The ranges of an index that have the children that a query selects. No child is in two of them.
///
/// An index of the query's own order has it as a whole. An index of several values has that of a query with conditions
/// in the query's order if it begins with values that the conditions fix, in any order, and continues with exactly the
/// query's order: there is a range for each combination of the fixed values, and for each range of the first value of
/// that order. Other indexes that a condition bounds have it in another order (``init(candidatesOf:_:in:)``).
package struct IndexRanges: Hashable, Sendable {
    package let ranges: [IndexRange]
    /// Whether all children in the ranges are selected. Otherwise conditions remain that each of them must be asked.
    package let isExact: Bool
    /// How many values of the index are bounded by conditions: more leave less to be looked at.
    package let constraintCount: Int

    /// Combinations of fixed values and ranges.
    private static let rangesMax = 100

    /// The ranges, each in the query's order. Nil if the index does not have that. `parts` are those of the query's
    /// conditions.
    package init?(of query: Query, _ parts: ConditionParts?, in index: QueryIndex) {
        if query.index.named == index {
            (ranges, isExact, constraintCount) = ([.whole], !query.hidesExpired, 0)
            return
        }
        guard case .conditions(let kept) = index, kept.conditions.isEmpty, let parts else { return nil }
        let fixedCount = kept.orders.count - parts.orders.count
        guard fixedCount >= 0, kept.orders.dropFirst(fixedCount).elementsEqual(parts.orders) else { return nil }
        var bounds = IndexBounds([IndexPlace.conditionTag])
        for order in kept.orders.prefix(fixedCount) {
            guard let values = parts.allowed[order.path]?.values, bounds.fix(values, order, Self.rangesMax) else {
                return nil
            }
        }
        var constraintCount = fixedCount
        if let first = parts.orders.first, let allowed = parts.allowed[first.path] {
            guard bounds.cut(allowed, first, Self.rangesMax) else { return nil }
            constraintCount += 1
        }
        isExact = !parts.hasOthers && parts.allowed.count == constraintCount && !query.hidesExpired
        // To look at every child in the order of an index costs more than in that of the keys, unless that can end.
        if !isExact, constraintCount == 0, query.limit == nil { return nil }
        ranges = bounds.ranges
        self.constraintCount = constraintCount
    }

    /// The ranges with all children that a query with conditions selects, in any order. Nil if the conditions do not
    /// bound the first value of the index.
    package init?(candidatesOf query: Query, _ parts: ConditionParts?, in index: QueryIndex) {
        guard let parts else { return nil }
        let orders: [ConditionQuery.Order]
        var bounds: IndexBounds
        switch index {
        case .conditions(let kept) where kept.conditions.isEmpty:
            (orders, bounds) = (kept.orders, IndexBounds([IndexPlace.conditionTag]))
        case .child(let path): (orders, bounds) = ([ConditionQuery.Order(path)], IndexBounds([]))
        case .value: (orders, bounds) = ([ConditionQuery.Order(.root)], IndexBounds([]))
        case .conditions, .key, .priority, .unexpired: return nil
        }
        var constraintCount = 0
        for order in orders {
            guard let allowed = parts.allowed[order.path] else { break }
            if let values = allowed.values, bounds.fix(values, order, Self.rangesMax) {
                constraintCount += 1
                continue
            }
            if bounds.cut(allowed, order, Self.rangesMax) { constraintCount += 1 }
            break
        }
        if constraintCount == 0 { return nil }
        isExact = !parts.hasOthers && parts.allowed.count == constraintCount && !query.hidesExpired
        ranges = bounds.ranges
        self.constraintCount = constraintCount
    }
}

/// Ranges of an index in the making: the values that are fixed so far, and the bounds of the one after them.
private struct IndexBounds {
    private var prefixes: [[UInt8]]
    private var last = ValueRanges.everything.ranges

    init(_ head: [UInt8]) { prefixes = [head] }

    /// The next value of the index is one of these. Not if there would be too many ranges.
    mutating func fix(_ values: [[UInt8]], _ order: ConditionQuery.Order, _ countMax: Int) -> Bool {
        guard prefixes.count * values.count <= countMax else { return false }
        prefixes = prefixes.flatMap { prefix in values.map { prefix + order.turned($0) } }
        return true
    }

    /// The next value of the index is in one of these ranges. Nothing can follow.
    mutating func cut(_ allowed: ValueRanges, _ order: ConditionQuery.Order, _ countMax: Int) -> Bool {
        guard prefixes.count * allowed.ranges.count <= countMax else { return false }
        last = allowed.ranges.map { $0.turned(order) }
        return true
    }

    var ranges: [IndexRange] {
        prefixes.flatMap { prefix in
            last.map { IndexRange(prefix: prefix, from: $0.lower.position, below: $0.upper.position) }
        }
    }
}
