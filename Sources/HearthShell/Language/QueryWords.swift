import JSONTree
package import WireProtocol

/// The options that make a query of a path, on the command line and in the shell.
package enum QueryWords {
    package static let options = [
        CommandOption(
            name: "order-by", value: "ORDER", help: "key, value, priority, or a path below the children as /PATH"),
        CommandOption(name: "limit-to-first", value: "N", help: "the first N children in that order"),
        CommandOption(name: "limit-to-last", value: "N", help: "the last N"),
        CommandOption(name: "start-at", value: "JSON", help: "children from this value on"),
        CommandOption(name: "start-after", value: "JSON", help: "children behind this value"),
        CommandOption(name: "end-at", value: "JSON", help: "children up to this value"),
        CommandOption(name: "end-before", value: "JSON", help: "children before this value"),
        CommandOption(name: "equal-to", value: "JSON", help: "children of this value"),
    ]

    package static let details = """
        With --order-by and what follows it only some children are shown. Bounds are JSON; with --order-by key they are
        keys, without quotes.
        """

    /// Nil if no option asks for a query.
    ///
    /// - parameter option: the value of an option, by its name without dashes.
    package static func query(_ option: (String) -> Word?) throws(ShellError) -> QueryObject? {
        guard options.contains(where: { option($0.name) != nil }) else { return nil }
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
            // All children of the value are left out, whatever their keys.
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
