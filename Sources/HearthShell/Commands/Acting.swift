import JSONTree
import JSONWebTokens

/// Commands about the shell itself.
extension ShellCommand {
    static let `as` = ShellCommand(
        name: "as", synopsis: "[UID|nobody] [COMMAND]",
        summary: "Act as a user under the rules, for good or for one command.",
        details: """
            Rules then see the user's id and, if there is an account, its claims in 'auth'. 'as nobody' is somebody signed
            out. 'as' alone makes the administrator of you again. Commands about the server stay the administrator's.
            """
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
        name: "dry", synopsis: "COMMAND", summary: "Show what a command would change, and change nothing."
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("COMMAND is missing") }
        let before = session.isDry
        session.isDry = true
        defer { session.isDry = before }
        try await session.run(arguments.words)
    }

    static let exit = ShellCommand(name: "exit", summary: "Leave (^D does, too).") {
        (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        session.isOver = true
    }

    static let help = ShellCommand(
        name: "help", synopsis: "[COMMAND]", summary: "Explain the commands, or one of them.",
        words: .commands
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        guard let name = arguments.words.first?.text else {
            let commands = ShellCommand.all
            let width = commands.map(\.name.count).max() ?? 0
            return try session.show(.array(commands.map { .text($0.name) })) {
                commands.map { command in
                    let name = command.name + String(repeating: " ", count: width - command.name.count)
                    return "  \(session.styled(name, .strong))  \(command.summary)"
                } + ["", "'help COMMAND' explains one. Keys complete with tab; ^C ends a command, ^D the shell."]
            }
        }
        guard let command = named(name) else { throw .usage("there is no command '\(name)'; 'help' lists them") }
        try session.show(.text(command.usage)) {
            var lines = ["usage: \(command.usage)", command.summary]
            if !command.details.isEmpty {
                lines.append("")
                lines += command.details.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            }
            return lines
        }
    }
}

extension ShellSession {
    /// Somebody as the rules would see them.
    fileprivate func acting(as word: Word) async throws(ShellError) -> Acting {
        if word.text == "nobody" { return Acting(name: "nobody", auth: Array("null".utf8)) }
        var id = word.text
        var token = JSONObject()
        // A server without accounts knows no users, but its rules do.
        if let user = try? await user(word) {
            id = user["localId"]?.text ?? id
            token = JSONObject([
                "email": user["email"],
                "email_verified": user["email"].map { _ in user["emailVerified"] ?? .bool(false) },
                "name": user["displayName"],
            ])
            if let claims = user["customAttributes"]?.utf8.flatMap({ try? JSONValue(parsing: $0) })?.object {
                token.merge(claims)
            }
        } else if id.contains("@") {
            throw .failed("there is no user \(id)")
        }
        var all = JSONObject(["sub": .text(id), "user_id": .text(id)])
        all.merge(token)
        return Acting(name: id, auth: JSONObject(["uid": .text(id), "token": .object(all)]).bytes)
    }
}
