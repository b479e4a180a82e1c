import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthClientSession

extension ShellCommand {
    /// Children that one request asks for: the first page is short, so that it is there at once.
    private static let pageSizes = [100, 1000]

    static let find = ShellCommand(
        name: "find", synopsis: "[PATH] [CONDITION] [OPTIONS]",
        summary: "Print the children for which a condition holds, in an order.",
        json: #"{"key", "value"} for each child, {KIND: NUMBER…} with --aggregate."#,
        details: """
            A condition is like: state == "open" and (priority > 2 or tags has "urgent")

            \(QueryWords.conditionDetails) The children are read page by page.
            """, words: .path,
        options: [
            .init(name: "order-by", value: "ORDERS", help: QueryWords.ordersHelp),
            .limit("only the first N"),
            .init(
                name: "fields", letter: "f", value: "PATHS", help: "only these parts of each child, as title,meta/by"),
            .init(name: "explain", value: nil, help: "which index serves this, and what was looked at"),
        ] + QueryWords.aggregateOptions, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let path = try session.path(arguments.words.first)
        let words = arguments.words.dropFirst()
        let condition = words.count == 1 ? words[1].unquoted : words.map(\.raw).joined(separator: " ")
        let query = try QueryWords.find(
            condition, orders: arguments["order-by"], fields: arguments["fields"],
            isExplained: arguments.has("explain"))
        if let aggregates = try QueryWords.aggregates({ arguments[$0] }) {
            for name in ["order-by", "limit", "fields"] where arguments.has(name) {
                throw .usage("--\(name) does not go with --aggregate")
            }
            let asked = ConditionQuery(
                query.conditions, isExplained: query.isExplained, aggregates: aggregates)
            let object = try QueryWords.object(asked, limit: nil)
            let figures = try await session.asking { (connection) throws(ConnectionError) in
                try await connection.get(path, query: object)
            }
            let value = (try? JSONValue(parsing: figures.bytes)) ?? .null
            if query.isExplained {
                return try session.explain(value.object?["explain"], needs: value.object?["needs"]?.text)
            }
            return try session.show(value) { [session.painter.line(value)] }
        }
        let limit = try arguments.count("limit") ?? .max
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        var shown = 0
        var cursor: String?
        repeat {
            let size = min(pageSizes[cursor == nil ? 0 : 1], limit - shown)
            let object = try QueryWords.object(query, limit: size, after: cursor)
            let page = try await session.asking { (connection) throws(ConnectionError) in
                try await connection.find(path, object)
            }
            if query.isExplained {
                let explanation = page.explanation.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
                return try session.explain(explanation, needs: page.needs)
            }
            if cursor == nil, session.out.columns != nil, let index = page.needs {
                session.tell("every child was looked at; with the setting \".index\": [\(index)] it would not be")
            }
            if session.isJSON {
                for child in page.children { try array.append(child.json) }
            } else {
                try session.list(page)
            }
            shown += page.children.count
            cursor = page.next
        } while cursor != nil && shown < limit
        if session.isJSON { try array.end() }
    }
}

extension ShellSession {
    /// How the first page, or figures, were found.
    fileprivate func explain(_ explanation: JSONValue?, needs: String?) throws(ShellError) {
        var object = explanation?.object ?? JSONObject()
        object["needs"] = needs.map { .text($0) }
        try show(.object(object)) {
            let index = object["index"]?.text
            let needs = needs.map { "; it needs the setting \".index\": [\($0)]" } ?? ""
            return [index.map { "index \($0)" } ?? "no index\(needs)", "\(object["examined"]?.integer ?? 0) examined"]
        }
    }

    /// Children, one per line.
    fileprivate func list(_ page: FoundPage) throws(ShellError) {
        for child in page.children {
            let value = (try? JSONValue(parsing: child.value.bytes)).map { painter.line($0) } ?? "\(child.value)"
            try out.line(styled("\(child.key)".printable, .key) + (out.columns == nil ? "\t" : "  ") + value)
        }
    }
}

extension FoundPage.Child {
    /// As on a page over REST.
    fileprivate var json: JSONObject {
        JSONObject(["key": .string(key.utf8), "value": value.isNull ? nil : try? JSONValue(parsing: value.bytes)])
    }
}
