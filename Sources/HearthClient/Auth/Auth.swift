import HearthClientTransport
import Synchronization
import HearthClientSession

/// Signs users up, in and out with a server's account endpoints.
///
///     let auth = try Auth(url: "https://db.example.com")
///     try await auth.signIn(withEmail: "ann@example.com", password: password)
///     var options = DatabaseOptions()
///     options.auth = auth
///     let database = try Database(url: "wss://db.example.com", options: options)
///
/// A database with ``DatabaseOptions/auth`` acts as the signed-in user, and follows each change.
///
/// **Threads.** Any task or thread may use it and its users. Listeners are called on its own thread, one at a time and
/// in order, and must not block it.
///
/// **Session.** ID tokens are replaced five minutes before they expire. When the server reports that the user was
/// deleted or disabled, or that the session ended, the user is signed out, and ``sessionEndError`` gives the reason. An
/// unreachable server does not sign the user out.
///
/// It ends with its last reference. Databases hold one; users do not.
public final class Auth: Sendable {
    /// The server's URL.
    public let url: String
    let core: AuthCore

    /// In the order in which they were made.
    private static let shared = Mutex<[Auth]>([])

    /// The instance for a server that the whole program shares, until it is closed. Options take effect when it is
    /// created.
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

    /// The first shared instance that is not closed.
    ///
    /// - throws: `notConfigured` before ``auth(url:options:)``.
    public static func auth() throws(AuthError) -> Auth {
        guard let first = shared.withLock(\.first) else { throw AuthError(.notConfigured) }
        return first
    }

    /// A separate instance for the server at a URL: `http://host:port`, or `https`. Without a port it uses TLS on port
    /// 443. A saved session is restored immediately and verified afterwards.
    ///
    /// - throws: `invalidURL`, also for an unusable file of authorities; `sessionFile`.
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

    /// Ends the thread and forgets the user in memory; the session file stays. Further use fails with `closed`.
    public func close() {
        Self.shared.withLock { $0.removeAll { $0 === self } }
        core.close()
    }

    /// The tenant for later sign-ins; nil for none. The signed-in user stays.
    public var tenantID: String? {
        get { core.identity.tenantID.withLock { $0 } }
        set { core.identity.tenantID.withLock { $0 = newValue } }
    }

    // MARK: Who is signed in

    /// The signed-in user.
    public var currentUser: User? { core.user }

    /// Why the last user was signed out other than by the program: `userDisabled`, `userNotFound`, `userTokenExpired`,
    /// `invalidUserToken`. Nil if that has not happened since the last sign-in.
    public var sessionEndError: AuthError? { core.endError }

    /// Ends this session; other sessions of the user continue. Without effect if no user is signed in.
    ///
    /// - throws: `sessionFile` if the session file cannot be removed; the user then stays signed in.
    public func signOut() throws(AuthError) { try core.signOut() }
}
