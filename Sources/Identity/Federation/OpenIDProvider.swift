import HearthJSONValues
import HearthBytes
package import HearthJSONWebTokens

/// A provider that vouches for its users with ID tokens (OpenID Connect Core 1.0, section 3.1.3.7): Google, Apple,
/// Facebook's limited login, or any other.
package struct OpenIDProvider: Sendable {
    package let id: String
    /// The token's `iss` is one of these. Google spells its own in two ways.
    package let issuers: [String]
    /// The names under which the provider knows this application: the token's `aud` is one of them.
    package let clientIDs: [String]
    /// Whether a token with a `nonce` needs the client's. Google's clients have no way to tell theirs (accounts.md 4).
    package let checksNonce: Bool
    package let keys: RemoteKeys

    package init(id: String, issuers: [String], clientIDs: [String], checksNonce: Bool = true, keys: RemoteKeys) {
        self.id = id
        self.issuers = issuers
        self.clientIDs = clientIDs
        self.checksNonce = checksNonce
        self.keys = keys
    }

    package static func google(clientIDs: [String], fetcher: any DocumentFetcher) -> OpenIDProvider {
        OpenIDProvider(
            id: "google.com", issuers: ["https://accounts.google.com", "accounts.google.com"], clientIDs: clientIDs,
            checksNonce: false,
            keys: RemoteKeys(.document(url: "https://www.googleapis.com/oauth2/v3/certs"), fetcher: fetcher))
    }

    package static func apple(clientIDs: [String], fetcher: any DocumentFetcher) -> OpenIDProvider {
        OpenIDProvider(
            id: "apple.com", issuers: ["https://appleid.apple.com"], clientIDs: clientIDs,
            keys: RemoteKeys(.document(url: "https://appleid.apple.com/auth/keys"), fetcher: fetcher))
    }

    /// Facebook's limited login; its other tokens are ``FacebookProvider``'s.
    package static func facebook(applicationID: String, fetcher: any DocumentFetcher) -> OpenIDProvider {
        OpenIDProvider(
            id: FacebookProvider.id, issuers: ["https://www.facebook.com", "https://facebook.com"],
            clientIDs: [applicationID],
            keys: RemoteKeys(
                .document(url: "https://limited.facebook.com/.well-known/oauth/openid/jwks/"), fetcher: fetcher))
    }

    /// Any provider that publishes its configuration; `id` is `oidc.` and a name.
    package static func discovered(
        id: String, issuer: String, clientIDs: [String], fetcher: any DocumentFetcher
    ) -> OpenIDProvider {
        OpenIDProvider(
            id: id, issuers: [issuer], clientIDs: clientIDs,
            keys: RemoteKeys(.discovery(issuer: issuer), fetcher: fetcher))
    }

    /// Checks an ID token: signature, issuer, audience, times and nonce. Never waits: `answer` is called at once or
    /// when keys have been fetched.
    ///
    /// - parameter nonce: the client's random text for this sign-in. The token holds it or the SHA-256 of it in
    /// hexadecimal.
    /// - parameter now: seconds since 1970.
    package func verify(_ idToken: [UInt8], nonce: [UInt8]?, now: Int64, answer: @escaping ProviderAnswer) {
        let token: JSONWebToken
        do throws(TokenError) {
            token = try JSONWebToken(parsing: idToken)
            // Tokens for others cause no fetching of keys.
            try check(token, nonce: nonce, now: now)
        } catch { return answer(.failure(.token(error))) }
        keys.find(token.keyID, now: now) { keys in
            answer(
                Result { () throws(ProviderError) in
                    do throws(TokenError) {
                        let keys = try keys.get()
                        try token.verify { _ in keys }
                        return try identity(token)
                    } catch { throw error == .keysUnavailable ? .unavailable : .token(error) }
                })
        }
    }

    private func check(_ token: JSONWebToken, nonce: [UInt8]?, now: Int64) throws(TokenError) {
        switch token.algorithm {
        case .none: throw .unsigned
        case .secret, .other: throw .unsupportedAlgorithm
        case .signed: break
        }
        guard issuers.contains(where: { token.claims["iss"]?.isText($0) == true }) else { throw .wrongIssuer }
        try token.check(audiences: clientIDs)
        // Of several audiences one has asked for the token; it has to be us.
        if let audiences = token.claims["aud"]?.array, audiences.count > 1 {
            guard let party = token.claims["azp"], clientIDs.contains(where: party.isText) else { throw .wrongAudience }
        }
        try token.checkTimes(now: now)
        if checksNonce { try check(nonce: nonce, of: token) }
    }

    private func check(nonce: [UInt8]?, of token: JSONWebToken) throws(TokenError) {
        switch (nonce, token.claims["nonce"]) {
        case (nil, nil): return
        case (let nonce?, .string(let stated)?):
            let hash = Hexadecimal.encode(Cryptography.sha256(nonce))
            guard Cryptography.areEqual(stated, nonce) || Cryptography.areEqual(stated, hash) else { throw .wrongNonce }
        default: throw .wrongNonce
        }
    }

    private func identity(_ token: JSONWebToken) throws(TokenError) -> ProviderIdentity {
        let subject = String(decoding: try token.name("sub", byteCountMax: 255), as: UTF8.self)
        return ProviderIdentity(provider: id, rawID: subject, claims: token.claims)
    }
}
