import HearthClient

/// Who vouches for users.
enum Provider: String, CaseIterable, Identifiable {
    case facebook, campus, google

    var id: String { rawValue }

    /// As the operator has set it up.
    var providerID: String {
        switch self {
        case .facebook: "facebook.com"
        case .campus: "oidc.campus"
        case .google: "google.com"
        }
    }

    var name: String {
        switch self {
        case .facebook: "Facebook"
        case .campus: "Campus account (OpenID Connect)"
        case .google: "Google"
        }
    }

    /// A token that the user has from the provider: Facebook gives access tokens, the others ID tokens.
    func credential(token: String) -> AuthCredential {
        switch self {
        case .facebook: FacebookAuthProvider.credential(withAccessToken: token)
        case .campus, .google: OAuthProvider.credential(withProviderID: providerID, idToken: token)
        }
    }

    /// An unverified identity, which servers in development mode accept.
    func demoCredential(name: String, email: String) -> AuthCredential {
        let claims: DatabaseValue = [
            "sub": .string(email), "email": .string(email), "email_verified": true, "name": .string(name),
        ]
        return OAuthProvider.credential(withProviderID: providerID, idToken: claims.description)
    }
}
