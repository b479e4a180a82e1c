import JSONTree
import WireProtocol

/// The options that make a query of a path.
enum QueryOptions {
    static let options: [Arguments.Option] = [
        .init(name: "order-by", value: "ORDER", help: "key, value, priority, or a path below the children as /PATH"),
        .init(name: "limit-to-first", value: "N", help: "the first N children in that order"),
        .init(name: "limit-to-last", value: "N", help: "the last N"),
        .init(name: "start-at", value: "JSON", help: "children from this value on"),
        .init(name: "start-after", value: "JSON", help: "children behind this value"),
        .init(name: "end-at", value: "JSON", help: "children up to this value"),
        .init(name: "end-before", value: "JSON", help: "children before this value"),
        .init(name: "equal-to", value: "JSON", help: "children of this value"),
    ]

    static let details = """
        With --order-by and what follows it only some children are shown. Bounds are JSON; with --order-by key they are
        keys, without quotes.
        """

    /// Nil if no option asks for a query.
    static func query(_ arguments: Arguments) throws(UsageError) -> QueryObject? {
        guard options.contains(where: { arguments[$0.name] != nil }) else { return nil }
        let index = try index(arguments["order-by"])
        let first = try arguments.integer("limit-to-first", 1...Int.max)
        let last = try arguments.integer("limit-to-last", 1...Int.max)
        let limits = [first.map { QueryLimit(.first, $0) }, last.map { QueryLimit(.last, $0) }].compactMap { $0 }
        guard limits.count < 2 else { throw UsageError(message: "only one of --limit-to-first and --limit-to-last") }
        var start: QueryBound?
        var end: QueryBound?
        for name in ["start-at", "start-after", "end-at", "end-before", "equal-to"] {
            guard let text = arguments[name] else { continue }
            let value = try bound(text, name, in: index)
            let isStart = name.hasPrefix("start") || name == "equal-to"
            let isEnd = name.hasPrefix("end") || name == "equal-to"
            guard !isStart || start == nil, !isEnd || end == nil else {
                throw UsageError(message: "--\(name) does not go with another bound at the same side")
            }
            // All children of the value are left out, whatever their keys.
            if isStart {
                start = name == "start-after" ? QueryBound(value, key: .highest, isInclusive: false) : .init(value)
            }
            if isEnd { end = name == "end-before" ? QueryBound(value, key: .lowest, isInclusive: false) : .init(value) }
        }
        do throws(QueryError) {
            return try QueryObject(index: index, start: start, end: end, limit: limits.first)
        } catch {
            throw UsageError(message: "\(error)")
        }
    }

    private static func index(_ text: String?) throws(UsageError) -> QueryIndex {
        switch text {
        case nil: throw UsageError(message: "a query needs --order-by: key, value, priority or /PATH")
        case "key": return .key
        case "value": return .value
        case "priority": return .priority
        case let text?:
            guard text.hasPrefix("/"), let path = try? Path(parsing: text), !path.isRoot else {
                throw UsageError(message: "--order-by must be key, value, priority or /PATH, not '\(text)'")
            }
            return .child(path)
        }
    }

    private static func bound(_ text: String, _ name: String, in index: QueryIndex) throws(UsageError) -> CanonicalJSON
    {
        if index == .key { return CanonicalJSON(string: Array(text.utf8)) }
        guard let value = try? CanonicalJSON.parse(Array(text.utf8)).value, value.isNull || value.isLeaf,
            value.bytes.first != UInt8(ascii: "{")
        else { throw UsageError(message: "--\(name) must be null, true, false, a number or '\"text\"', not '\(text)'") }
        return value
    }
}
