import HearthClientTransport
import Synchronization
import HearthClientSession

/// Who uses the program: signing up, in and out, at a server's endpoints for accounts.
///
///     let auth = try Auth(url: "https://db.example.com")
///     try await auth.signIn(withEmail: "ann@example.com", password: password)
///     var options = DatabaseOptions()
///     options.auth = auth
///     let database = try Database(url: "wss://db.example.com", options: options)
///
/// A database that was given one acts as the signed-in user, and follows each change.
///
/// **Threads.** Any task or thread may use it and its users. Listeners are called on its own thread, one at a time and
/// in order, and must not block it.
///
/// **Session.** ID tokens are replaced five minutes before they end. When the server says that a user was deleted or
/// disabled, or the session ended, the user is signed out, and ``sessionEndError`` says why. A server that cannot be
/// reached signs nobody out.
///
/// It ends with its last reference, which databases hold too; users do not.
public final class Auth: Sendable {
    /// Where the server is.
    public let url: String
    let core: AuthCore

    /// In the order in which they were made.
    private static let shared = Mutex<[Auth]>([])

    /// The one for a server that the whole program shares, until it is closed. Options count when it is made.
    ///
    /// - throws: as ``init(url:options:)``.
    public static func auth(url: String, options: AuthOptions = AuthOptions()) throws(AuthError) -> Auth {
        try shared.withLock { (shared) throws(AuthError) in
            if let known = shared.first(where: { $0.url == url }) { return known }
            let auth = try Auth(url: url, options: options)
            shared.append(auth)
            return auth
        }
    }

    /// The shared one that was made first, of those that are not closed.
    ///
    /// - throws: `notConfigured` before ``auth(url:options:)``.
    public static func auth() throws(AuthError) -> Auth {
        guard let first = shared.withLock(\.first) else { throw AuthError(.notConfigured) }
        return first
    }

    /// One of its own for the server at a URL: `http://host:port`, or `https`. Without a port it is TLS on port 443. A
    /// session that was kept is taken up at once; whether it still holds is asked afterwards.
    ///
    /// - throws: `invalidURL`, also for a file of authorities that cannot be used; `sessionFile`.
    public init(url: String, options: AuthOptions = AuthOptions()) throws(AuthError) {
        self.url = url
        let address: DatabaseURL
        do throws(DatabaseURLError) { address = try DatabaseURL(url) } catch {
            throw AuthError(.invalidURL, error.reason)
        }
        var connection = ConnectionOptions()
        connection.openTimeout = options.openTimeout
        let loop: any ClientLoop
        do throws(ChosenTransport.Failure) {
            let transport = try ChosenTransport(options.transport, authorityFile: options.certificateAuthorityFile)
            connection.authorities = transport.authorities
            loop = try transport.startLoop(name: "hearth-auth")
        } catch {
            switch error {
            case .authorities(let text): throw AuthError(.invalidURL, "The authorities cannot be used: \(text)")
            case .transport(let text): throw AuthError(.internalError, text)
            }
        }
        core = AuthCore(
            identity: IdentityClient(url: address, options: options, connection: connection, loop: loop),
            file: options.sessionFile.map { SessionFile(path: $0, server: address.description) },
            refreshLead: options.refreshLead, loop: loop)
        try core.restore()
    }

    deinit { core.close() }

    /// Ends the thread and forgets the user here; a session that is kept stays. Further use fails with `closed`.
    public func close() {
        Self.shared.withLock { $0.removeAll { $0 === self } }
        core.close()
    }

    /// The tenant that users sign in to from now on; nil for none. Who is signed in stays.
    public var tenantID: String? {
        get { core.identity.tenantID.withLock { $0 } }
        set { core.identity.tenantID.withLock { $0 = newValue } }
    }

    // MARK: Who is signed in

    /// Who is signed in.
    public var currentUser: User? { core.user }

    /// Why the last user was signed out without the program's doing: `userDisabled`, `userNotFound`,
    /// `userTokenExpired`, `invalidUserToken`. Nil if that did not happen since the last sign-in.
    public var sessionEndError: AuthError? { core.endError }

    /// Signs out, here alone: other sessions of the user go on. Without effect if nobody is signed in.
    ///
    /// - throws: `sessionFile` if the session that is kept cannot be removed; then the user stays.
    public func signOut() throws(AuthError) { try core.signOut() }
}
