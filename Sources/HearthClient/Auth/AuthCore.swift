import HearthClientTransport
import Synchronization

/// The signed-in user and the listeners. Any thread.
///
/// Two locks, taken in this order: `saved` is held while the session changes and is written, `state` while it is read.
/// Listeners are called in the order of the changes, because calls are posted under the lock.
final class AuthCore: SessionKeeper {
    let identity: IdentityClient
    private let loop: any ClientLoop
    private let refreshLead: Duration
    private let saved: Mutex<SessionFile?>
    private let state = Mutex(State())

    private struct State {
        var user: User?
        /// Why the last user was signed out, other than by the program.
        var endError: AuthError?
        /// Replaces the user's tokens before they expire.
        var refresher: Task<Void, Never>?
        var listeners: [Int: Listener] = [:]
        var tokenTakers: [Int: @Sendable (String?) -> Void] = [:]
        var lastNumber = 0
        var isClosed = false

        mutating func makeNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    /// The kinds of changes, from those that all listeners receive to those that few do.
    enum News: Int {
        /// The signed-in user.
        case user
        case token
        /// The user's data.
        case description
    }

    /// A listener to the signed-in user.
    final class Listener: @unchecked Sendable {
        // Safe because: `lastTold` is used by the loop's thread alone.

        /// The last kind that it receives, along with all kinds before it.
        private let interest: News
        private let block: @Sendable (User?) -> Void
        let finish: @Sendable () -> Void
        private var lastTold: String??

        init(
            _ interest: News, block: @escaping @Sendable (User?) -> Void, finish: @escaping @Sendable () -> Void = {}
        ) {
            self.interest = interest
            self.block = block
            self.finish = finish
        }

        fileprivate func tell(_ user: User?, _ news: News) {
            let isNews = news != .user && news.rawValue <= interest.rawValue
            if let lastTold, lastTold == user?.uid, !isNews { return }
            lastTold = .some(user?.uid)
            block(user)
        }
    }

    init(identity: IdentityClient, file: SessionFile?, refreshLead: Duration, loop: any ClientLoop) {
        self.identity = identity
        self.refreshLead = refreshLead
        self.loop = loop
        saved = Mutex(file)
    }

    /// Restores the session of an earlier process, then checks in the background whether it is still valid.
    func restore() throws(AuthError) {
        let session = try saved.withLock { (file) throws(AuthError) in try file?.load() }
        guard let session else { return }
        let user = User(session, keeper: self)
        state.withLock { install(user, in: &$0) }
        Task { try? await user.reload() }
    }

    // MARK: The user

    var user: User? { state.withLock { $0.user } }

    var endError: AuthError? { state.withLock { $0.endError } }

    /// A user has signed in. Answers the present object if it is the same user.
    func signedIn(_ session: SavedSession) throws(AuthError) -> User {
        try saved.withLock { (file) throws(AuthError) in
            if self.state.withLock({ $0.isClosed }) { throw AuthError(.closed) }
            try file?.save(session)
            let known = self.user.flatMap { $0.uid == session.account.uid ? $0 : nil }
            known?.assign(session)
            let user = known ?? User(session, keeper: self)
            self.state.withLock { install(user, in: &$0) }
            return user
        }
    }

    /// Ends the session of the signed-in user, if the session file can be removed.
    func signOut() throws(AuthError) {
        try saved.withLock { (file) throws(AuthError) in
            if self.user == nil { return }
            try file?.save(nil)
            self.state.withLock { install(nil, in: &$0) }
        }
    }

    /// A user's account was deleted, and the session ends even if the session file cannot be removed; that error is
    /// thrown.
    func deleted(_ user: User) throws(AuthError) {
        try saved.withLock { (file) throws(AuthError) in
            guard self.user === user else { return }
            self.state.withLock { install(nil, in: &$0) }
            try file?.save(nil)
        }
    }

    /// The server has ended a user's session; it ends even if the session file cannot be removed.
    ///
    /// - parameter generation: that of the rejected tokens; without effect if they have been replaced.
    func sessionEnded(of user: User, _ generation: Int, because error: AuthError) {
        saved.withLock { file in
            guard self.user === user, user.generation == generation else { return }
            self.state.withLock { state in
                install(nil, in: &state)
                state.endError = error
            }
            try? file?.save(nil)
        }
    }

    /// A user's tokens or data have changed.
    func changed(_ user: User, tokens: Bool) {
        saved.withLock { file in
            guard self.user === user else { return }
            // The state in memory is right; the next change saves it again.
            try? file?.save(user.session)
            self.state.withLock { state in
                if tokens {
                    install(user, in: &state)
                } else {
                    loop.execute { [weak self] in self?.tell(user, .description) }
                }
            }
        }
    }

    private func install(_ user: User?, in state: inout State) {
        guard !state.isClosed else { return }
        state.user = user
        state.endError = nil
        state.refresher?.cancel()
        state.refresher = user.map { refresher(of: $0) }
        for taker in state.tokenTakers.values { taker(user?.session.tokens.idToken) }
        loop.execute { [weak self] in self?.tell(user, .token) }
    }

    private func refresher(of user: User) -> Task<Void, Never> {
        let delay = user.session.tokens.delay(lead: refreshLead)
        return Task { [weak user] in
            var pause = Duration.seconds(30)
            do {
                try await Task.sleep(for: delay)
                // New tokens start another refresher and cancel this one.
                while let attempt = user, (try? await attempt.getIDToken(forcingRefresh: true)) == nil {
                    try await Task.sleep(for: pause)
                    pause = min(pause * 2, .seconds(960))
                }
            } catch {}
        }
    }

    // MARK: Listeners

    /// Adds a listener, which receives the present user and then each change. It is called on the loop's thread.
    func add(_ listener: Listener) -> Int {
        let (number, isClosed) = state.withLock { state in
            let number = state.makeNumber()
            if !state.isClosed {
                state.listeners[number] = listener
                let user = state.user
                loop.execute { [weak self] in self?.tell(user, .user, number) }
            }
            return (number, state.isClosed)
        }
        if isClosed { listener.finish() }
        return number
    }

    func removeListener(_ number: Int) { _ = state.withLock { $0.listeners.removeValue(forKey: number) } }

    private func tell(_ user: User?, _ news: News) {
        for number in state.withLock({ $0.listeners.keys.sorted() }) { tell(user, news, number) }
    }

    private func tell(_ user: User?, _ news: News, _ number: Int) {
        state.withLock { $0.listeners[number] }?.tell(user, news)
    }

    // MARK: Databases

    /// Adds a function that receives each new token, and nil after a sign-out. The thread that changes the token calls
    /// it, before the change is reported. It must not use this object.
    func addTokenTaker(_ taker: @escaping @Sendable (String?) -> Void) -> Int {
        state.withLock { state in
            let number = state.makeNumber()
            state.tokenTakers[number] = taker
            return number
        }
    }

    func removeTokenTaker(_ number: Int) { _ = state.withLock { $0.tokenTakers.removeValue(forKey: number) } }

    /// The token of the signed-in user; nil if no user is signed in.
    func idToken(forcingRefresh: Bool) async throws(AuthError) -> String? {
        while let user {
            do throws(AuthError) { return try await user.getIDToken(forcingRefresh: forcingRefresh) } catch {
                // Another user may have signed in, or this one was signed out.
                if self.user === user { throw error }
            }
        }
        return nil
    }

    /// Ends everything except the session file.
    func close() {
        let listeners = state.withLock { state in
            defer { state.listeners = [:] }
            state.isClosed = true
            state.refresher?.cancel()
            state.tokenTakers = [:]
            state.user = nil
            return state.listeners.values
        }
        for listener in listeners { listener.finish() }
        loop.shutDown(grace: .zero)
    }
}
