package import HearthJSONValues
package import HearthJSONWebTokens

/// A user of another provider, who has proved to be that (accounts.md 4).
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
    /// The name by which the provider shows the user, as in `@name`.
    package var screenName: String?
    /// A SAML provider's data about the user, for the ID token.
    package var signInAttributes: JSONObject?
    /// All that the provider says, a JSON text.
    package let profile: [UInt8]

    package init(provider: String, rawID: String, profile: JSONObject) {
        self.provider = provider
        self.rawID = rawID
        self.profile = profile.bytes
    }

    /// The standard claims of an ID token (OpenID Connect Core 1.0, section 5.1).
    ///
    /// - parameter profile: all that the provider says, if that is not the claims.
    package init(provider: String, rawID: String, claims: JSONObject, profile: JSONObject? = nil) {
        self.init(provider: provider, rawID: rawID, profile: profile ?? claims)
        email = claims["email"]?.text
        isEmailVerified = Self.isTrue(claims["email_verified"])
        displayName = claims["name"]?.text
        firstName = claims["given_name"]?.text
        lastName = claims["family_name"]?.text
        photoURL = claims["picture"]?.text
    }

    /// Apple writes a text.
    static func isTrue(_ claim: JSONValue?) -> Bool { claim?.bool ?? claim?.isText("true") ?? false }
}

package typealias ProviderAnswer = @Sendable (Result<ProviderIdentity, ProviderError>) -> Void

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
