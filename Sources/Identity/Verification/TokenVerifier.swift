package import HearthJSONValues
package import HearthJSONWebTokens

/// Identifies the user of a credential: `cred` of the realtime protocol, and `auth`, `access_token` or a bearer token
/// of REST. Any thread.
///
/// In development everything is believed (Protocol.md 19.2): `owner` in any case and Google's access tokens are
/// administrators, other tokens are taken at their word. In production an administrator has an access token of this
/// server, a user an ID token of this server or of an issuer that it was told to believe. Where there are legacy
/// secrets, they and the tokens made with them count as well.
package final class TokenVerifier: Sendable {
    package typealias Answer = @Sendable (Result<Caller, TokenError>) -> Void

    private let authority: TokenAuthority
    private let accessTokens: AccessTokens
    private let issuers: [ForeignIssuer]
    /// Nil where old SDKs are not served.
    private let legacySecrets: LegacySecrets?

    package init(
        authority: TokenAuthority, accounts: ServiceAccounts, issuers: [ForeignIssuer] = [],
        legacySecrets: LegacySecrets? = nil
    ) {
        self.authority = authority
        self.issuers = issuers
        self.legacySecrets = legacySecrets
        accessTokens = AccessTokens(authority: authority, accounts: accounts)
    }

    /// Whether another issuer has the name that this server has as the issuer of ID tokens for a project: the service
    /// from which the project moved here has it.
    package func hasForeignIssuer(ofProject project: String) -> Bool {
        let own = IDToken.issuer(of: project)
        return issuers.contains { $0.issuer.utf8.elementsEqual(own.utf8) }
    }

    /// Checks a credential. Never waits: calls `answer` at once, or, if the keys of another issuer have to be fetched
    /// first, later and on another thread. Takes about 50 µs when the keys are there.
    ///
    /// - parameter now: seconds since 1970.
    package func verify(_ credential: [UInt8], now: Int64, answer: @escaping Answer) {
        let token: JSONWebToken
        do throws(TokenError) {
            if let legacySecrets, legacySecrets.contain(credential) {
                return answer(.success(.administrator(expiresAt: nil)))
            }
            if case .development = authority.mode { return answer(.success(try trust(credential))) }
            token = try JSONWebToken(parsing: credential)
            if let legacySecrets, case .secret = token.algorithm {
                return answer(.success(Caller(try legacySecrets.verify(token, now: now))))
            }
            if accessTokens.isAccessToken(token) {
                let (end, key) = try accessTokens.verify(token, now: now)
                return answer(.success(.administrator(expiresAt: end, key: key)))
            }
            if let user = try ownUser(token, now: now) { return answer(.success(.user(user))) }
        } catch { return answer(.failure(error)) }
        verifyForeign(token, now: now, answer: answer)
    }

    private func trust(_ credential: [UInt8]) throws(TokenError) -> Caller {
        let isOwner = String(decoding: credential, as: UTF8.self).lowercased().utf8.elementsEqual(AccessTokens.owner)
        if isOwner || credential.starts(with: "ya29.".utf8) { return .administrator(expiresAt: nil) }
        let token = try JSONWebToken(parsing: credential)
        if LegacyToken.isLegacy(token) { return Caller(try LegacyToken(trusting: token)) }
        return .user(TokenUser(try IDToken(trusting: token), isOwn: true))
    }

    /// Nil for a token whose key is not one of this server's. Others may have the same issuer: a project that moved
    /// here from Firebase has its old tokens too.
    private func ownUser(_ token: JSONWebToken, now: Int64) throws(TokenError) -> TokenUser? {
        guard case .production(let keys) = authority.mode else { return nil }
        let candidates = keys.verificationKeys(token.keyID)
        if candidates.isEmpty { return nil }
        try token.verify { _ in candidates }
        return TokenUser(try authority.read(token, now: now), isOwn: true)
    }

    private func verifyForeign(_ token: JSONWebToken, now: Int64, answer: @escaping Answer) {
        switch token.algorithm {
        case .none: return answer(.failure(.unsigned))
        case .secret, .other: return answer(.failure(.unsupportedAlgorithm))
        case .signed: break
        }
        // The operator may have named one issuer several times, for several audiences.
        let named = issuers.filter { token.claims["iss"]?.isText($0.issuer) == true }
        let audience = token.claims["aud"]?.text
        guard let issuer = named.first(where: { $0.audiences.contains { $0 == audience } }) ?? named.first else {
            let isOwn = token.claims["iss"]?.isText(IDToken.issuer(of: authority.project)) == true
            return answer(.failure(isOwn ? .unknownKey : .wrongIssuer))
        }
        issuer.find(token.keyID, now: now) { keys in
            answer(
                Result { () throws(TokenError) in
                    let keys = try keys.get()
                    try token.verify { _ in keys }
                    let read = try IDToken(token, issuer: issuer.issuer, audiences: issuer.audiences, now: now)
                    return .user(TokenUser(read, isOwn: false))
                })
        }
    }

    /// The name of the administrator with this bearer token, for calls that only administrators may make; nil if it is
    /// not valid.
    package func administrator(_ credential: [UInt8], now: Int64) -> String? {
        if case .development = authority.mode, case .administrator? = try? trust(credential) { return "owner" }
        guard let token = try? JSONWebToken(parsing: credential) else { return nil }
        return (try? accessTokens.verify(token, now: now))?.key.name
    }

    /// Another access token in exchange for one, as the body of an answer of `/token`.
    package func renew(_ key: AccessTokenKey, now: Int64) -> Result<JSONObject, RenewalError> {
        accessTokens.renew(key, now: now)
    }

    /// Answers a request to the server's `/token`; see ``AccessTokens/answer(grantType:assertion:endpoints:now:)``.
    package func answer(
        grantType: [UInt8]?, assertion: [UInt8]?, endpoints: [String], now: Int64
    ) -> AccessTokens.Answer {
        accessTokens.answer(grantType: grantType, assertion: assertion, endpoints: endpoints, now: now)
    }
}
