import HearthJSONTree
import HearthJSONValues
import HearthSecurityRules

/// The rules and settings of a database, and those of files.
extension ShellCommand {
    static let rules = group(
        "rules", summary: "Check, test, explain and publish security rules and settings.",
        details: """
            docs/rules.md describes the language and the files of test cases. 'check', and 'test' and 'explain' with rules of
            a file, ask no server.
            """, usual: "pull", [checkRules, testRules, explainRules, pullRules, pushRules, compareRules, denials])

    private static let checkRules = ShellCommand(
        name: "check", synopsis: "FILE...", summary: "Read files of rules and of settings.",
        json: #"{"file", "summary"} for each file, with "warnings": [TEXT…] if there are some."#,
        details: """
            A mistake is told with its line and column, and ends the command with 65. A warning tells of a rule that allows
            what was hardly meant.
            """
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("FILE is missing") }
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        for word in arguments.words {
            let file = RulesFile(word.text)
            let text = try file.contents()
            let summary: String
            var warnings: [RulesWarning] = []
            if DatabaseSettings.isSettings(text) {
                summary = try file.settings().summary
            } else {
                let program = try file.program()
                (summary, warnings) = (program.summary, program.warnings)
            }
            if session.isJSON {
                let texts: JSONValue? = warnings.isEmpty ? nil : .array(warnings.map { .text("\($0)") })
                try array.append(
                    JSONObject(["file": .text(word.text), "summary": .text(summary), "warnings": texts]))
            } else {
                try session.out.line("\(word.text): \(summary)")
                for warning in warnings {
                    try session.out.line("\(word.text):\(warning.position): warning: \(warning.message)")
                }
            }
        }
        if session.isJSON { try array.end() }
    }

    private static let testRules = ShellCommand(
        name: "test", synopsis: "FILE... [OPTIONS]", summary: "Run files of test cases.",
        json: #"{"file", "passed": NUMBER, "failed": [NAME…]} for each file."#,
        details: """
            Each file names its rules and settings; the cases of one that names none are for the rules in force. A case that
            comes out otherwise is printed with the rules that decided, and ends the command with 1. The last line tells how
            much of the rules was looked at.
            """,
        options: [
            .init(name: "rules", value: "FILE", help: "the rules, instead of those that the files name"),
            .init(name: "settings", value: "FILE", help: "the settings, instead of those that the files name"),
            .init(name: "coverage", value: nil, help: "print every condition that was never true or never false"),
        ]
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("FILE is missing") }
        try await RulesTesting(session, arguments).run(arguments.words.map(\.text))
    }

    private static let explainRules = ShellCommand(
        name: "explain", synopsis: "read PATH [--where CONDITION] | write PATH JSON [OPTIONS]",
        summary: "Decide one operation and tell why.",
        json: #"{"allowed": BOOL, "lines": [TEXT…]}."#,
        details: """
            It is decided by the rules, settings and data of the server, of which nothing is changed; with --rules by those of
            files. In the shell, somebody whom you act as is asking. The command ends with 1 if the operation is denied.
            """, words: .operation,
        options: [
            .init(name: "rules", value: "FILE", help: "the rules"),
            .init(name: "settings", value: "FILE", help: "with --rules: the settings"),
            .init(name: "data", value: "FILE", help: "with --rules: the database as JSON (default: empty)"),
            .init(name: "as", value: "UID", help: "who asks (default: somebody signed out)"),
            .init(name: "claims", value: "JSON", help: "with --as: the claims of their token (default {})"),
            .init(name: "where", value: "CONDITION", help: "read children for which a condition holds: see 'find'"),
            .limit("with --where: so many children (default 100)"),
        ]
    ) { (session, arguments) throws(ShellError) in
        try await RulesQuestion(session, arguments).answer()
    }

    private static let pullRules = ShellCommand(
        name: "pull", alias: "show", synopsis: "[FILE] [--settings FILE]",
        summary: "Write the rules in force, as they were published, to a file or to standard output.",
        json: #"the text as a string, or {"file", "bytes"} with FILE."#,
        options: [
            .init(name: "settings", value: "FILE", help: "write the settings instead; - is standard output"),
            .overwrite,
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        let sync = RulesSync(session)
        guard let settings = arguments["settings"] else {
            return try await sync.pull(.rules, arguments.words.first?.text, replaces: arguments.has("overwrite"))
        }
        guard arguments.words.isEmpty else { throw arguments.misused("FILE is for the rules, --settings FILE alone") }
        try await sync.pull(.settings, settings, replaces: arguments.has("overwrite"))
    }

    private static let pushRules = ShellCommand(
        name: "push", alias: "put", synopsis: "FILE [--settings FILE] [-y]",
        summary: "Put the rules, the settings, or both in force permanently.",
        json: #"{"file", "kind": "rules" or "settings"}, and with --settings "settings", the file."#,
        details: """
            FILE says by its first key what it has. With --settings it has rules, and both files are checked and put in force
            in one step. A mistake changes nothing. At a terminal it asks first.
            """,
        options: [
            .init(name: "settings", value: "FILE", help: "the settings, in force at the same moment as the rules"),
            .yes,
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        let (file, sync) = (arguments.words[0].text, RulesSync(session))
        guard let settings = arguments["settings"] else { return try await sync.push(file) }
        guard file != "-" || settings != "-" else { throw arguments.misused("only one of the files can be -") }
        try await sync.push(rules: file, settings: settings)
    }

    private static let compareRules = ShellCommand(
        name: "diff", synopsis: "FILE", summary: "Print the lines that a push would change.",
        json: #"the lines as strings."#,
        details: "The exit code is 0 without differences, and 1 with some."
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        try await RulesSync(session).compare(with: arguments.words[0].text)
    }

    private static let denials = ShellCommand(
        name: "denials", synopsis: "[-n N]", summary: "The last requests that were denied, the newest first.",
        json: #"{"operation", "path", "uid", "time", "why"} for each request."#,
        options: [.limit("so many (default 20)")]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        let limit = try arguments.count("limit") ?? 20
        let list = (try await session.call("GET", "/.settings/denials.json").array ?? []).prefix(limit)
        try session.show(.array(Array(list))) {
            list.compactMap(\.object).flatMap { entry in
                let who = entry["uid"]?.printable ?? "nobody"
                let what = "\(entry["operation"]?.printable ?? "") \(entry["path"]?.printable ?? "")"
                return [session.styled("\(Moment.text(entry["time"]?.integer))  \(who)", .dim) + "  \(what)"]
                    + (entry["why"]?.printable.map { ["    \($0)"] } ?? [])
            }
        }
    }
}
