package import HearthJSONTree

/// The query of a read, as a rule sees it (docs/rules.md 3.1).
package struct RuleQuery: Hashable, Sendable {
    package var index: QueryIndex
    /// The bounds' values: null if there is none.
    package var startAt: CanonicalJSON
    package var endAt: CanonicalJSON
    package var limit: QueryLimit?
    /// Those of a query with conditions, all of which hold for each child that it selects; nil for other queries.
    private var conditions: [Condition]?

    /// From clients' queries. Bounds that leave their own value out show as those that do not.
    package init(index: QueryIndex, start: QueryBound? = nil, end: QueryBound? = nil, limit: QueryLimit? = nil) {
        self.index = index
        startAt = start?.value ?? .null
        endAt = end?.value ?? .null
        self.limit = limit
    }

    /// A query with conditions. Rules that do not ask for conditions see a read without a query.
    package init(_ query: ConditionQuery, limit: QueryLimit?) {
        self.init(index: .conditions(query), limit: limit)
        conditions = query.conditions
    }

    func property(_ property: QueryProperty) -> RuleValue {
        switch property {
        case .orderByKey: return .bool(index == .key)
        case .orderByValue: return .bool(index == .value)
        case .orderByPriority: return .bool(index == .priority)
        case .orderByChild:
            guard case .child(let path) = index else { return .null }
            return .text(RuleText(path.text))
        case .startAt: return RuleValue(leaf: startAt, startAt.range)
        case .endAt: return RuleValue(leaf: endAt, endAt.range)
        // A query for one value is sent as both of its bounds.
        case .equalTo: return startAt == endAt ? RuleValue(leaf: startAt, startAt.range) : .null
        case .limitToFirst: return conditions == nil ? limitValue(.first) : .null
        case .limitToLast: return limitValue(.last)
        }
    }

    /// The limit, also that of a query with conditions.
    var firstCount: RuleValue { limitValue(.first) }

    /// The value that the strictest condition at a path requires; null without such a condition.
    func value(of bound: QueryConditionBound, at path: [UInt8]) -> RuleValue {
        var found: (value: CanonicalJSON, encoded: [UInt8])?
        for case .compare(let place, let comparison, let value) in conditions ?? []
        where place.encoded == path && bound.comparisons.contains(comparison) {
            let encoded = IndexValue.encoded(value)
            if let found, encoded.precedesBytewise(found.encoded) != (bound == .to) { continue }
            found = (value, encoded)
        }
        return found.map { RuleValue(leaf: $0.value, $0.value.range) } ?? .null
    }

    private func limitValue(_ side: QueryLimit.Side) -> RuleValue {
        guard let limit, limit.side == side else { return .null }
        return .number(Double(limit.count))
    }

    /// The value for a read without a query.
    static func plain(_ property: QueryProperty) -> RuleValue { property.type == .boolean ? .bool(false) : .null }
}

extension QueryConditionBound {
    fileprivate var comparisons: Set<Condition.Comparison> {
        switch self {
        case .equal: [.equal]
        case .from: [.equal, .greater, .notLess]
        case .to: [.equal, .less, .notGreater]
        }
    }
}
