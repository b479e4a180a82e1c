/// Data about a sign-in other than the user.
public struct AdditionalUserInfo: Sendable {
    /// `password`, `google.com`, …; nil for an anonymous user and for a custom token.
    public let providerID: String?
    /// Whether the sign-in created the account.
    public let isNewUser: Bool
    /// The provider's data about the user.
    public let profile: [String: DatabaseValue]?
}

/// An ID token and its claims.
public struct AuthTokenResult: Sendable {
    /// The token itself.
    public let token: String
    /// All claims, including custom claims set by the operator.
    public let claims: [String: DatabaseValue]
    /// When it expires, in milliseconds since 1970.
    public let expirationDate: Int
    /// When the user signed in, in milliseconds since 1970.
    public let authDate: Int
    /// When it was issued, in milliseconds since 1970.
    public let issuedAtDate: Int
    /// `password`, `anonymous`, `custom`, `google.com`, …
    public let signInProvider: String
}

/// An account as one provider describes it.
public struct UserInfo: Hashable, Sendable {
    /// `password`, `google.com`, …
    public let providerID: String
    /// The user's ID at the provider.
    public let uid: String
    /// The user's address at the provider.
    public let email: String?
    /// The display name at the provider.
    public let displayName: String?
    /// The URL of the picture at the provider.
    public let photoURL: String?
    /// The phone number at the provider.
    public let phoneNumber: String?
}

/// When an account was created and last used.
public struct UserMetadata: Hashable, Sendable {
    /// In milliseconds since 1970.
    public let creationDate: Int?
    /// In milliseconds since 1970.
    public let lastSignInDate: Int?
}
