package import JSONWebTokens

/// A user of another provider, who has proved to be that (auth 5).
package struct ProviderIdentity: Sendable {
    /// The provider's id here: `google.com`, `facebook.com`, `oidc.example`.
    package let provider: String
    /// The provider's own id of the user: not empty.
    package let rawID: String
    package var email: String?
    /// The provider has made sure that the address is the user's.
    package var isEmailVerified = false
    package var displayName: String?
    package var firstName: String?
    package var lastName: String?
    package var photoURL: String?
    /// All that the provider says, a JSON text.
    package let profile: [UInt8]

    package init(provider: String, rawID: String, profile: JSONObject) {
        self.provider = provider
        self.rawID = rawID
        self.profile = profile.bytes
    }

    /// What the standard claims of an ID token say (OpenID Connect Core 1.0, section 5.1).
    package init(provider: String, rawID: String, claims: JSONObject) {
        self.init(provider: provider, rawID: rawID, profile: claims)
        email = claims["email"]?.text
        // Apple writes a text.
        isEmailVerified = claims["email_verified"]?.bool ?? claims["email_verified"]?.isText("true") ?? false
        displayName = claims["name"]?.text
        firstName = claims["given_name"]?.text
        lastName = claims["family_name"]?.text
        photoURL = claims["picture"]?.text
    }
}

/// Why a provider's credential is not believed.
package enum ProviderError: Error, Hashable, Sendable {
    case token(TokenError)
    /// The provider says that the token is not good, or not for this application.
    case refused
    /// The provider cannot be asked at the moment.
    case unavailable
    /// The provider is not set up here, or not for credentials of this kind.
    case unsupported
}
