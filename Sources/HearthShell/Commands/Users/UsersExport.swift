import HearthAdmin
import HearthJSONValues

/// Writes users as `firebase auth:export` does, and how their passwords were hashed.
struct UsersExport {
    private let session: ShellSession
    private let output: OutputFile
    private let hasPasswords: Bool
    /// Only users whose passwords are hashed so.
    private let algorithm: String?

    init(_ session: ShellSession, _ arguments: ShellArguments) throws(ShellError) {
        self.session = session
        hasPasswords = arguments.has("passwords")
        algorithm = arguments["hash-algo"]?.uppercased()
        if algorithm != nil, !hasPasswords { throw arguments.misused("--hash-algo needs --passwords") }
        output = try OutputFile(arguments.words.first?.text, replaces: arguments.has("overwrite"))
    }

    func run(_ arguments: ShellArguments) async throws(ShellError) {
        do throws(ShellError) {
            let counts = try await write(arguments)
            for (kind, count) in counts.sorted(by: { $0.value > $1.value }) {
                session.tell("\(count) passwords hashed with \(kind.optionText)")
            }
        } catch {
            output.discard()
            if !output.isFile, StandardOutput.isAbandoned { throw .stopped }
            throw output.failure.map { .failed($0) } ?? error
        }
        try session.report(output, try output.finish())
    }

    /// Answers how many passwords are hashed in which way.
    private func write(_ arguments: ShellArguments) async throws(ShellError) -> [PasswordHashing: Int] {
        var text = Array(#"{"users":["#.utf8)
        // The kind that the file as a whole says. A user of another one says it.
        var hashing: PasswordHashing?
        var counts: [PasswordHashing: Int] = [:]
        var isFirst = true
        var last: String?
        repeat {
            let (after, hasPasswords) = (last, hasPasswords)
            let page = try await session.administering(arguments) { (admin) throws(AdminError) in
                try await admin.page(after: after, withPasswords: hasPasswords)
            }
            if hasPasswords, algorithm == nil, let config = page.answer["hashConfig"]?.object {
                hashing = PasswordHashing(members: config)
            }
            for user in page.users.map(\.json) {
                let own = user["salt"] == nil ? nil : user["hashConfig"] ?? page.answer["hashConfig"]
                let kind = own?.object.map { PasswordHashing(members: $0) }
                if let algorithm {
                    guard let kind, kind.algorithm == algorithm else { continue }
                    hashing = hashing ?? kind
                }
                var entry = Self.entry(user, hasPasswords: hasPasswords)
                if let kind {
                    counts[kind, default: 0] += 1
                    if kind != hashing { entry["hashConfig"] = .object(kind.members) }
                }
                text += Array((isFirst ? "\n" : ",\n").utf8) + entry.bytes
                isFirst = false
            }
            last = page.next
            try write(text)
            text = []
        } while last != nil
        text += Array("\n]".utf8)
        if let hashing {
            text += Array(#","hashConfig":"#.utf8)
            hashing.members.append(to: &text)
        }
        try write(text + Array("}\n".utf8))
        return counts
    }

    private func write(_ text: [UInt8]) throws(ShellError) {
        if !output.write(text) { throw .failed(output.failure ?? "") }
    }

    /// The members that the format has, under its names.
    private static func entry(_ user: JSONObject, hasPasswords: Bool) -> JSONObject {
        var entry = JSONObject()
        for name in ["localId", "email", "emailVerified"] { entry[name] = user[name] }
        // A hash without a salt is a placeholder.
        if hasPasswords, user["salt"] != nil { for name in ["passwordHash", "salt"] { entry[name] = user[name] } }
        for name in ["displayName", "photoUrl", "createdAt", "phoneNumber", "disabled", "customAttributes"] {
            entry[name] = user[name]
        }
        entry["lastSignedInAt"] = user["lastLoginAt"]
        let links = (user["providerUserInfo"]?.array ?? []).compactMap(\.object).filter { link in
            link["providerId"]?.isText("password") != true && link["providerId"]?.isText("phone") != true
        }
        entry["providerUserInfo"] = .array(
            links.map { link in
                var kept = JSONObject()
                for name in ["providerId", "rawId", "email", "displayName", "photoUrl"] { kept[name] = link[name] }
                return .object(kept)
            })
        return entry
    }
}
