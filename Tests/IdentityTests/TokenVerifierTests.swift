import Glibc
import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct TokenVerifierTests {
    private let folder = KeyFolder()
    private let fetcher = FakeFetcher()
    private let now = KeyFolder.start
    private let project = "demo-x"
    private let accountEmail = "admin@demo-x.example"

    private func authority() throws -> TokenAuthority {
        TokenAuthority(project: project, mode: .production(try KeyStore(folder: folder.path, now: now)))
    }

    private func accounts() throws -> ServiceAccounts { try ServiceAccounts(folder: folder.path) }

    private func verifier(_ issuers: [ForeignIssuer] = []) throws -> TokenVerifier {
        TokenVerifier(authority: try authority(), accounts: try accounts(), issuers: issuers)
    }

    private func development() throws -> TokenVerifier {
        TokenVerifier(authority: TokenAuthority(project: project, mode: .development), accounts: try accounts())
    }

    private func verify(_ token: [UInt8], with verifier: TokenVerifier, now: Int64? = nil) throws -> Caller {
        let answers = Answers<Result<Caller, TokenError>>()
        verifier.verify(token, now: now ?? self.now) { answers.put($0) }
        return try #require(answers.all.count == 1 ? answers.all.first : nil).get()
    }

    private func user(_ caller: Caller) throws -> TokenUser {
        guard case .user(let user) = caller else {
            Issue.record("not a user")
            throw TokenError.malformed
        }
        return user
    }

    private func isAdministrator(_ caller: Caller) -> Bool { if case .administrator = caller { true } else { false } }

    private func idToken(_ uid: String = "u1") throws -> [UInt8] {
        try authority().idToken(
            IDTokenContents(uid: bytes(uid), signInProvider: "password", authTime: now), issuedAt: now * 1000 + 250)
    }

    // MARK: Users

    @Test("a token of this server is a user, with all claims for the rules")
    func ownUser() throws {
        let user = try user(try verify(idToken(), with: verifier()))
        #expect(user.uid == bytes("u1"))
        #expect(user.provider == bytes("password"))
        #expect(user.isOwn)
        #expect(user.issuedAt == now * 1000 + 250)
        #expect(user.expiresAt == now + 3600)
        #expect(object(text(user.claims))["sub"] == .text("u1"))
        #expect(throws: TokenError.expired) { try verify(idToken(), with: verifier(), now: now + 3600) }
    }

    @Test("in production neither unsigned tokens nor the emulator's words are believed")
    func production() throws {
        let unsigned = JSONWebToken.unsigned(object(#"{"sub":"u1","iat":0,"exp":2000000000}"#))
        #expect(throws: TokenError.unsigned) { try verify(unsigned, with: verifier()) }
        for word in ["owner", "ya29.abc", "", "a.b.c", String(repeating: "a", count: 40)] {
            #expect(throws: TokenError.malformed, "\(word)") { try verify(bytes(word), with: verifier()) }
            #expect(try verifier().administrator(bytes(word), now: now) == nil)
        }
    }

    @Test("in development all tokens are taken at their word, and owner is an administrator")
    func developmentMode() throws {
        let verifier = try development()
        for word in ["owner", "Owner", "ya29.abc"] {
            #expect(isAdministrator(try verify(bytes(word), with: verifier)))
            #expect(verifier.administrator(bytes(word), now: now) != nil)
        }
        let mock = JSONWebToken.unsigned(
            object(#"{"sub":"u7","iat":0,"exp":3600,"firebase":{"sign_in_provider":"custom","identities":{}},"a":[1]}"#)
        )
        let user = try user(try verify(mock, with: verifier))
        #expect(user.uid == bytes("u7"))
        #expect(user.provider == bytes("custom"))
        #expect(user.expiresAt == nil)
        #expect(verifier.administrator(mock, now: now) == nil)
        #expect(throws: TokenError.malformed) { try verify(bytes("owners"), with: verifier) }
    }

    @Test("a session cookie and a custom token are no way into the database")
    func otherTokens() throws {
        let authority = try authority()
        let cookie = try authority.sessionCookie(
            for: authority.verifyIDToken(idToken(), now: now), seconds: 3600, now: now)
        #expect(throws: TokenError.wrongIssuer) { try verify(cookie, with: verifier()) }
        let key = try makeAccount().key
        let custom = try JSONWebToken.signed(customClaims, with: key)
        #expect(throws: TokenError.wrongIssuer) { try verify(custom, with: verifier()) }
    }

    // MARK: Administrators

    /// A service account as its program has it.
    private func makeAccount() throws -> (key: SigningKey, file: JSONObject) {
        let file = object(
            text(
                try accounts().makeKey(
                    email: accountEmail, project: project, tokenURI: "https://db.example/token", now: now)))
        let id = try #require(file["private_key_id"]?.text)
        return (try SigningKey(id: id, pem: try #require(file["private_key"]?.utf8)), file)
    }

    private var assertionClaims: JSONObject {
        JSONObject([
            "iss": .text(accountEmail), "iat": .integer(now), "exp": .integer(now + 3600),
            "scope": .text("https://www.googleapis.com/auth/firebase.database"),
            "aud": .text("https://oauth2.googleapis.com/token"),
        ])
    }

    private var customClaims: JSONObject {
        JSONObject([
            "iss": .text(accountEmail), "sub": .text(accountEmail), "aud": .text(CustomToken.audience),
            "uid": .text("u1"), "iat": .integer(now), "exp": .integer(now + 3600),
        ])
    }

    @Test("a service account's file has what Google's have, and only its public half is kept")
    func accountFile() throws {
        let file = try makeAccount().file
        for name in ["private_key_id", "private_key", "client_id"] { #expect(file[name]?.text?.isEmpty == false) }
        #expect(file["type"] == .text("service_account"))
        #expect(file["project_id"] == .text(project))
        #expect(file["client_email"] == .text(accountEmail))
        #expect(file["token_uri"] == .text("https://db.example/token"))
        let path = folder.path + "/service-accounts.json"
        let kept = text(TemporaryFolder.contents(of: path))
        #expect(kept.contains("BEGIN PUBLIC KEY"))
        #expect(!kept.contains("PRIVATE"))
        var information = stat()
        #expect(stat(path, &information) == 0)
        #expect(information.st_mode & 0o777 == 0o600)
    }

    private func answer(
        _ assertion: [UInt8]?, with verifier: TokenVerifier, grantType: String? = AccessTokens.grantType,
        now: Int64? = nil
    ) -> AccessTokens.Answer {
        verifier.answer(
            grantType: grantType.map(bytes), assertion: assertion, endpoints: ["https://db.example/token"],
            now: now ?? self.now)
    }

    private func exchange(_ assertion: [UInt8], with verifier: TokenVerifier) throws -> [UInt8] {
        let answer = answer(assertion, with: verifier)
        #expect(answer.status == 200)
        #expect(answer.body["expires_in"] == .integer(3600))
        #expect(answer.body["token_type"] == .text("Bearer"))
        return try #require(answer.body["access_token"]?.utf8)
    }

    @Test("a service account exchanges its key for an hour as administrator")
    func exchange() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        let token = try exchange(JSONWebToken.signed(assertionClaims, with: key), with: verifier)
        let caller = try verify(token, with: verifier)
        #expect(isAdministrator(caller))
        #expect(caller.expiresAt == now + 3600)
        #expect(verifier.administrator(token, now: now + 3599) != nil)
        #expect(verifier.administrator(token, now: now + 3600) == nil)
        #expect(throws: TokenError.expired) { try verify(token, with: verifier, now: now + 3600) }
        #expect(verifier.administrator(try idToken(), now: now) == nil)
        // It is no user's token.
        #expect(throws: TokenError.wrongIssuer) { try authority().verifyIDToken(token, now: now) }
    }

    @Test("a token is renewed while its key is there, for twelve hours after the assertion")
    func renewal() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        let token = try exchange(JSONWebToken.signed(assertionClaims, with: key), with: verifier)
        guard case .administrator(_, let known?) = try verify(token, with: verifier) else {
            Issue.record("the token is no administrator's")
            return
        }
        let last = now + AccessTokens.renewableSeconds - 1
        let renewed = try #require(try verifier.renew(known, now: last).get()["access_token"]?.utf8)
        #expect(verifier.administrator(renewed, now: last + 3599) != nil)
        // Renewing does not begin the twelve hours again.
        guard case .administrator(_, let later?) = try verify(renewed, with: verifier, now: last) else {
            Issue.record("the renewed token is no administrator's")
            return
        }
        let late = #expect(throws: RenewalError.self) { try verifier.renew(later, now: last + 1).get() }
        #expect(late?.text == "sign in again: the session is older than 12 hours")
        #expect(try accounts().removeKey(key.id))
        let removed = #expect(throws: RenewalError.self) { try verifier.renew(known, now: now).get() }
        #expect(removed?.text == "the key was removed")
    }

    @Test("a server in the same folder learns of a key, and of its end, while it runs")
    func runningServer() throws {
        let verifier = try verifier()
        let key = try makeAccount().key
        let assertion = try JSONWebToken.signed(assertionClaims, with: key)
        let token = try exchange(assertion, with: verifier)
        #expect(verifier.administrator(token, now: now) != nil)
        #expect(try accounts().keys.map(\.id) == [key.id])
        #expect(try !accounts().removeKey("other"))
        #expect(try accounts().removeKey(key.id))
        #expect(verifier.administrator(token, now: now) == nil)
        #expect(answer(assertion, with: verifier).status == 400)
    }

    @Test("an assertion that is not a service account's own, or says something else, gives nothing")
    func refusedAssertions() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        func error(_ assertion: [UInt8], now: Int64? = nil) -> TokenError? {
            let answer = answer(assertion, with: verifier, now: now)
            #expect(answer.status == 400)
            #expect(answer.body["error"] == .text("invalid_grant"))
            return [
                .wrongSignature, .unknownKey, .wrongAudience, .expired, .alreadyUsed, .malformed, .invalidClaim("iss"),
                .invalidClaim("exp"), .invalidClaim("jti"),
            ].first { answer.body["error_description"] == .text("\($0)") }
        }
        func changed(_ name: String, _ value: JSONValue?) throws -> [UInt8] {
            var claims = assertionClaims
            claims[name] = value
            return try JSONWebToken.signed(claims, with: key)
        }
        let impostor = try SigningKey(id: key.id, pem: TestKeys.first.privatePEM())
        #expect(error(try JSONWebToken.signed(assertionClaims, with: impostor)) == .wrongSignature)
        #expect(error(try JSONWebToken.signed(assertionClaims, with: TestKeys.first)) == .unknownKey)
        #expect(error(JSONWebToken.unsigned(assertionClaims)) == .unknownKey)
        #expect(error(try changed("iss", .text("someone@else"))) == .unknownKey)
        #expect(error(try changed("iss", nil)) == .invalidClaim("iss"))
        #expect(error(try changed("exp", nil)) == .invalidClaim("exp"))
        #expect(error(try changed("aud", nil)) == .wrongAudience)
        #expect(error(try changed("aud", .text(CustomToken.audience))) == .wrongAudience)
        #expect(error(try changed("uid", .text("u1"))) == .wrongAudience)
        for other in ["https://evil.example/token", "http://db.example/token", "https://db.example/token/", "/token"] {
            #expect(error(try changed("aud", .text(other))) == .wrongAudience, "\(other)")
        }
        // It is valid for an hour and a minute at most, whatever its claims.
        #expect(error(try changed("exp", .integer(now + 3661))) == .invalidClaim("exp"))
        #expect(error(try changed("iat", nil)) == .invalidClaim("exp"))
        #expect(error(try changed("jti", .integer(1))) == .invalidClaim("jti"))
        #expect(error(try changed("scope", nil), now: now + 3600) == .expired)
        #expect(error(bytes("owner")) == .malformed)
        // A custom token is signed with the same key and given to anybody.
        #expect(error(try JSONWebToken.signed(customClaims, with: key)) == .wrongAudience)
    }

    @Test("an assertion is for this server or for Google's, and with a name good once")
    func assertionsThatDo() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        func status(_ changes: KeyValuePairs<String, JSONValue?>) throws -> Int {
            var claims = assertionClaims
            claims.merge(JSONObject(changes))
            return answer(try JSONWebToken.signed(claims, with: key), with: verifier).status
        }
        for audience in [
            "https://db.example/token", "https://oauth2.googleapis.com/token",
            "https://accounts.google.com/o/oauth2/token", "https://www.googleapis.com/oauth2/v4/token",
        ] { #expect(try status(["aud": .text(audience)]) == 200, "\(audience)") }
        for expected in [200, 400] { #expect(try status(["jti": .text("once")]) == expected) }
        #expect(try status(["jti": .text("another")]) == 200)
        for _ in 0..<2 { #expect(try status([:]) == 200) }
    }

    @Test("an assertion may begin a minute ago, as those of Google's library for PHP do")
    func assertionsThatBeginEarlier() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        var claims = assertionClaims
        claims["iat"] = .integer(now - 60)
        let token = try exchange(JSONWebToken.signed(claims, with: key), with: verifier)
        #expect(try verify(token, with: verifier).expiresAt == now + 3600)
        claims["iat"] = .integer(now - 61)
        let refused = answer(try JSONWebToken.signed(claims, with: key), with: verifier)
        #expect(refused.status == 400)
        #expect(refused.body["error_description"] == .text("\(TokenError.invalidClaim("exp"))"))
    }

    @Test("a request for a token that lacks something says what")
    func incomplete() throws {
        let verifier = try verifier()
        #expect(answer(nil, with: verifier).body["error"] == .text("invalid_request"))
        #expect(answer([], with: verifier, grantType: nil).body["error"] == .text("invalid_request"))
        let other = answer([], with: verifier, grantType: "refresh_token")
        #expect(other.status == 400)
        #expect(other.body["error"] == .text("unsupported_grant_type"))
    }

    @Test("in development every program is an administrator")
    func developmentExchange() throws {
        let verifier = try development()
        let token = try exchange(bytes("anything"), with: verifier)
        #expect(verifier.administrator(token, now: now) != nil)
    }

    @Test("a forged access token is no administrator's")
    func forgedAccessToken() throws {
        let key = try makeAccount().key
        let verifier = try verifier()
        let claims = JSONObject([
            "iss": .text("hearth"), "sub": .text(accountEmail), "aud": .text(project), "key": .text(key.id),
            "iat": .integer(now), "exp": .integer(now + 3600),
        ])
        for forger in [key, TestKeys.first] {
            #expect(
                verifier.administrator(try JSONWebToken.signed(claims, with: forger, type: "at+jwt"), now: now) == nil)
        }
        // Signed by the server's own key, as an ID token is.
        let own = try KeyStore(folder: folder.path, now: now).signingKey(now: now)
        #expect(verifier.administrator(try JSONWebToken.signed(claims, with: own), now: now) == nil)
        #expect(verifier.administrator(try JSONWebToken.signed(claims, with: own, type: "at+jwt"), now: now) != nil)
    }

    // MARK: Acting as somebody

    @Test("an administrator may act as somebody, or as nobody; a user may not")
    func acting() throws {
        let administrator = Caller.administrator(expiresAt: 5)
        guard case .simulated(let auth?, 5, nil)? = administrator.acting(as: bytes(#" { "uid" : "u9", "x.y": [1] } "#))
        else {
            Issue.record("not simulated")
            return
        }
        #expect(text(auth) == #"{"uid":"u9","x.y":[1]}"#)
        for nobody in [administrator.acting(as: bytes("null")), administrator.acting(as: bytes(" null "))] {
            guard case .simulated(nil, 5, nil)? = nobody else {
                Issue.record("not nobody")
                return
            }
        }
        for text in ["", "7", "[]", "\"u9\"", "{", #"{"a":1,"a":2}"#] {
            #expect(administrator.acting(as: bytes(text)) == nil)
        }
        let user = try verify(idToken(), with: verifier())
        #expect(user.acting(as: bytes("{}")) == nil)
        #expect(administrator.acting(as: bytes("null"))?.acting(as: bytes("{}")) == nil)
    }

    // MARK: Other issuers

    private let keysURL = "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com"

    private func foreignToken(
        issuer: String = "https://securetoken.google.com/demo-x", audience: String = "demo-x",
        key: SigningKey = TestKeys.first
    ) throws -> [UInt8] {
        try JSONWebToken.signed(
            JSONObject([
                "iss": .text(issuer), "aud": .text(audience), "sub": .text("f1"), "iat": .integer(now),
                "exp": .integer(now + 3600), "firebase": .object(object(#"{"sign_in_provider":"google.com"}"#)),
            ]), with: key)
    }

    @Test("a project that moved here has its users of Firebase, too")
    func firebase() throws {
        fetcher[keysURL] = FetchedDocument(status: 200, body: KeyDocuments.jwks([TestKeys.first]))
        let verifier = try verifier([.firebase(project: project, fetcher: fetcher)])
        let user = try user(try verify(foreignToken(), with: verifier))
        #expect(user.uid == bytes("f1"))
        #expect(user.provider == bytes("google.com"))
        #expect(!user.isOwn)
        // Its own tokens need no other server.
        let count = fetcher.requests.count
        #expect(try self.user(try verify(idToken(), with: verifier)).isOwn)
        #expect(fetcher.requests.count == count)
        #expect(throws: TokenError.expired) { try verify(foreignToken(), with: verifier, now: now + 3600) }
        #expect(throws: TokenError.wrongAudience) { try verify(foreignToken(audience: "x"), with: verifier) }
        #expect(throws: TokenError.unknownKey) { try verify(foreignToken(key: TestKeys.second), with: verifier) }
    }

    @Test("issuers that nobody named are not believed, and not asked")
    func strangers() throws {
        let verifier = try verifier([.firebase(project: "other", fetcher: fetcher)])
        #expect(throws: TokenError.unknownKey) { try verify(foreignToken(), with: verifier) }
        #expect(throws: TokenError.wrongIssuer) { try verify(foreignToken(issuer: "https://evil"), with: verifier) }
        let unsigned = JSONWebToken.unsigned(object(#"{"iss":"https://securetoken.google.com/other","sub":"u"}"#))
        #expect(throws: TokenError.unsigned) { try verify(unsigned, with: verifier) }
        #expect(fetcher.requests.isEmpty)
    }

    @Test("an issuer that is named twice is believed for the audiences of both")
    func issuerNamedTwice() throws {
        let set = try #require(KeySet(TestKeys.first.verificationKey.publicPEM()))
        let issuers = ["web", "ios"].map {
            ForeignIssuer(issuer: "https://id.example", audiences: [$0], keys: .fixed(set))
        }
        let verifier = try verifier(issuers)
        for audience in ["web", "ios"] {
            let token = try foreignToken(issuer: "https://id.example", audience: audience)
            #expect(try user(try verify(token, with: verifier)).uid == bytes("f1"), "\(audience)")
        }
        let other = try foreignToken(issuer: "https://id.example", audience: "tv")
        #expect(throws: TokenError.wrongAudience) { try verify(other, with: verifier) }
    }

    @Test("another issuer's tokens verify with the keys of a file; its keys sign for nobody else")
    func keyFile() throws {
        let set = try #require(KeySet(TestKeys.first.verificationKey.publicPEM()))
        let issuer = ForeignIssuer(issuer: "https://id.example", audiences: ["db"], keys: .fixed(set))
        let verifier = try verifier([issuer])
        let good = try foreignToken(issuer: "https://id.example", audience: "db")
        #expect(try user(try verify(good, with: verifier)).uid == bytes("f1"))
        let forged = try foreignToken(issuer: "https://id.example", audience: "db", key: TestKeys.second)
        #expect(throws: TokenError.wrongSignature) { try verify(forged, with: verifier) }
        #expect(throws: TokenError.unknownKey) { try verify(foreignToken(), with: verifier) }
    }
}
