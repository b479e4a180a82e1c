import HearthJSONValues
public import HearthClient
import HearthJSONWebTokens

/// A verified ID token.
public struct DecodedIDToken: Hashable, Sendable {
    /// The user: `auth.uid` in rules.
    public let uid: String
    /// All claims of the token, including custom claims.
    public let claims: [String: DatabaseValue]
    /// The project that issued the token.
    public let projectID: String
    /// The tenant of the user.
    public let tenantID: String?
    /// The user's address.
    public let email: String?
    /// Whether the address is verified.
    public let isEmailVerified: Bool
    /// `password`, `anonymous`, `custom`, `google.com`, …
    public let signInProvider: String
    /// When the user signed in, in milliseconds since 1970.
    public let authDate: Int
    /// When the token was issued, in milliseconds since 1970.
    public let issuedAtDate: Int
    /// When the token expires, in milliseconds since 1970.
    public let expirationDate: Int
}

extension DecodedIDToken {
    /// Reads the claims of a token whose signature was checked (accounts.md 6).
    ///
    /// - parameters:
    ///   - projectID: the project that must have issued it; nil for any.
    ///   - now: seconds since 1970.
    init(_ token: JSONWebToken, projectID: String?, now: Int64) throws(TokenError) {
        try token.checkTimes(now: now)
        let audience = try token.name("aud", byteCountMax: 1024)
        if let projectID { try token.check(audience: projectID) }
        let project = String(decoding: audience, as: UTF8.self)
        try token.check(issuer: "https://securetoken.google.com/\(project)")
        uid = String(decoding: try token.name("sub", byteCountMax: 128), as: UTF8.self)
        guard let signedIn = try token.seconds("auth_time"), signedIn <= now + JSONWebToken.clockSkewSeconds else {
            throw .invalidClaim("auth_time")
        }
        guard let issued = try token.seconds("iat"), let expires = try token.seconds("exp") else {
            throw .invalidClaim("iat")
        }
        claims = DatabaseValue.members(token.claims)
        self.projectID = project
        let firebase = token.claims["firebase"]?.object
        tenantID = firebase?["tenant"]?.text
        email = token.claims["email"]?.text
        isEmailVerified = token.claims["email_verified"]?.bool ?? false
        signInProvider = firebase?["sign_in_provider"]?.text ?? ""
        authDate = Int(signedIn) * 1000
        issuedAtDate = Int(issued) * 1000 + Int(token.milliseconds)
        expirationDate = Int(expires) * 1000
    }
}
