import HearthJSONValues
import HearthJSONWebTokens

/// The members of a new account. Nil members are not set.
package struct NewUser: Sendable {
    package var id: String?
    package var email: String?
    package var password: String?
    package var displayName: String?
    package var photoURL: String?
    package var phone: String?
    package var emailVerified = false
    package var isDisabled = false

    package init() {}
}

/// Making accounts and signing in to them (accounts.md 4).
extension Accounts {
    /// Makes an account: with an address and a password, or anonymous with neither.
    package func signUp(_ new: NewUser, in realm: Realm) throws(AccountFailure) -> SignIn {
        guard new.id == nil else { throw .refused(.unexpectedParameter, "User ID") }
        let isAnonymous = new.email == nil && new.password == nil
        guard isAnonymous ? options.allowsAnonymous : options.allowsPasswords else {
            throw .refused(isAnonymous ? .adminOnlyOperation : .operationNotAllowed)
        }
        if !isAnonymous {
            guard new.email != nil else { throw .refused(.missingEmail) }
            guard new.password != nil else { throw .refused(.missingPassword) }
        }
        var user = try checked(new)
        user.password = try new.password.map { (password) throws(AccountFailure) in try hash(password) }
        user.passwordUpdatedAt = user.password.map { _ in user.createdAt }
        let made = user
        let admission = try thread.run { (file) throws(AccountFailure) in
            if let email = made.email, try file.user(realm, email: email) != nil { throw .refused(.emailExists) }
            let provider = isAnonymous ? "anonymous" : ProviderLink.password
            return try self.admit(made, by: provider, isNew: true, in: realm, file)
        }
        return try signIn(admission)
    }

    /// Makes an account without signing in to it, with everything as the administrator wants it.
    package func create(_ new: NewUser, in realm: Realm) throws(AccountFailure) -> User {
        var user = try checked(new)
        user.password = try new.password.map { (password) throws(AccountFailure) in try hash(password) }
        user.passwordUpdatedAt = user.password.map { _ in user.createdAt }
        let made = user
        return try thread.run { (file) throws(AccountFailure) in
            if try file.user(realm, id: made.id) != nil { throw .refused(.duplicateLocalID) }
            if let email = made.email, try file.user(realm, email: email) != nil { throw .refused(.emailExists) }
            if let phone = made.phone, try file.user(realm, phone: phone) != nil { throw .refused(.phoneNumberExists) }
            try file.put(made, in: realm)
            return made
        }
    }

    /// A user with all that was asked for but the password.
    private func checked(_ new: NewUser) throws(AccountFailure) -> User {
        if let id = new.id { try AccountNames.check(id: id) }
        var user = User(id: new.id ?? Self.makeID(), createdAt: now)
        user.email = try new.email.map { (email) throws(AccountFailure) in try AccountNames.email(email) }
        if let password = new.password { try AccountNames.check(password: password) }
        user.phone = try new.phone.map { (phone) throws(AccountFailure) in try AccountNames.phone(phone) }
        try AccountNames.check(displayName: new.displayName, photoURL: new.photoURL)
        user.displayName = new.displayName
        user.photoURL = new.photoURL
        user.emailVerified = new.emailVerified
        user.isDisabled = new.isDisabled
        return user
    }

    /// 28 letters and digits (accounts.md 4).
    static func makeID() -> String { Cryptography.randomName(28) }

    func hash(_ password: String) throws(AccountFailure) -> String {
        do throws(CryptographyError) { return try hasher.hash(Array(password.utf8)) } catch {
            throw .failed("\(error)")
        }
    }

    /// Signs in with address and password. Takes as long for an unknown address as for a wrong password.
    ///
    /// - parameter client: the network address of the client.
    package func signIn(
        email: String?, password: String?, in realm: Realm, from client: String
    ) throws(AccountFailure) -> SignIn {
        guard options.allowsPasswords else { throw .refused(.passwordLoginDisabled) }
        guard let given = email else { throw .refused(.missingEmail) }
        let email = try AccountNames.email(given)
        guard let password, !password.isEmpty else { throw .refused(.missingPassword) }
        let attempt = passwordAttempt(at: email, in: realm, from: client)
        try admitAttempt(attempt, max: options.attemptsPerAccountMax)
        let user = try thread.run { (file) throws(AccountFailure) in try file.user(realm, email: email) }
        let verdict = hasher.verify(Array(password.utf8), against: user?.password)
        guard let user else { throw .refused(hidesEmails ? .invalidLoginCredentials : .emailNotFound) }
        if user.isDisabled, !hidesEmails { throw .refused(.userDisabled) }
        guard case .right(let needsNewHash) = verdict else {
            throw .refused(hidesEmails ? .invalidLoginCredentials : .invalidPassword)
        }
        let newHash = needsNewHash ? try hash(password) : nil
        let admission = try thread.run { (file) throws(AccountFailure) in
            // It may have been changed meanwhile.
            guard var now = try file.user(realm, id: user.id), now.password == user.password else {
                throw .refused(self.hidesEmails ? .invalidLoginCredentials : .invalidPassword)
            }
            if let newHash { now.password = newHash }
            return try self.admit(now, by: ProviderLink.password, in: realm, file)
        }
        attempts.forget(attempt)
        noteFamiliar(client, at: email, in: realm)
        return try signIn(admission)
    }

    /// Signs in, and creates the account if necessary, on behalf of a back end.
    package func signIn(_ token: CustomToken, in realm: Realm) throws(AccountFailure) -> SignIn {
        let id = String(decoding: token.uid, as: UTF8.self)
        let claims = token.claims.isEmpty ? nil : String(decoding: token.claims.bytes, as: UTF8.self)
        let created = now
        let admission = try thread.run { (file) throws(AccountFailure) in
            let known = try file.user(realm, id: id)
            var user = known ?? User(id: id, createdAt: created)
            user.hasCustomAuth = true
            return try self.admit(user, by: "custom", claims: claims, isNew: known == nil, in: realm, file)
        }
        return try signIn(admission)
    }

    /// Signs in with the code of a link that was sent to an address, which is thereby verified; creates the account if
    /// necessary.
    ///
    /// - parameter idToken: of a user who is to have this address from now on.
    package func signIn(
        email: String?, code: String?, linkingTo idToken: [UInt8]?, in realm: Realm
    ) throws(AccountFailure) -> SignIn {
        guard options.allowsEmailLinks else { throw .refused(.operationNotAllowed) }
        guard let email else { throw .refused(.missingEmail) }
        let address = try AccountNames.email(email)
        guard let code else { throw .refused(.missingCode) }
        let hash = OneTimeCode.hash(code)
        let token = try idToken.map { (token) throws(AccountFailure) in try verify(token, in: realm) }
        let (now, newID) = (now, Self.makeID())
        let admission = try thread.run { (file) throws(AccountFailure) in
            let code = try file.usableCode(realm, hash: hash, [.emailSignIn], now: now)
            guard code.email.utf8.elementsEqual(address.utf8) else {
                throw .refused(.invalidEmail, "The email provided does not match the sign-in email address.")
            }
            let owner = try file.user(realm, email: address)
            let before: User
            if let token {
                before = try file.user(realm, of: token)
                guard owner == nil || owner?.id == before.id else { throw .refused(.emailExists) }
                // An address is changed by a code that names the account, and not by one that was sent to anybody.
                guard before.email == nil || before.email == address else {
                    throw .refused(.operationNotAllowed, "Please verify the new email before changing email.")
                }
            } else {
                before = owner ?? User(id: newID, createdAt: now)
            }
            var user = before
            let takesOver = token == nil && owner != nil && !before.emailVerified
            if takesOver { user.shutOutCreator(now: now) }
            user.email = address
            user.emailVerified = true
            user.hasEmailLink = true
            try file.removeCode(hash: hash)
            let authority: Authority = token.map { .owner($0) } ?? (takesOver ? .takeover : .code)
            let settled = try self.settle(user, insteadOf: before, for: authority, in: realm, file)
            let isNew = owner == nil && token == nil
            return try self.admit(
                user, by: ProviderLink.password, isNew: isNew, changes: isNew ? [] : settled.changes, in: realm, file)
        }
        return try signIn(admission)
    }
}
