/// Who has signed in.
public struct AuthDataResult: Sendable {
    /// The user, who is the present one now.
    public let user: User
    /// What else the answer said.
    public let additionalUserInfo: AdditionalUserInfo?
}

/// What is known of a sign-in besides the user.
public struct AdditionalUserInfo: Sendable {
    /// `password`, `google.com`, …; nil for an anonymous user and for a custom token.
    public let providerID: String?
    /// Whether the account was made by it.
    public let isNewUser: Bool
    /// What the provider says of the user.
    public let profile: [String: DatabaseValue]?
}

/// An ID token and what it says.
public struct AuthTokenResult: Sendable {
    /// The token itself.
    public let token: String
    /// Everything in it, what the operator has given the user included.
    public let claims: [String: DatabaseValue]
    /// When it ends, in milliseconds since 1970.
    public let expirationDate: Int
    /// When the user signed in, in milliseconds since 1970.
    public let authDate: Int
    /// When it was made, in milliseconds since 1970.
    public let issuedAtDate: Int
    /// `password`, `anonymous`, `custom`, `google.com`, …
    public let signInProvider: String
}

/// An account as one way to sign in knows it.
public struct UserInfo: Hashable, Sendable {
    /// `password`, `google.com`, …
    public let providerID: String
    /// The user's name there.
    public let uid: String
    /// The address there.
    public let email: String?
    /// The name that is shown there.
    public let displayName: String?
    /// Where the picture there is.
    public let photoURL: String?
    /// The number there.
    public let phoneNumber: String?
}

/// When an account was made and used.
public struct UserMetadata: Hashable, Sendable {
    /// In milliseconds since 1970.
    public let creationDate: Int?
    /// In milliseconds since 1970.
    public let lastSignInDate: Int?
}
