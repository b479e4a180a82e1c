import HearthJSONTree
import HearthJSONValues
import HearthSecurityRules
import HearthWireProtocol
import HearthConnection

/// Commands about the rules that are in force on the server.
extension ShellCommand {
    static let rules = ShellCommand(
        name: "rules",
        synopsis: "show | check FILE | put FILE | explain read PATH | explain write PATH JSON | test FILE... | denials",
        summary: "Show, check, replace, explain and test the rules of the database.",
        details: """
            show       print them
            check      have the server read a file; a mistake is told with its line and column
            put        make the rules of a file those of this database, for good
            explain    decide one operation on the data that is there, as whoever 'as' says, and tell why
            test       run files of test cases against the rules in force
            denials    the last requests that were denied, the newest first
            """, words: .subcommands(["show", "check", "put", "explain", "test", "denials"]),
        options: [
            .init(name: "yes", letter: "y", value: nil, help: "put: do not ask"),
            .limit("denials: so many (default 20)"),
        ]
    ) { (session, arguments) throws(ShellError) in
        let words = arguments.words.dropFirst().map(\.text)
        switch (arguments.words.first?.text, words.count) {
        case (nil, _), ("show", 0):
            let text = try await session.rulesText()
            try session.show(.text(text)) {
                text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            }
        case ("check", 1): try await session.checkRules(words[0])
        case ("put", 1): try await session.putRules(words[0], arguments)
        case ("explain", 2...): try await session.explain(arguments)
        case ("test", 1...): try await session.testRules(words)
        case ("denials", 0): try await session.listDenials(try arguments.count("limit") ?? 20)
        default: throw arguments.misused("which of them?")
        }
    }
}

extension ShellSession {
    private static let place = "/.settings/rules.json"

    fileprivate func rulesText() async throws(ShellError) -> String {
        let body = try await call("GET", Self.place)
        // A file without remarks comes as the JSON that it is.
        return body.text ?? painter.plainLines(body)
    }

    private func contents(of file: String) throws(ShellError) -> [UInt8] {
        if file == "-" { try expectInput() }
        return try InputFile.contents(of: file)
    }

    fileprivate func checkRules(_ file: String) async throws(ShellError) {
        try await put(try contents(of: file), of: file, isDry: true)
        try show(.object(JSONObject(["ok": .bool(true)]))) { ["\(file): these rules can be put in force"] }
    }

    fileprivate func putRules(_ file: String, _ arguments: ShellArguments) async throws(ShellError) {
        let text = try contents(of: file)
        try await put(text, of: file, isDry: true)
        if !arguments.has("yes") { try confirm("replace the rules of this database by \(file)") }
        try await change("put the rules of \(file) in force", as: JSONObject(["file": .text(file)])) {
            () throws(ShellError) in try await put(text, of: file, isDry: false)
        }
    }

    private func put(_ text: [UInt8], of file: String, isDry: Bool) async throws(ShellError) {
        do throws(ShellError) {
            _ = try await call("PUT", Self.place + (isDry ? "?dryRun=true" : ""), text)
        } catch .failed(let reason) {
            throw .failed("\(file):\(reason)")
        }
    }

    /// `explain read PATH` or `explain write PATH JSON`.
    fileprivate func explain(_ arguments: ShellArguments) async throws(ShellError) {
        let operation = arguments.words[1].text
        let target = try target(arguments.words[2])
        var question = JSONObject([
            "operation": .text(operation), "path": .string([UInt8(ascii: "/")] + target.text),
            "auth": try? JSONValue(parsing: acting?.auth ?? Array("null".utf8)),
        ])
        switch operation {
        case "read": try arguments.expect(3...3)
        case "write":
            let json = try arguments.json(from: 3)
            // Mistakes are found here, where their place is told.
            _ = try JSONInput(json).value(for: target)
            question["value"] = try? JSONValue(parsing: json)
        default: throw arguments.misused("an operation is read or write")
        }
        let answer = try await call("POST", "/.settings/explain.json", question.bytes)
        guard let object = answer.object, let isAllowed = object["allowed"]?.bool else {
            throw .failed("the server answers what this shell does not understand")
        }
        try show(.object(object)) {
            [isAllowed ? styled("allowed", .string) : styled("denied", .error)]
                + (object["lines"]?.array?.compactMap(\.text) ?? [])
        }
    }

    fileprivate func testRules(_ files: [String]) async throws(ShellError) {
        let text = try await rulesText()
        let program: RulesProgram
        do throws(RulesError) { program = try RulesProgram(parsing: Array(text.utf8)) } catch {
            throw .failed("this shell cannot read the rules in force: \(error)")
        }
        var coverage = RulesCoverage(program)
        var failed = 0
        for file in files {
            let tests: RulesTestFile
            let text = try contents(of: file)
            do throws(RulesError) { tests = try RulesTestFile(parsing: text) } catch {
                throw .failed("\(file):\(error)")
            }
            let results = tests.tests.map { program.run($0, &coverage) }
            let bad = results.filter { !$0.isPassed }
            failed += bad.count
            let answer = JSONObject([
                "file": .text(file), "passed": .integer(Int64(results.count - bad.count)),
                "failed": .array(bad.map { .text($0.test.name) }),
            ])
            try show(.object(answer)) {
                bad.flatMap { result in
                    let (expected, came) = result.test.isAllowed ? ("allowed", "denied") : ("denied", "allowed")
                    return ["\(file):\(result.test.line): \(result.test.name): expected \(expected), came out \(came)"]
                        + result.explanation.lines(file: "rules").map { "    \($0)" }
                } + ["\(file): \(results.count - bad.count) of \(results.count) passed"]
            }
        }
        if failed > 0 { throw .failed("\(failed) \(failed == 1 ? "case" : "cases") came out otherwise") }
    }

    fileprivate func listDenials(_ limit: Int) async throws(ShellError) {
        let list = (try await call("GET", "/.settings/denials.json").array ?? []).prefix(limit)
        try show(.array(Array(list))) {
            list.compactMap(\.object).flatMap { entry in
                let who = entry["uid"]?.printable ?? "nobody"
                let what = "\(entry["operation"]?.printable ?? "") \(entry["path"]?.printable ?? "")"
                return [styled("\(Moment.text(entry["time"]?.integer))  \(who)", .dim) + "  \(what)"]
                    + (entry["why"]?.printable.map { ["    \($0)"] } ?? [])
            }
        }
    }
}

extension JSONPainter {
    /// All lines as one text without colours.
    func plainLines(_ value: JSONValue) -> String {
        JSONPainter(isColoured: false).lines(value).joined(separator: "\n")
    }
}
