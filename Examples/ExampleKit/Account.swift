public import HearthClient
public import HearthExampleTerminal

/// A signed-in user.
public typealias Person = Account.Person

extension Account {
    /// Of the server and with the session that the command line names.
    public convenience init(_ call: Call) throws { try self.init(url: call.server, sessionFile: call.sessionFile) }

    /// Who is signed in, for commands that make no sense without.
    public func needPerson() throws(Problem) -> Person {
        guard let person else { throw Problem("nobody is signed in: sign in first") }
        return person
    }

    /// Makes an account with what a form holds, and signs in.
    ///
    /// - parameter values: `name`, `email`, `password`, and `confirmation` if the password was asked for twice.
    /// - throws: ``FieldProblems`` for these; `AuthError`.
    public func signUp(_ values: [String: String]) async throws {
        let (name, password) = (values["name"]?.trimmed ?? "", values["password"] ?? "")
        try FieldProblems.check([
            "name": name.isEmpty ? "Say what you are called." : nil,
            "confirmation": values["confirmation"] ?? password != password ? "This is not the same password." : nil,
        ])
        try await attempt { () throws(AuthError) in
            try await signUp(name: name, email: values["email"]?.trimmed ?? "", password: password)
        }
    }

    /// Signs in with what a form holds.
    ///
    /// - parameter values: `email` and `password`.
    /// - throws: ``FieldProblems`` for these; `AuthError`.
    public func signIn(_ values: [String: String]) async throws {
        try await attempt { () throws(AuthError) in
            try await signIn(email: values["email"]?.trimmed ?? "", password: values["password"] ?? "")
        }
    }

    /// Tells the fields of a form which of them the server does not take.
    private func attempt(_ work: () async throws(AuthError) -> Void) async throws {
        do throws(AuthError) { try await work() } catch {
            switch error.code {
            case .emailAlreadyInUse, .invalidEmail, .missingEmail, .userNotFound, .userDisabled:
                throw FieldProblems(["email": error.message + "."])
            case .weakPassword, .missingPassword, .wrongPassword, .invalidCredential:
                throw FieldProblems(["password": error.message + "."])
            default: throw error
            }
        }
    }
}

extension Terminal {
    /// Shows next to each title whether there is a connection and which changes the server does not have, and asks
    /// before such changes are lost.
    public func watch(_ account: Account) {
        func unsaved() -> String { account.pendingWrites == 1 ? "1 change" : "\(account.pendingWrites) changes" }
        badge = {
            if account.pendingWrites == 0 { return account.isOnline ? nil : "no connection" }
            return "\(account.isOnline ? "" : "no connection, ")\(unsaved()) not saved"
        }
        leaving = {
            if account.pendingWrites == 0 { return nil }
            return "The server does not have \(unsaved()) yet. Leave, and lose this?"
        }
    }

    /// Asks who is there, unless somebody is signed in already.
    ///
    /// - parameter asksTwice: whether the password of a new account is asked for a second time.
    /// - parameter signedUp: what else a new account gets. The account stays if that fails.
    /// - returns: who it is; nil if that is over already.
    /// - throws: ``Quit`` if the user wants to leave.
    public func welcome(
        _ title: String, _ account: Account, asksTwice: Bool = false,
        signedUp: @escaping @MainActor (Account, Person) async throws -> Void
    ) async throws -> Person? {
        if let why = account.auth.sessionEndError { message = Line(why.message + ".", .wrong) }
        let fields = [Field("email", "Email address"), Field("password", "Password", kind: .secret)]
        let again = asksTwice ? [Field("confirmation", "Once more", kind: .secret)] : []
        let choices = [
            Choice("Sign in") { try await self.form("Sign in", fields, does: "sign in", submit: account.signIn) },
            Choice("Create an account") {
                let all = [Field("name", "Your name")] + fields + again
                try await self.form("New account", all, does: "create", submit: account.signUp)
                guard let person = account.person else { return }
                try await self.perform("One moment…") { try await signedUp(account, person) }
            },
        ]
        try await choose({ title }, while: { account.person == nil }) { choices }
        return account.person
    }
}

extension Program {
    /// Commands to sign up, in and out.
    ///
    /// - parameter signedUp: what else a new account gets. The account stays if that fails.
    public static func accountCommands(
        signedUp: @escaping @MainActor (Account, Person) async throws -> Void
    ) -> [Command] {
        [
            Command("sign-up NAME EMAIL", "makes an account and signs in; asks for the password") { call in
                let account = try Account(call)
                try await account.signUp([
                    "name": call.required("NAME"), "email": call.required("EMAIL"), "password": try call.askPassword(),
                ])
                let person = try account.needPerson()
                say("Welcome, \(person.name).")
                try await signedUp(account, person)
            },
            Command("sign-in EMAIL", "signs in; asks for the password") { call in
                let account = try Account(call)
                try await account.signIn(["email": call.required("EMAIL"), "password": try call.askPassword()])
                say("Welcome back, \(account.person?.name ?? "").")
            },
        ] + sessionCommands
    }

    /// Commands to sign out, and to ask who is signed in.
    public static var sessionCommands: [Command] {
        [
            Command("sign-out", "signs out") { call in try Account(call).signOut() },
            Command("who", "prints who is signed in") { call in
                let person = try Account(call).needPerson()
                say("\(person.name) \(person.email ?? "")")
            },
        ]
    }
}
