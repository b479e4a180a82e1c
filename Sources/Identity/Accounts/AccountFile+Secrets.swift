import HearthServerFiles
import HearthSQLite

/// The stored data of a refresh token (accounts.md 6). Only the client knows the token itself.
package struct RefreshGrant: Hashable, Sendable {
    package var user: String
    /// How the user signed in.
    package var provider: String
    /// Claims of a custom token, which stay for the life of the session: the text of a JSON object.
    package var claims: String?
    /// Seconds since 1970; -1 when it was revoked.
    package var issuedAt: Int64
    /// When the user last proved who they are, in seconds since 1970.
    package var authenticatedAt: Int64
}

/// The operation that a code in a mail allows, once (accounts.md 7).
package struct OneTimeCode: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case resetPassword = "PASSWORD_RESET"
        case verifyEmail = "VERIFY_EMAIL"
        case emailSignIn = "EMAIL_SIGNIN"
        case verifyAndChangeEmail = "VERIFY_AND_CHANGE_EMAIL"
        case recoverEmail = "RECOVER_EMAIL"
    }

    package var kind: Kind
    /// Nil for a sign-in by link, which may make the account.
    package var user: String?
    package var email: String
    package var newEmail: String?
    /// Milliseconds since 1970.
    package var expiresAt: Int64

    package init(kind: Kind, user: String?, email: String, newEmail: String?, expiresAt: Int64) {
        self.kind = kind
        self.user = user
        self.email = email
        self.newEmail = newEmail
        self.expiresAt = expiresAt
    }
}

/// The rows of refresh tokens and one-time codes. Both are found by the hash of a random text that only its receiver
/// has.
extension AccountFile {
    /// Sessions of one user that can be refreshed; with one more, the oldest ends.
    static let grantsMax: Int64 = 100

    func put(_ grant: RefreshGrant, hash: [UInt8], in realm: Realm) throws(AccountFailure) {
        try run(
            AccountTable.refreshTokens.insertion,
            [
                .blob(hash), .text(realm.key), .text(grant.user), .text(grant.provider), .text(grant.claims),
                .integer(grant.issuedAt), .integer(grant.authenticatedAt),
            ])
        try run(
            """
            DELETE FROM refreshTokens WHERE hash IN (
                SELECT hash FROM refreshTokens WHERE realm = ? AND user = ? ORDER BY issuedAt DESC LIMIT -1 OFFSET ?)
            """, [.text(realm.key), .text(grant.user), .integer(Self.grantsMax)])
    }

    /// Makes all tokens of a user void that were issued up to now, those of this second too.
    func revokeTokens(of user: User, in realm: Realm) throws(AccountFailure) {
        try revokeGrants(of: user.id, in: realm)
        // The account's creator may have had them sent. The way back of the former owner of an address stays.
        for kind in OneTimeCode.Kind.allCases where kind != .recoverEmail {
            try removeCodes(realm, kind, of: user.id)
        }
        if let email = user.email { try removeSignInCodes(realm, sentTo: email) }
        note(
            Revocation(
                realm: realm, user: user.id, loss: .tokensBefore(user.validSince), isRenewal: user.hasRenewedTokens))
    }

    func revokeGrants(of user: String, in realm: Realm) throws(AccountFailure) {
        try run(Self.revocation + " WHERE realm = ? AND user = ?", [.text(realm.key), .text(user)])
    }

    func hasRevokedGrants(of user: String, in realm: Realm) throws(AccountFailure) -> Bool {
        try integer(
            "SELECT EXISTS (SELECT 1 FROM refreshTokens WHERE realm = ? AND user = ? AND issuedAt = -1)",
            [.text(realm.key), .text(user)]) == 1
    }

    private static let revocation =
        "UPDATE refreshTokens SET issuedAt = -1, checksum = \(AccountTable.refreshTokens.checksum(with: ["issuedAt": "-1"]))"

    /// Ends the sessions of a user that began with a provider, but for that of `token`.
    func revokeGrants(
        of user: String, begunBy provider: String, except token: IDToken?, in realm: Realm
    ) throws(AccountFailure) {
        let kept = token.flatMap { $0.signInProvider?.elementsEqual(provider.utf8) == true ? $0.authTime : nil }
        try run(
            Self.revocation + " WHERE realm = ? AND user = ? AND provider = ? AND authenticatedAt <> ?",
            // There are no sign-ins before 1970.
            [.text(realm.key), .text(user), .text(provider), .integer(kept ?? -1)])
    }

    func grant(hash: [UInt8]) throws(AccountFailure) -> (realm: Realm, grant: RefreshGrant)? {
        try rows(
            of: .refreshTokens, "realm, user, provider, claims, issuedAt, authenticatedAt", where: "hash = ?",
            [.blob(hash)]
        ) { row -> (realm: Realm, grant: RefreshGrant) in
            let grant = RefreshGrant(
                user: row.text(1), provider: row.text(2), claims: row.optionalText(3), issuedAt: row.integer(4),
                authenticatedAt: row.integer(5))
            return (Realm(key: row.text(0)), grant)
        }.first
    }

    func put(_ code: OneTimeCode, hash: [UInt8], in realm: Realm) throws(AccountFailure) {
        try run(
            AccountTable.codes.insertion,
            [
                .blob(hash), .text(realm.key), .text(code.kind.rawValue), .text(code.user), .text(code.email),
                .text(code.newEmail), .integer(code.expiresAt),
            ])
    }

    func code(_ realm: Realm, hash: [UInt8]) throws(AccountFailure) -> OneTimeCode? {
        try rows(
            of: .codes, "kind, user, email, newEmail, expiresAt", where: "hash = ? AND realm = ?",
            [.blob(hash), .text(realm.key)]
        ) { row in
            OneTimeCode.Kind(rawValue: row.text(0)).map { kind in
                OneTimeCode(
                    kind: kind, user: row.optionalText(1), email: row.text(2), newEmail: row.optionalText(3),
                    expiresAt: row.integer(4))
            }
        }.first ?? nil
    }

    func removeCode(hash: [UInt8]) throws(AccountFailure) {
        try run("DELETE FROM codes WHERE hash = ?", [.blob(hash)])
    }

    /// Removes the codes of a kind that a user has not used.
    func removeCodes(_ realm: Realm, _ kind: OneTimeCode.Kind, of user: String) throws(AccountFailure) {
        try run(
            "DELETE FROM codes WHERE realm = ? AND user = ? AND kind = ?",
            [.text(realm.key), .text(user), .text(kind.rawValue)])
    }

    /// Removes the links to sign in that were sent to an address. They name no user if it had no account then.
    func removeSignInCodes(_ realm: Realm, sentTo email: String) throws(AccountFailure) {
        try run(
            "DELETE FROM codes WHERE realm = ? AND email = ? AND kind = ?",
            [.text(realm.key), .text(email), .text(OneTimeCode.Kind.emailSignIn.rawValue)])
    }

    /// Removes the codes that would give a user a former address back and expire at `time` or later.
    func removeRecoveryCodes(_ realm: Realm, of user: String, expiringFrom time: Int64) throws(AccountFailure) {
        try run(
            "DELETE FROM codes WHERE realm = ? AND user = ? AND kind = ? AND expiresAt >= ?",
            [.text(realm.key), .text(user), .text(OneTimeCode.Kind.recoverEmail.rawValue), .integer(time)])
    }

    /// Removes the codes that were made since a user gave up an address, as the user has it again. False if it is not
    /// an earlier one, to which a code would lead back.
    func removeRecoveryCodes(_ realm: Realm, of user: String, since email: String) throws(AccountFailure) -> Bool {
        let first = try integer(
            "SELECT expiresAt FROM codes WHERE realm = ? AND user = ? AND kind = ? AND email = ? ORDER BY expiresAt LIMIT 1",
            [.text(realm.key), .text(user), .text(OneTimeCode.Kind.recoverEmail.rawValue), .text(email)])
        guard let first else { return false }
        try removeRecoveryCodes(realm, of: user, expiringFrom: first)
        return true
    }

    /// Removes codes that expired so long ago that the error for expired codes is no longer needed.
    func removeCodes(expiredBefore time: Int64) throws(AccountFailure) {
        try run("DELETE FROM codes WHERE expiresAt < ?", [.integer(time)])
    }
}
