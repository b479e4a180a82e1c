public import HearthClient
public import Observation

/// A signed-in user.
public struct Person: Hashable, Identifiable, Sendable {
    /// The name of the user in the database and its rules.
    public let id: String
    /// What the user is called; the address if nobody said.
    public let name: String
    /// The address, which anonymous users do not have.
    public let email: String?

    init(_ user: User) {
        id = user.uid
        email = user.email
        name = user.displayName ?? user.email ?? "Somebody"
    }
}

/// Who uses the program, and the database as that user sees it.
@MainActor
@Observable
public final class Account {
    /// Signs in and out.
    public let auth: Auth
    /// The database as the signed-in user sees it.
    public let database: Database
    /// Who is signed in.
    public private(set) var person: Person?
    /// Whether there is a connection to the database.
    public private(set) var isOnline = false
    /// Writes that the server has not answered yet. They are lost when the program ends.
    public private(set) var pendingWrites = 0

    /// - parameter server: the server's URL, `http://host:port` or `https`.
    /// - parameter sessionFile: where to stay signed in between runs.
    public init(server: String, sessionFile: String? = nil) throws {
        var options = AuthOptions()
        options.sessionFile = sessionFile
        auth = try Auth(url: server, options: options)
        var databaseOptions = DatabaseOptions()
        databaseOptions.auth = auth
        database = try Database(url: server, options: databaseOptions)
        person = auth.currentUser.map(Person.init)
    }

    /// Of the server and with the session that the command line names.
    public convenience init(_ call: Call) throws {
        try self.init(server: call.server, sessionFile: call.sessionFile)
    }

    /// Keeps all this up to date until the task is cancelled.
    public func follow() async {
        async let _ = followConnection()
        async let _ = followWrites()
        for await user in auth.stateChanges { person = user.map(Person.init) }
    }

    private func followConnection() async {
        for await state in database.connectionStates { isOnline = state == .connected }
    }

    private func followWrites() async {
        for await count in database.pendingWriteCounts { pendingWrites = count }
    }

    /// As in `no connection, 2 changes not saved`; nil while all is well.
    fileprivate var trouble: String? {
        guard !isOnline else { return nil }
        return pendingWrites == 0 ? "no connection" : "no connection, \(unsaved) not saved"
    }

    /// As in `2 changes`.
    fileprivate var unsaved: String { pendingWrites == 1 ? "1 change" : "\(pendingWrites) changes" }

    // MARK: Signing up and in

    /// Makes an account and signs in.
    ///
    /// - parameter confirmation: the password once more, if it was asked for twice.
    /// - throws: ``FieldProblems`` for `name`, `email`, `password` and `confirmation`; `AuthError`.
    public func signUp(name: String, email: String, password: String, confirmation: String? = nil) async throws {
        let (name, email) = (name.trimmed, email.trimmed)
        try FieldProblems.check([
            "name": name.isEmpty ? "Say what you are called." : nil,
            "email": Self.problem(ofEmail: email),
            "password": password.count < 6 ? "A password has at least 6 characters." : nil,
            "confirmation": confirmation ?? password != password ? "This is not the same password." : nil,
        ])
        do throws(AuthError) {
            let user = try await auth.createUser(withEmail: email, password: password).user
            do throws(AuthError) { try await user.updateProfile(displayName: name) } catch {
                // Without a name, the account would only be in the way of the next attempt.
                await Task { try? await user.delete() }.value
                throw error
            }
            person = Person(user)
        } catch {
            switch error.code {
            case .emailAlreadyInUse:
                throw FieldProblems(["email": "There is an account with this address already. Choose another one."])
            case .invalidEmail, .missingEmail: throw FieldProblems(["email": error.message + "."])
            case .weakPassword, .missingPassword: throw FieldProblems(["password": error.message + "."])
            default: throw error
            }
        }
    }

    /// Signs in.
    ///
    /// - throws: ``FieldProblems`` for `email` and `password`; `AuthError`.
    public func signIn(email: String, password: String) async throws {
        let email = email.trimmed
        try FieldProblems.check([
            "email": Self.problem(ofEmail: email), "password": password.isEmpty ? "The password is missing." : nil,
        ])
        do throws(AuthError) {
            person = Person(try await auth.signIn(withEmail: email, password: password).user)
        } catch {
            switch error.code {
            case .userNotFound: throw FieldProblems(["email": "There is no account with this address."])
            case .wrongPassword: throw FieldProblems(["password": "The password is wrong."])
            case .invalidCredential: throw FieldProblems(["password": "The address or the password is wrong."])
            case .userDisabled: throw FieldProblems(["email": error.message + "."])
            default: throw error
            }
        }
    }

    /// Signs in with what another provider says.
    public func signIn(with credential: AuthCredential) async throws(AuthError) {
        person = Person(try await auth.signIn(with: credential).user)
    }

    /// Signs out, on this machine.
    public func signOut() throws {
        try auth.signOut()
        person = nil
    }

    private static func problem(ofEmail email: String) -> String? {
        if email.isEmpty { return "The email address is missing." }
        let parts = email.split(separator: "@", omittingEmptySubsequences: false)
        let isOne = parts.count == 2 && !parts.contains("") && !email.contains { $0.isWhitespace }
        return isOne ? nil : "This is no email address."
    }
}

extension StringProtocol {
    /// Without the white space around it.
    public var trimmed: String {
        let start = firstIndex { !$0.isWhitespace } ?? endIndex
        let end = self[start...].lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? start
        return String(self[start..<end])
    }
}

extension Terminal {
    /// Shows beside each title whether there is a connection and which changes wait for one, and asks before such
    /// changes are lost.
    public func watch(_ account: Account) {
        badge = { account.trouble.map { Line($0) } }
        leaving = {
            guard account.pendingWrites > 0 else { return nil }
            return "The server does not have \(account.unsaved) yet. Leave, and lose this?"
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
        signedUp: @escaping @MainActor (Account, Person) async throws -> Void = { _, _ in }
    ) async throws -> Person? {
        if let why = account.auth.sessionEndError { message = Line(why.message + ".", .wrong) }
        let choices = [
            Choice("Sign in") { try await self.signIn(account) },
            Choice("Create an account") { try await self.signUp(account, asksTwice, signedUp) },
        ]
        try await choose({ title }, while: { account.person == nil }) { choices }
        return account.person
    }

    private func signIn(_ account: Account) async throws {
        try await form(
            "Sign in", [Field("email", "Email address"), Field("password", "Password", kind: .secret)],
            does: "sign in"
        ) { values in
            try await account.signIn(email: values["email"] ?? "", password: values["password"] ?? "")
        }
    }

    private func signUp(
        _ account: Account, _ asksTwice: Bool, _ signedUp: @escaping @MainActor (Account, Person) async throws -> Void
    ) async throws {
        var fields = [
            Field("name", "Your name"), Field("email", "Email address"), Field("password", "Password", kind: .secret),
        ]
        if asksTwice { fields.append(Field("confirmation", "Once more", kind: .secret)) }
        try await form("New account", fields, does: "create") { values in
            try await account.signUp(
                name: values["name"] ?? "", email: values["email"] ?? "", password: values["password"] ?? "",
                confirmation: values["confirmation"])
        }
        guard let person = account.person else { return }
        try await perform("One moment…") { try await signedUp(account, person) }
    }
}

extension Program {
    /// Commands to sign up, in and out.
    ///
    /// - parameter signedUp: what else a new account gets. The account stays if that fails.
    public static func accountCommands(
        signedUp: @escaping @MainActor (Account, Person) async throws -> Void = { _, _ in }
    ) -> [Command] {
        [
            Command("sign-up NAME EMAIL", "makes an account and signs in; asks for the password") { call in
                let account = try Account(call)
                try await account.signUp(
                    name: call.required("NAME"), email: call.required("EMAIL"), password: try call.askPassword())
                let person = try account.needPerson()
                say("Welcome, \(person.name).")
                try await signedUp(account, person)
            },
            Command("sign-in EMAIL", "signs in; asks for the password") { call in
                let account = try Account(call)
                try await account.signIn(email: call.required("EMAIL"), password: try call.askPassword())
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

extension Account {
    /// Who is signed in, for commands that make no sense without.
    ///
    /// - throws: ``Problem``.
    public func needPerson() throws(Problem) -> Person {
        guard let person else { throw Problem("nobody is signed in: sign in first") }
        return person
    }
}
