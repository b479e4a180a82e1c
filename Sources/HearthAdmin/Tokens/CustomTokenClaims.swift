import HearthClient
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import HearthClientSession
import HearthConnection

/// The claims of a custom token (accounts.md 11).
struct CustomTokenClaims {
    let uid: String
    let claims: [String: DatabaseValue]
    let tenantID: String?

    private static let audience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"
    private static let seconds: Int64 = 3600
    /// The issuer of unsigned tokens.
    private static let developmentAccount = "firebase-auth-emulator@example.com"

    /// The token, signed if there is a key, unsigned in development mode.
    func token(for credential: Credential?) throws(AdminError) -> String {
        switch credential {
        case nil:
            let bytes = JSONWebToken.unsigned(try members(Self.developmentAccount))
            return String(decoding: bytes, as: UTF8.self)
        case .token?: throw AdminError(.invalidKey, "a custom token needs a key, not an access token")
        case .key(let key)?:
            let members = try members(key.email)
            do throws(ConnectionError) { return String(decoding: try key.signed(members), as: UTF8.self) } catch {
                throw AdminError(.invalidKey, error.description)
            }
        }
    }

    private func members(_ account: String) throws(AdminError) -> JSONObject {
        let now = WallClock.milliseconds / 1000
        let text = try Self.text(of: claims)
        let own = try? JSONValue(parsing: text)
        return JSONObject([
            "iss": .text(account), "sub": .text(account), "aud": .text(Self.audience), "iat": .integer(now),
            "exp": .integer(now + Self.seconds), "uid": .text(uid), "claims": claims.isEmpty ? nil : own,
            "tenant_id": tenantID.map { .text($0) },
        ])
    }

    /// Custom claims as JSON.
    static func text(of claims: [String: DatabaseValue]) throws(AdminError) -> [UInt8] {
        do throws(DatabaseError) { return try DatabaseValue.object(claims).jsonText() } catch {
            throw AdminError(.invalidClaims, "the custom claims are not JSON: \(error)")
        }
    }
}
