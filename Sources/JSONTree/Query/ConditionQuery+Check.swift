/// The limits of a query with conditions (Protocol.md 18.3).
extension ConditionQuery {
    package static let conditionsMax = 30
    package static let depthMax = 5
    package static let ordersMax = 10
    /// How many `in` and `not-in` have.
    package static let values = 1...100
    package static let fieldsMax = 20

    /// Throws if it exceeds the limits, or if its parts contradict each other.
    package func check() throws(QueryError) { try Self.check(conditions, orders, fields) }

    /// The same for the parts of a query, in any form.
    package static func check(
        _ conditions: [Condition], _ orders: [Order], _ fields: [Path]
    ) throws(QueryError) {
        var count = 0
        for condition in conditions { try condition.check(depth: 1, &count) }
        if count > conditionsMax { throw .tooManyConditions }
        if orders.count > ordersMax { throw .conditions("orderBy has more than \(ordersMax) paths") }
        if Set(orders.map(\.path)).count < orders.count { throw .conditions("orderBy has a path twice") }
        if fields.count > fieldsMax { throw .conditions("fields has more than \(fieldsMax) paths") }
        let fields = fields.sorted()
        for (field, next) in zip(fields, fields.dropFirst()) where field.contains(next) {
            throw .conditions("one of the fields lies in another")
        }
    }
}

extension Condition {
    /// Adds to `count` the conditions that are no lists.
    fileprivate func check(depth: Int, _ count: inout Int) throws(QueryError) {
        if depth > ConditionQuery.depthMax { throw .tooDeep }
        switch self {
        case .all(let list), .any(let list):
            for condition in list { try condition.check(depth: depth + 1, &count) }
            return
        case .compare(_, let comparison, let value):
            if !value.isComparable { throw .notComparable }
            if value.isNull, comparison != .equal, comparison != .notEqual {
                throw .conditions("null has no range: it can be compared with == and != only")
            }
        case .isIn(_, let values): try Self.check(values, of: "in")
        case .isNotIn(_, let values): try Self.check(values, of: "not-in")
        case .starts(_, let prefix):
            if prefix.stringUTF8 == nil { throw .conditions("starts needs a string") }
        }
        count += 1
    }

    private static func check(_ values: [CanonicalJSON], of word: String) throws(QueryError) {
        if !ConditionQuery.values.contains(values.count) { throw .wrongCount(of: word) }
        if !values.allSatisfy(\.isComparable) { throw .notComparable }
    }
}

extension CanonicalJSON {
    /// Whether conditions can compare with it: null, or a leaf without a priority.
    fileprivate var isComparable: Bool { bytes.first != UInt8(ascii: "{") }
}

extension QueryError {
    package static let tooManyConditions = conditions("there are more than \(ConditionQuery.conditionsMax) conditions")
    package static let tooDeep = conditions("conditions are nested more than \(ConditionQuery.depthMax) deep")
    package static let notComparable = conditions(
        "a value to compare with must be null, a Boolean, a number or a string")
    package static let notCursor = conditions("after is not a cursor of this query")

    package static func wrongCount(of word: String) -> QueryError {
        let values = ConditionQuery.values
        return .conditions("\(word) needs \(values.lowerBound) to \(values.upperBound) values")
    }
}
