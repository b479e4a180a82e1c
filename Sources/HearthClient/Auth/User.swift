import Synchronization
import HearthClientSession

/// Somebody with an account, as ``Auth`` has it. Any thread.
///
/// A user stays the same object as long as it is signed in, and shows what was learnt last. One who has signed out can
/// still be asked, but is not kept and not told of.
public final class User: Sendable {
    /// The name of the user in the database's rules: `auth.uid`.
    public let uid: String
    let core: AuthCore
    private let state: Mutex<State>

    private struct State {
        var session: SavedSession
        /// Changes with the tokens, also if the new ones have the same text.
        var generation = 0
        /// The last of what may bring other tokens: a refresh, a change of the password, a proof anew of who this is.
        /// One at a time, or a refresh would use a token that the change has just ended. A sign-in does not wait: it is
        /// for whoever comes.
        var renewal: Task<Void, Never>?
    }

    init(_ session: SavedSession, core: AuthCore) {
        uid = session.account.uid
        self.core = core
        state = Mutex(State(session: session))
    }

    // MARK: What is known

    var session: SavedSession { state.withLock { $0.session } }

    private var account: AccountInfo { session.account }

    /// The address, in lower case.
    public var email: String? { account.email }
    /// What the user is called.
    public var displayName: String? { account.displayName }
    /// Where a picture of the user is.
    public var photoURL: String? { account.photoURL }
    /// A number that an administrator has given the user.
    public var phoneNumber: String? { account.phoneNumber }
    /// Whether the user has proved that the address is theirs.
    public var isEmailVerified: Bool { account.isEmailVerified }
    /// Whether there is no way to sign in again: the account is lost with the session.
    public var isAnonymous: Bool { account.isAnonymous }
    /// The ways to sign in.
    public var providerData: [UserInfo] { account.providers }
    /// The tenant that the user belongs to.
    public var tenantID: String? { account.tenantID }
    /// When the account was made and used.
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

    /// The same user has proved anew who this is.
    func renew(_ session: SavedSession) {
        assign(session)
        core.changed(self, tokens: true)
    }

    private func take(_ account: AccountInfo) {
        guard account.uid == uid else { return }
        let isNew = state.withLock { state in
            defer { state.session.account = account }
            return state.session.account != account
        }
        if isNew { core.changed(self, tokens: false) }
    }

    /// - parameter generation: of the tokens that these are the successors of; without effect if there are others now.
    private func take(_ tokens: Tokens, behind generation: Int? = nil) {
        let isTaken = state.withLock { state in
            if let generation, generation != state.generation { return false }
            state.session.tokens = tokens
            state.generation += 1
            return true
        }
        if isTaken { core.changed(self, tokens: true) }
    }

    // MARK: Tokens

    /// The ID token, which says who this is to anybody who knows the server's keys. A new one if the last is about to
    /// end.
    ///
    /// - parameter forcingRefresh: ask for a new one anyway, for what an operator has just changed in the claims.
    /// - throws: `networkError`; `userDisabled`, `userTokenExpired`, `userNotFound`, and then the user is signed out.
    public func getIDToken(forcingRefresh: Bool = false) async throws(AuthError) -> String {
        try await idToken(forcingRefresh: forcingRefresh).text
    }

    /// The ID token and what it says.
    public func getIDTokenResult(forcingRefresh: Bool = false) async throws(AuthError) -> AuthTokenResult {
        let (token, _) = try await idToken(forcingRefresh: forcingRefresh)
        guard
            let claims = Tokens(idToken: token, refreshToken: "", expires: 0, lifetime: 0).claims
        else { throw AuthError(.internalError, "The server's token is none") }
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
            // If there are others, somebody else got them.
            guard self.generation == generation else { return }
            do throws(AuthError) {
                let answer = try await core.identity.refresh(tokens.refreshToken)
                guard let new = Tokens(answer: answer) else {
                    throw AuthError(.internalError, "The server's answer has no tokens")
                }
                take(new, behind: generation)
            } catch {
                // What the server says of tokens that a sign-in has replaced is of no interest.
                if self.generation == generation { throw ended(by: error, generation) }
            }
        }
        return state.withLock { ($0.session.tokens.idToken, $0.generation) }
    }

    /// Does something that may bring other tokens, when what does so already is done. Goes on when the task that waits
    /// is cancelled.
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

    /// Asks about this account something that leaves the tokens as they are.
    func ask(
        _ operation: String, _ members: [String: DatabaseValue] = [:]
    ) async throws(AuthError) -> DatabaseValue {
        try await withToken(members) { (core, members) throws(AuthError) in
            try await core.identity.ask(operation, members)
        }
    }

    /// Asks for a change of this account, whose answer may bring other tokens, or end the present ones.
    ///
    /// - parameter behind: done before anybody asks for a new token.
    @discardableResult
    func change(
        _ operation: String, _ members: [String: DatabaseValue] = [:],
        behind: @escaping @Sendable () throws(AuthError) -> Void = {}
    ) async throws(AuthError) -> DatabaseValue {
        try await withToken(members) { (core, members) throws(AuthError) in
            try await self.renewing { [self] () throws(AuthError) in
                let answer = try await core.identity.ask(operation, members)
                if let tokens = Tokens(answer: answer) { take(tokens) }
                try behind()
                return answer
            }
        }
    }

    private func withToken(
        _ members: [String: DatabaseValue],
        _ ask: @Sendable (AuthCore, [String: DatabaseValue]) async throws(AuthError) -> DatabaseValue
    ) async throws(AuthError) -> DatabaseValue {
        func attempt(forcingRefresh: Bool) async throws(AuthError) -> DatabaseValue {
            var members = members
            let (token, generation) = try await idToken(forcingRefresh: forcingRefresh)
            members["idToken"] = .string(token)
            do throws(AuthError) { return try await ask(core, members) } catch {
                throw error.wantsNewToken && !forcingRefresh ? error : ended(by: error, generation)
            }
        }
        do throws(AuthError) { return try await attempt(forcingRefresh: false) } catch {
            guard error.wantsNewToken else { throw error }
        }
        // The clocks may differ.
        return try await attempt(forcingRefresh: true)
    }

    /// Signs out if the server says so of the present tokens.
    private func ended(by error: AuthError, _ generation: Int) -> AuthError {
        if error.endsSession { core.sessionEnded(of: self, generation, because: error) }
        return error
    }

    /// Learns the account anew.
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
