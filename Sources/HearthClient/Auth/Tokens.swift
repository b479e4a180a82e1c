import HearthJSONValues
import HearthPlatform

/// What a signed-in user has: a token that says who it is for an hour, and one that gets new ones.
struct Tokens: Hashable, Sendable {
    let idToken: String
    let refreshToken: String
    /// When the ID token ends, in milliseconds since 1970 by this machine's clock.
    let expires: Int64
    /// Seconds between its beginning and its end.
    let lifetime: Int64

    init(idToken: String, refreshToken: String, expires: Int64, lifetime: Int64) {
        self.idToken = idToken
        self.refreshToken = refreshToken
        self.expires = expires
        self.lifetime = lifetime
    }

    /// Those of an answer, in the spelling of either service (accounts.md 6). Nil if there are none.
    init?(answer: DatabaseValue) {
        guard let idToken = (answer["idToken"].string ?? answer["access_token"].string),
            let refreshToken = (answer["refreshToken"].string ?? answer["refresh_token"].string)
        else { return nil }
        let lifetime = (answer["expiresIn"].string ?? answer["expires_in"].string).flatMap { Int64($0) } ?? 3600
        self.init(
            idToken: idToken, refreshToken: refreshToken,
            expires: WallClock.milliseconds + min(max(lifetime, 0), 1 << 32) * 1000, lifetime: lifetime)
    }

    /// Whether the ID token is good for the next half minute.
    var isFresh: Bool { left > .seconds(30) }

    private var left: Duration { .milliseconds(expires) - .milliseconds(WallClock.milliseconds) }

    /// How long to wait before it is replaced: until `lead` before its end, or half of its life if that is shorter. At
    /// least a second, whatever the server says.
    func delay(lead: Duration) -> Duration {
        let lifetime = Duration.seconds(lifetime)
        return max(.seconds(1), left - (lead < lifetime ? lead : lifetime / 2))
    }

    /// What the ID token says. Not verified: that is for the server that receives it.
    var claims: [String: DatabaseValue]? {
        UnverifiedToken(parsing: Array(idToken.utf8)).map { DatabaseValue.members($0.claims) }
    }
}
