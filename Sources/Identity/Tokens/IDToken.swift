package import HearthJSONValues

/// The contents of an ID token about a user and a sign-in (accounts.md 6).
package struct IDTokenContents: Sendable {
    package var uid: [UInt8]
    /// `password`, `anonymous`, `custom`, `phone`, or a provider's id.
    package var signInProvider: String
    /// When the user last signed in, in seconds since 1970.
    package var authTime: Int64
    package var name: String?
    package var picture: String?
    package var email: String?
    package var isEmailVerified = false
    package var phoneNumber: String?
    /// The user's ids with each provider: `email`, `phone`, `google.com`, …
    package var identities: [(provider: String, ids: [String])] = []
    /// The user's custom attributes. They may replace name and picture, and nothing else that is said here.
    package var customAttributes = JSONObject()
    /// The claims of the custom token that the user signed in with; they win over the attributes.
    package var customTokenClaims = JSONObject()
    package var tenant: String?
    /// A SAML provider's data about the user at this sign-in.
    package var signInAttributes: JSONObject?

    package init(uid: [UInt8], signInProvider: String, authTime: Int64) {
        self.uid = uid
        self.signInProvider = signInProvider
        self.authTime = authTime
    }

    /// - parameter issuedAt: seconds since 1970.
    func claims(project: String, issuedAt: Int64) -> JSONObject {
        var claims = JSONObject(["name": name.map { .text($0) }, "picture": picture.map { .text($0) }])
        claims.merge(customAttributes)
        claims.merge(customTokenClaims)
        var identitiesByProvider = JSONObject()
        for (provider, ids) in identities { identitiesByProvider[provider] = .array(ids.map { .text($0) }) }
        claims.merge(
            JSONObject([
                "iss": .text(IDToken.issuer(of: project)), "aud": .text(project),
                "auth_time": .integer(authTime), "user_id": .string(uid), "sub": .string(uid),
                "iat": .integer(issuedAt), "exp": .integer(issuedAt + IDToken.seconds),
                "email": email.map { .text($0) }, "email_verified": email.map { _ in .bool(isEmailVerified) },
                "phone_number": phoneNumber.map { .text($0) },
                "provider_id": signInProvider == "anonymous" ? .text("anonymous") : nil,
                "firebase": .object(
                    JSONObject([
                        "identities": .object(identitiesByProvider), "sign_in_provider": .text(signInProvider),
                        "tenant": tenant.map { .text($0) },
                        "sign_in_attributes": signInAttributes.map { .object($0) },
                    ])),
            ]))
        return claims
    }
}

/// An ID token or session cookie that was believed.
package struct IDToken: Sendable {
    /// How long it is good for.
    package static let seconds: Int64 = 3600

    package static func issuer(of project: String) -> String { "https://securetoken.google.com/\(project)" }

    /// 1 to 128 bytes.
    package let uid: [UInt8]
    package let claims: JSONObject
    /// Milliseconds since 1970. Whole seconds if the token says no more, 0 if it, an unsigned one, says nothing.
    package let issuedAt: Int64
    /// When the user signed in, in seconds since 1970.
    package let authTime: Int64
    /// When it ends, in seconds too; nil for one of the development mode, which does not.
    package let expiresAt: Int64?

    package var signInProvider: [UInt8]? { claims["firebase"]?.object?["sign_in_provider"]?.utf8 }
    package var tenant: [UInt8]? { claims["firebase"]?.object?["tenant"]?.utf8 }
}

/// The names that custom claims may not use (accounts.md 6).
package enum ReservedClaims {
    package static let names = [
        "acr", "amr", "at_hash", "aud", "auth_time", "azp", "c_hash", "cnf", "exp", "firebase", "iat", "iss", "jti",
        "nbf", "nonce", "sub",
    ]

    /// The first reserved name among the members, if there is one.
    package static func first(in claims: JSONObject) -> String? { names.first { claims[$0] != nil } }
}
