import HearthJSONWebTokens
import HearthIdentity
import HearthJSONValues
import HearthTestSupport
import Testing

struct TrustFileTests {
    private let fetcher = FakeFetcher()
    private let now: Int64 = 1_700_000_000

    private func read(_ text: String, file: [UInt8]? = nil) throws -> TrustFile {
        try TrustFile(bytes(text), fetcher: fetcher) { $0 == "backend.pem" ? file : nil }
    }

    @Test("issuers and providers are read, and their keys are where the file says")
    func complete() throws {
        let file = try read(
            """
            {"issuers":[{"firebase":"p"},{"issuer":"https://a","audiences":["x","y"]},
            {"issuer":"https://b","audiences":["x"],"keys":"https://b/jwks"},
            {"issuer":"c","audiences":["x"],"keyFile":"backend.pem"}],
            "providers":[{"id":"google.com","clientIDs":["g"]},{"id":"apple.com","clientIDs":["a"]},
            {"id":"facebook.com","applicationID":"f","secret":"s","graph":"https://graph.test"},
            {"id":"oidc.d","issuer":"https://d","clientIDs":["d"]}]}
            """, file: TestKeys.first.verificationKey.publicPEM())
        #expect(file.issuers.map(\.issuer) == ["https://securetoken.google.com/p", "https://a", "https://b", "c"])
        #expect(file.issuers.map(\.audiences) == [["p"], ["x", "y"], ["x"], ["x"]])
        for id in ["google.com", "apple.com", "facebook.com", "oidc.d"] { #expect(file.providers.contains(id)) }
        #expect(!file.providers.contains("oidc.e"))
        for issuer in file.issuers {
            if case .remote(let keys) = issuer.keys { keys.find(nil, now: now) { _ in } }
        }
        #expect(
            fetcher.requests == [
                "https://www.googleapis.com/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com",
                "https://a/.well-known/openid-configuration", "https://b/jwks",
            ])
    }

    @Test("an empty file trusts nobody")
    func empty() throws {
        let file = try read("{}")
        #expect(file.issuers.isEmpty)
        let answers = Answers<Result<ProviderIdentity, ProviderError>>()
        file.providers.verify(.init(idToken: bytes("x")), of: "google.com", now: now) { answers.put($0) }
        #expect(throws: ProviderError.unsupported) { try answers.all.first?.get() }
    }

    @Test("a provider is asked about the kind of credential that it gives")
    func kinds() throws {
        let file = try read(
            """
            {"providers":[{"id":"facebook.com","applicationID":"f","secret":"s","graph":"https://graph.test"},
            {"id":"google.com","clientIDs":["g"]}]}
            """)
        func error(_ credential: IdentityProviders.Credential, of id: String) throws -> ProviderError? {
            let answers = Answers<Result<ProviderIdentity, ProviderError>>()
            file.providers.verify(credential, of: id, now: now) { answers.put($0) }
            if case .failure(let error) = try #require(answers.all.first) { return error }
            return nil
        }
        let token = bytes("token")
        #expect(try error(.init(accessToken: token), of: "facebook.com") == .unavailable)
        #expect(fetcher.requests.allSatisfy { $0.hasPrefix("https://graph.test/debug_token?") })
        #expect(try error(.init(idToken: token, accessToken: token), of: "facebook.com") == .token(.malformed))
        #expect(try error(.init(idToken: token, accessToken: token), of: "google.com") == .token(.malformed))
        #expect(try error(.init(accessToken: token), of: "google.com") == .unsupported)
        #expect(try error(.init(), of: "facebook.com") == .unsupported)
    }

    @Test(
        "a mistake is named with its place",
        arguments: [
            ("[]", "not a JSON object"), (#"{"issuer":[]}"#, "the file: unknown member issuer"),
            (#"{"issuers":{}}"#, "the file: issuers must be a list of objects"),
            (#"{"issuers":[{"firebase":"p"},{"issuer":"x"}]}"#, "issuers[1]: audiences must be a list of texts"),
            (#"{"issuers":[{"audiences":["x"]}]}"#, "issuers[0]: issuer is missing"),
            (#"{"issuers":[{"firebase":""}]}"#, "issuers[0]: firebase must be a text"),
            (#"{"issuers":[{"firebase":"p","kyes":1}]}"#, "issuers[0]: unknown member kyes"),
            (
                #"{"issuers":[{"issuer":"x","audiences":["y"],"keyFile":"no.pem"}]}"#,
                "issuers[0]: no.pem holds no public key that can be used"
            ),
            (
                #"{"issuers":[{"issuer":"x","audiences":["y"],"keys":"https://k","keyFile":"no.pem"}]}"#,
                "issuers[0]: keys and keyFile exclude each other"
            ),
            (
                #"{"providers":[{"id":"google.com","clientIDs":["a",1]}]}"#,
                "providers[0]: clientIDs must be a list of texts"
            ),
            (
                #"{"providers":[{"id":"oidc."}]}"#,
                "providers[0]: a provider is google.com, apple.com, facebook.com or oidc.NAME, not oidc."
            ),
            (#"{"providers":[{"id":"facebook.com","applicationID":"f"}]}"#, "providers[0]: secret is missing"),
        ])
    func mistakes(text: String, message: String) {
        #expect { try read(text) } throws: { "\($0)" == message }
    }
}
