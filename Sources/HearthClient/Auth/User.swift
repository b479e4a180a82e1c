import Synchronization
import HearthClientSession

/// Knows which user is signed in.
protocol SessionKeeper: AnyObject, Sendable {
    var identity: IdentityClient { get }
    /// A user's tokens or data have changed.
    func changed(_ user: User, tokens: Bool)
    /// The server has ended a user's session.
    func sessionEnded(of user: User, _ generation: Int, because error: AuthError)
    /// A user's account was deleted.
    func deleted(_ user: User) throws(AuthError)
}

/// A user with an account, as returned by ``Auth``. Any thread.
///
/// A user remains the same object while signed in, and has the newest known data. After signing out the object still
/// works, but it is no longer saved, and listeners do not hear of its changes.
public final class User: Sendable {
    /// The ID of the user, in rules `auth.uid`.
    public let uid: String
    let keeper: any SessionKeeper
    private let state: Mutex<State>

    private struct State {
        var session: SavedSession
        /// Changes with the tokens, even if the new ones have the same text.
        var generation = 0
        /// The last operation that may replace the tokens: a refresh, a change of the password, a reauthentication.
        /// They run one at a time, or a refresh could use a token that the change has just ended. A sign-in does not
        /// wait, since it may be another user's.
        var renewal: Task<Void, Never>?
    }

    init(_ session: SavedSession, keeper: any SessionKeeper) {
        uid = session.account.uid
        self.keeper = keeper
        state = Mutex(State(session: session))
    }

    // MARK: Data

    var session: SavedSession { state.withLock { $0.session } }

    private var account: AccountInfo { session.account }

    /// The address, in lower case.
    public var email: String? { account.email }
    /// The display name.
    public var displayName: String? { account.displayName }
    /// The URL of a picture of the user.
    public var photoURL: String? { account.photoURL }
    /// A phone number that an administrator has set.
    public var phoneNumber: String? { account.phoneNumber }
    /// Whether the user has proved that the address is theirs.
    public var isEmailVerified: Bool { account.isEmailVerified }
    /// Whether there is no way to sign in again: the account is lost with the session.
    public var isAnonymous: Bool { account.isAnonymous }
    /// The ways to sign in.
    public var providerData: [UserInfo] { account.providers }
    /// The tenant that the user belongs to.
    public var tenantID: String? { account.tenantID }
    /// When the account was created and last used.
    public var metadata: UserMetadata { account.metadata }
    /// The token that gets new ID tokens. Anyone who has it is this user.
    public var refreshToken: String { session.tokens.refreshToken }

    /// Another sign-in of the same user.
    func assign(_ session: SavedSession) {
        state.withLock { state in
            state.session = session
            state.generation += 1
        }
    }

    /// The same user has reauthenticated.
    func renew(_ session: SavedSession) {
        assign(session)
        keeper.changed(self, tokens: true)
    }

    private func take(_ account: AccountInfo) {
        guard account.uid == uid else { return }
        let isNew = state.withLock { state in
            defer { state.session.account = account }
            return state.session.account != account
        }
        if isNew { keeper.changed(self, tokens: false) }
    }

    /// - parameter generation: that of the tokens that these replace; without effect if those were replaced already.
    private func take(_ tokens: Tokens, behind generation: Int? = nil) {
        let isTaken = state.withLock { state in
            if let generation, generation != state.generation { return false }
            state.session.tokens = tokens
            state.generation += 1
            return true
        }
        if isTaken { keeper.changed(self, tokens: true) }
    }

    // MARK: Tokens

    /// The ID token, which anyone with the server's public keys can verify. A new one if the last is about to expire.
    ///
    /// - parameter forcingRefresh: request a new one in any case, such as after an operator changed the claims.
    /// - throws: `networkError`; `userDisabled`, `userTokenExpired`, `userNotFound`, and then the user is signed out.
    public func getIDToken(forcingRefresh: Bool = false) async throws(AuthError) -> String {
        try await idToken(forcingRefresh: forcingRefresh).text
    }

    /// The ID token and its claims.
    public func getIDTokenResult(forcingRefresh: Bool = false) async throws(AuthError) -> AuthTokenResult {
        let (token, _) = try await idToken(forcingRefresh: forcingRefresh)
        guard
            let claims = Tokens(idToken: token, refreshToken: "", expires: 0, lifetime: 0).claims
        else { throw AuthError(.internalError, "The server's token is invalid") }
        func time(_ name: String) -> Int { (claims[name]?.int ?? 0) &* 1000 }
        return AuthTokenResult(
            token: token, claims: claims, expirationDate: time("exp"), authDate: time("auth_time"),
            issuedAtDate: time("iat"),
            signInProvider: claims["firebase"]?["sign_in_provider"].string ?? "")
    }

    var generation: Int { state.withLock { $0.generation } }

    private func idToken(forcingRefresh: Bool) async throws(AuthError) -> (text: String, generation: Int) {
        let (tokens, generation) = state.withLock { ($0.session.tokens, $0.generation) }
        if !forcingRefresh, tokens.isFresh { return (tokens.idToken, generation) }
        try await renewing { [self] () throws(AuthError) in
            // If the tokens have changed, another task has replaced them.
            guard self.generation == generation else { return }
            do throws(AuthError) {
                let answer = try await keeper.identity.refresh(tokens.refreshToken)
                guard let new = Tokens(answer: answer) else {
                    throw AuthError(.internalError, "The server's answer has no tokens")
                }
                take(new, behind: generation)
            } catch {
                // An error about tokens that a sign-in has replaced does not matter.
                if self.generation == generation { throw ended(by: error, generation) }
            }
        }
        return state.withLock { ($0.session.tokens.idToken, $0.generation) }
    }

    /// Runs an operation that may replace the tokens, after the one before has finished. It continues if the waiting
    /// task is cancelled.
    func renewing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(AuthError) -> Value
    ) async throws(AuthError) -> Value {
        let reply = Reply<Value, AuthError>(cancelled: AuthError(.cancelled))
        state.withLock { state in
            let before = state.renewal
            state.renewal = Task {
                await before?.value
                do throws(AuthError) {
                    reply.settle(.success(try await work()))
                } catch {
                    reply.settle(.failure(error))
                }
            }
        }
        return try await reply.value()
    }

    /// Sends a request about this account that leaves the tokens unchanged.
    func ask(
        _ operation: String, _ members: [String: DatabaseValue] = [:]
    ) async throws(AuthError) -> DatabaseValue {
        try await withToken(members) { (identity, members) throws(AuthError) in
            try await identity.ask(operation, members)
        }
    }

    /// Requests a change of this account, which may replace or end the tokens.
    ///
    /// - parameter behind: runs before any later request for a new token.
    @discardableResult
    func change(
        _ operation: String, _ members: [String: DatabaseValue] = [:],
        behind: @escaping @Sendable () throws(AuthError) -> Void = {}
    ) async throws(AuthError) -> DatabaseValue {
        try await withToken(members) { (identity, members) throws(AuthError) in
            try await self.renewing { [self] () throws(AuthError) in
                let answer = try await identity.ask(operation, members)
                if let tokens = Tokens(answer: answer) { take(tokens) }
                try behind()
                return answer
            }
        }
    }

    private func withToken(
        _ members: [String: DatabaseValue],
        _ ask: @Sendable (IdentityClient, [String: DatabaseValue]) async throws(AuthError) -> DatabaseValue
    ) async throws(AuthError) -> DatabaseValue {
        func attempt(forcingRefresh: Bool) async throws(AuthError) -> DatabaseValue {
            var members = members
            let (token, generation) = try await idToken(forcingRefresh: forcingRefresh)
            members["idToken"] = .string(token)
            do throws(AuthError) { return try await ask(keeper.identity, members) } catch {
                throw error.wantsNewToken && !forcingRefresh ? error : ended(by: error, generation)
            }
        }
        do throws(AuthError) { return try await attempt(forcingRefresh: false) } catch {
            guard error.wantsNewToken else { throw error }
        }
        // The clocks may differ.
        return try await attempt(forcingRefresh: true)
    }

    /// Signs out if the error ends the session of the present tokens.
    private func ended(by error: AuthError, _ generation: Int) -> AuthError {
        if error.endsSession { keeper.sessionEnded(of: self, generation, because: error) }
        return error
    }

    /// Loads the account's data again.
    public func reload() async throws(AuthError) {
        let answer = try await ask("lookup")
        guard let account = AccountInfo(answer["users"].array?.first ?? .null) else {
            throw AuthError(.internalError, "The server does not describe the user")
        }
        take(account)
    }
}

extension User: Hashable, Identifiable {
    /// The user's name, as ``uid``.
    public var id: String { uid }

    /// The same object.
    public static func == (left: User, right: User) -> Bool { left === right }

    /// As equality.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
