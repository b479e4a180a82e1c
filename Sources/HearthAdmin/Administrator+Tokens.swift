public import HearthClient

/// Tokens (accounts.md 6, 11).
extension Administrator {
    /// Verifies a user's ID token. See ``IDTokenVerifier/verifyIDToken(_:checkRevoked:)``.
    public func verifyIDToken(
        _ token: String, checkRevoked: Bool = false
    ) async throws(AdminError) -> DecodedIDToken {
        try await verifier.verifyIDToken(token, checkRevoked: checkRevoked)
    }

    /// Makes a token with which an app signs a user in: `Auth.signIn(withCustomToken:)`. The server creates the user if
    /// it does not exist. The token is valid for an hour.
    ///
    /// - parameters:
    ///   - uid: 1 to 128 bytes.
    ///   - claims: claims for rules to read in `auth.token` during this session, in addition to the usual ones.
    /// - throws: `invalidArgument`, `invalidClaims`; `invalidKey` if the key cannot sign.
    public func customToken(uid: String, claims: [String: DatabaseValue] = [:]) throws(AdminError) -> String {
        guard (1...128).contains(uid.utf8.count) else {
            throw AdminError(.invalidArgument, "a user id has 1 to 128 bytes, not \(uid.utf8.count)")
        }
        return try CustomTokenClaims(uid: uid, claims: claims, tenantID: tenantID).token(for: requests.credential)
    }
}
