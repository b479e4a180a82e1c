package import HearthJSONTree

/// Reads the query object of a query with conditions (Protocol.md 18.3).
package struct ConditionParser {
    package static let limitDefault = 100

    private typealias Text = UnsafeRawBufferPointer

    /// Counted while they are read, so that a text of very many takes no memory.
    private var conditionsLeft = ConditionQuery.conditionsMax

    /// The query, with its limit and after its cursor.
    package static func query(_ text: [UInt8]) throws(QueryError) -> Query {
        try text.span.bytes.withUnsafeBytes { (text) throws(QueryError) in
            var parser = ConditionParser()
            return try parser.query(text)
        }
    }

    private mutating func query(_ text: Text) throws(QueryError) -> Query {
        var conditions: [Condition] = []
        var orders: [ConditionQuery.Order] = []
        var fields: [Path] = []
        var limit: Int? = Self.limitDefault
        var cursor: [UInt8]?
        var isExplained = false
        var kinds: Set<Aggregates.Kind> = []
        var of: Path?
        let members = try Self.members(text)
        for (name, value) in members {
            switch name {
            case "where": for part in try Self.elements(value, "where") { conditions.append(try condition(part, 1)) }
            case "orderBy":
                for part in try Self.elements(value, "orderBy") { orders.append(try Self.order(part)) }
            case "fields":
                for part in try Self.elements(value, "fields") { fields.append(try Self.path(part, "a field")) }
            case "limit": limit = try Self.limit(value)
            case "after":
                guard let text = Self.string(value) else { throw .conditions("after must be a string") }
                cursor = text
            case "aggregate": kinds = try Self.kinds(value)
            case "of": of = try Self.path(value, "of")
            case "explain": isExplained = value.equals("true")
            default: throw .conditions("unknown member \"\(name)\"")
            }
        }
        try ConditionQuery.check(conditions, orders, fields)
        fields.sort()
        if !kinds.isEmpty || of != nil {
            let aggregates = try Self.aggregates(kinds, of, beside: members.map(\.name))
            return Query(ConditionQuery(conditions, isExplained: isExplained, aggregates: aggregates))
        }
        let asked = ConditionQuery(conditions, orders: orders, fields: fields, isExplained: isExplained)
        var place: IndexPlace?
        if let cursor {
            place = asked.place(cursor: cursor)
            if place == nil { throw .notCursor }
        }
        return Query(asked, limit: limit.map { QueryLimit(.first, $0) }, after: place)
    }

    private static func kinds(_ text: Text) throws(QueryError) -> Set<Aggregates.Kind> {
        var kinds: Set<Aggregates.Kind> = []
        for part in try elements(text, "aggregate") {
            guard let name = string(part), let kind = Aggregates.Kind(rawValue: String(decoding: name, as: UTF8.self))
            else { throw .conditions("aggregate has one or more of average, count, max, min and sum") }
            kinds.insert(kind)
        }
        if kinds.isEmpty { throw .conditions("aggregate has one or more of average, count, max, min and sum") }
        return kinds
    }

    private static func aggregates(
        _ kinds: Set<Aggregates.Kind>, _ path: Path?, beside names: [String]
    ) throws(QueryError) -> Aggregates {
        for name in names where !["aggregate", "explain", "of", "where"].contains(name) {
            throw .conditions("\(name) cannot be combined with aggregate")
        }
        if kinds.isEmpty { throw .conditions("of needs aggregate") }
        if path == nil, kinds != [.count] { throw .conditions("all but count need of, the path of a number") }
        return Aggregates(kinds, of: kinds == [.count] ? nil : path)
    }

    /// Nil for null, which means all.
    private static func limit(_ text: Text) throws(QueryError) -> Int? {
        if text.equals("null") { return nil }
        var reader = JSONReader(text)
        guard let number = try? reader.integer(), number >= 1, let limit = Int(exactly: number) else {
            throw .conditions("limit must be a whole number from 1 on, or null for all")
        }
        return limit
    }

    private mutating func condition(_ text: Text, _ depth: Int) throws(QueryError) -> Condition {
        if depth > ConditionQuery.depthMax { throw .tooDeep }
        let parts = try Self.elements(text, "a condition")
        guard parts.count >= 2 else { throw Self.malformed }
        if parts[1].first == UInt8(ascii: "[") {
            var list: [Condition] = []
            for part in parts.dropFirst() { list.append(try condition(part, depth + 1)) }
            switch Self.string(parts[0]).map({ String(decoding: $0, as: UTF8.self) }) {
            case "and": return .all(list)
            case "or": return .any(list)
            default: throw .conditions("a list of conditions must begin with \"and\" or \"or\"")
            }
        }
        conditionsLeft -= 1
        if conditionsLeft < 0 { throw .tooManyConditions }
        guard parts.count == 3, let name = Self.string(parts[1]) else { throw Self.malformed }
        let path = try Self.path(parts[0], "the path of a condition")
        let word = String(decoding: name, as: UTF8.self)
        switch word {
        case "in", "not-in":
            let texts = try Self.elements(parts[2], "the value of \(word)")
            guard ConditionQuery.values.contains(texts.count) else { throw .wrongCount(of: word) }
            var values: [CanonicalJSON] = []
            for text in texts { values.append(try Self.leaf(text)) }
            return word == "in" ? .isIn(path, values) : .isNotIn(path, values)
        case "has":
            guard let key = Self.string(parts[2]), let child = try? Path(parsing: key), child.depth == 1 else {
                throw .conditions("has needs a key")
            }
            return .compare(path.appending(child), .notEqual, .null)
        case "starts":
            return .starts(path, try Self.leaf(parts[2]))
        default:
            guard let comparison = Condition.Comparison(rawValue: word) else {
                throw .conditions("unknown operator \"\(word.prefix(20))\"")
            }
            return .compare(path, comparison, try Self.leaf(parts[2]))
        }
    }

    private static let malformed = QueryError.conditions(
        "a condition must be [path, operator, value], or a list of conditions after \"and\" or \"or\"")

    private static func order(_ text: Text) throws(QueryError) -> ConditionQuery.Order {
        if text.first == UInt8(ascii: "\"") { return ConditionQuery.Order(try path(text, "a path of orderBy")) }
        let parts = try elements(text, "an element of orderBy")
        guard parts.count == 2, parts[1].equals("\"asc\"") || parts[1].equals("\"desc\"") else {
            throw .conditions("an element of orderBy must be a path, or [path, \"asc\"] or [path, \"desc\"]")
        }
        return ConditionQuery.Order(
            try path(parts[0], "a path of orderBy"), isDescending: parts[1].equals("\"desc\""))
    }

    /// A path below a child, or `.value` for the child itself.
    private static func path(_ text: Text, _ what: String) throws(QueryError) -> Path {
        guard let utf8 = string(text) else { throw .conditions("\(what) must be a string") }
        if utf8.elementsEqual(".value".utf8) { return .root }
        guard let path = try? Path(parsing: utf8), !path.isRoot else { throw .conditions("\(what) is invalid") }
        return path
    }

    private static func leaf(_ text: Text) throws(QueryError) -> CanonicalJSON {
        guard text.first != UInt8(ascii: "{"), text.first != UInt8(ascii: "[") else { throw .notComparable }
        guard let value = try? CanonicalJSON.parse(text.bytes).value else {
            throw .conditions("a value to compare with is invalid")
        }
        return value
    }

    private static func string(_ text: Text) -> [UInt8]? {
        guard text.first == UInt8(ascii: "\"") else { return nil }
        var reader = JSONReader(text)
        return try? reader.string()
    }

    /// The members of an object, each once.
    private static func members(_ text: Text) throws(QueryError) -> [(name: String, value: Text)] {
        var members: [(name: String, value: Text)] = []
        do throws(JSONError) {
            var reader = JSONReader(text)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let name = String(decoding: key.prefix(100), as: UTF8.self)
                members.append((name, try reader.skipValue()))
            }
            try reader.finish()
        } catch {
            throw .conditions("the query must be a JSON object")
        }
        if Set(members.map(\.name)).count < members.count { throw .conditions("the query has a member twice") }
        return members
    }

    /// The elements of an array, nulls among them.
    private static func elements(_ text: Text, _ what: String) throws(QueryError) -> [Text] {
        guard text.count >= 2, text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]") else {
            throw .conditions("\(what) must be a list")
        }
        var elements: [Text] = []
        do throws(JSONError) {
            var reader = JSONReader(Text(rebasing: text.dropFirst().dropLast()))
            if reader.isAtEnd { return [] }
            while true {
                elements.append(try reader.skipValue())
                if reader.isAtEnd { return elements }
                try reader.expect(UInt8(ascii: ","))
            }
        } catch {
            throw .conditions("\(what) is not valid JSON")
        }
    }
}
