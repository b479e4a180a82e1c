import HearthJSONValues
import HearthPlatform

/// The tokens of a signed-in user: an ID token, valid for an hour, and a refresh token.
struct Tokens: Hashable, Sendable {
    let idToken: String
    let refreshToken: String
    /// When the ID token expires, in milliseconds since 1970 by this machine's clock.
    let expires: Int64
    /// Seconds between issue and expiry.
    let lifetime: Int64

    init(idToken: String, refreshToken: String, expires: Int64, lifetime: Int64) {
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.expires = expires
        self.lifetime = lifetime
    }

    /// The tokens in an answer, in the spelling of either service (accounts.md 6). Nil if it has none.
    init?(answer: DatabaseValue) {
        guard let idToken = (answer["idToken"].string ?? answer["access_token"].string),
            let refreshToken = (answer["refreshToken"].string ?? answer["refresh_token"].string)
        else { return nil }
        let lifetime = (answer["expiresIn"].string ?? answer["expires_in"].string).flatMap { Int64($0) } ?? 3600
        self.init(
            idToken: idToken, refreshToken: refreshToken,
            expires: WallClock.milliseconds + min(max(lifetime, 0), 1 << 32) * 1000, lifetime: lifetime)
    }

    /// Whether the ID token is valid for the next 30 seconds.
    var isFresh: Bool { left > .seconds(30) }

    private var left: Duration { .milliseconds(expires) - .milliseconds(WallClock.milliseconds) }

    /// How long to wait before replacing it: until `lead` before its expiry, or half of its lifetime if that is
    /// shorter; at least one second.
    func delay(lead: Duration) -> Duration {
        let lifetime = Duration.seconds(lifetime)
        return max(.seconds(1), left - (lead < lifetime ? lead : lifetime / 2))
    }

    /// The claims of the ID token. Not verified: that is up to the server that receives it.
    var claims: [String: DatabaseValue]? {
        UnverifiedToken(parsing: Array(idToken.utf8)).map { DatabaseValue.members($0.claims) }
    }
}
