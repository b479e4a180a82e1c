public import Observation

/// The signed-in user of a program and that user's database, observable by views.
///
///     let account = try Account(url: "https://db.example.com", sessionFile: "session.json")
///     async let _ = account.follow()
@MainActor
@Observable
public final class Account {
    /// A signed-in user.
    public struct Person: Hashable, Identifiable, Sendable {
        /// The name of the user in the database and its rules: ``User/uid``.
        public let id: String
        /// The name to show: the display name, else the address, else `Somebody`.
        public let name: String
        /// The address, which anonymous users do not have.
        public let email: String?

        init(_ user: User) {
            (id, email) = (user.uid, user.email)
            name = user.displayName ?? user.email ?? "Somebody"
        }
    }

    /// Signs in and out.
    public let auth: Auth
    /// The database, accessed as the signed-in user.
    public let database: Database
    /// The signed-in user.
    public private(set) var person: Person?
    /// Whether there is a connection to the database. Only while a task follows it (``follow()``).
    public private(set) var isOnline = false
    /// Writes that the server has not answered yet. Only while a task follows them.
    public private(set) var pendingWrites = 0

    /// An account of a server.
    ///
    /// - parameter url: the server's, `http://host:port` or `https`.
    /// - parameter sessionFile: the file that keeps the session between runs.
    /// - throws: as ``Auth`` and ``Database`` do for a URL that is not valid; `sessionFile`.
    public init(url: String, sessionFile: String? = nil) throws {
        auth = try Auth(url: url, options: AuthOptions(sessionFile: sessionFile))
        database = try Database(url: url, options: DatabaseOptions(auth: auth))
        person = auth.currentUser.map(Person.init)
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

    // MARK: Signing up, in and out

    /// Creates an account with a display name and signs in. If the name cannot be set, the account is removed.
    ///
    /// - throws: as ``Auth/createUser(withEmail:password:)``.
    public func signUp(name: String, email: String, password: String) async throws(AuthError) {
        let user = try await auth.createUser(withEmail: email, password: password).user
        do throws(AuthError) { try await user.updateProfile(displayName: name) } catch {
            // An account without a name would make the next attempt fail.
            await Task { try? await user.delete() }.value
            throw error
        }
        person = Person(user)
    }

    /// Signs in with an address and its password.
    ///
    /// - throws: as ``Auth/signIn(withEmail:password:)``.
    public func signIn(email: String, password: String) async throws(AuthError) {
        person = Person(try await auth.signIn(withEmail: email, password: password).user)
    }

    /// Signs in with a credential of a provider.
    ///
    /// - throws: as ``Auth/signIn(with:)``.
    public func signIn(with credential: AuthCredential) async throws(AuthError) {
        person = Person(try await auth.signIn(with: credential).user)
    }

    /// Signs out, on this machine.
    ///
    /// - throws: `sessionFile` if the session cannot be removed.
    public func signOut() throws(AuthError) {
        try auth.signOut()
        person = nil
    }
}
