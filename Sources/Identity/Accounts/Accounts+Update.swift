/// The changes of an account. Nil members stay unchanged.
package struct UserChange: Sendable {
    package var displayName: String?
    package var photoURL: String?
    package var email: String?
    package var password: String?
    package var emailVerified: Bool?
    package var isDisabled: Bool?
    package var phone: String?
    /// The text of a JSON object.
    package var claims: String?
    /// Milliseconds since 1970.
    package var createdAt: Int64?
    package var lastLoginAt: Int64?
    /// Seconds since 1970: tokens issued before are void.
    package var validSince: Int64?
    /// `DISPLAY_NAME`, `PHOTO_URL`, `EMAIL`, `PASSWORD`, …: the members to remove.
    package var deletedAttributes: Set<String> = []
    package var deletedProviders: Set<String> = []
    package var link: ProviderLink?

    package init() {}

    /// Drops members that only an administrator may set: they have no effect, and reveal nothing.
    fileprivate mutating func keepWhatOwnersMaySet() {
        emailVerified = nil
        phone = nil
        createdAt = nil
        lastLoginAt = nil
        validSince = nil
        link = nil
    }
}

/// The outcome for an account.
package struct UserUpdate: Sendable {
    package let user: User
    /// For the client whose tokens are void by the change, if it is known how it had signed in.
    package let signIn: SignIn?
    package let emailChanged: Bool
    /// By which the owner of the former address can have it back.
    package let recovery: IssuedCode?
    /// The changes of the ways to sign in: `+password`, `-google.com`, `~email`.
    package let changes: [String]
}

/// Changes of accounts (accounts.md 4).
extension Accounts {
    /// Who wants a change.
    package enum UpdateSubject: Sendable {
        case idToken([UInt8])
        /// The administrator does.
        case user(String)
    }

    package func update(
        _ subject: UpdateSubject, _ change: UserChange, in realm: Realm
    ) throws(AccountFailure) -> UserUpdate {
        var change = change
        var owner: IDToken?
        if case .idToken(let text) = subject {
            let token = try verify(text, in: realm)
            owner = token
            guard change.isDisabled == nil else { throw .refused(.operationNotAllowed) }
            guard change.claims == nil else { throw .refused(.insufficientPermission) }
            change.keepWhatOwnersMaySet()
            if change.email != nil || change.password != nil {
                // Each tells whether an address is taken, or costs a hash.
                try admitAttempt("update:\(realm.key):\(token.userID)", max: options.attemptsPerAccountMax)
            }
            if change.password != nil, !token.isAnonymous { try checkRecent(token) }
        }
        let asked = try normalized(change)
        let newHash = try asked.password.map { (password) throws(AccountFailure) in try hash(password) }
        let token = owner
        let outcome = try thread.run { (file) throws(AccountFailure) -> Outcome in
            let before: User
            switch subject {
            case .idToken:
                guard let token else { throw .refused(.invalidIDToken) }
                before = try file.user(realm, of: token)
                try self.check(asked, of: before, by: token)
            case .user(let id):
                guard let user = try file.user(realm, id: id) else { throw .refused(.userNotFound) }
                before = user
            }
            try file.check(asked, of: before.id, in: realm)
            var user = before
            user.apply(asked, hash: newHash, now: self.now)
            if user.validSince != before.validSince { user.hasRenewedTokens = token?.signInProvider != nil }
            return try self.commit(
                user, insteadOf: before, for: token.map { .owner($0) } ?? .administrator,
                by: token?.signInProvider.map { String(decoding: $0, as: UTF8.self) }, in: realm, file)
        }
        return try outcome.finished(self)
    }

    /// A client learns whether an address is taken only if it may change its own.
    private func check(_ change: UserChange, of user: User, by token: IDToken) throws(AccountFailure) {
        guard let email = change.email, email != user.email else { return }
        try checkRecent(token, of: user)
        if hidesEmails, user.email != nil {
            throw .refused(.operationNotAllowed, "Please verify the new email before changing email.")
        }
    }

    /// Applies the code of a link: the address is verified, changed, or as it was before (accounts.md 7). It signs
    /// nobody in: a link passes through more hands than a password.
    package func apply(code text: String, in realm: Realm) throws(AccountFailure) -> UserUpdate {
        let (hash, now) = (OneTimeCode.hash(text), now)
        let outcome = try thread.run { (file) throws(AccountFailure) -> Outcome in
            let code = try file.usableCode(
                realm, hash: hash, [.verifyEmail, .verifyAndChangeEmail, .recoverEmail], now: now)
            guard let id = code.user, var user = try file.user(realm, id: id) else { throw .refused(.invalidCode) }
            if user.isDisabled { throw .refused(.userDisabled) }
            let before = user
            switch code.kind {
            case .verifyEmail:
                guard user.email == code.email else { throw .refused(.invalidCode) }
                user.emailVerified = true
            case .verifyAndChangeEmail:
                guard user.email == code.email, let email = code.newEmail else { throw .refused(.invalidCode) }
                guard try file.user(realm, email: email) == nil else { throw .refused(.emailExists) }
                user.changeEmail(to: email, now: now)
                user.emailVerified = true
            case .recoverEmail:
                if user.email != code.email { try self.free(code.email, in: realm, file) }
                user.email = code.email
                user.emailVerified = true
                user.voidTokens(now: now)
                // A thief who changed the address again has a code for an address of their own.
                try file.removeRecoveryCodes(realm, of: user.id, expiringFrom: code.expiresAt)
            case .resetPassword, .emailSignIn: throw .refused(.invalidCode)
            }
            try file.removeCode(hash: hash)
            return try self.commit(
                user, insteadOf: before, for: code.kind == .recoverEmail ? .recovery : .code,
                by: nil, in: realm, file)
        }
        return try outcome.finished(self)
    }

    /// A change that is in the file, and whose tokens are still to be made.
    struct Outcome: Sendable {
        let user: User
        let admission: Admission?
        let settled: Settled

        func finished(_ accounts: Accounts) throws(AccountFailure) -> UserUpdate {
            let signIn = try admission.map { (admission) throws(AccountFailure) in try accounts.signIn(admission) }
            return UserUpdate(
                user: signIn?.user ?? user, signIn: signIn, emailChanged: settled.emailChanged,
                recovery: settled.recovery, changes: settled.changes)
        }
    }

    /// Writes a changed user, and begins a new session where the change has made the old ones void.
    ///
    /// - parameter provider: how the client that asks has signed in; nil for one that has not.
    private func commit(
        _ user: User, insteadOf before: User, for authority: Authority, by provider: String?, in realm: Realm,
        _ file: AccountFile
    ) throws(AccountFailure) -> Outcome {
        let settled = try settle(user, insteadOf: before, for: authority, in: realm, file)
        var admission: Admission?
        if settled.voidsTokens, let provider, !user.isDisabled {
            let isUpgrade = provider == "anonymous" && user.password != nil
            admission = try admit(user, by: isUpgrade ? ProviderLink.password : provider, in: realm, file)
        }
        return Outcome(user: user, admission: admission, settled: settled)
    }

    private func normalized(_ change: UserChange) throws(AccountFailure) -> UserChange {
        var change = change
        change.email = try change.email.map { (email) throws(AccountFailure) in try AccountNames.email(email) }
        change.phone = try change.phone.map { (phone) throws(AccountFailure) in try AccountNames.phone(phone) }
        if let password = change.password { try AccountNames.check(password: password) }
        try AccountNames.check(displayName: change.displayName, photoURL: change.photoURL)
        if let claims = change.claims { _ = try AccountNames.claims(claims) }
        return change
    }

    /// Removes the account of a client.
    package func delete(_ idToken: [UInt8]?, in realm: Realm) throws(AccountFailure) {
        guard let idToken else { throw .refused(.missingIDToken) }
        let token = try verify(idToken, in: realm)
        try thread.run { (file) throws(AccountFailure) in
            let user = try file.user(realm, of: token)
            try self.checkRecent(token, of: user)
            try file.remove(user, in: realm)
        }
    }
}

extension AccountFile {
    /// Refuses a change that would take another user's address, number or link.
    fileprivate func check(_ change: UserChange, of user: String, in realm: Realm) throws(AccountFailure) {
        if let email = change.email, let owner = try self.user(realm, email: email), owner.id != user {
            throw .refused(.emailExists)
        }
        if let phone = change.phone, let owner = try self.user(realm, phone: phone), owner.id != user {
            throw .refused(.phoneNumberExists)
        }
        if let link = change.link, let owner = try self.user(realm, provider: link.provider, rawID: link.rawID),
            owner.id != user
        {
            throw .refused(.federatedUserAlreadyLinked)
        }
    }
}

extension User {
    /// Another address is not verified, and old tokens, which name the former one, are void.
    fileprivate mutating func changeEmail(to email: String, now: Int64) {
        if let former = self.email, initialEmail == nil { initialEmail = former }
        self.email = email
        emailVerified = false
        voidTokens(now: now)
    }

    fileprivate mutating func apply(_ change: UserChange, hash: String?, now: Int64) {
        if let name = change.displayName { displayName = name }
        if let url = change.photoURL { photoURL = url }
        if let email = change.email, email != self.email { changeEmail(to: email, now: now) }
        if let hash {
            password = hash
            passwordUpdatedAt = now
            voidTokens(now: now)
        }
        if let isVerified = change.emailVerified { emailVerified = isVerified }
        if let isDisabled = change.isDisabled { self.isDisabled = isDisabled }
        if let phone = change.phone { self.phone = phone }
        if let claims = change.claims { self.claims = claims }
        if let time = change.createdAt { createdAt = time }
        if let time = change.lastLoginAt { lastLoginAt = time }
        if let link = change.link {
            links.removeAll { $0.provider == link.provider }
            links.append(link)
        }
        if let time = change.validSince {
            // Backends say "now" in whole seconds, by their own clocks; that includes the tokens that this server has
            // issued until it hears of it. Tokens of the future are not to be void.
            if time < now / 1000 - 5 {
                validSince = Self.validSince(seconds: time, now: now)
            } else {
                voidTokens(now: now)
            }
        }
        remove(change)
    }

    private mutating func remove(_ change: UserChange) {
        for attribute in change.deletedAttributes {
            switch attribute {
            case "DISPLAY_NAME": displayName = nil
            case "PHOTO_URL": photoURL = nil
            case "PASSWORD": password = nil
            case "EMAIL":
                email = nil
                emailVerified = false
                hasEmailLink = false
            default: break
            }
        }
        for provider in change.deletedProviders {
            switch provider {
            case ProviderLink.password:
                email = nil
                emailVerified = false
                hasEmailLink = false
                password = nil
            case ProviderLink.phone: phone = nil
            default: links.removeAll { $0.provider == provider }
            }
        }
    }
}
