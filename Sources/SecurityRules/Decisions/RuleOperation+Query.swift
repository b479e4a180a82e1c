package import HearthJSONTree
import HearthTreeQueries

extension RuleQuery {
    /// The query, which has one interval.
    package init(_ query: Query) {
        self.init(index: query.index, start: query.start, end: query.end, limit: query.limit)
    }
}

extension RuleOperation {
    /// A user who may do one of these may read the children that a query selects: a query with conditions selects no
    /// more than a plain read, or a query with one of its conditions. The first one is the requested read.
    package static func reads(of path: Path, _ query: Query?) -> [RuleOperation] {
        guard let query else { return [.read(path, nil)] }
        guard let conditions = query.conditions else { return [.read(path, RuleQuery(query))] }
        // The number of children that a scan has looked at tells more than the selection of one of these.
        if conditions.isExplained { return [.read(path, nil)] }
        return [.read(path, RuleQuery(conditions, limit: query.limit)), .read(path, nil)]
            + conditions.widerQueries(limit: query.limit).map { .read(path, RuleQuery($0)) }
    }
}
