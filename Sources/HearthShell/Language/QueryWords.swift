import HearthJSONTree
package import HearthWireProtocol
import HearthServerProtocol

/// The options that make a query of a path, on the command line and in the shell.
package enum QueryWords {
    package static let options =
        [
            CommandOption(
                name: "order-by", value: "ORDER", help: "key, value, priority, or a path below the children as /PATH"),
            CommandOption(name: "limit-to-first", value: "N", help: "the first N children in that order"),
            CommandOption(name: "limit-to-last", value: "N", help: "the last N"),
            CommandOption(name: "start-at", value: "JSON", help: "children from this value on"),
            CommandOption(name: "start-after", value: "JSON", help: "children after this value"),
            CommandOption(name: "end-at", value: "JSON", help: "children up to this value"),
            CommandOption(name: "end-before", value: "JSON", help: "children before this value"),
            CommandOption(name: "equal-to", value: "JSON", help: "children of this value"),
            CommandOption(name: "where", value: "CONDITION", help: "children for which a condition holds: see 'find'"),
            CommandOption(
                name: "fields", value: "PATHS", help: "with --where: only these parts of each, as title,meta/by"),
        ] + aggregateOptions

    package static let aggregateOptions = [
        CommandOption(name: "aggregate", value: "KINDS", help: "no children, but their " + aggregatesHelp),
        CommandOption(name: "of", value: "PATH", help: "where the number is in each child, or .value"),
    ]

    private static let aggregatesHelp = "count, sum, average, min, max, as count,sum"

    package static let details = """
        With --order-by and what follows it only some children are shown. Bounds are JSON; with --order-by key they are
        keys, without quotes.
        """

    package static let ordersHelp = "value, or paths below the children: '/priority desc,/due'"

    package static let conditionDetails = """
        Paths in conditions are relative to each child, and .value is the child itself. A value is null, true, false, a number
        or a "text". The operators are ==, !=, <, <=, >, >=, in and not-in with a list as ["a","b"], has with a key, and starts
        with a text; and binds before or.
        """

    /// The children for which a condition holds, or all of them if it is empty.
    ///
    /// - parameters:
    ///   - orders: paths with commas between them, each perhaps with `desc` after it.
    ///   - fields: likewise.
    static func find(
        _ condition: String, orders: String?, fields: String? = nil, isExplained: Bool = false
    ) throws(ShellError) -> ConditionQuery {
        var members: [String] = []
        if condition.contains(where: { !$0.isWhitespace }) {
            members.append("\"where\":[\(try ConditionWords.condition(condition))]")
        }
        let query = try object(Array("{\(members.joined())}".utf8)).query.conditions
        var ordered: [ConditionQuery.Order] = []
        for part in orders.map(parts) ?? [] { if let order = try order(part) { ordered.append(order) } }
        let chosen = try (fields.map(parts) ?? []).map { (part) throws(ShellError) in try path(part, "--fields") }
        return ConditionQuery(query?.conditions ?? [], orders: ordered, fields: chosen, isExplained: isExplained)
    }

    /// The figures of children instead of the children; nil if not requested.
    ///
    /// - parameter option: the value of an option, by its name without dashes.
    static func aggregates(_ option: (String) -> String?) throws(ShellError) -> Aggregates? {
        let of = option("of")
        guard let list = option("aggregate") else {
            if of != nil { throw .usage("--of needs --aggregate") }
            return nil
        }
        var kinds: Set<Aggregates.Kind> = []
        for part in parts(list) {
            guard let kind = Aggregates.Kind(rawValue: String(part)) else {
                throw .usage("--aggregate is one or more of \(aggregatesHelp), not '\(part)'")
            }
            kinds.insert(kind)
        }
        if kinds == [.count] || kinds.isEmpty { return Aggregates([.count], of: nil) }
        guard let of else { throw .usage("all aggregates but count need --of, the path of a number") }
        return Aggregates(kinds, of: of == ".value" ? .root : try path(of[...], "--of"))
    }

    /// The query as it is sent.
    ///
    /// - parameter limit: nil for all children.
    static func object(
        _ query: ConditionQuery, limit: Int?, after cursor: String? = nil
    ) throws(ShellError) -> QueryObject {
        try object(query.text(limit: limit, after: cursor.map { Array($0.utf8) }))
    }

    private static func object(_ text: [UInt8]) throws(ShellError) -> QueryObject {
        do throws(RequestError) { return try QueryObject(parsingConditions: text) } catch {
            throw .usage(error.message)
        }
    }

    private static func parts(_ list: String) -> [Substring] {
        list.split(separator: ",").map { part in
            let start = part.drop(while: \.isWhitespace)
            return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? ""
        }
    }

    /// Nil for that of the keys.
    private static func order(_ part: Substring) throws(ShellError) -> ConditionQuery.Order? {
        let isDescending = part.hasSuffix(" desc")
        let name = isDescending ? part.dropLast(5) : part.hasSuffix(" asc") ? part.dropLast(4) : part
        switch name {
        case "key" where !isDescending: return nil
        case "value": return ConditionQuery.Order(.root, isDescending: isDescending)
        case "key", "priority": throw .usage("children with conditions have no order '\(part)'")
        default: return ConditionQuery.Order(try path(name, "--order-by"), isDescending: isDescending)
        }
    }

    private static func path(_ text: Substring, _ option: String) throws(ShellError) -> Path {
        guard let path = try? Path(parsing: String(text)), !path.isRoot else {
            throw .usage("'\(text)' in \(option) is not a path below a child")
        }
        return path
    }

    /// Nil if no option asks for a query.
    ///
    /// - parameter option: the value of an option, by its name without dashes.
    package static func query(_ option: (String) -> Word?) throws(ShellError) -> QueryObject? {
        guard options.contains(where: { option($0.name) != nil }) else { return nil }
        if let aggregates = try aggregates({ option($0)?.text }) {
            let allowed = ["where", "aggregate", "of"]
            if let other = options.first(where: { option($0.name) != nil && !allowed.contains($0.name) }) {
                throw .usage("--\(other.name) does not go with --aggregate")
            }
            let query = try find(option("where")?.unquoted ?? "", orders: nil)
            return try object(ConditionQuery(query.conditions, aggregates: aggregates), limit: nil)
        }
        if let condition = option("where") {
            let allowed = ["where", "order-by", "limit-to-first", "fields"]
            if let other = options.first(where: { option($0.name) != nil && !allowed.contains($0.name) }) {
                throw .usage("--\(other.name) does not go with --where")
            }
            let query = try find(condition.unquoted, orders: option("order-by")?.text, fields: option("fields")?.text)
            return try object(query, limit: try limit("limit-to-first", option))
        }
        if option("fields") != nil { throw .usage("--fields needs --where") }
        let index = try index(option("order-by")?.text)
        let first = try limit("limit-to-first", option)
        let last = try limit("limit-to-last", option)
        let limits = [first.map { QueryLimit(.first, $0) }, last.map { QueryLimit(.last, $0) }].compactMap { $0 }
        guard limits.count < 2 else { throw .usage("only one of --limit-to-first and --limit-to-last") }
        var start: QueryBound?
        var end: QueryBound?
        for name in ["start-at", "start-after", "end-at", "end-before", "equal-to"] {
            guard let word = option(name) else { continue }
            let value = try bound(word, name, in: index)
            let isStart = name.hasPrefix("start") || name == "equal-to"
            let isEnd = name.hasPrefix("end") || name == "equal-to"
            guard !isStart || start == nil, !isEnd || end == nil else {
                throw .usage("--\(name) does not go with another bound at the same side")
            }
            // All children of the value are left out.
            if isStart {
                start = name == "start-after" ? QueryBound(value, key: .highest, isInclusive: false) : .init(value)
            }
            if isEnd { end = name == "end-before" ? QueryBound(value, key: .lowest, isInclusive: false) : .init(value) }
        }
        do throws(QueryError) {
            return try QueryObject(index: index, start: start, end: end, limit: limits.first)
        } catch {
            throw .usage("\(error)")
        }
    }

    private static func limit(_ name: String, _ option: (String) -> Word?) throws(ShellError) -> Int? {
        guard let text = option(name)?.text else { return nil }
        guard let value = Int(text), value > 0 else {
            throw .usage("--\(name) must be a number from 1 to \(Int.max), not '\(text)'")
        }
        return value
    }

    private static func index(_ text: String?) throws(ShellError) -> QueryIndex {
        switch text {
        case nil: throw .usage("a query needs --order-by: key, value, priority or /PATH")
        case "key": return .key
        case "value": return .value
        case "priority": return .priority
        case let text?:
            guard text.hasPrefix("/"), let path = try? Path(parsing: text), !path.isRoot else {
                throw .usage("--order-by must be key, value, priority or /PATH, not '\(text)'")
            }
            return .child(path)
        }
    }

    private static func bound(_ word: Word, _ name: String, in index: QueryIndex) throws(ShellError) -> CanonicalJSON {
        if index == .key { return CanonicalJSON(string: Array(word.text.utf8)) }
        guard let value = try? CanonicalJSON.parse(Array(word.raw.utf8)).value, value.isNull || value.isLeaf,
            value.bytes.first != UInt8(ascii: "{")
        else { throw .usage("--\(name) must be null, true, false, a number or '\"text\"', not '\(word.raw)'") }
        return value
    }
}
