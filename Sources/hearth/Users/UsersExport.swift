import HearthClient
import HearthShell
import JSONWebTokens

/// Writes all users as `firebase auth:export` does.
struct UsersExport {
    private let output: OutputFile
    private let hasPasswords: Bool

    init(_ file: String?, _ arguments: Arguments) throws(UsageError) {
        output = try UsageError.of { () throws(ShellError) in try OutputFile(file) }
        hasPasswords = arguments.flag("passwords")
    }

    func run(_ directory: UserDirectory) -> ExitCode {
        let (output, hasPasswords) = (output, hasPasswords)
        let code = directory.perform { session throws(ConnectionError) in
            var text = Array(#"{"users":["#.utf8)
            var hashConfig: JSONValue?
            var isFirst = true
            var last: String?
            repeat {
                let page = try await session.page(after: last, withPasswords: hasPasswords)
                for user in page.users {
                    text += Array((isFirst ? "\n" : ",\n").utf8) + Self.entry(user, hasPasswords: hasPasswords).bytes
                    isFirst = false
                }
                hashConfig = page.answer["hashConfig"]
                last = page.next
                guard output.write(text) else { return .failure }
                text = []
            } while last != nil
            text += Array("\n]".utf8)
            if let hashConfig {
                text += Array(#","hashConfig":"#.utf8)
                hashConfig.append(to: &text)
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
        // Without hashes there is a word in their place that is none.
        if hasPasswords { for name in ["passwordHash", "salt"] { entry[name] = user[name] } }
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
