import HearthConnection
import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthClientSession
import HearthServerProtocol

/// Commands that look at data. None of them reads a whole subtree to show its top.
extension ShellCommand {
    /// Children that one request asks for: the first page is short, so that it is there at once.
    private static let pageSizes = [100, 1000]

    static let pwd = ShellCommand(name: "pwd", summary: "Print the current place.") {
        (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        try session.show(.text("\(session.place)")) { ["\(session.place)"] }
    }

    static let cd = ShellCommand(
        name: "cd", synopsis: "[PATH]", summary: "Go to another place; without PATH to the root.", words: .path
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        session.place = try arguments.words.first.map { (word) throws(ShellError) in try session.path(word) } ?? .root
        if session.place != .root { await session.noteIfEmpty(session.place) }
    }

    static let ls = ShellCommand(
        name: "ls", synopsis: "[PATH] [-n N]", summary: "List the children of a node, each in short.",
        json: #"{"k": KEY, "t": TYPE, "v": the value, or the top of a large one} for each child."#,
        words: .path, options: [.limit("only the first N")], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        let limit = try arguments.count("limit") ?? .max
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        var shown = 0
        var after: Key?
        repeat {
            let size = min(pageSizes[after == nil ? 0 : 1], limit - shown)
            let page = try await session.page(path, after: after, limit: size)
            if session.isJSON {
                for element in page.elements { try array.append(element) }
            } else {
                try session.list(page, isFirst: after == nil)
            }
            shown += page.children.count
            after = page.next
        } while after != nil && shown < limit
        if session.isJSON { try array.end() }
    }

    static let get = ShellCommand(
        name: "get", synopsis: "[PATH] [OPTIONS]", summary: "Print a value, or what a query selects of it.",
        json: #"""
            the value; {KEY: true…} with --shallow, [{"key", "value"}…] with --where, {KIND: NUMBER…} with
            --aggregate.
            """#,
        details: """
            A value that is not there is null. Priorities are shown as .priority. On a terminal the value is laid out in lines,
            and only the top of a value larger than 1 MB is shown, unless --all is given.

            \(QueryWords.details)
            """, words: .path,
        options: [
            .init(name: "all", letter: "a", value: nil, help: "a large value as a whole, also on a terminal"),
            .init(name: "shallow", value: nil, help: "the keys of an object alone, each with true"),
            .init(name: "at", value: "MOMENT", help: "what was there then, where the history is kept: see 'help diff'"),
        ] + QueryWords.options, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        let query = try arguments.query()
        if let moment = arguments.word("at") {
            guard query == nil, !arguments.has("shallow") else {
                throw arguments.misused("--at does not go with --shallow or a query")
            }
            let answer = try await session.past(path, .get(try session.moment(moment, arguments)))
            guard let value = try? CanonicalJSON.parse(answer).value else { throw ShellSession.misunderstood }
            return try session.show(data: value)
        }
        if arguments.has("shallow") {
            guard query == nil else { throw arguments.misused("--shallow and a query do not go together") }
            return try session.show(data: try await session.keys(path))
        }
        if session.out.columns != nil, query == nil, !session.isJSON, !arguments.has("all"),
            session.isAdministrator
        {
            let page = try await session.page(path, limit: 200)
            if try await !session.isSmall(path, page) {
                try session.list(page, isFirst: true)
                return try session.out.line(
                    session.styled("a large value, of which this is the top: 'get --all', or 'export'", .dim))
            }
        }
        let value = try await session.asking { (connection) throws(ConnectionError) in
            try await connection.get(path, query: query)
        }
        try session.show(data: value)
    }

    static let query = ShellCommand(
        name: "query", synopsis: "[PATH] --order-by ORDER [OPTIONS]", summary: "Print what a query selects.",
        json: #"as of 'get'."#,
        details: QueryWords.details, words: .path, options: QueryWords.options, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        guard let query = try arguments.query() else { throw arguments.misused("--order-by is missing") }
        let value = try await session.asking { (connection) throws(ConnectionError) in
            try await connection.get(path, query: query)
        }
        try session.show(data: value)
    }

    static let tree = ShellCommand(
        name: "tree", synopsis: "[PATH] [-d DEPTH] [-n N]", summary: "Draw the top of a subtree.",
        json: #"{"t": TYPE, "v": a leaf, or "c": [the same with "k": KEY…], "next" if there are more}."#,
        words: .path,
        options: [
            .init(name: "depth", letter: "d", value: "DEPTH", help: "levels (default 3)"),
            .limit("children of each node (default 20)"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        let drawing = TreeDrawing(
            session: session, depth: try arguments.count("depth", in: 1...Path.maximumDepth) ?? 3,
            width: try arguments.count("limit", in: 1...1000) ?? 20)
        if session.isJSON {
            let json = try await drawing.json(path)
            return try session.show(json) { [] }
        }
        try session.out.line(session.styled("\(path)", .strong))
        try await drawing.draw(path)
    }

    static let count = ShellCommand(
        name: "count", synopsis: "[PATH]", summary: "Count the children of a node, without reading their values.",
        json: #"the number."#,
        words: .path, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let count = try await session.count(try session.path(arguments.words.first))
        try session.show(.integer(Int64(count))) { ["\(count)"] }
    }

    static let history = ShellCommand(
        name: "history", synopsis: "[PATH] [-n N] [--kept]",
        summary: "What was committed at and around a place, the newest first.",
        json: #"""
            {"seq", "time", "uid", "changes": [{"path", "value" or the "bytes" of a large one}…], "more"} for each
            commit.
            """#,
        details: """
            It is read from the commit log, as far back as that goes, or with --kept from the history that the settings have
            kept of the place.
            """, words: .path,
        options: [
            .limit("so many commits (default 20)"),
            .init(name: "kept", value: nil, help: "from the history that is kept"),
        ], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let path = try session.path(arguments.words.first)
        var left = try arguments.count("limit") ?? 20
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        var before: UInt64?
        repeat {
            let answer = try await session.commits(path, before, limit: min(left, 200), isKept: arguments.has("kept"))
            for entry in answer["entries"]?.array?.compactMap(\.object) ?? [] {
                left -= 1
                if session.isJSON {
                    try array.append(entry)
                } else {
                    for line in session.lines(ofHistory: entry) { try session.out.line(line) }
                }
            }
            before = answer["before"]?.integer.map { UInt64(clamping: $0) }
        } while before != nil && left > 0
        if session.isJSON { try array.end() }
    }
}

extension ShellSession {
    /// Whether the server can be asked about data that rules may hide. A command without a key does not sign in as an
    /// administrator.
    var isAdministrator: Bool {
        if program == nil { return true }
        if case .key? = target.credential { return true }
        return false
    }

    /// The commits at, above and below a place.
    fileprivate func commits(
        _ path: Path, _ before: UInt64?, limit: Int, isKept: Bool
    ) async throws(ShellError) -> JSONObject {
        if !isKept { return try await ask(.history(path, before: before, limit: limit)) }
        let answer = try await past(path, .log(before: before, limit: limit))
        guard let object = (try? JSONValue(parsing: answer))?.object else { throw Self.misunderstood }
        return object
    }

    /// The keys of an object, each with true, or the value if it is not an object. The server reads the keys without
    /// the values, however large these are (rest.md 2).
    ///
    /// - parameter limit: so many keys at most.
    func keys(_ path: Path, limit: Int? = nil) async throws(ShellError) -> CanonicalJSON {
        let call = try await request(path, query: "shallow=true" + (limit.map { "&limitToFirst=\($0)" } ?? ""))
        let text: [UInt8]
        do throws(ConnectionError) { text = try await call.answer(on: target.loop, options: target.options) } catch {
            throw described(error)
        }
        guard let keys = try? CanonicalJSON.parse(text).value else {
            throw .failed("the server answers what this shell does not understand")
        }
        return keys
    }

    /// A request for the value at a place, as the user that the session reads as. It cannot act as anybody else.
    ///
    /// - parameter moment: for the value that was there then.
    func request(
        _ path: Path, query: String, at moment: HistoryRequest.Moment? = nil
    ) async throws(ShellError) -> HTTPCall {
        guard acting == nil else { throw .failed("this is the administrator's: leave with 'as'") }
        var call = HTTPCall(
            moment.map { target.url.pastAddress(path, query: "\(query)&\($0.query)") }
                ?? target.url.address(path, query: query))
        // The past is the administrator's, for whom a server in development mode takes anybody who says so.
        let isDeveloper = program == nil || moment != nil
        guard let credential = target.credential ?? (isDeveloper ? .token(Target.developer) : nil) else { return call }
        do throws(ConnectionError) {
            try await call.authenticate(credential, on: target.loop, options: target.options)
        } catch {
            throw described(error)
        }
        return call
    }

    /// Prints a value of the database.
    func show(data value: CanonicalJSON) throws(ShellError) {
        if isJSON || format == .raw { return try out.line("\(value)") }
        // Values that go to a file or another program may be large: they are not parsed.
        if out.columns == nil, !out.isColoured { return try out.line(JSONPainter.spaced(value.bytes)) }
        // A value that is deeper than is read here is printed unchanged.
        guard let parsed = try? JSONValue(parsing: value.bytes) else { return try out.line("\(value)") }
        for line in out.columns == nil ? [painter.line(parsed)] : painter.lines(parsed) { try out.line(line) }
    }

    /// Whether a value has at most 1 MB. Asks for no more children than it takes to see that.
    ///
    /// - parameter first: its first children.
    fileprivate func isSmall(_ path: Path, _ first: NodePage) async throws(ShellError) -> Bool {
        var page = first
        var bytes = 0
        while true {
            guard let count = page.byteCount else { return false }
            bytes += count
            if bytes > 1_000_000 { return false }
            guard let next = page.next else { return true }
            page = try await self.page(path, after: next, limit: 1000)
        }
    }

    /// Children, one per line.
    fileprivate func list(_ page: NodePage, isFirst: Bool) throws(ShellError) {
        guard page.isObject else {
            if page.node.type != "null" { try out.line(page.node.text(painter)) }
            return
        }
        if isFirst, let priority = page.priority {
            try out.line(styled(".priority", .dim) + "  " + painter.line(priority))
        }
        let width = min(page.children.map(\.key.count).max() ?? 0, 40)
        for child in page.children {
            let padding = String(repeating: " ", count: max(0, width - child.key.count))
            let gap = out.columns == nil ? "\t" : padding + "  "
            try out.line(styled(child.key, .key) + gap + cut(child.node.text(painter), behind: width + 2))
        }
    }

    /// On a terminal a child takes one line.
    private func cut(_ text: String, behind used: Int) -> String {
        out.columns.map { ScreenText(text).fitted(to: max($0 - used, 20)) } ?? text
    }

    /// Asks for the next ones until there are no more.
    func count(_ path: Path, upTo limit: Int = .max) async throws(ShellError) -> Int {
        var count = 0
        var after: Key?
        repeat {
            let page = try await ask(.count(AdminPage(path, after: after, acting: acting?.auth)))
            count += Int(clamping: page["n"]?.integer ?? 0)
            after = page["next"]?.utf8.flatMap { try? Key(validating: $0) }
        } while after != nil && count < limit
        return count
    }

    fileprivate func lines(ofHistory entry: JSONObject) -> [String] {
        let time = Moment.text(entry["time"]?.integer)
        let head = "\(entry["seq"]?.integer ?? 0)  \(time)  \(entry["uid"]?.printable ?? "-")"
        let changes = (entry["changes"]?.array ?? []).compactMap(\.object).map { change in
            let value =
                change["value"].map { painter.line($0) }
                ?? styled("(\(ByteText(Int(clamping: change["bytes"]?.integer ?? 0))))", .dim)
            return "    \(styled(change["path"]?.printable ?? "", .key))  \(value)"
        }
        let more = entry["more"]?.integer.map { [styled("    and \($0) more", .dim)] } ?? []
        return [styled(head, .dim)] + changes + more
    }
}

/// Draws or collects a subtree level by level, so far and so wide as is wanted.
private struct TreeDrawing {
    let session: ShellSession
    let depth: Int
    let width: Int

    func draw(_ path: Path, level: Int = 1, indent: String = "") async throws(ShellError) {
        let page = try await session.page(path, limit: width)
        if level == 1, !page.isObject { return try session.out.line(page.node.text(session.painter)) }
        for (index, child) in page.children.enumerated() {
            let isLast = index == page.children.count - 1 && page.next == nil
            let head = indent + (isLast ? "└─ " : "├─ ") + session.styled(child.key, .key)
            guard goesDown(child, level) else {
                try session.out.line("\(head): \(child.node.text(session.painter))")
                continue
            }
            try session.out.line(head)
            try await draw(try below(path, child), level: level + 1, indent: indent + (isLast ? "   " : "│  "))
        }
        if page.next != nil { try session.out.line(indent + "└─ " + session.styled("…", .dim)) }
    }

    /// Objects are opened while there are levels left.
    private func goesDown(_ child: NodePage.Child, _ level: Int) -> Bool {
        child.node.type == "object" && level < depth
    }

    private func below(_ path: Path, _ child: NodePage.Child) throws(ShellError) -> Path {
        do throws(KeyError) { return path.appending(try Key(validating: child.key)) } catch {
            throw .failed("the server sent an invalid key: \(error)")
        }
    }

    /// The same as nested objects: `{"t":…,"c":[…]}`.
    func json(_ path: Path, level: Int = 1) async throws(ShellError) -> JSONValue {
        let page = try await session.page(path, limit: width)
        var object = page.json
        guard page.isObject else { return .object(object) }
        var children: [JSONValue] = []
        for child in page.children {
            var entry = child.json
            if goesDown(child, level),
                case .object(let inner) = try await json(try below(path, child), level: level + 1)
            {
                entry["v"] = nil
                entry["c"] = inner["c"]
                entry["next"] = inner["next"]
            }
            children.append(.object(entry))
        }
        object["c"] = .array(children)
        return .object(object)
    }
}

extension ShellArguments {
    /// Nil if no option asks for a query.
    func query() throws(ShellError) -> QueryObject? { try QueryWords.query { word($0) } }
}
