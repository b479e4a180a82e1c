import HearthClientSession
import HearthJSONTree
import HearthJSONValues

/// Commands about the shell itself.
extension ShellCommand {
    static let `as` = ShellCommand(
        name: "as", synopsis: "[UID|nobody] [COMMAND]",
        summary: "Act as a user under the rules, for good or for one command.",
        details: """
            UID is a user's id, or an email address. If there is an account, rules see in 'auth' what a token of it would say now. How
            the user signed in cannot be known: it is taken to be by the account's first provider, or anonymously if it has none.
            'as nobody' is somebody signed out. 'as' alone makes the administrator of you again. Commands about the server stay the
            administrator's.
            """, takesCommand: true
    ) { (session, arguments) throws(ShellError) in
        guard let who = arguments.words.first else {
            session.acting = nil
            return
        }
        let acting = try await session.acting(as: who)
        let command = Array(arguments.words.dropFirst())
        guard !command.isEmpty else {
            session.acting = acting
            return
        }
        let before = session.acting
        session.acting = acting
        defer { session.acting = before }
        try await session.run(command)
    }

    static let dry = ShellCommand(
        name: "dry", synopsis: "COMMAND", summary: "Show what a command would change, and change nothing.",
        takesCommand: true
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("COMMAND is missing") }
        let before = session.isDry
        session.isDry = true
        defer { session.isDry = before }
        try await session.run(arguments.words)
    }

    static let exit = ShellCommand(name: "exit", alias: "quit", summary: "Leave (^D does, too).") {
        (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        session.isOver = true
    }

    static let help = ShellCommand(
        name: "help", synopsis: "[COMMAND [SUBCOMMAND]]", summary: "Explain the commands, or one of them.",
        words: .commands
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...2)
        guard let name = arguments.words.first?.text else {
            let commands = ShellCommand.all
            let width = commands.map(\.name.count).max() ?? 0
            return try session.show(.array(commands.map { .text($0.name) })) {
                commands.map { command in
                    let name = command.name + String(repeating: " ", count: width - command.name.count)
                    return "  \(session.styled(name, .strong))  \(command.summary)"
                } + [
                    "", "'help COMMAND' explains one. All take -o FORMAT (text, raw, json or jsonl), --dry-run and -y.",
                    "Keys complete with tab; ^C ends a command, ^D the shell.",
                ]
            }
        }
        guard let command = named(name) else {
            throw .usage("there is no command '\(name)'\(suggestion(for: name)); 'help' lists them")
        }
        guard arguments.words.count > 1 else { return try session.showHelp(of: command) }
        try session.showHelp(of: try command.named(arguments.words[1].text))
    }
}

extension ShellSession {
    func showHelp(of command: ShellCommand) throws(ShellError) {
        let lines = command.help()
        try show(.text(lines.joined(separator: "\n"))) { lines }
    }

    /// The `auth` in rules of the user that a word means; nil if there is no such user, or the server has no accounts.
    private func ruleAuth(_ word: Word) async throws(ShellError) -> JSONObject? {
        let question = JSONObject([word.text.contains("@") ? "email" : "localId": .text(word.text)])
        let project = DatabaseURL.encoded(Array(try await project().utf8))
        let answer = try await answer("POST", "/v1/projects/\(project)/accounts:ruleAuth", question.bytes)
        if answer.status == 404 || answer.message == "USER_NOT_FOUND" { return nil }
        return try answer.content().object
    }

    /// Somebody as the rules would see them.
    fileprivate func acting(as word: Word) async throws(ShellError) -> Acting {
        if word.text == "nobody" { return Acting(name: "nobody", auth: Array("null".utf8)) }
        if let user = try await ruleAuth(word), let auth = user["auth"] {
            return Acting(name: user["localId"]?.text ?? word.text, auth: auth.bytes)
        }
        if word.text.contains("@") { throw .failed("there is no user \(word.text)") }
        // A server without accounts knows no users, but its rules do.
        let id = JSONValue.text(word.text)
        let token = JSONObject(["sub": id, "user_id": id])
        return Acting(name: word.text, auth: JSONObject(["uid": id, "token": .object(token)]).bytes)
    }
}
