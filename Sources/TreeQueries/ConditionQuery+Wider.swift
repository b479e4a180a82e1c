package import HearthJSONTree

extension ConditionQuery {
    /// The queries with one bound each that select at least the same children. Permission for one of them is permission
    /// for this query. The limit is only that of a query for one value, all of whose children can be had page by page.
    package func widerQueries(limit: QueryLimit?) -> [Query] {
        conditions.compactMap { condition in
            guard case .compare(let path, let comparison, let value) = condition, !path.isRoot else { return nil }
            let bound = QueryBound(value)
            return switch comparison {
            case .equal: try? Query(index: .child(path), start: bound, end: bound, limit: limit)
            case .greater, .notLess: try? Query(index: .child(path), start: bound)
            case .less, .notGreater: try? Query(index: .child(path), end: bound)
            case .notEqual: nil
            }
        }
    }
}
