import HearthJSONTree
import HearthTreeQueries

/// Indexes of several values (docs/using/additions.md 7).
extension SettingsParser {
    /// `[["state", ["due", "desc"]], …]`: a list of indexes, each a list of its order values.
    mutating func indexes(_ pattern: IndexPattern) throws(Mistake) {
        try list { (parser) throws(Mistake) in try parser.appendIndex(pattern) }
    }

    private mutating func appendIndex(_ pattern: IndexPattern) throws(Mistake) {
        let offset = reader.offset
        var orders: [ConditionQuery.Order] = []
        try list { (parser) throws(Mistake) in
            let offset = parser.reader.offset
            let order = try parser.order()
            if orders.contains(where: { $0.path == order.path }) {
                throw Mistake("The path is named twice.", at: offset)
            }
            orders.append(order)
        }
        guard (1...ConditionQuery.ordersMax).contains(orders.count) else {
            throw Mistake("An index orders by 1 to \(ConditionQuery.ordersMax) paths.", at: offset)
        }
        let index = IndexDefinition(pattern: pattern, index: .conditions(ConditionQuery([], orders: orders)))
        if indexes.contains(index) { throw Mistake("The index is named twice.", at: offset) }
        indexes.append(index)
    }

    /// `"due"`, or `["due", "desc"]`.
    private mutating func order() throws(Mistake) -> ConditionQuery.Order {
        if try reader.peek() == UInt8(ascii: "\"") { return ConditionQuery.Order(try orderedPath()) }
        let offset = reader.offset
        var path: Path?
        var isDescending: Bool?
        try list { (parser) throws(Mistake) in
            if path == nil {
                path = try parser.orderedPath()
                return
            }
            let offset = parser.reader.offset
            let word = try parser.reader.string().string
            guard isDescending == nil, word == "asc" || word == "desc" else {
                throw Mistake("Expected \"asc\" or \"desc\".", at: offset)
            }
            isDescending = word == "desc"
        }
        guard let path else { throw Mistake("Expected a path, or [path, \"desc\"].", at: offset) }
        return ConditionQuery.Order(path, isDescending: isDescending ?? false)
    }

    private mutating func orderedPath() throws(Mistake) -> Path {
        switch try comparedValue() {
        case .child(let path): path
        default: .root
        }
    }

    private mutating func list(_ body: (inout Self) throws(Mistake) -> Void) throws(Mistake) {
        guard try reader.peek() == UInt8(ascii: "[") else {
            throw Mistake(
                "'.index' is a list of indexes, such as [[\"state\", [\"due\", \"desc\"]]].", at: reader.offset)
        }
        try forEachElement(UInt8(ascii: "["), UInt8(ascii: "]"), body)
    }
}
