import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthClientSession
import HearthConnection

/// Commands that change data.
extension ShellCommand {
    private static let aboutJSON = """
        JSON may have spaces; - reads it from standard input. Null removes. {".sv":"timestamp"} is the server's
        time, {".sv":{"increment":N}} adds N to what is there.
        """

    static let set = ShellCommand(
        name: "set", synopsis: "PATH JSON [-y]", summary: "Replace a value, or a priority (PATH/.priority).",
        json: #"{"path", "value"}."#,
        details: aboutJSON, words: .path, options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let target = try session.target(arguments.words.first)
        let value = try session.json(arguments, from: 1).value(for: target)
        if !target.isPriority { try await session.confirmLoss(of: target.path, "replace") }
        let change = try await session.change(of: target, to: value)
        try await session.change(change.text, as: change.json) { () async throws(ShellError) in
            try await session.asking { (connection) throws(ConnectionError) in
                try await connection.set(target, to: value)
            }
        }
    }

    static let update = ShellCommand(
        name: "update", synopsis: "PATH JSON [-y]", summary: "Replace several values at or below a place at once.",
        json: #"{"changes": [{"path", "value"}…]}."#,
        details: """
            JSON is an object: each key is a path relative to PATH, and its value replaces what is there; what it does not
            name stays.
            """ + "\n" + aboutJSON, words: .path, options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let base = try session.path(arguments.words.first)
        let assignments = try session.json(arguments, from: 1).assignments(base: base)
        for target in assignments.map(\.target) where !target.isPriority {
            try await session.confirmLoss(of: target.path, "replace")
        }
        try await session.change(assignments) { () async throws(ShellError) in
            try await session.asking { (connection) throws(ConnectionError) in
                try await connection.update(base, assignments)
            }
        }
    }

    static let push = ShellCommand(
        name: "push", synopsis: "PATH JSON", summary: "Add a child with a new key that sorts last, and print the key.",
        json: #"{"name": KEY}."#,
        details: aboutJSON, words: .path, runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        let path = try session.path(arguments.words.first)
        guard path.depth < Path.maximumDepth else { throw .usage("invalid path '\(path)': \(PathError.tooDeep)") }
        // Only the depth of the place limits its value.
        let value = try session.json(arguments, from: 1).value(for: WriteTarget(path: path.appending(Key(0))))
        if session.isDry {
            let change = session.json(of: WriteTarget(path: path), value)
            return try await session.change(
                "add a child to \(path): \(session.line(value))", as: change
            ) { () throws(ShellError) in }
        }
        let key = try await session.asking { (connection) throws(ConnectionError) in
            try await connection.push(value, to: path)
        }
        try session.show(.object(JSONObject(["name": .string(key.utf8)]))) { ["\(key)"] }
    }

    static let remove = ShellCommand(
        name: "remove", alias: "rm", synopsis: "PATH... [-y]", summary: "Remove a value with everything below it.",
        json: #"{"path", "value": null}."#,
        words: .paths, options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("PATH is missing") }
        var paths: [Path] = []
        for word in arguments.words { paths.append(try session.path(word)) }
        for path in paths { try await session.confirmLoss(of: path, "remove") }
        session.announce("remove \(paths.map { "\($0)" }.joined(separator: ", "))")
        for path in paths {
            await session.noteIfEmpty(path)
            let change = try await session.change(of: WriteTarget(path: path), to: .null)
            try await session.change(change.text, as: change.json) { () async throws(ShellError) in
                try await session.asking { (connection) throws(ConnectionError) in try await connection.remove(path) }
            }
        }
    }

    static let mv = ShellCommand(
        name: "mv", synopsis: "FROM TO [-y]", summary: "Move a value.",
        json: #"{"changes": [{"path", "value"}…]}."#,
        details: copyDetails + "\n" + """
            The value is written at TO, then removed at FROM if it is still the same; if not, it is copied again. So what is written
            to FROM meanwhile is not lost, and others may see the value twice for a moment.
            """, words: .paths, options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try await session.copy(arguments, andRemove: true)
    }

    static let cp = ShellCommand(
        name: "cp", synopsis: "FROM TO [-y]", summary: "Copy a value.",
        json: #"{"changes": [{"path", "value"}…]}."#, details: copyDetails, words: .paths,
        options: [.yes], runsAlone: true
    ) { (session, arguments) throws(ShellError) in
        try await session.copy(arguments, andRemove: false)
    }

    private static let copyDetails = """
        A value of up to 16 MB passes through this shell; larger ones are for 'export' and 'import'.
        """
}

extension ShellSession {
    /// The JSON of a command, from standard input if the word is `-`.
    func json(_ arguments: ShellArguments, from index: Int) throws(ShellError) -> JSONInput {
        guard readsInput, arguments.words.count == index + 1, arguments.words[index].raw == "-" else {
            return JSONInput(try arguments.json(from: index))
        }
        return JSONInput(try InputFile.contents(of: "-"), isRead: true)
    }

    /// More than that is much.
    private static let (muchChildren, muchBytes) = (100, 1_000_000)
    /// How often a value is copied that changes while it is moved.
    private static let movesMax = 10

    /// A short form of the value at a place, and whether the value is large.
    private func summary(_ path: Path) async throws(ShellError) -> (text: String, isMuch: Bool) {
        let page = try await page(path, limit: Self.muchChildren)
        guard page.isObject else { return (page.node.text(painter), page.byteCount ?? 0 > Self.muchBytes) }
        if page.next == nil, let bytes = page.byteCount {
            let count = page.children.count
            return ("{ \(count) \(count == 1 ? "child" : "children"), \(ByteText(bytes)) }", bytes > Self.muchBytes)
        }
        let limit = 5000
        let count = try await count(path, upTo: limit)
        return ("{ \(count)\(count >= limit ? " or more" : "") children }", true)
    }

    /// Asks before much goes.
    func confirmLoss(of path: Path, _ verb: String) async throws(ShellError) {
        if isDry || isSure { return }
        guard isAdministrator else {
            if try await hasManyKeys(path) {
                try confirm("\(verb) \(path), which has more than \(Self.muchChildren) children")
            }
            return
        }
        let summary = try await summary(path)
        if summary.isMuch { try confirm("\(verb) \(path), which is \(summary.text)") }
    }

    /// Says at the prompt that there is nothing at a place: otherwise a mistyped path would look like success.
    func noteIfEmpty(_ path: Path) async {
        guard program == nil, prompter != nil, !isJSON, isAdministrator,
            let page = try? await page(path, limit: 1), page.node.type == "null"
        else { return }
        tell("there is nothing at \(path)")
    }

    /// Asks as a user. A user who may not see how much it is cannot be asked.
    private func hasManyKeys(_ path: Path) async throws(ShellError) -> Bool {
        do throws(ShellError) {
            let keys = try await keys(path, limit: Self.muchChildren + 1)
            return ((try? JSONValue(parsing: keys.bytes))?.object?.members.count ?? 0) > Self.muchChildren
        } catch {
            guard case .failed = error else { throw error }
            return false
        }
    }

    func line(_ value: CanonicalJSON) -> String {
        guard value.bytes.count <= 1000, let parsed = try? JSONValue(parsing: value.bytes) else {
            return "(\(ByteText(value.bytes.count)))"
        }
        return painter.line(parsed)
    }

    /// A change as `--json` shows it.
    func json(of target: WriteTarget, _ value: CanonicalJSON) -> JSONObject {
        JSONObject([
            "path": .string([UInt8(ascii: "/")] + target.text),
            "value": value.bytes.count > 1000 ? nil : try? JSONValue(parsing: value.bytes),
        ])
    }

    /// The effect of a change: the value before and after. Asks the server only if it is shown.
    func change(
        of target: WriteTarget, to value: CanonicalJSON
    ) async throws(ShellError) -> (text: String, json: JSONObject) {
        let json = json(of: target, value)
        guard isDry, !isJSON else { return ("", json) }
        let place = "/" + String(decoding: target.text, as: UTF8.self)
        let before: String
        if target.isPriority {
            before = try await page(target.path, limit: 1).priority.map { painter.line($0) } ?? "no priority"
        } else {
            before = try await summary(target.path).text
        }
        let text =
            value.isNull ? "remove \(place), which is \(before)" : "set \(place) to \(line(value)); it is \(before)"
        return (text, json)
    }

    /// Makes several changes, or only says which they would be.
    func change(
        _ assignments: [WireAssignment], _ body: () async throws(ShellError) -> Void
    ) async throws(ShellError) {
        var texts: [String] = []
        var changes: [JSONValue] = []
        for assignment in assignments {
            let change = try await change(of: assignment.target, to: assignment.value)
            texts.append(change.text)
            changes.append(.object(change.json))
        }
        try await change(texts, as: JSONObject(["changes": .array(changes)]), body)
    }

    func copy(_ arguments: ShellArguments, andRemove: Bool) async throws(ShellError) {
        try arguments.expect(2...2)
        let from = try path(arguments.words[0])
        let to = try path(arguments.words[1])
        guard !from.contains(to), !to.contains(from) else {
            throw .usage("\(from) and \(to): one place is inside the other")
        }
        try await confirmLoss(of: to, "replace")
        let value = try await copied(from)
        var assignments = [WireAssignment(target: WriteTarget(path: to), value: value)]
        if andRemove { assignments.append(WireAssignment(target: WriteTarget(path: from), value: .null)) }
        try await change(assignments) { () async throws(ShellError) in
            if andRemove { try await move(value, from, to) } else { try await set(to, value) }
        }
    }

    private func move(_ value: CanonicalJSON, _ from: Path, _ to: Path) async throws(ShellError) {
        var value = value
        for _ in 0..<Self.movesMax {
            try await set(to, value)
            let connection = try await data()
            do throws(ConnectionError) {
                return try await connection.set(
                    WriteTarget(path: from), to: .null, expecting: NodeHash.hash(value))
            } catch .refused("datastale", _) {
                value = try await copied(from)
            } catch {
                throw ShellError(error)
            }
        }
        throw .failed("\(from) does not stop changing: it was copied to \(to), and is still there")
    }

    private func set(_ path: Path, _ value: CanonicalJSON) async throws(ShellError) {
        try await asking { (connection) throws(ConnectionError) in
            try await connection.set(WriteTarget(path: path), to: value)
        }
    }

    /// A value that is there, and not too large to pass through this shell.
    private func copied(_ path: Path) async throws(ShellError) -> CanonicalJSON {
        let page = try await page(path, limit: 1)
        if page.node.type == "null" { throw .failed("there is nothing at \(path)") }
        let value = try await get(path, bytesMax: copiedBytesMax)
        guard let value else {
            throw .failed("\(path) has more than \(ByteText(copiedBytesMax)): use 'export' and 'import'")
        }
        return value
    }
}
