import HearthEventLoop
import HearthAdmin
import HearthClient
import HearthShell
import HearthJSONTree
import HearthJSONValues

/// The commands about the accounts of a server. Each prints, and answers how the command ends.
struct UserDirectory: Sendable {
    private let run: ClientRun
    private let options: AdminOptions

    init(_ arguments: Arguments) throws(UsageError) {
        run = try ClientRun("users", arguments)
        options = AdminOptions(
            projectID: arguments["project"], tenantID: arguments["tenant"], requestTimeout: .seconds(300))
    }

    /// Runs the body of a command.
    func perform(
        _ body: @escaping @Sendable (Administrator) async throws(AdminError) -> ExitCode
    ) -> ExitCode { run.administer(options, body) }

    func complain(_ message: String, _ code: ExitCode) -> ExitCode { run.complain(message, code) }

    func announce(_ what: String) { run.announce(what) }

    // MARK: Commands

    func list(isJSON: Bool) -> ExitCode {
        perform { admin throws(AdminError) in
            for try await user in admin.users {
                StandardOutput.line(isJSON ? String(decoding: user.json.bytes, as: UTF8.self) : Self.line(of: user))
            }
            return .success
        }
    }

    private static func line(of user: UserRecord) -> String {
        var words = [user.uid, user.email ?? user.phoneNumber ?? "-", user.displayName ?? "-"]
        if user.isDisabled { words.append("disabled") }
        if user.customClaimsText != nil { words.append("claims") }
        // A name may hold anything; a line is a user.
        return words.map(\.printable).joined(separator: "\t")
    }

    func get(_ name: String) -> ExitCode {
        perform { admin throws(AdminError) in
            StandardOutput.write(JSONLayout(isPretty: true).text(try await admin.user(named: name).json.bytes))
            return .success
        }
    }

    func create(_ user: NewUser) -> ExitCode {
        perform { admin throws(AdminError) in
            StandardOutput.line(try await admin.createUser(user).uid.printable)
            return .success
        }
    }

    func update(_ names: [String], _ update: UserUpdate) -> ExitCode {
        each(names) { admin, uid throws(AdminError) in try await admin.updateUser(uid, update) }
    }

    func revoke(_ names: [String]) -> ExitCode {
        each(names) { admin, uid throws(AdminError) in try await admin.revokeRefreshTokens(of: uid) }
    }

    /// - parameter isSure: whether not to ask.
    func delete(_ names: [String], isSure: Bool) -> ExitCode {
        announce("delete \(names.map(\.printable).joined(separator: ", "))")
        if let refusal = run.refusal(isSure: isSure) { return refusal }
        return each(names) { admin, uid throws(AdminError) in try await admin.deleteUser(uid) }
    }

    func claims(of name: String) -> ExitCode {
        perform { admin throws(AdminError) in
            StandardOutput.line(try await admin.user(named: name).customClaimsText ?? "{}")
            return .success
        }
    }

    /// - parameter claims: as they were typed, so that the server says what is wrong with them.
    func setClaims(_ claims: String, of name: String) -> ExitCode {
        each([name]) { admin, uid throws(AdminError) in
            try await admin.change(uid, JSONObject(["customAttributes": .text(claims)]))
        }
    }

    private func each(
        _ names: [String], _ body: @escaping @Sendable (Administrator, _ uid: String) async throws(AdminError) -> Void
    ) -> ExitCode {
        perform { admin throws(AdminError) in
            for name in names { try await body(admin, try await admin.user(named: name).uid) }
            return .success
        }
    }
}
