package import HearthJSONValues
import HearthJSONWebTokens

/// A user who has signed in.
package struct SignIn: Sendable {
    package let user: User
    package let idToken: [UInt8]
    package let refreshToken: [UInt8]
    /// The account was made by this.
    package let isNew: Bool
    /// How the user has signed in: `password`, `anonymous`, `custom` or a provider's id.
    package let provider: String
    /// The changes of the ways to sign in: `+password`, `-google.com`, `~email`.
    package let changes: [String]
}

/// A session that was begun in the file, and whose tokens are still to be made.
struct Admission: Sendable {
    let user: User
    let realm: Realm
    let grant: RefreshGrant
    let refreshToken: RefreshToken
    /// Milliseconds since 1970: when the file was read. Revocations while the token is being signed apply to it too.
    let issuedAt: Int64
    var isNew = false
    /// Of the first ID token only.
    var signInAttributes: JSONObject?
    var changes: [String] = []
}

/// Tokens and their renewal (accounts.md 6).
extension Accounts {
    /// Begins a session of a user, who has just proved to be it.
    ///
    /// - parameter claims: those of a custom token: the text of a JSON object.
    func admit(
        _ user: User, by provider: String, claims: String? = nil, isNew: Bool = false, changes: [String] = [],
        in realm: Realm, _ file: AccountFile
    ) throws(AccountFailure) -> Admission {
        guard !user.isDisabled else { throw .refused(.userDisabled) }
        var user = user
        let now = now
        try file.correctAge(of: &user, in: realm, now: now)
        user.lastLoginAt = now
        user.lastRefreshAt = now
        try file.put(user, in: realm)
        // After a revocation of this millisecond.
        let time = max(now, user.validSince)
        let grant = RefreshGrant(
            user: user.id, provider: provider, claims: claims, issuedAt: time, authenticatedAt: time / 1000)
        let token = RefreshToken()
        try file.put(grant, hash: token.digest, in: realm)
        return Admission(
            user: user, realm: realm, grant: grant, refreshToken: token, issuedAt: time, isNew: isNew,
            changes: changes)
    }

    func signIn(_ admission: Admission) throws(AccountFailure) -> SignIn {
        projects.note(admission.realm.project)
        let idToken = try idToken(
            for: admission.user, admission.grant, issuedAt: admission.issuedAt,
            attributes: admission.signInAttributes, in: admission.realm)
        return SignIn(
            user: admission.user, idToken: idToken, refreshToken: admission.refreshToken.text, isNew: admission.isNew,
            provider: admission.grant.provider, changes: admission.changes)
    }

    private func idToken(
        for user: User, _ grant: RefreshGrant, issuedAt: Int64, attributes: JSONObject? = nil, in realm: Realm
    ) throws(AccountFailure) -> [UInt8] {
        var contents = contents(of: user, grant, in: realm)
        contents.signInAttributes = attributes
        do throws(CryptographyError) {
            return try authority(realm).idToken(contents, issuedAt: issuedAt)
        } catch { throw .failed("\(error)") }
    }

    /// The claims of an ID token for a user who would sign in now, as far as the account tells: by the account's first
    /// provider, or anonymously if it has none. Answers that provider, too.
    package func supposedClaims(of user: User, in realm: Realm) -> (provider: String, claims: JSONObject) {
        let provider = user.providers.first?.provider ?? "anonymous"
        let now = now
        let grant = RefreshGrant(
            user: user.id, provider: provider, claims: nil, issuedAt: now, authenticatedAt: now / 1000)
        return (
            provider, contents(of: user, grant, in: realm).claims(project: realm.project, issuedAt: now / 1000)
        )
    }

    private func contents(of user: User, _ grant: RefreshGrant, in realm: Realm) -> IDTokenContents {
        var contents = IDTokenContents(
            uid: Array(user.id.utf8), signInProvider: grant.provider, authTime: grant.authenticatedAt)
        contents.name = user.displayName
        contents.picture = user.photoURL
        contents.email = user.email
        contents.isEmailVerified = user.emailVerified
        contents.phoneNumber = user.phone
        contents.tenant = realm.tenant
        if let email = user.email { contents.identities.append((provider: "email", ids: [email])) }
        for link in user.providers where link.provider != ProviderLink.password {
            contents.identities.append((provider: link.provider, ids: [link.rawID]))
        }
        contents.customAttributes = Self.object(user.claims)
        contents.customTokenClaims = Self.object(grant.claims)
        return contents
    }

    private static func object(_ text: String?) -> JSONObject {
        text.flatMap { try? JSONValue(parsing: Array($0.utf8)).object } ?? JSONObject()
    }

    /// A new ID token for a refresh token, which stays as it is (accounts.md 6).
    package func refresh(_ refreshToken: [UInt8]) throws(AccountFailure) -> (realm: Realm, signIn: SignIn) {
        let digest = RefreshToken.digest(of: refreshToken)
        let (realm, user, grant, issuedAt) = try thread.run { (file) throws(AccountFailure) in
            let now = self.now
            guard let (realm, grant) = try file.grant(hash: digest) else { throw .refused(.invalidRefreshToken) }
            guard var user = try file.user(realm, id: grant.user) else { throw .refused(.userNotFound) }
            guard !user.isDisabled else { throw .refused(.userDisabled) }
            guard grant.issuedAt >= user.validSince else { throw .refused(.tokenExpired) }
            try file.correctAge(of: &user, in: realm, now: now)
            user.lastRefreshAt = now
            try file.put(user, in: realm)
            return (realm, user, grant, max(now, user.validSince))
        }
        let idToken = try idToken(for: user, grant, issuedAt: issuedAt, in: realm)
        let signIn = SignIn(
            user: user, idToken: idToken, refreshToken: refreshToken, isNew: false, provider: grant.provider,
            changes: [])
        return (realm, signIn)
    }

    /// A cookie that replaces an ID token (accounts.md 6).
    package func sessionCookie(
        _ idToken: [UInt8], seconds: Int64, in realm: Realm
    ) throws(AccountFailure) -> [UInt8] {
        guard TokenAuthority.sessionCookieSeconds.contains(seconds) else { throw .refused(.invalidDuration) }
        let token = try verify(idToken, in: realm)
        _ = try thread.run { (file) throws(AccountFailure) in try file.user(realm, of: token) }
        do throws(CryptographyError) {
            return try authority(realm).sessionCookie(for: token, seconds: seconds, now: nowSeconds)
        } catch { throw .failed("\(error)") }
    }
}

extension AccountFile {
    /// After the clock was set back, nobody who signed up before could use a token until it has caught up. Such a user
    /// becomes as young as the clock says. Not if tokens of the user, or of an earlier one with the id, were revoked:
    /// when the clock goes forward again they would be good again.
    fileprivate func correctAge(of user: inout User, in realm: Realm, now: Int64) throws(AccountFailure) {
        guard user.validSince > now + JSONWebToken.clockSkewSeconds * 1000,
            user.validSince == User(id: user.id, createdAt: user.createdAt).validSince,
            try !hasRevokedGrants(of: user.id, in: realm)
        else { return }
        user.createdAt = now
        user.validSince = User(id: user.id, createdAt: now).validSince
    }
}
