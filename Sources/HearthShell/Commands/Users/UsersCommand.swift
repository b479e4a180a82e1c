import HearthAdmin
import HearthJSONValues

/// The accounts of a server.
extension ShellCommand {
    static let users = group(
        "users", summary: "See and change the accounts of users, as an administrator.",
        details: """
            USER is an id, an e-mail address or a telephone number (+15555550100).
            """,
        options: [
            .init(
                name: "project", value: "NAME",
                help: "the project of the accounts (default: that of the server's clients)"),
            .init(name: "tenant", value: "NAME", help: "the tenant of the project that has them (default: none)"),
        ], usual: "list",
        [
            listUsers, getUser, createUser, updateUser, disableUsers, enableUsers, deleteUsers, revokeUsers, claims,
            importUsers, exportUsers,
        ])

    private static let listUsers = ShellCommand(
        name: "list", synopsis: "[-n N]", summary: "List the users by id.",
        json: #"an object for each user, with the members of the Identity Toolkit API: "localId", "email"…."#,
        details: """
            As -o raw, and in pipes, a line has the id, the address or else the number, and the name, with a tab between
            them; then 'disabled' and 'claims' where that is so.
            """, options: [.limit("only the first N")]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...0)
        try await UserList(session, limit: try arguments.count("limit") ?? .max).show(arguments)
    }

    private static let getUser = ShellCommand(
        name: "get", synopsis: "USER", summary: "Print all about a user.",
        json: #"the members of the Identity Toolkit API: {"localId", "email", "displayName", "createdAt"…}."#
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        let user = try await session.administering(arguments) { (admin) throws(AdminError) in
            try await admin.user(named: arguments.words[0].text).json
        }
        try session.show(.object(user)) {
            session.format == .raw
                ? [String(decoding: user.bytes, as: UTF8.self)]
                : session.painter.lines(.object(UserList.readable(user)))
        }
    }

    private static let createUser = ShellCommand(
        name: "create", synopsis: "[EMAIL] [OPTIONS]", summary: "Make a user, and print the id.",
        json: #"as of 'users get'."#,
        details: "At a terminal, a user with an address is asked for a password unless --password has one.",
        options: [
            .init(name: "uid", value: "ID", help: "the id (default: random)"),
            .init(name: "email", value: "ADDRESS", help: "the same as EMAIL"),
        ] + UserOptions.options
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        guard arguments.words.isEmpty || !arguments.has("email") else {
            throw arguments.misused("EMAIL and --email are the same")
        }
        var options = try UserOptions(session, arguments, isNew: true)
        if let word = arguments.words.first { options.texts["email"] = word.text }
        let email = options.texts["email"]
        if email != nil, options.texts["password"] == nil, !session.isDry, let prompter = session.prompter {
            let password = try prompter.secret("Password (none: empty): ")
            if !password.isEmpty { options.texts["password"] = password }
        }
        if session.isDry {
            let name = email ?? options.texts["uid"] ?? "a user"
            let change = JSONObject(["email": email.map { .text($0) }])
            return try await session.change("create \(name)", as: change) { () throws(ShellError) in }
        }
        let new = options.newUser
        let user = try await session.administering(arguments) { (admin) throws(AdminError) in
            try await admin.createUser(new)
        }
        try session.show(.object(user.json)) { [user.uid.printable] }
    }

    private static let updateUser = ShellCommand(
        name: "update", synopsis: "USER OPTIONS", summary: "Change what the options name; an empty text removes.",
        json: #"{"localId"}."#,
        options: [.init(name: "email", value: "ADDRESS", help: "the address")] + UserOptions.options
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        let options = try UserOptions(session, arguments, isNew: false)
        if options.isEmpty { throw arguments.misused("no option says what to change") }
        try await session.change(users: arguments, "update", options.update)
    }

    private static let disableUsers = ShellCommand(
        name: "disable", synopsis: "USER...", summary: "Let users sign in no more.",
        json: #"{"localId"} for each user."#
    ) { (session, arguments) throws(ShellError) in
        try await session.change(users: arguments, "disable", UserUpdate(isDisabled: true))
    }

    private static let enableUsers = ShellCommand(
        name: "enable", synopsis: "USER...", summary: "Let users sign in again.",
        json: #"{"localId"} for each user."#
    ) { (session, arguments) throws(ShellError) in
        try await session.change(users: arguments, "enable", UserUpdate(isDisabled: false))
    }

    private static let deleteUsers = ShellCommand(
        name: "delete", synopsis: "USER... [-y]", summary: "Delete accounts for good. Data stays.",
        json: #"{"localId"} for each user."#, options: [.yes]
    ) { (session, arguments) throws(ShellError) in
        guard !arguments.words.isEmpty else { throw arguments.misused("USER is missing") }
        let names = arguments.words.map(\.text.printable).joined(separator: ", ")
        try session.confirm("delete \(names) for good")
        session.announce("delete \(names)")
        try await session.change(users: arguments, "delete") { (admin, uid) throws(AdminError) in
            try await admin.deleteUser(uid)
        }
    }

    private static let revokeUsers = ShellCommand(
        name: "revoke", synopsis: "USER...", summary: "End all sessions of users, who have to sign in again.",
        json: #"{"localId"} for each user."#
    ) { (session, arguments) throws(ShellError) in
        try await session.change(users: arguments, "revoke the tokens of") { (admin, uid) throws(AdminError) in
            try await admin.revokeRefreshTokens(of: uid)
        }
    }

    private static let claims = ShellCommand(
        name: "claims", synopsis: "USER [JSON|-]",
        summary: "Print the claims that rules see in auth.token besides the usual, or replace them.",
        json: #"the claims, or {"localId"} when they are replaced."#,
        details: "JSON is an object; {} removes them. - reads it from standard input."
    ) { (session, arguments) throws(ShellError) in
        guard let name = arguments.words.first?.text else { throw arguments.misused("USER is missing") }
        if arguments.words.count == 1 {
            let text = try await session.administering(arguments) { (admin) throws(AdminError) in
                try await admin.user(named: name).customClaimsText ?? "{}"
            }
            let value = (try? JSONValue(parsing: Array(text.utf8))) ?? .text(text)
            return try session.show(value) {
                session.format == .raw ? [text.printable] : session.painter.lines(value)
            }
        }
        let claims = try session.json(arguments, from: 1).object("claims are a JSON object")
        let members = JSONObject(["customAttributes": .string(claims.bytes)])
        try await session.change(users: arguments.prefix(1), "replace the claims of") {
            (admin, uid) throws(AdminError) in
            try await admin.change(uid, members)
        }
    }

    private static let importUsers = ShellCommand(
        name: "import", synopsis: "FILE [OPTIONS]", summary: "Make users of the JSON of 'firebase auth:export'.",
        json: #"{"imported": NUMBER, "refused": NUMBER}."#,
        details: """
            --hash-algo and its companions, which are those of 'firebase auth:import', say how its passwords were hashed,
            unless the file does. FILE - is standard input. A user id that is taken is refused, unless --overwrite is
            given: the user of the file then replaces the other one, with its password and custom claims, and signed-in
            clients must sign in again.
            """,
        options: [.init(name: "overwrite", value: nil, help: "replace users that are there already")]
            + PasswordHashing.options
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(1...1)
        try await UsersImport(session, arguments).run(arguments)
    }

    private static let exportUsers = ShellCommand(
        name: "export", synopsis: "[FILE] [OPTIONS]", summary: "Write users as 'firebase auth:export' does.",
        json: #"{"file", "bytes"}, with FILE."#,
        details: """
            With --passwords also the hashes of passwords; the options that tell 'firebase auth:import' how they were made
            are printed then. One file may hold passwords of several kinds for 'users import'; for others, --hash-algo NAME
            writes the users of one kind. Without FILE the JSON goes to standard output.
            """,
        options: [
            .init(name: "passwords", value: nil, help: "with the hashes of passwords, which are secrets"),
            .init(name: "hash-algo", value: "NAME", help: "only users whose passwords are hashed so"),
            .overwrite,
        ]
    ) { (session, arguments) throws(ShellError) in
        try arguments.expect(0...1)
        try await UsersExport(session, arguments).run(arguments)
    }
}

extension ShellSession {
    /// Makes requests about the accounts of the project and tenant that the options name.
    func administering<Value: Sendable>(
        _ arguments: ShellArguments, _ body: (Administrator) async throws(AdminError) -> Value
    ) async throws(ShellError) -> Value {
        let options = AdminOptions(
            projectID: arguments["project"], tenantID: arguments["tenant"], requestTimeout: .seconds(300))
        do throws(AdminError) { return try await body(try administrator(options)) } catch { throw described(error) }
    }

    fileprivate func change(
        users arguments: ShellArguments, _ verb: String, _ update: UserUpdate
    ) async throws(ShellError) {
        try await change(users: arguments, verb) { (admin, uid) throws(AdminError) in
            try await admin.updateUser(uid, update)
        }
    }

    /// Changes each of the users that the words name.
    fileprivate func change(
        users arguments: ShellArguments, _ verb: String,
        _ body: (Administrator, _ uid: String) async throws(AdminError) -> Void
    ) async throws(ShellError) {
        guard !arguments.words.isEmpty else { throw arguments.misused("USER is missing") }
        for word in arguments.words {
            let uid = try await administering(arguments) { (admin) throws(AdminError) in
                try await admin.user(named: word.text).uid
            }
            let change = JSONObject(["localId": .text(uid)])
            try await self.change("\(verb) \(word.text.printable)", as: change) { () async throws(ShellError) in
                try await administering(arguments) { (admin) throws(AdminError) in try await body(admin, uid) }
            }
        }
    }
}
