extension ProviderIdentity {
    fileprivate var link: ProviderLink {
        var link = ProviderLink(provider: provider, rawID: rawID)
        link.email = email
        link.displayName = displayName
        link.photoURL = photoURL
        return link
    }
}

/// Sign-in by way of another provider, with one account for each address (accounts.md 4).
extension Accounts {
    package enum FederatedOutcome: Sendable {
        /// `emailRecycled`: the provider's user of this address was another one before.
        case signedIn(SignIn, emailRecycled: Bool)
        /// Another user may own the address: they have to sign in first, in one of these ways, unless those must not be
        /// revealed.
        case needsConfirmation(providers: [String])
    }

    /// - parameter idToken: of the user who wants to add this way to sign in.
    /// - parameter createsAccount: false to prove only that the account is there.
    package func signIn(
        _ identity: ProviderIdentity, linkingTo idToken: [UInt8]?, createsAccount: Bool, in realm: Realm
    ) throws(AccountFailure) -> FederatedOutcome {
        var identity = identity
        identity.email = try identity.email.map { (email) throws(AccountFailure) in try AccountNames.email(email) }
        // A provider's user cannot change what is too long.
        if (try? AccountNames.check(displayName: identity.displayName, photoURL: nil)) == nil {
            identity.displayName = nil
        }
        if (try? AccountNames.check(displayName: nil, photoURL: identity.photoURL)) == nil { identity.photoURL = nil }
        let token = try idToken.map { (token) throws(AccountFailure) in try verify(token, in: realm) }
        let (who, now, newID) = (identity, now, Self.makeID())
        let step = try thread.run { (file) throws(AccountFailure) in
            let owner = try file.user(realm, provider: who.provider, rawID: who.rawID)
            if let token {
                if owner != nil { throw .refused(.federatedUserAlreadyLinked) }
                let before = try file.user(realm, of: token)
                let user = try file.link(who, to: before, in: realm)
                let settled = try self.settle(user, insteadOf: before, for: .owner(token), in: realm, file)
                return Step.admitted(
                    try self.admit(user, by: who.provider, changes: settled.changes, in: realm, file),
                    emailRecycled: false)
            }
            if let owner {
                var user = owner
                user.links = user.links.map { link in
                    link.provider == who.provider && link.rawID == who.rawID ? who.link : link
                }
                return .admitted(try self.admit(user, by: who.provider, in: realm, file), emailRecycled: false)
            }
            if let email = who.email, let user = try file.user(realm, email: email) {
                guard who.isEmailVerified else {
                    return .needsConfirmation(providers: self.hidesEmails ? [] : user.providers.map(\.provider))
                }
                if user.isDisabled { throw .refused(.userDisabled) }
                let (joined, isRecycled) = user.joined(by: who, now: now)
                let settled = try self.settle(
                    joined, insteadOf: user, for: user.emailVerified ? .code : .takeover, in: realm, file)
                return .admitted(
                    try self.admit(joined, by: who.provider, changes: settled.changes, in: realm, file),
                    emailRecycled: isRecycled)
            }
            guard createsAccount else { throw .refused(.userNotFound) }
            var user = User(id: newID, createdAt: now)
            user.email = who.email
            user.emailVerified = who.isEmailVerified
            user.displayName = who.displayName
            user.photoURL = who.photoURL
            user.links = [who.link]
            return .admitted(
                try self.admit(user, by: who.provider, isNew: true, in: realm, file), emailRecycled: false)
        }
        switch step {
        case .admitted(var admission, let emailRecycled):
            admission.signInAttributes = identity.signInAttributes
            return .signedIn(try signIn(admission), emailRecycled: emailRecycled)
        case .needsConfirmation(let providers): return .needsConfirmation(providers: providers)
        }
    }

    private enum Step: Sendable {
        case admitted(Admission, emailRecycled: Bool)
        case needsConfirmation(providers: [String])
    }
}

extension AccountFile {
    /// A signed-in user adds a provider, and gets its address if the user had none.
    fileprivate func link(_ who: ProviderIdentity, to user: User, in realm: Realm) throws(AccountFailure) -> User {
        var user = user
        if let email = who.email {
            if let other = try self.user(realm, email: email), other.id != user.id { throw .refused(.emailExists) }
            if user.email == nil {
                user.email = email
                user.emailVerified = who.isEmailVerified
            } else if user.email == email, who.isEmailVerified {
                user.emailVerified = true
            }
        }
        user.displayName = user.displayName ?? who.displayName
        user.photoURL = user.photoURL ?? who.photoURL
        user.links.removeAll { $0.provider == who.provider }
        user.links.append(who.link)
        return user
    }
}

extension User {
    /// The provider says that the address is theirs. A user who registered it before without proving that loses every
    /// way in.
    fileprivate func joined(by who: ProviderIdentity, now: Int64) -> (user: User, isRecycled: Bool) {
        var user = self
        if !emailVerified { user.shutOutCreator(now: now) }
        let isRecycled = user.links.contains { $0.provider == who.provider }
        user.links.removeAll { $0.provider == who.provider }
        user.links.append(who.link)
        user.displayName = who.displayName ?? user.displayName
        user.photoURL = who.photoURL ?? user.photoURL
        user.emailVerified = true
        return (user, isRecycled)
    }
}
