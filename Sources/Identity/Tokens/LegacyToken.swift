import HearthJSONValues
import HearthJSONWebTokens

/// A token of the first Firebase SDKs (Protocol.md 19.3): a backend makes it with a secret of the database, and rules
/// see its claim `d` as `auth`.
///
///     {"v": 0, "iat": 1700000000, "d": {"uid": "ann", …}, "admin": false, "exp": …, "nbf": …}
package struct LegacyToken: Sendable {
    /// `auth` in rules: the text of a JSON object. It need not have a `uid`.
    package let auth: [UInt8]
    /// Rules do not apply.
    package let isAdministrator: Bool
    /// In seconds since 1970; nil for one that does not end.
    package let expiresAt: Int64?

    /// How long a token lasts that does not say when it ends.
    package static let secondsDefault: Int64 = 86_400
    private static let uidByteCountMax = 256

    /// Whether a token has the claims of a legacy one.
    static func isLegacy(_ token: JSONWebToken) -> Bool {
        token.claims["d"]?.object != nil && token.claims["sub"] == nil && token.claims["user_id"] == nil
    }

    /// Reads a token whose secret was checked.
    ///
    /// - parameter now: seconds since 1970.
    init(_ token: JSONWebToken, now: Int64) throws(TokenError) {
        guard let start = try token.seconds("iat") else { throw .invalidClaim("iat") }
        let end = try token.seconds("exp") ?? start + Self.secondsDefault
        guard now < end else { throw .expired }
        for start in [start, try token.seconds("nbf") ?? start] where start > now + JSONWebToken.clockSkewSeconds {
            throw .notYetValid
        }
        try self.init(token, expiresAt: end)
    }

    /// Takes a token at its word, and as one that does not end (development only).
    init(trusting token: JSONWebToken) throws(TokenError) { try self.init(token, expiresAt: nil) }

    private init(_ token: JSONWebToken, expiresAt: Int64?) throws(TokenError) {
        switch token.claims["v"] {
        case nil, .integer(0)?: break
        default: throw .invalidClaim("v")
        }
        guard let data = token.claims["d"]?.object else { throw .invalidClaim("d") }
        if let uid = data["uid"], uid != .null {
            guard let uid = uid.utf8, 1...Self.uidByteCountMax ~= uid.count else { throw .invalidClaim("d") }
        }
        switch token.claims["admin"] {
        case nil, .bool(false)?: isAdministrator = false
        case .bool(true)?: isAdministrator = true
        default: throw .invalidClaim("admin")
        }
        auth = data.bytes
        self.expiresAt = expiresAt
    }
}
