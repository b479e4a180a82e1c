package import HearthJSONTree

extension ConditionQuery {
    /// The orders of the index that serves this best. Nil if there is none, and for all children in the order of their
    /// keys, which need none.
    ///
    /// First come the values that are fixed, and then the query's order: such an index has the selected children in
    /// order.
    /// If there is a range of another value than the first of that order, the range comes instead: then only children
    /// in it are looked at.
    package var servingOrders: [Order]? {
        let parts = ConditionParts(self)
        let (fixed, ranged) = parts.unordered
        let isOrderBounded = parts.orders.first.map { parts.allowed[$0.path] != nil } ?? false
        let rest = isOrderBounded ? parts.orders : ranged.first.map { [Order($0)] } ?? parts.orders
        let orders = fixed.map { Order($0) } + rest
        guard !orders.isEmpty, orders.count <= ConditionQuery.ordersMax else { return nil }
        return orders
    }

    /// Whether it selects all children in the order of their keys.
    package var isKeyOrder: Bool { conditions.isEmpty && orders.isEmpty && aggregates == nil }
}

/// How well an index serves a query, from worst to best.
package struct IndexWorth: Comparable, Sendable {
    /// It has the selected children and no others, in order.
    private let hasAll: Bool
    private let constraintCount: Int
    private let isInOrder: Bool

    /// Nil if it does not serve it at all.
    package init?(of index: QueryIndex, for query: Query, _ parts: ConditionParts?) {
        if let ranges = IndexRanges(of: query, parts, in: index) {
            (hasAll, constraintCount, isInOrder) = (ranges.isExact, ranges.constraintCount, true)
        } else if let ranges = IndexRanges(candidatesOf: query, parts, in: index) {
            (hasAll, constraintCount, isInOrder) = (false, ranges.constraintCount, false)
        } else {
            return nil
        }
    }

    package static func < (a: IndexWorth, b: IndexWorth) -> Bool {
        (a.hasAll ? 1 : 0, a.constraintCount, a.isInOrder ? 1 : 0)
            < (b.hasAll ? 1 : 0, b.constraintCount, b.isInOrder ? 1 : 0)
    }
}
