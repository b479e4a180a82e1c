import HearthJSONValues
import HearthJSONWebTokens

/// Who shows a credential to the database, as rules see them (Protocol.md 19).
package enum Caller: Sendable {
    /// Rules do not apply. Without a key in development, where everybody is believed.
    case administrator(expiresAt: Int64?, key: AccessTokenKey? = nil)
    case user(TokenUser)
    /// A user of a legacy token, whose `auth` is exactly this JSON object.
    case legacy(auth: [UInt8], expiresAt: Int64?)
    /// An administrator who acts as somebody: rules apply, and their `auth` is exactly this JSON text, or null.
    case simulated(auth: [UInt8]?, expiresAt: Int64?, key: AccessTokenKey? = nil)

    /// When it ends, in seconds since 1970; nil if it does not.
    package var expiresAt: Int64? {
        switch self {
        case .administrator(let end, _), .simulated(_, let end, _), .legacy(_, let end): end
        case .user(let user): user.expiresAt
        }
    }

    init(_ token: LegacyToken) {
        self =
            token.isAdministrator
            ? .administrator(expiresAt: token.expiresAt) : .legacy(auth: token.auth, expiresAt: token.expiresAt)
    }

    /// The caller that results from the wish to act as somebody: `authvar` of the realtime protocol,
    /// `auth_variable_override` of REST.
    ///
    /// - parameter auth: a JSON text; null without a user.
    /// - returns: nil if the caller is not an administrator, or the text is not a JSON object.
    package func acting(as auth: [UInt8]) -> Caller? {
        guard case .administrator(let end, let key) = self, auth.count <= JSONWebToken.byteCountMax else { return nil }
        switch try? JSONValue(parsing: auth, depthMax: JSONValue.claimsDepthMax) {
        case .null?: return .simulated(auth: nil, expiresAt: end, key: key)
        case .object(let object)?: return .simulated(auth: object.bytes, expiresAt: end, key: key)
        default: return nil
        }
    }
}

/// A user, as the token says.
package struct TokenUser: Sendable {
    /// `auth.uid`.
    package let uid: [UInt8]
    /// `auth.provider`: how the user signed in, as the token spells it.
    package let provider: [UInt8]?
    /// `auth.token`: all claims, a JSON object without white space.
    package let claims: [UInt8]
    /// The project that the token is for.
    package let project: [UInt8]?
    /// The tenant of the project in which the user is.
    package let tenant: [UInt8]?
    /// Milliseconds since 1970; 0 if the token does not say.
    package let issuedAt: Int64
    /// In seconds since 1970; nil for a token that does not end.
    package let expiresAt: Int64?
    /// The token is this server's own, so its accounts know the user, who may be disabled or whose tokens may be
    /// revoked.
    package let isOwn: Bool

    init(_ token: IDToken, isOwn: Bool) {
        uid = token.uid
        provider = token.signInProvider
        claims = token.claims.bytes
        project = token.claims["aud"]?.utf8
        tenant = token.tenant
        issuedAt = token.issuedAt
        expiresAt = token.expiresAt
        self.isOwn = isOwn
    }
}
