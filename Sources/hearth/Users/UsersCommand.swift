import HearthAdmin
import HearthServer
import HearthShell

extension Command {
    static let users = Command(
        name: "users",
        synopsis: "list | get USER | create | update USER | disable|enable|delete|revoke USER... |\n"
            + "       hearth users claims USER [JSON|-] | import FILE | export [FILE] [OPTIONS]",
        summary: "See and change the accounts of a running server, as an administrator.",
        details: """
            USER is an id, an e-mail address or a telephone number (+15555550100).

            list      a line for each: id, address or number, name, and what is special
            get       everything about a user, as JSON
            create    makes a user, and prints the id
            update    changes what the options name; an empty text removes
            revoke    ends all sessions of the users
            claims    prints a user's custom claims, or replaces them by a JSON object
            import    reads the JSON of 'firebase auth:export'; --hash-algo and its companions, which are those of
                      'firebase auth:import', say how its passwords were hashed
            export    writes that JSON, with --passwords also the hashes, and prints the options that tell
                      'firebase auth:import' how they were made. One file may hold passwords of several kinds for
                      'hearth users import'; for others, --hash-algo NAME writes the users of one kind

            The command talks to the admin listener: the one that the key of --key names, or --url. In development mode no
            credential is needed.
            """,
        options: [
            .init(
                name: "url", value: "URL",
                help: "where the server answers administrators (default: that of --key, or \(ServerAddress.usual))"),
            .init(
                name: "project", value: "NAME",
                help: "the project of the accounts (default: that of the server's clients)"),
            .init(name: "tenant", value: "NAME", help: "the tenant of the project that has them (default: none)"),
            .init(name: "yes", value: nil, help: "delete: do not ask"),
            .init(name: "json", value: nil, help: "list: each line is all about a user"),
            .init(name: "uid", value: "ID", help: "create: the id (default: random)"),
            .init(name: "email", value: "ADDRESS", help: "create, update"),
            .init(name: "verified", value: "YES|NO", help: "create, update: the address is the user's"),
            .init(
                name: "password", value: "TEXT|-", isSecret: true,
                help: "create, update; - reads a line of standard input"),
            .init(name: "name", value: "TEXT", help: "create, update"),
            .init(name: "photo", value: "URL", help: "create, update"),
            .init(name: "phone", value: "NUMBER", help: "create, update"),
            .init(name: "passwords", value: nil, help: "export: with the hashes of passwords, which are secrets"),
            .init(
                name: "hash-algo", value: "NAME",
                help: "import, export: BCRYPT, SCRYPT, STANDARD_SCRYPT, HMAC_SHA256, …"),
            .init(
                name: "hash-key", value: "BASE64", isSecret: true, help: "import: the key of HMAC_… and SCRYPT"),
            .init(name: "salt-separator", value: "BASE64", help: "import: of SCRYPT"),
            .init(name: "rounds", value: "N", help: "import: of MD5, SHA…, PBKDF… and SCRYPT"),
            .init(name: "mem-cost", value: "N", help: "import: of SCRYPT and STANDARD_SCRYPT"),
            .init(name: "parallelization", value: "N", help: "import: of STANDARD_SCRYPT"),
            .init(name: "block-size", value: "N", help: "import: of STANDARD_SCRYPT"),
            .init(name: "dk-len", value: "N", help: "import: of STANDARD_SCRYPT"),
            .init(name: "hash-input-order", value: "ORDER", help: "import: SALT_FIRST or PASSWORD_FIRST"),
        ] + ServerAddress.accessOptions
    ) { arguments throws(UsageError) in
        guard let verb = arguments.positional.first else { throw UsageError(message: "needs list, get, create, …") }
        let words = Array(arguments.positional.dropFirst())
        let directory = try UserDirectory(arguments)
        switch (verb, words.count) {
        case ("list", 0): return directory.list(isJSON: arguments.flag("json"))
        case ("get", 1): return directory.get(words[0])
        case ("create", 0): return directory.create(try UserOptions(arguments, isNew: true).newUser)
        case ("update", 1): return directory.update(words, try UserOptions(arguments, isNew: false).update)
        case ("disable", 1...): return directory.update(words, UserUpdate(isDisabled: true))
        case ("enable", 1...): return directory.update(words, UserUpdate(isDisabled: false))
        case ("revoke", 1...): return directory.revoke(words)
        case ("delete", 1...): return directory.delete(words, isSure: arguments.flag("yes"))
        case ("claims", 1): return directory.claims(of: words[0])
        case ("claims", 2):
            let claims = String(decoding: try InputText(words[1]).bytes, as: UTF8.self)
            return directory.setClaims(claims, of: words[0])
        case ("import", 1): return try UsersImport(file: words[0], arguments).run(directory)
        case ("export", 0...1): return try UsersExport(words.first, arguments).run(directory)
        default: throw UsageError(message: "'\(arguments.positional.joined(separator: " "))' is none of its forms")
        }
    }
}

/// What the options say of a user. An empty text removes.
private struct UserOptions {
    private let texts: [String: String]
    private let isVerified: Bool?

    /// - parameter isNew: there is nothing yet that could be removed.
    init(_ arguments: Arguments, isNew: Bool) throws(UsageError) {
        var texts: [String: String] = [:]
        for option in ["uid", "email", "name", "photo", "phone", "password"] {
            guard var value = arguments[option] else { continue }
            if option == "uid", !isNew { throw UsageError(message: "the id of a user does not change") }
            if option == "password", value == "-" {
                guard let line = readLine() else { throw UsageError(message: "no password on standard input") }
                value = line
            }
            let mayBeEmpty = !isNew && ["name", "photo", "phone"].contains(option)
            guard mayBeEmpty || !value.isEmpty else { throw UsageError(message: "--\(option) is empty") }
            texts[option] = value
        }
        self.texts = texts
        isVerified = try arguments["verified"].map { (text) throws(UsageError) in
            guard let value = ["yes": true, "true": true, "no": false, "false": false][text.lowercased()] else {
                throw UsageError(message: "--verified is yes or no, not '\(text)'")
            }
            return value
        }
    }

    var newUser: NewUser {
        NewUser(
            uid: texts["uid"], email: texts["email"], isEmailVerified: isVerified ?? false,
            password: texts["password"], displayName: texts["name"], photoURL: texts["photo"],
            phoneNumber: texts["phone"])
    }

    var update: UserUpdate {
        func change(_ option: String) -> UserUpdate.Change? { texts[option].map { $0.isEmpty ? .remove : .set($0) } }
        return UserUpdate(
            email: texts["email"], isEmailVerified: isVerified, password: texts["password"],
            displayName: change("name"), photoURL: change("photo"), phoneNumber: change("phone"))
    }
}
