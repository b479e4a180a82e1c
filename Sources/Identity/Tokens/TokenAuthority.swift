import HearthJSONValues
package import HearthJSONWebTokens

/// Makes and believes the tokens of one project (accounts.md 6): ID tokens, session cookies and custom tokens. Any
/// thread.
package struct TokenAuthority: Sendable {
    package enum Mode: Sendable {
        /// As an emulator has it (Protocol.md 19.2): tokens are made without a signature, and all are taken at their
        /// word, expired ones too.
        case development
        case production(KeyStore)
    }

    package let project: String
    package let mode: Mode

    package init(project: String, mode: Mode) {
        self.project = project
        self.mode = mode
    }

    /// How long a session cookie may live (accounts.md 6).
    package static let sessionCookieSeconds: ClosedRange<Int64> = 300...KeyStore.tokenSecondsMax
    package static let uidByteCountMax = 128

    package static func sessionCookieIssuer(_ project: String) -> String {
        "https://session.firebase.google.com/\(project)"
    }

    // MARK: Making

    /// An ID token, good for an hour. Signing takes about 0.3 ms.
    ///
    /// - parameter issuedAt: milliseconds since 1970.
    package func idToken(_ contents: IDTokenContents, issuedAt: Int64) throws(CryptographyError) -> [UInt8] {
        let seconds = issuedAt / 1000
        return try token(
            contents.claims(project: project, issuedAt: seconds), now: seconds, milliseconds: issuedAt % 1000)
    }

    /// A session cookie with an ID token's claims.
    ///
    /// - parameter seconds: how long it lives, within ``sessionCookieSeconds``.
    /// - parameter now: seconds since 1970, everywhere below.
    package func sessionCookie(for token: IDToken, seconds: Int64, now: Int64) throws(CryptographyError) -> [UInt8] {
        var claims = token.claims
        claims["iss"] = .text(Self.sessionCookieIssuer(project))
        claims["iat"] = .integer(now)
        claims["exp"] = .integer(now + seconds)
        return try self.token(claims, now: now)
    }

    private func token(
        _ claims: JSONObject, now: Int64, milliseconds: Int64 = 0
    ) throws(CryptographyError) -> [UInt8] {
        switch mode {
        case .development: JSONWebToken.unsigned(claims, milliseconds: milliseconds)
        case .production(let keys):
            try JSONWebToken.signed(claims, with: keys.signingKey(now: now), milliseconds: milliseconds)
        }
    }

    // MARK: Believing

    /// The claims of an ID token, if it is one of this project. Whether the user still exists and the token was revoked
    /// is not known here.
    package func verifyIDToken(_ text: [UInt8], now: Int64) throws(TokenError) -> IDToken {
        try verify(text, issuer: IDToken.issuer(of: project), now: now)
    }

    package func verifySessionCookie(_ text: [UInt8], now: Int64) throws(TokenError) -> IDToken {
        try verify(text, issuer: Self.sessionCookieIssuer(project), now: now)
    }

    private func verify(_ text: [UInt8], issuer: String, now: Int64) throws(TokenError) -> IDToken {
        let token = try JSONWebToken(parsing: text)
        switch mode {
        case .development: return try IDToken(trusting: token)
        case .production(let keys):
            try token.verify(keys.verificationKeys)
            return try IDToken(token, issuer: issuer, audiences: [project], now: now)
        }
    }

    /// Reads an ID token whose signature was checked.
    func read(_ token: JSONWebToken, now: Int64) throws(TokenError) -> IDToken {
        try IDToken(token, issuer: IDToken.issuer(of: project), audiences: [project], now: now)
    }
}

extension IDToken {
    /// Reads a token whose signature was checked, and checks its claims (Protocol.md 19).
    init(_ token: JSONWebToken, issuer: String, audiences: [String], now: Int64) throws(TokenError) {
        try token.check(issuer: issuer)
        try token.check(audiences: audiences)
        try token.checkTimes(now: now)
        guard let seconds = try token.seconds("iat") else { throw .invalidClaim("iat") }
        uid = try token.name("sub", byteCountMax: TokenAuthority.uidByteCountMax)
        claims = token.claims
        issuedAt = seconds * 1000 + token.milliseconds
        authTime = try token.seconds("auth_time") ?? seconds
        expiresAt = try token.seconds("exp")
    }

    /// Takes a token at its word (development only). Test tools make some without times, or with only one of the user's
    /// two names.
    init(trusting token: JSONWebToken) throws(TokenError) {
        uid = try token.name(
            token.claims["sub"] == nil && token.claims["user_id"] != nil ? "user_id" : "sub",
            byteCountMax: TokenAuthority.uidByteCountMax)
        claims = token.claims
        let seconds = try token.seconds("iat") ?? 0
        issuedAt = seconds * 1000 + token.milliseconds
        authTime = try token.seconds("auth_time") ?? seconds
        expiresAt = nil
    }
}
