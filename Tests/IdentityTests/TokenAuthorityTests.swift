import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct TokenAuthorityTests {
    private let folder = KeyFolder()
    private let now = KeyFolder.start

    private func production(_ project: String = "demo-x") throws -> TokenAuthority {
        TokenAuthority(project: project, mode: .production(try KeyStore(folder: folder.path, now: now)))
    }

    private let development = TokenAuthority(project: "demo-x", mode: .development)

    private var contents: IDTokenContents {
        var contents = IDTokenContents(uid: bytes("u1"), signInProvider: "google.com", authTime: now - 1000)
        contents.name = "Ann"
        contents.picture = "https://example.com/a.png"
        contents.email = "ann@example.com"
        contents.isEmailVerified = true
        contents.identities = [("email", ["ann@example.com"]), ("google.com", ["1093"])]
        contents.customAttributes = object(#"{"role":"editor","name":"Ann II","exp":1,"sub":"root"}"#)
        contents.customTokenClaims = object(#"{"role":"owner","level":3}"#)
        return contents
    }

    @Test("an ID token says what Firebase's say, and nothing custom replaces what is reserved")
    func claims() throws {
        let authority = try production()
        let token = try authority.idToken(contents, issuedAt: now * 1000 + 250)
        let read = try authority.verifyIDToken(token, now: now)
        #expect(
            read.claims.members.sorted { $0.name.lexicographicallyPrecedes($1.name) }
                == object(
                    """
                    {"aud":"demo-x","auth_time":1699999000,"email":"ann@example.com","email_verified":true,"exp":1700003600,
                    "firebase":{"identities":{"email":["ann@example.com"],"google.com":["1093"]},"sign_in_provider":"google.com"},
                    "iat":1700000000,"iss":"https://securetoken.google.com/demo-x","level":3,"name":"Ann II",
                    "picture":"https://example.com/a.png","role":"owner","sub":"u1","user_id":"u1"}
                    """
                ).members)
        #expect(read.uid == bytes("u1"))
        #expect(read.issuedAt == now * 1000 + 250)
        #expect(read.authTime == now - 1000)
        #expect(read.expiresAt == now + 3600)
        #expect(read.signInProvider == bytes("google.com"))
        #expect(read.tenant == nil)
    }

    @Test("an anonymous user's token is short and says so")
    func anonymous() throws {
        let contents = IDTokenContents(uid: bytes("u2"), signInProvider: "anonymous", authTime: now)
        let claims = try development.verifyIDToken(development.idToken(contents, issuedAt: now * 1000 + 250), now: now)
            .claims
        #expect(claims["provider_id"] == .text("anonymous"))
        #expect(claims["firebase"]?.object?["identities"] == .object(JSONObject()))
        for name in ["email", "email_verified", "name", "picture", "phone_number"] { #expect(claims[name] == nil) }
    }

    @Test("a token is believed for an hour, by its project, and not as a session cookie")
    func limits() throws {
        let authority = try production()
        let token = try authority.idToken(contents, issuedAt: now * 1000 + 250)
        #expect(throws: Never.self) { try authority.verifyIDToken(token, now: now + 3599) }
        #expect(throws: TokenError.expired) { try authority.verifyIDToken(token, now: now + 3600) }
        #expect(throws: TokenError.notYetValid) { try authority.verifyIDToken(token, now: now - 61) }
        #expect(throws: TokenError.wrongIssuer) { try authority.verifySessionCookie(token, now: now) }
        #expect(throws: TokenError.wrongIssuer) { try production("other").verifyIDToken(token, now: now) }
    }

    @Test("a token that is not signed is refused in production and believed in development")
    func unsigned() throws {
        let token = try development.idToken(contents, issuedAt: now * 1000 + 250)
        #expect(token.last == UInt8(ascii: "."))
        #expect(throws: TokenError.unsigned) { try production().verifyIDToken(token, now: now) }
        let signed = try production().idToken(contents, issuedAt: now * 1000 + 250)
        for token in [token, signed] {
            let read = try development.verifyIDToken(token, now: now + 1_000_000)
            #expect(read.uid == bytes("u1"))
            #expect(read.expiresAt == nil)
        }
    }

    @Test("a test tool's token without times is believed in development")
    func mockToken() throws {
        let token = JSONWebToken.unsigned(object(#"{"user_id":"u7","iat":0}"#))
        let read = try development.verifyIDToken(token, now: now)
        #expect(read.uid == bytes("u7"))
        #expect(read.issuedAt == 0)
        for claims in ["{}", #"{"sub":""}"#, #"{"sub":7}"#, #"{"sub":"\#(String(repeating: "x", count: 129))"}"#] {
            #expect(throws: TokenError.invalidClaim("sub"), "\(claims)") {
                try development.verifyIDToken(JSONWebToken.unsigned(object(claims)), now: now)
            }
        }
    }

    @Test("a session cookie has the token's claims, its own issuer and its own life")
    func sessionCookie() throws {
        let authority = try production()
        let token = try authority.verifyIDToken(authority.idToken(contents, issuedAt: now * 1000 + 250), now: now)
        let cookie = try authority.sessionCookie(for: token, seconds: 86_400, now: now + 10)
        let read = try authority.verifySessionCookie(cookie, now: now + 80_000)
        #expect(read.uid == token.uid)
        #expect(read.authTime == token.authTime)
        #expect(read.issuedAt == (now + 10) * 1000)
        #expect(read.claims["iss"] == .text("https://session.firebase.google.com/demo-x"))
        #expect(throws: TokenError.expired) { try authority.verifySessionCookie(cookie, now: now + 10 + 86_400) }
        #expect(throws: TokenError.wrongIssuer) { try authority.verifyIDToken(cookie, now: now + 10) }
    }

    @Test("refresh tokens differ, and are found by a digest that does not tell them")
    func refreshTokens() {
        let (a, b) = (RefreshToken(), RefreshToken())
        #expect(a.text != b.text)
        #expect(a.text.count == 43)
        #expect(a.digest != b.digest)
        #expect(a.digest.count == 32)
        #expect(RefreshToken.digest(of: a.text) == a.digest)
        #expect("\(a)" == "(secret)")
    }
}
