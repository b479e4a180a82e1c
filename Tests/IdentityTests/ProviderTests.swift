import HearthJSONValues
import HearthBytes
import HearthIdentity
import HearthJSONWebTokens
import HearthTestSupport
import Testing

struct OpenIDProviderTests {
    private let fetcher = FakeFetcher()
    private let now: Int64 = 1_700_000_000

    init() {
        fetcher["https://www.googleapis.com/oauth2/v3/certs"] = FetchedDocument(
            status: 200, body: KeyDocuments.jwks([TestKeys.first]))
        fetcher["https://appleid.apple.com/auth/keys"] = FetchedDocument(
            status: 200, body: KeyDocuments.jwks([TestKeys.first]))
    }

    private func verify(
        _ provider: OpenIDProvider, _ token: [UInt8], nonce: String? = nil
    ) throws -> Result<ProviderIdentity, ProviderError> {
        let answers = Answers<Result<ProviderIdentity, ProviderError>>()
        provider.verify(token, nonce: nonce.map(bytes), now: now) { answers.put($0) }
        return try #require(answers.all.count == 1 ? answers.all.first : nil)
    }

    private func token(_ changes: String = "{}", key: SigningKey = TestKeys.first) throws -> [UInt8] {
        var claims = object(
            """
            {"iss":"https://accounts.google.com","aud":"client","sub":"1093","iat":1700000000,"exp":1700003600,
            "email":"ann@example.com","email_verified":true,"name":"Ann A","given_name":"Ann","family_name":"A",
            "picture":"https://example.com/a.png"}
            """)
        claims.merge(object(changes))
        return try JSONWebToken.signed(claims, with: key)
    }

    private func error(_ result: Result<ProviderIdentity, ProviderError>) -> ProviderError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test("Google's token says who somebody is")
    func google() throws {
        let provider = OpenIDProvider.google(clientIDs: ["other", "client"], fetcher: fetcher)
        for issuer in provider.issuers {
            let identity = try verify(provider, token(#"{"iss":"\#(issuer)","nonce":"x"}"#)).get()
            #expect(identity.provider == "google.com")
            #expect(identity.rawID == "1093")
            #expect(identity.email == "ann@example.com")
            #expect(identity.isEmailVerified)
            #expect(identity.displayName == "Ann A")
            #expect(identity.firstName == "Ann")
            #expect(identity.lastName == "A")
            #expect(identity.photoURL == "https://example.com/a.png")
            #expect(object(text(identity.profile))["sub"] == .text("1093"))
        }
    }

    @Test(
        "a token that is for others, from others or over is refused without a request",
        arguments: [
            (#"{"aud":"stranger"}"#, .wrongAudience), (#"{"aud":["client","stranger"]}"#, .wrongAudience),
            (#"{"aud":["client","stranger"],"azp":"stranger"}"#, .wrongAudience),
            (#"{"iss":"https://evil.example"}"#, .wrongIssuer), (#"{"exp":1700000000}"#, .expired),
            (#"{"iat":1700000061}"#, .notYetValid),
        ] as [(String, TokenError)])
    func refused(changes: String, expected: TokenError) throws {
        let provider = OpenIDProvider.google(clientIDs: ["client"], fetcher: fetcher)
        #expect(error(try verify(provider, token(changes))) == .token(expected))
        #expect(fetcher.requests.isEmpty)
    }

    @Test("a forged signature is refused, and a token without one")
    func forged() throws {
        let provider = OpenIDProvider.google(clientIDs: ["client"], fetcher: fetcher)
        #expect(error(try verify(provider, token(key: TestKeys.second))) == .token(.unknownKey))
        let impostor = try SigningKey(id: TestKeys.first.id, pem: TestKeys.second.privatePEM())
        #expect(error(try verify(provider, token(key: impostor))) == .token(.wrongSignature))
        let claims = try JSONWebToken(parsing: token()).claims
        #expect(error(try verify(provider, JSONWebToken.unsigned(claims))) == .token(.unsigned))
        #expect(error(try verify(provider, token(#"{"sub":""}"#))) == .token(.invalidClaim("sub")))
    }

    @Test("a provider that is away is said to be that")
    func away() throws {
        fetcher["https://www.googleapis.com/oauth2/v3/certs"] = nil
        let provider = OpenIDProvider.google(clientIDs: ["client"], fetcher: fetcher)
        #expect(error(try verify(provider, token())) == .unavailable)
    }

    @Test("a nonce must be the client's, as it is or hashed, and be there on both sides")
    func nonce() throws {
        let provider = OpenIDProvider.apple(clientIDs: ["client"], fetcher: fetcher)
        func token(_ nonce: String?) throws -> [UInt8] {
            let nonce = nonce.map { #","nonce":"\#($0)""# } ?? ""
            return try self.token(#"{"iss":"https://appleid.apple.com","email_verified":"true"\#(nonce)}"#)
        }
        // SHA-256 of "abc".
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        for (stated, given) in [("abc", "abc"), (hash, "abc"), (nil, nil)] as [(String?, String?)] {
            #expect(try verify(provider, token(stated), nonce: given).get().isEmailVerified)
        }
        for (stated, given) in [("abc", nil), (nil, "abc"), ("abc", "abd"), (hash, hash.uppercased()), ("", "abc")]
            as [(String?, String?)]
        {
            #expect(error(try verify(provider, token(stated), nonce: given)) == .token(.wrongNonce))
        }
    }

    @Test("any provider with a published configuration will do")
    func discovered() throws {
        fetcher["https://id.example/.well-known/openid-configuration"] = FetchedDocument(
            status: 200, body: bytes(#"{"issuer":"https://id.example","jwks_uri":"https://id.example/keys"}"#))
        fetcher["https://id.example/keys"] = FetchedDocument(status: 200, body: KeyDocuments.jwks([TestKeys.first]))
        let provider = OpenIDProvider.discovered(
            id: "oidc.example", issuer: "https://id.example", clientIDs: ["client"], fetcher: fetcher)
        let identity = try verify(provider, token(#"{"iss":"https://id.example","email_verified":false}"#)).get()
        #expect(identity.provider == "oidc.example")
        #expect(identity.rawID == "1093")
        #expect(!identity.isEmailVerified)
    }
}

struct FacebookProviderTests {
    private let fetcher = FakeFetcher()
    private let now: Int64 = 1_700_000_000
    private let debugURL = "https://graph.test/debug_token?input_token=tok%2Fen%3D&access_token=app%7Csecret"

    private var profileURL: String {
        let proof = text(Hexadecimal.encode(Cryptography.hmacSHA256(bytes("tok/en="), key: bytes("secret"))))
        return
            "https://graph.test/me?fields=id%2Cname%2Cemail%2Cfirst_name%2Clast_name%2Cpicture&access_token=tok%2Fen%3D"
            + "&appsecret_proof=\(proof)"
    }

    private func verify(debug: String, profile: String) throws -> Result<ProviderIdentity, ProviderError> {
        fetcher[debugURL] = FetchedDocument(status: 200, body: bytes(debug))
        fetcher[profileURL] = FetchedDocument(status: 200, body: bytes(profile))
        let provider = FacebookProvider(
            applicationID: "app", secret: "secret", baseURL: "https://graph.test", fetcher: fetcher)
        let answers = Answers<Result<ProviderIdentity, ProviderError>>()
        provider.verify(bytes("tok/en="), now: now) { answers.put($0) }
        return try #require(answers.all.count == 1 ? answers.all.first : nil)
    }

    private let good = #"{"data":{"app_id":"app","is_valid":true,"user_id":"42","expires_at":1700000001}}"#
    private let profile =
        #"{"id":"42","name":"Ann A","email":"ann@example.com","picture":{"data":{"url":"https://example.com/a"}}}"#

    @Test("a token of this application says who somebody is")
    func accepted() throws {
        let identity = try verify(debug: good, profile: profile).get()
        #expect(identity.provider == "facebook.com")
        #expect(identity.rawID == "42")
        #expect(identity.displayName == "Ann A")
        #expect(identity.email == "ann@example.com")
        #expect(!identity.isEmailVerified)
        #expect(identity.photoURL == "https://example.com/a")
    }

    @Test(
        "a token of another application, of another user or that is over is refused",
        arguments: [
            (#"{"data":{"app_id":"evil","is_valid":true,"user_id":"42"}}"#, #"{"id":"42"}"#),
            (#"{"data":{"app_id":"app","is_valid":false,"user_id":"42"}}"#, #"{"id":"42"}"#),
            (#"{"data":{"app_id":"app","is_valid":true,"user_id":"42","expires_at":1700000000}}"#, #"{"id":"42"}"#),
            (#"{"data":{"app_id":"app","is_valid":true,"user_id":"42"}}"#, #"{"id":"43"}"#),
            (#"{"data":{"app_id":"app","is_valid":true,"user_id":""}}"#, #"{"id":""}"#),
            (#"{"data":{"app_id":"app","is_valid":true}}"#, #"{}"#), ("[]", "{}"), ("", ""),
        ])
    func refused(debug: String, profile: String) throws {
        let result = try verify(debug: debug, profile: profile)
        #expect(throws: ProviderError.refused) { try result.get() }
    }

    @Test("when Facebook cannot be reached, that is what is said")
    func away() {
        let provider = FacebookProvider(
            applicationID: "app", secret: "secret", baseURL: "https://graph.test", fetcher: fetcher)
        let answers = Answers<Result<ProviderIdentity, ProviderError>>()
        provider.verify(bytes("token"), now: now) { answers.put($0) }
        fetcher["https://graph.test/debug_token?input_token=token&access_token=app%7Csecret"] = FetchedDocument(
            status: 503, body: [])
        provider.verify(bytes("token"), now: now) { answers.put($0) }
        #expect(answers.all.count == 2)
        for result in answers.all { #expect(throws: ProviderError.unavailable) { try result.get() } }
    }

    @Test("an address does not show its secrets")
    func description() {
        let request = DocumentRequest(url: "https://graph.test/me?access_token=secret")
        var dumped = ""
        dump(request, to: &dumped)
        #expect("\(request)" == "GET https://graph.test/me")
        #expect(!dumped.contains("secret"))
    }
}
