/// The revocation of a user, for the servers of the user's live sessions.
package struct Revocation: Hashable, Sendable {
    package enum Loss: Hashable, Sendable {
        /// The account is gone.
        case account
        /// It is disabled.
        case disabled
        /// Tokens issued before this millisecond since 1970 are void: the password or address was changed, or somebody
        /// said so.
        case tokensBefore(Int64)
    }

    package let realm: Realm
    package let user: String
    package let loss: Loss
    /// See ``User/hasRenewedTokens``.
    package let isRenewal: Bool

    package init(realm: Realm, user: String, loss: Loss, isRenewal: Bool = false) {
        self.realm = realm
        self.user = user
        self.loss = loss
        self.isRenewal = isRenewal
    }
}

/// The present validity of a token, beyond its own claims.
package enum SessionState: Hashable, Sendable {
    case valid
    case noUser
    case disabled
    /// Issued before the user's tokens were revoked.
    case revoked
    /// Could not be found out.
    case unknown
}
