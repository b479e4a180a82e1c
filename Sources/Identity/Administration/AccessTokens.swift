import HearthBytes
package import HearthJSONValues
package import HearthJSONWebTokens

/// Access tokens: the credential of an administrator's program that has proved to hold a service account's key
/// (accounts.md 11).
///
/// An access token is a signed token of its own type (RFC 9068), valid for an hour, and only for as long as the key
/// that it was given for is registered. In development it is the word `owner`, for any assertion.
package struct AccessTokens: Sendable {
    package static let seconds: Int64 = 3600
    /// How long after an assertion was shown tokens can be renewed.
    package static let renewableSeconds: Int64 = 12 * 3600
    /// The administrator's token of an emulator's clients.
    package static let owner = Array("owner".utf8)
    package static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    private static let type = "at+jwt"
    private static let issuer = "hearth"
    private let authority: TokenAuthority
    private let accounts: ServiceAccounts
    /// Names of assertions that were exchanged and have not ended.
    private let used = ExpiringSet(countMax: 10_000)

    package init(authority: TokenAuthority, accounts: ServiceAccounts) {
        self.authority = authority
        self.accounts = accounts
    }

    // MARK: Giving

    /// Exchanges an assertion, which a service account's key has signed (RFC 7523, section 3), for an access token.
    /// About 0.4 ms.
    ///
    /// - parameter endpoints: the URLs of this server's token endpoint. An assertion names one of them or Google's,
    ///   which most libraries always write.
    /// - parameter now: seconds since 1970, everywhere here.
    package func exchange(
        assertion: [UInt8], endpoints: [String], now: Int64
    ) throws(AccessTokenError) -> (token: [UInt8], key: AccessTokenKey?) {
        guard case .production = authority.mode else { return (Self.owner, nil) }
        let (keyID, email): ([UInt8], [UInt8])
        do throws(TokenError) {
            (keyID, email) = try verify(assertion: assertion, endpoints: endpoints, now: now)
        } catch {
            throw .invalidGrant(error)
        }
        let key = AccessTokenKey(keyID, of: email, in: accounts, signedInAt: now)
        return (try makeToken(for: key, now: now), key)
    }

    private func makeToken(for key: AccessTokenKey, now: Int64) throws(AccessTokenError) -> [UInt8] {
        guard case .production(let keys) = authority.mode else { return Self.owner }
        let claims = JSONObject([
            "iss": .text(Self.issuer), "sub": .string(key.email), "aud": .text(authority.project),
            "key": .string(key.id), "auth_time": .integer(key.signedInAt), "iat": .integer(now),
            "exp": .integer(now + Self.seconds),
        ])
        do throws(CryptographyError) {
            return try JSONWebToken.signed(claims, with: keys.signingKey(now: now), type: Self.type)
        } catch { throw .cannotSign(error) }
    }

    /// A new token in exchange for one of a key: for people whose browser has no key to sign with.
    func renew(_ key: AccessTokenKey, now: Int64) -> Result<JSONObject, RenewalError> {
        guard key.isRegistered else { return .failure(RenewalError(text: "the key was removed")) }
        guard now - key.signedInAt < Self.renewableSeconds else {
            return .failure(RenewalError(text: "sign in again: the session is older than 12 hours"))
        }
        do throws(AccessTokenError) {
            return .success(Self.body(of: try makeToken(for: key, now: now)))
        } catch {
            return .failure(RenewalError(text: "the token cannot be signed"))
        }
    }

    private static func body(of token: [UInt8]) -> JSONObject {
        JSONObject([
            "access_token": .string(token), "expires_in": .integer(seconds), "token_type": .text("Bearer"),
        ])
    }

    /// Where Google's libraries have assertions exchanged, over the years.
    private static let googleEndpoints = [
        "https://oauth2.googleapis.com/token", "https://accounts.google.com/o/oauth2/token",
        "https://www.googleapis.com/oauth2/v4/token",
    ]

    private func verify(
        assertion: [UInt8], endpoints: [String], now: Int64
    ) throws(TokenError) -> (keyID: [UInt8], email: [UInt8]) {
        let token = try JSONWebToken(parsing: assertion)
        let email = try token.name("iss", byteCountMax: 1024)
        guard let keyID = token.keyID else { throw .unknownKey }
        try token.verify { accounts.verificationKeys($0, issuer: email) }
        try token.check(audiences: endpoints + Self.googleEndpoints)
        // The same key signs custom tokens, which are given to anybody.
        guard token.claims["uid"] == nil else { throw .wrongAudience }
        try token.checkTimes(now: now)
        try token.checkLifetime(max: Self.seconds)
        try remember(token, now: now)
        return (keyID, email)
    }

    /// An assertion with a name is good once (RFC 7523, section 3).
    private func remember(_ token: JSONWebToken, now: Int64) throws(TokenError) {
        guard token.claims["jti"] != nil, let end = try token.seconds("exp") else { return }
        let name = Hexadecimal.encode(Cryptography.sha256(try token.name("jti", byteCountMax: 1024)))
        guard used.insertNew(String(decoding: name, as: UTF8.self), until: end, now: now) else { throw .alreadyUsed }
    }

    /// The answer to a request to the token endpoint.
    package struct Answer: Sendable {
        package let status: Int
        package let body: JSONObject
        /// Whom an access token was given: service account and key. Nil when it was refused.
        package let receiver: String?
    }

    /// Answers a request to the token endpoint: the parameters of its form, and the answer (RFC 6749, sections 5.1 and
    /// 5.2), which must not be cached.
    package func answer(grantType: [UInt8]?, assertion: [UInt8]?, endpoints: [String], now: Int64) -> Answer {
        func failure(_ status: Int, _ code: String, _ text: String) -> Answer {
            Answer(
                status: status, body: JSONObject(["error": .text(code), "error_description": .text(text)]),
                receiver: nil)
        }
        guard let grantType else { return failure(400, "invalid_request", "grant_type is missing") }
        guard grantType.elementsEqual(Self.grantType.utf8) else {
            return failure(400, "unsupported_grant_type", "only \(Self.grantType) is supported")
        }
        guard let assertion else { return failure(400, "invalid_request", "assertion is missing") }
        do throws(AccessTokenError) {
            let (token, key) = try exchange(assertion: assertion, endpoints: endpoints, now: now)
            return Answer(status: 200, body: Self.body(of: token), receiver: key?.name ?? "owner")
        } catch {
            switch error {
            case .invalidGrant(let error): return failure(400, "invalid_grant", "\(error)")
            case .cannotSign: return failure(500, "server_error", "the token cannot be signed")
            }
        }
    }

    // MARK: Believing

    /// Whether a token says that it is an access token: others are not asked about as such.
    func isAccessToken(_ token: JSONWebToken) -> Bool { token.type?.elementsEqual(Self.type.utf8) == true }

    /// Checks an access token, and answers when it ends, and with which key.
    func verify(_ token: JSONWebToken, now: Int64) throws(TokenError) -> (expiresAt: Int64, key: AccessTokenKey) {
        guard case .production(let keys) = authority.mode, isAccessToken(token) else { throw .wrongIssuer }
        try token.verify(keys.verificationKeys)
        try token.check(issuer: Self.issuer)
        try token.check(audience: authority.project)
        try token.checkTimes(now: now)
        let email = try token.name("sub", byteCountMax: 1024)
        let issuedAt = try token.seconds("iat") ?? 0
        let signedInAt = try token.seconds("auth_time")
        let key = AccessTokenKey(
            try token.name("key", byteCountMax: 1024), of: email, in: accounts, signedInAt: signedInAt ?? issuedAt)
        guard key.isRegistered else { throw .unknownKey }
        return (try token.seconds("exp") ?? now, key)
    }
}

/// Why a token is not renewed: one line for people.
package struct RenewalError: Error, Hashable, Sendable {
    package let text: String
}

package enum AccessTokenError: Error, Hashable, Sendable {
    /// `invalid_grant` of RFC 6749, section 5.2.
    case invalidGrant(TokenError)
    case cannotSign(CryptographyError)
}
