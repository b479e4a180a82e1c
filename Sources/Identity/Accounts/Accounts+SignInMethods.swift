/// The one place where the ways into an account change (accounts.md 9).
extension Accounts {
    /// In whose name an account is changed.
    enum Authority: Sendable {
        /// A token of the user, which somebody may have found.
        case owner(IDToken)
        /// A code that was sent to the address.
        case code
        /// The code by which a former address is had back.
        case recovery
        /// The owner of an address that the maker of the account has never proved to own.
        case takeover
        case administrator
    }

    /// The result of a change of an account.
    struct Settled: Sendable {
        /// See ``User/signInChanges(since:)``.
        let changes: [String]
        let voidsTokens: Bool
        let emailChanged: Bool
        /// By which the owner of the former address can have it back.
        let recovery: IssuedCode?
    }

    /// Writes a changed user. If the change concerns who gets into the account:
    ///
    /// * A token of the user is good for it only with a recent sign-in.
    /// * Where tokens are void from now on, refresh tokens and codes are too. Where a way to sign in is gone, sessions
    ///   that began with it end, but for the one that asks.
    /// * The owner of the former address gets a code to have it back, unless an administrator gives the user an earlier
    ///   address back. Codes that were made since then are void.
    func settle(
        _ user: User, insteadOf before: User, for authority: Authority, in realm: Realm, _ file: AccountFile
    ) throws(AccountFailure) -> Settled {
        let changes = user.signInChanges(since: before)
        var asking: IDToken?
        if case .owner(let token) = authority {
            asking = token
            if !changes.isEmpty { try checkRecent(token, of: before) }
        }
        try file.put(user, in: realm)
        let voidsTokens = user.validSince != before.validSince
        if voidsTokens {
            try file.revokeTokens(of: user, in: realm)
        } else {
            for provider in user.lostProviders(since: before) {
                try file.revokeGrants(of: user.id, begunBy: provider, except: asking, in: realm)
            }
        }
        var recovery: IssuedCode?
        let emailChanged = user.email != before.email
        switch authority {
        case .takeover:
            // A way back to an address of the account's maker is a way in.
            for kind in OneTimeCode.Kind.allCases { try file.removeCodes(realm, kind, of: user.id) }
        // A user who lost somebody else's address gets no way back to it.
        case .recovery: break
        case .owner, .code, .administrator:
            guard emailChanged, let former = before.email else { break }
            // A user who gets an earlier address back has lost it to the owner of the one that goes.
            if case .administrator = authority, let email = user.email,
                try file.removeRecoveryCodes(realm, of: user.id, since: email)
            {
                break
            }
            recovery = try file.issue(
                .recoverEmail, to: former, newEmail: user.email, user: user.id, now: now, in: realm)
        }
        return Settled(
            changes: changes, voidsTokens: voidsTokens, emailChanged: emailChanged, recovery: recovery)
    }

    /// Access to a device must not suffice to take over the account: critical changes need a recent sign-in
    /// (accounts.md 9). An anonymous user has nothing to sign in with again.
    func checkRecent(_ token: IDToken, of user: User) throws(AccountFailure) {
        if user.isAnonymous, token.isAnonymous { return }
        try checkRecent(token)
    }

    /// The same for a user who is known by the token only.
    func checkRecent(_ token: IDToken) throws(AccountFailure) {
        guard options.isDevelopment || token.authTime >= nowSeconds - options.recentSignInSeconds else {
            throw .refused(.credentialTooOld)
        }
    }

    /// An address that somebody has registered without proving to own it, and that its owner wants to have.
    func free(_ address: String, in realm: Realm, _ file: AccountFile) throws(AccountFailure) {
        guard let squatter = try file.user(realm, email: address) else { return }
        guard !squatter.emailVerified else { throw .refused(.emailExists) }
        var user = squatter
        user.shutOutCreator(now: now)
        user.email = nil
        _ = try settle(user, insteadOf: squatter, for: .takeover, in: realm, file)
    }
}

extension IDToken {
    var isAnonymous: Bool { signInProvider?.elementsEqual("anonymous".utf8) == true }
}
