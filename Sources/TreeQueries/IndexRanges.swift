package import HearthJSONTree

/// The ranges of an index that have what a query selects, each in the query's order.
///
/// An index of the query's own order has it as a whole. An index of several values has that of a query with conditions
/// if it begins with values that `==` and `in` fix, in any order, and continues with exactly the query's order. There
/// is a range for each combination of the fixed values, and no child is in two of them. Conditions on the first value
/// of that order, `starts` among them, bound the ranges.
package struct IndexRanges: Hashable, Sendable {
    package let ranges: [IndexRange]
    /// Whether all children in the ranges are selected. Otherwise conditions remain that each of them must be asked.
    package let isExact: Bool

    /// Combinations of fixed values.
    private static let rangesMax = 100

    /// Nil if the index does not serve the query.
    package init?(of query: Query, in index: QueryIndex) {
        if query.index == index {
            (ranges, isExact) = ([.whole], true)
            return
        }
        guard case .conditions(let kept) = index, kept.conditions.isEmpty, let asked = query.conditions else {
            return nil
        }
        let parts = ConditionParts(asked)
        let fixedCount = kept.orders.count - parts.orders.count
        guard fixedCount >= 0, kept.orders.dropFirst(fixedCount).elementsEqual(parts.orders), let bounds = parts.bounds
        else { return nil }
        var prefixes: [[UInt8]] = [[IndexPlace.conditionTag]]
        for order in kept.orders.prefix(fixedCount) {
            guard let values = parts.fixed[order.path], prefixes.count * values.count <= Self.rangesMax else {
                return nil
            }
            prefixes = prefixes.flatMap { prefix in values.map { prefix + order.turned($0) } }
        }
        isExact = !parts.hasOthers && parts.fixed.count == fixedCount
        // To look at every child in the order of an index costs more than in that of the keys, unless that can end.
        if !isExact, fixedCount == 0, parts.ranges.isEmpty, query.limit == nil { return nil }
        ranges = prefixes.map { IndexRange(prefix: $0, from: bounds.lower, below: bounds.upper) }
    }
}

extension ConditionQuery {
    /// The orders of the index that serves this best (``IndexRanges``). Nil if there is none, and for all children in
    /// the order of their keys, which need none.
    package var servingOrders: [Order]? {
        let parts = ConditionParts(self)
        let orders = parts.fixed.keys.sorted().map { Order($0) } + parts.orders
        // No index has a value twice.
        guard !orders.isEmpty, orders.count <= ConditionQuery.ordersMax,
            Set(orders.map(\.path)).count == orders.count
        else { return nil }
        return orders
    }

    /// Whether it selects all children in the order of their keys.
    package var isKeyOrder: Bool { conditions.isEmpty && orders.isEmpty && aggregates == nil }
}

/// The conditions of a query, as an index sees them.
private struct ConditionParts {
    /// The encoded values that a path may have, in their order.
    private(set) var fixed: [Path: [[UInt8]]] = [:]
    let orders: [ConditionQuery.Order]
    /// Conditions on the first value of the orders.
    private(set) var ranges: [Range] = []
    /// There are conditions that are neither.
    private(set) var hasOthers = false

    struct Range {
        let isLower: Bool
        let isInclusive: Bool
        /// An encoded value, or what those begin with that are in the range.
        let value: [UInt8]
    }

    init(_ query: ConditionQuery) {
        orders = query.orders
        for condition in query.conditions { add(condition) }
    }

    private mutating func add(_ condition: Condition) {
        switch condition {
        case .compare(let path, .equal, let value): fix(path, [value])
        case .isIn(let path, let values): fix(path, values)
        case .compare(let path, let comparison, let value)
        where comparison != .notEqual && path == orders.first?.path:
            let isLower = comparison == .greater || comparison == .notLess
            let isInclusive = comparison == .notLess || comparison == .notGreater
            ranges.append(Range(isLower: isLower, isInclusive: isInclusive, value: IndexValue.encoded(value)))
        case .starts(let path, let prefix) where path == orders.first?.path:
            // But for the byte that ends it.
            let value = Array(IndexValue.encoded(prefix).dropLast())
            ranges.append(Range(isLower: true, isInclusive: true, value: value))
            ranges.append(Range(isLower: false, isInclusive: true, value: value))
        default: hasOthers = true
        }
    }

    private mutating func fix(_ path: Path, _ values: [CanonicalJSON]) {
        if fixed[path] != nil || orders.contains(where: { $0.path == path }) {
            hasOthers = true
        } else {
            fixed[path] = Set(values.map(IndexValue.encoded)).sorted { $0.precedesBytewise($1) }
        }
    }

    /// Bounds of what follows the fixed values in an index; nil if the ranges are of different types.
    var bounds: (lower: [UInt8], upper: [UInt8])? {
        var bounds: (lower: [UInt8], upper: [UInt8]) = ([], [0xFF])
        guard let first = orders.first, let value = ranges.first?.value else { return bounds }
        let tags = Condition.tags(like: value)
        guard ranges.allSatisfy({ tags.contains($0.value[0]) }) else { return nil }
        let turned = first.isDescending ? ~tags.upperBound...(~tags.lowerBound) : tags
        bounds = ([turned.lowerBound], [turned.upperBound + 1])
        for range in ranges {
            let value = first.turned(range.value)
            // What follows a value, or the beginning of one, is less: the one byte 0xFF is the end of a text whose
            // order is turned, and less follows that.
            let beyond = value + [0xFF, 0xFF]
            let isLower = range.isLower != first.isDescending
            let bound = range.isInclusive == isLower ? value : beyond
            if isLower, bounds.lower.precedesBytewise(bound) { bounds.lower = bound }
            if !isLower, bound.precedesBytewise(bounds.upper) { bounds.upper = bound }
        }
        return bounds
    }
}
