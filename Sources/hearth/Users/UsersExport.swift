import HearthAdmin
import HearthShell
import HearthJSONValues

/// Writes users as `firebase auth:export` does, and beside them how their passwords were hashed.
struct UsersExport {
    private let output: OutputFile
    private let hasPasswords: Bool
    /// Only users whose passwords are hashed so.
    private let algorithm: String?

    init(_ file: String?, _ arguments: Arguments) throws(UsageError) {
        hasPasswords = arguments.flag("passwords")
        algorithm = arguments["hash-algo"]?.uppercased()
        if algorithm != nil, !hasPasswords { throw UsageError(message: "--hash-algo needs --passwords") }
        output = try UsageError.of { () throws(ShellError) in try OutputFile(file) }
    }

    func run(_ directory: UserDirectory) -> ExitCode {
        let (output, hasPasswords, algorithm) = (output, hasPasswords, algorithm)
        let code = directory.perform { admin throws(AdminError) in
            var text = Array(#"{"users":["#.utf8)
            // The kind that the file as a whole says. A user of another one says it.
            var hashing: PasswordHashing?
            var counts: [PasswordHashing: Int] = [:]
            var isFirst = true
            var last: String?
            repeat {
                let page = try await admin.page(after: last, withPasswords: hasPasswords)
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
                guard output.write(text) else { return .failure }
                text = []
            } while last != nil
            text += Array("\n]".utf8)
            if let hashing {
                text += Array(#","hashConfig":"#.utf8)
                hashing.members.append(to: &text)
            }
            for (kind, count) in counts.sorted(by: { $0.value > $1.value }) {
                StandardError.write("hearth users: \(count) passwords hashed with \(kind.optionText)\n")
            }
            return output.write(text + Array("}\n".utf8)) ? .success : .failure
        }
        guard code == .success else {
            output.discard()
            return output.failure.map { directory.complain($0, .failure) } ?? code
        }
        do throws(ShellError) { _ = try output.finish() } catch {
            return directory.complain(error.message ?? "", .failure)
        }
        return .success
    }

    /// The members that the format has, under its names.
    private static func entry(_ user: JSONObject, hasPasswords: Bool) -> JSONObject {
        var entry = JSONObject()
        for name in ["localId", "email", "emailVerified"] { entry[name] = user[name] }
        // A hash without a salt is a word that stands for one.
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
