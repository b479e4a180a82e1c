/// Why a credential is not taken.
package struct CredentialError: Error, Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case invalid
        case expired
        /// No access token of an administrator.
        case notAdministrator
        /// That cannot be found out now.
        case unavailable
    }

    package var kind: Kind
    /// For people; without the credential's contents.
    package var text: String

    /// The word that SDKs know it by (Protocol.md 19).
    package var status: StaticString {
        switch kind {
        case .invalid, .notAdministrator: "invalid_token"
        case .expired: "expired_token"
        case .unavailable: "unavailable"
        }
    }
}
