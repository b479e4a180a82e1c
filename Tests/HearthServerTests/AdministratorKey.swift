import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import Testing

/// A service account whose key a server believes.
struct AdministratorKey {
    let account: JSONObject

    init(folder: String) throws {
        let accounts = try ServiceAccounts(folder: folder)
        let file = try accounts.makeKey(
            email: "backend@example.com", project: "hearth", tokenURI: "http://localhost/token", now: 1_700_000_000
        )
        account = try #require(try JSONValue(parsing: file).object)
    }

    /// Signed by the key, or by that of `other`.
    func sign(_ claims: JSONObject, as other: JSONObject? = nil) throws -> String {
        let account = other ?? account
        let key = try SigningKey(
            id: try #require(account["private_key_id"]?.text), pem: try #require(account["private_key"]?.utf8))
        return String(decoding: try JSONWebToken.signed(claims, with: key), as: UTF8.self)
    }

    func claims(_ more: KeyValuePairs<String, JSONValue?>) -> JSONObject {
        let now = WallClock.milliseconds / 1000
        var claims = JSONObject([
            "iss": .text("backend@example.com"), "iat": .integer(now), "exp": .integer(now + 3600),
        ])
        claims.merge(JSONObject(more))
        return claims
    }

    /// What an access token is given for.
    func assertion() throws -> String {
        try sign(claims(["aud": .text("https://oauth2.googleapis.com/token")]))
    }
}
