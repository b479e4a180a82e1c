import HearthHTTPCodec

/// Proof of a user's identity: made by ``EmailAuthProvider``, ``OAuthProvider`` and the others, used by
/// ``Auth/signIn(with:)``, ``User/link(with:)`` and ``User/reauthenticate(with:)``.
public struct AuthCredential: Hashable, Sendable {
    enum Proof: Hashable, Sendable {
        case password(email: String, password: String)
        case emailLink(email: String, code: String)
        /// Parameters as providers name them (accounts.md 4).
        case assertion([String: String])
    }

    /// `password`, `google.com`, `oidc.campus`, …
    public let provider: String
    let proof: Proof
}

extension AuthCredential: CustomStringConvertible, CustomReflectable {
    /// Leaves out the proof.
    public var description: String { "a credential of \(provider)" }

    /// Leaves out the proof.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Email address and password, or a link that was sent there.
public enum EmailAuthProvider {
    /// The provider's name.
    public static let id = "password"

    /// An address and its password.
    public static func credential(withEmail email: String, password: String) -> AuthCredential {
        AuthCredential(provider: id, proof: .password(email: email, password: password))
    }

    /// An address and the link that was sent there by ``Auth/sendSignInLink(toEmail:actionCodeSettings:)``.
    public static func credential(withEmail email: String, link: String) -> AuthCredential {
        AuthCredential(provider: id, proof: .emailLink(email: email, code: ActionCodeURL(link)?.code ?? ""))
    }
}

/// Tokens that the program obtained from other providers.
public enum OAuthProvider {
    /// - parameter providerID: as the operator has set it up: `google.com`, `apple.com`, `oidc.campus`, …
    /// - parameter idToken: the ID token, for OpenID Connect providers.
    /// - parameter rawNonce: the nonce whose SHA-256 is in the ID token, if there is one.
    /// - parameter accessToken: the access token, for providers that issue one.
    public static func credential(
        withProviderID providerID: String, idToken: String?, rawNonce: String? = nil, accessToken: String? = nil
    ) -> AuthCredential {
        var parameters = ["providerId": providerID]
        parameters["id_token"] = idToken
        parameters["nonce"] = rawNonce
        parameters["access_token"] = accessToken
        return AuthCredential(provider: providerID, proof: .assertion(parameters))
    }
}

/// Tokens of Google.
public enum GoogleAuthProvider {
    /// The provider's name.
    public static let id = "google.com"

    /// An ID token of Google.
    public static func credential(withIDToken idToken: String, accessToken: String? = nil) -> AuthCredential {
        OAuthProvider.credential(withProviderID: id, idToken: idToken, accessToken: accessToken)
    }
}

/// Tokens of Facebook.
public enum FacebookAuthProvider {
    /// The provider's name.
    public static let id = "facebook.com"

    /// An access token of Facebook.
    public static func credential(withAccessToken accessToken: String) -> AuthCredential {
        OAuthProvider.credential(withProviderID: id, idToken: nil, accessToken: accessToken)
    }
}
