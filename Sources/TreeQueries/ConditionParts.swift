package import HearthJSONTree

/// The conditions of a query, as an index sees them. Made once for a query and all indexes: O(conditions).
package struct ConditionParts: Sendable {
    let orders: [ConditionQuery.Order]
    /// The values that a path may have.
    private(set) var allowed: [Path: ValueRanges] = [:]
    /// There are conditions of another kind, or on several paths at once.
    private(set) var hasOthers = false

    package init(_ query: ConditionQuery) {
        orders = query.orders
        for condition in query.conditions {
            if let (path, ranges) = ValueRanges.of(condition) {
                allowed[path] = allowed[path]?.intersection(ranges) ?? ranges
            } else {
                hasOthers = true
            }
        }
    }

    /// The paths that have one of some values, and those that have a range, but for those that are ordered by.
    var unordered: (fixed: [Path], ranged: [Path]) {
        let paths = allowed.keys.filter { path in !orders.contains { $0.path == path } }.sorted()
        return (paths.filter { allowed[$0]?.values != nil }, paths.filter { allowed[$0]?.values == nil })
    }
}
