/// How often something may be tried.
extension Accounts {
    /// Attempts that are counted by a client's network address.
    package enum Attempt: String, Sendable {
        case newAccount
        /// Any proof of who somebody is: a password, a token, a code.
        case signIn
        case mail
        /// A question whose answer tells whether there is an account.
        case question
    }

    /// Counts an attempt of a client, and refuses it if there were too many. Not in development mode, where all clients
    /// have the same address.
    package func admit(_ attempt: Attempt, from client: String) throws(AccountFailure) {
        if options.isDevelopment { return }
        try admitAttempt("\(attempt.rawValue):\(client)", max: options.attemptsPerAddressMax)
    }

    /// Counts an attempt, and refuses it if there were too many.
    func admitAttempt(_ key: String, max: Int, else code: AccountError.Code = .tooManyAttempts) throws(AccountFailure) {
        guard attempts.admit(key, max: max, now: now) else {
            throw .refused(
                code,
                code == .tooManyAttempts ? "Too many unsuccessful login attempts. Please try again later." : nil)
        }
    }

    // MARK: Passwords

    /// The name by which passwords for an account are counted. A client that has signed in there before is counted
    /// separately, so that strangers who guess do not keep the owner out.
    func passwordAttempt(at email: String, in realm: Realm, from client: String) -> String {
        let key = familiarKey(client, at: email, in: realm)
        return familiar.contains(key, now: now) ? key : passwordAttempt(at: email, in: realm)
    }

    func passwordAttempt(at email: String, in realm: Realm) -> String { "password:\(realm.key):\(email)" }

    func noteFamiliar(_ client: String, at email: String, in realm: Realm) {
        familiar.insert(familiarKey(client, at: email, in: realm), until: now + Self.familiarMilliseconds)
    }

    private func familiarKey(_ client: String, at email: String, in realm: Realm) -> String {
        "familiar:\(realm.key):\(email):\(client)"
    }

    /// For how long after the last sign-in a client's address is known.
    private static let familiarMilliseconds: Int64 = 90 * 24 * 3_600_000
}
