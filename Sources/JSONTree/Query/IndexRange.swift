/// The range of an index that holds what a query selects, in the query's order.
///
/// An index of the query's own order has it as a whole. An index of several values has that of a query with conditions
/// if it begins with the values that are to be equal, in any order, and goes on with exactly the query's order. Of the
/// first value of that order there may be conditions that make a range. After the equal values, the places of the index
/// and of the query are the same bytes.
package struct IndexRange: Hashable, Sendable {
    private let prefix: [UInt8]
    private let queryPrefix: [UInt8]
    private let lower: [UInt8]
    private let upper: [UInt8]

    /// More than any byte with which a part of a place begins.
    private static let top: UInt8 = 0xFF

    /// Nil if the index does not serve the query.
    package init?(of query: Query, in index: QueryIndex) {
        if query.index == index {
            (prefix, queryPrefix, lower, upper) = ([], [], [], [Self.top])
            return
        }
        guard case .conditions(let kept) = index, kept.conditions.isEmpty,
            let parts = query.conditions.flatMap({ ConditionParts($0) }), kept.orders.count >= parts.equal.count
        else { return nil }
        let head = kept.orders.prefix(parts.equal.count)
        guard Set(head.map(\.path)) == Set(parts.equal.keys),
            Array(kept.orders.dropFirst(parts.equal.count)) == parts.orders
        else { return nil }
        var prefix = [IndexPlace.conditionTag]
        for order in head { prefix += order.encoded(parts.equal[order.path] ?? .null) }
        guard let range = parts.range else { return nil }
        self.prefix = prefix
        queryPrefix = [IndexPlace.conditionTag]
        lower = prefix + range.lower
        upper = prefix + range.upper
    }

    /// The part of the range whose places in the query lie in `lower <= place < upper`.
    package func bounds(lower: [UInt8], upper: [UInt8]) -> (lower: [UInt8], upper: [UInt8]) {
        let (from, to) = (inIndex(lower), inIndex(upper))
        return (
            from.precedesBytewise(self.lower) ? self.lower : from, to.precedesBytewise(self.upper) ? to : self.upper
        )
    }

    /// The query's place of an entry of the range.
    package func place(ofEntry entry: ArraySlice<UInt8>) -> IndexPlace {
        IndexPlace(queryPrefix + entry.dropFirst(prefix.count))
    }

    private func inIndex(_ bound: [UInt8]) -> [UInt8] {
        bound.starts(with: queryPrefix) ? prefix + bound.dropFirst(queryPrefix.count) : bound
    }
}

extension ConditionQuery {
    /// The orders of an index that has what this selects, in its order (``IndexRange``). Nil if there is none, and for
    /// all children in the order of their keys, which need none.
    package var servingOrders: [Order]? {
        guard let parts = ConditionParts(self), !parts.equal.isEmpty || !parts.orders.isEmpty,
            // No index has a value twice.
            !parts.orders.contains(where: { parts.equal[$0.path] != nil })
        else { return nil }
        return parts.equal.keys.sorted().map { Order($0) } + parts.orders
    }

    /// Whether it selects all children in the order of their keys.
    package var isKeyOrder: Bool { conditions.isEmpty && orders.isEmpty && aggregates == nil }
}

/// A query that is equalities, and ranges of the first value that it is ordered by.
private struct ConditionParts {
    var equal: [Path: CanonicalJSON] = [:]
    var orders: [ConditionQuery.Order]
    /// Conditions on the first value of the orders.
    private var ranges: [(isLower: Bool, isInclusive: Bool, value: [UInt8])] = []

    init?(_ query: ConditionQuery) {
        orders = query.orders
        for condition in query.conditions {
            switch condition {
            case .compare(let path, .equal, let value):
                guard equal.updateValue(value, forKey: path) == nil else { return nil }
            case .compare(let path, let comparison, let value) where comparison != .notEqual:
                guard path == orders.first?.path else { return nil }
                let isLower = comparison == .greater || comparison == .notLess
                let isInclusive = comparison == .notLess || comparison == .notGreater
                ranges.append((isLower, isInclusive, IndexValue.encoded(value)))
            default: return nil
            }
        }
    }

    /// Bounds of what follows the equal values in an index; nil if the values are of different types.
    var range: (lower: [UInt8], upper: [UInt8])? {
        var bounds: (lower: [UInt8], upper: [UInt8]) = ([], [0xFF])
        guard let first = orders.first, let value = ranges.first?.value else { return bounds }
        let tags = Condition.tags(like: value)
        guard ranges.allSatisfy({ tags.contains($0.value[0]) }) else { return nil }
        let turned = first.isDescending ? ~tags.upperBound...(~tags.lowerBound) : tags
        bounds = ([turned.lowerBound], [turned.upperBound + 1])
        for range in ranges {
            let value = first.turned(range.value)
            // No encoded value is the beginning of another one, and what follows one is less than 0xFF.
            let isLower = range.isLower != first.isDescending
            let bound = range.isInclusive == isLower ? value : value + [0xFF]
            if isLower, bounds.lower.precedesBytewise(bound) { bounds.lower = bound }
            if !isLower, bound.precedesBytewise(bounds.upper) { bounds.upper = bound }
        }
        return bounds
    }
}

extension ConditionQuery.Order {
    /// As a part of a place.
    fileprivate func encoded(_ value: CanonicalJSON) -> [UInt8] { turned(IndexValue.encoded(value)) }
}
