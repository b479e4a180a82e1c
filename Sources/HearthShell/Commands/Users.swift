import HearthJSONTree
import HearthJSONValues
import HearthWireProtocol
import HearthSystem
import HearthClientSession

/// Commands about accounts.
extension ShellCommand {
    private static let subcommands = ["list", "get", "create", "disable", "enable", "delete", "claims", "revoke"]

    static let users = ShellCommand(
        name: "users",
        synopsis: "list [-n N] | get WHO | create EMAIL | disable|enable|delete|revoke WHO | claims WHO [JSON]",
        summary: "List, make and change the accounts of users.",
        details: """
            WHO is a user's id, or an email address.

            list       by id
            create     asks for a password unless --password has it
            claims     show what rules see in auth.token besides the usual, or replace it; {} removes it
            revoke     end all sessions of a user, who has to sign in again
            delete     for good
            """, words: .subcommands(subcommands),
        options: [
            .limit("list: so many at most (default 100)"),
            .init(name: "yes", letter: "y", value: nil, help: "delete: do not ask"),
            .init(name: "password", value: "TEXT", isSecret: true, help: "create"),
            .init(name: "name", value: "TEXT", help: "create"),
            .init(name: "uid", value: "ID", help: "create: the id (default: random)"),
        ]
    ) { (session, arguments) throws(ShellError) in
        let words = arguments.words.dropFirst()
        switch (arguments.words.first?.text ?? "list", words.count) {
        case ("list", 0): try await session.listUsers(try arguments.count("limit") ?? 100)
        case ("get", 1):
            let user = try await session.user(words[1])
            try session.show(.object(user)) { session.painter.lines(.object(session.readable(user))) }
        case ("create", 0...1): try await session.createUser(words.first?.text, arguments)
        case ("disable", 1): try await session.update(words[1], "disable", ["disableUser": .bool(true)])
        case ("enable", 1): try await session.update(words[1], "enable", ["disableUser": .bool(false)])
        case ("revoke", 1):
            let now = String(WallClock.milliseconds / 1000)
            try await session.update(words[1], "revoke the tokens of", ["validSince": .text(now)])
        case ("delete", 1): try await session.deleteUser(words[1], arguments)
        case ("claims", 1):
            let claims = try await session.user(words[1])["customAttributes"]?.text ?? "{}"
            let value = (try? JSONValue(parsing: Array(claims.utf8))) ?? .text(claims)
            try session.show(value) { session.painter.lines(value) }
        case ("claims", 2...):
            let json = try arguments.json(from: 2)
            guard let claims = (try? JSONValue(parsing: json))?.object else { throw .usage("claims are a JSON object") }
            try await session.update(
                words[1], "replace the claims of", ["customAttributes": .string(claims.bytes)])
        default: throw arguments.misused("which of them?")
        }
    }
}

extension ShellSession {
    private func accounts(_ operation: String) async throws(ShellError) -> String {
        "/v1/projects/\(Self.encoded(try await project()))/accounts\(operation)"
    }

    private static func encoded(_ text: String) -> String { DatabaseURL.encoded(Array(text.utf8)) }

    fileprivate func listUsers(_ limit: Int) async throws(ShellError) {
        var rows: [[String]] = []
        var all: [JSONValue] = []
        var next = ""
        repeat {
            let parameters = "?returnPasswords=false&maxResults=\(min(limit - all.count, 1000))\(next)"
            let page = try await call("GET", try await accounts(":batchGet") + parameters)
            let users = page.object?["users"]?.array ?? []
            all += users
            rows += users.compactMap(\.object).map { user in
                let seen = user["lastLoginAt"]?.text.flatMap { Int64($0) }
                return [
                    user["localId"]?.text ?? "", user["email"]?.text ?? "-", user["displayName"]?.text ?? "",
                    seen.map { Moment.text($0) } ?? "-", user["disabled"]?.bool == true ? "disabled" : "",
                ]
            }
            next = page.object?["nextPageToken"]?.text.map { "&nextPageToken=" + Self.encoded($0) } ?? ""
        } while !next.isEmpty && all.count < limit
        try show(.array(all), table: rows, head: ["id", "email", "name", "last sign-in", ""])
        if !next.isEmpty, !isJSON { try out.line(styled("the first \(limit): 'users list -n N' shows more", .dim)) }
    }

    /// What rules would see of the user that a word means; nil if there is no such user, or the server has no accounts.
    func ruleAuth(_ word: Word) async throws(ShellError) -> JSONObject? {
        let question = JSONObject([word.text.contains("@") ? "email" : "localId": .text(word.text)])
        let answer = try await answer("POST", try await accounts(":ruleAuth"), question.bytes)
        if answer.status == 404 || answer.message == "USER_NOT_FOUND" { return nil }
        return try answer.content().object
    }

    /// The account that a word means; throws if there is none.
    fileprivate func user(_ word: Word) async throws(ShellError) -> JSONObject {
        let isEmail = word.text.contains("@")
        let question = JSONObject([isEmail ? "email" : "localId": .array([.text(word.text)])])
        let answer = try await call("POST", try await accounts(":lookup"), question.bytes)
        guard let user = answer.object?["users"]?.array?.first?.object else {
            throw .failed("there is no user \(word.text)")
        }
        return user
    }

    /// Times as people read them.
    fileprivate func readable(_ user: JSONObject) -> JSONObject {
        var user = user
        for name in ["createdAt", "lastLoginAt"] {
            if let time = user[name]?.text.flatMap({ Int64($0) }) { user[name] = .text(Moment.text(time)) }
        }
        user["passwordHash"] = nil
        return user
    }

    fileprivate func createUser(_ email: String?, _ arguments: ShellArguments) async throws(ShellError) {
        var password = arguments["password"]
        if password == nil, email != nil, !isDry, let prompter {
            password = prompter.secret("Password (none: empty): ")
            if password == nil { throw .stopped }
        }
        let user = JSONObject([
            "email": email.map { .text($0) }, "password": password.flatMap { $0.isEmpty ? nil : .text($0) },
            "displayName": arguments["name"].map { .text($0) }, "localId": arguments["uid"].map { .text($0) },
        ])
        if isDry {
            return try await change("create \(email ?? "a user")", as: JSONObject(["email": user["email"]])) {
                () throws(ShellError) in
            }
        }
        let answer = try await call("POST", try await accounts(""), user.bytes)
        try show(answer) { [answer.object?["localId"]?.printable ?? ""] }
    }

    fileprivate func update(
        _ word: Word, _ verb: String, _ members: KeyValuePairs<String, JSONValue?>
    ) async throws(ShellError) {
        let id = try await user(word)["localId"] ?? .null
        try await change("\(verb) \(word.text)", as: JSONObject(["localId": id])) { () throws(ShellError) in
            var body = JSONObject(["localId": id])
            body.merge(JSONObject(members))
            _ = try await call("POST", try await accounts(":update"), body.bytes)
        }
    }

    fileprivate func deleteUser(_ word: Word, _ arguments: ShellArguments) async throws(ShellError) {
        let id = try await user(word)["localId"] ?? .null
        if !arguments.has("yes") { try confirm("delete the account of \(word.text) for good") }
        try await change("delete the account of \(word.text)", as: JSONObject(["localId": id])) {
            () throws(ShellError) in
            _ = try await call("POST", try await accounts(":delete"), JSONObject(["localId": id]).bytes)
        }
    }
}
