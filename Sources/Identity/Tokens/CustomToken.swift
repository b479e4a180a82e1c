package import HearthJSONValues
package import HearthJSONWebTokens

/// A token by which a backend signs somebody in (accounts.md 11): signed with a service account's key.
package struct CustomToken: Sendable {
    /// 1 to 128 bytes.
    package let uid: [UInt8]
    /// Claims for the user's ID tokens. No reserved names.
    package let claims: JSONObject
    package let tenant: [UInt8]?
    /// The project of the service account, if its name is like Google's.
    package let project: String?

    package static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    /// The longest time from `iat` to `exp`, but for a skew of clocks.
    package static let secondsMax: Int64 = 3600
    /// Bytes of the claims' JSON text. ID tokens have them beside all that is known of the user, and must not be too
    /// long to be taken (``JSONWebToken/byteCountMax``).
    package static let claimsByteCountMax = 4096

    /// Reads and checks a signed one.
    ///
    /// - parameter keys: the keys of a service account of this project, by the token's key name, if it has one, and
    /// issuer.
    /// - parameter now: seconds since 1970.
    package init(
        verifying text: [UInt8], now: Int64, keys: (_ keyID: [UInt8]?, _ issuer: [UInt8]) -> [VerificationKey]
    ) throws(TokenError) {
        let token = try JSONWebToken(parsing: text)
        let issuer = try token.name("iss", byteCountMax: 1024)
        try token.verify { keys($0, issuer) }
        guard token.claims["sub"]?.utf8 == issuer else { throw .wrongIssuer }
        try token.check(audience: Self.audience)
        try token.checkTimes(now: now)
        try token.checkLifetime(max: Self.secondsMax)
        try self.init(token.claims)
    }

    /// Takes a token at its word, or the JSON text of its claims (development only).
    package init(trusting text: [UInt8]) throws(TokenError) {
        if text.first == UInt8(ascii: "{") {
            guard text.count <= JSONWebToken.byteCountMax,
                case .object(let claims)? = try? JSONValue(parsing: text, depthMax: JSONValue.claimsDepthMax)
            else { throw .malformed }
            try self.init(claims)
        } else {
            try self.init(try JSONWebToken(parsing: text).claims)
        }
    }

    private init(_ members: JSONObject) throws(TokenError) {
        guard let uid = members["uid"]?.utf8, 1...TokenAuthority.uidByteCountMax ~= uid.count else {
            throw .invalidClaim("uid")
        }
        self.uid = uid
        switch members["claims"] {
        case nil, .null?: claims = JSONObject()
        case .object(let object)? where ReservedClaims.first(in: object) == nil: claims = object
        default: throw .invalidClaim("claims")
        }
        tenant = members["tenant_id"]?.utf8
        project = members["iss"]?.text.flatMap(Self.project)
    }

    /// `NAME@PROJECT.iam.gserviceaccount.com`.
    private static func project(ofAccount name: String) -> String? {
        let suffix = ".iam.gserviceaccount.com"
        guard name.hasSuffix(suffix), let at = name.firstIndex(of: "@") else { return nil }
        let project = String(name[name.index(after: at)...].dropLast(suffix.utf8.count))
        return Realm.isValidName(project) ? project : nil
    }
}
