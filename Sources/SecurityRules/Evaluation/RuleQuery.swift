package import HearthJSONTree

/// What a rule sees of the query of a read (docs/rules.md 3.1).
package struct RuleQuery: Hashable, Sendable {
    package var index: QueryIndex
    /// The bounds' values: null if there is none.
    package var startAt: CanonicalJSON
    package var endAt: CanonicalJSON
    package var limit: QueryLimit?

    /// From what clients ask for. Bounds that leave their own value out show as those that do not.
    package init(index: QueryIndex, start: QueryBound? = nil, end: QueryBound? = nil, limit: QueryLimit? = nil) {
        self.index = index
        startAt = start?.value ?? .null
        endAt = end?.value ?? .null
        self.limit = limit
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
        case .limitToFirst: return limitValue(.first)
        case .limitToLast: return limitValue(.last)
        }
    }

    private func limitValue(_ side: QueryLimit.Side) -> RuleValue {
        guard let limit, limit.side == side else { return .null }
        return .number(Double(limit.count))
    }

    /// What a read without a query shows.
    static func plain(_ property: QueryProperty) -> RuleValue { property.type == .boolean ? .bool(false) : .null }
}
