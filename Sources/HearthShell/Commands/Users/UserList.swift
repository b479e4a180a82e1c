import HearthAdmin
import HearthJSONValues

/// Prints users, page by page.
struct UserList {
    private let session: ShellSession
    private var left: Int

    init(_ session: ShellSession, limit: Int) { (self.session, left) = (session, limit) }

    func show(_ arguments: ShellArguments) async throws(ShellError) {
        var left = left
        var array = ArrayLines(out: session.out, isJSON: session.format == .json)
        var last: String?
        var isFirst = true
        repeat {
            let after = last
            let page = try await session.administering(arguments) { (admin) throws(AdminError) in
                try await admin.page(after: after)
            }
            let users = page.users.prefix(left)
            left -= users.count
            switch session.format {
            case .json, .jsonl: for user in users { try array.append(user.json) }
            case .raw: for user in users { try session.out.line(Self.line(of: user)) }
            case .text:
                let table = Table(head: Self.head, rows: users.map(Self.row)).lines { session.styled($0, .dim) }
                for line in table.dropFirst(isFirst ? 0 : 1) { try session.out.line(line) }
            }
            isFirst = false
            last = page.next
        } while last != nil && left > 0
        if session.isJSON { try array.end() }
    }

    private static let head = ["id", "email", "name", "last sign-in", ""]

    private static func row(of user: UserRecord) -> [String] {
        let seen = user.json["lastLoginAt"]?.text.flatMap { Int64($0) }
        return [
            user.uid, user.email ?? user.phoneNumber ?? "-", user.displayName ?? "",
            seen.map { Moment.text($0) } ?? "-",
            marks(of: user).joined(separator: ", "),
        ]
    }

    private static func line(of user: UserRecord) -> String {
        let words = [user.uid, user.email ?? user.phoneNumber ?? "-", user.displayName ?? "-"] + marks(of: user)
        // A name may hold anything; a line is a user.
        return words.map(\.printable).joined(separator: "\t")
    }

    private static func marks(of user: UserRecord) -> [String] {
        (user.isDisabled ? ["disabled"] : []) + (user.customClaims.isEmpty ? [] : ["claims"])
    }

    /// A user's members for people, with readable times.
    static func readable(_ user: JSONObject) -> JSONObject {
        var user = user
        for name in ["createdAt", "lastLoginAt"] {
            if let time = user[name]?.text.flatMap({ Int64($0) }) { user[name] = .text(Moment.text(time)) }
        }
        user["passwordHash"] = nil
        return user
    }
}
