import HearthBytes
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@Suite("Fake credentials of providers, in development mode (accounts.md 15)") struct FakeProviderTests {
    private static func escaped(_ text: String) -> String {
        text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }
        }.joined()
    }

    private static func signIn(
        _ client: IdentityClient, _ parameters: KeyValuePairs<String, String>, uri: String = "http://localhost"
    ) throws -> IdentityClient.Answer {
        let body = parameters.map { "\($0)=\(escaped($1))" }.joined(separator: "&")
        return try client.post("signInWithIdp", #"{"requestUri":"\#(uri)","postBody":"\#(body)"}"#)
    }

    private static let claims = #"""
        {"sub":"17","email":"Ann@Example.com","email_verified":true,"name":"Ann Ox","given_name":"Ann","family_name":"Ox",
        "picture":"https://example.com/ann","screen_name":"annox","nonce":"something else","exp":1}
        """#

    private static func token(_ header: String, _ claims: String = claims, signature: String = "") -> String {
        [header, claims].map { String(decoding: Base64.url.encode(Array($0.utf8)), as: UTF8.self) }
            .joined(separator: ".") + "." + signature
    }

    @Test(
        "every form of a credential is taken, whatever the provider",
        arguments: [
            "google.com", "apple.com", "facebook.com", "twitter.com", "github.com", "microsoft.com", "yahoo.com",
            "oidc.any", "saml.any", "GitHub.com",
        ])
    func forms(provider: String) throws {
        let client = try IdentityClient()
        let id = provider.lowercased()
        var user: String?
        for (name, text) in [
            ("id_token", Self.token(#"{"alg":"none","typ":"JWT"}"#)),
            ("id_token", Self.token(#"{"alg":"RS256","kid":"k"}"#, signature: "c2ln")),
            ("id_token", Self.claims), ("access_token", Self.claims),
            ("access_token", Self.token(#"{"alg":"HS256"}"#, signature: "c2ln")),
        ] {
            let answer = try Self.signIn(client, [name: text, "nonce": "raw", "providerId": provider])
            #expect(answer.status == 200, "\(answer.http.text)")
            #expect(answer["providerId"] == id, "\(answer.http.text)")
            #expect(answer["email"] == "ann@example.com")
            #expect(answer.members["emailVerified"]?.bool == true)
            #expect(answer["displayName"] == "Ann Ox")
            #expect(answer["fullName"] == "Ann Ox")
            #expect(answer["screenName"] == "annox")
            #expect(answer["photoUrl"] == "https://example.com/ann")
            #expect(answer["federatedId"] == (id == "google.com" ? "https://accounts.google.com/17" : "17"))
            #expect(answer["oauthIdToken"] == (name == "id_token" ? text : nil))
            #expect(answer["oauthAccessToken"] == (name == "access_token" ? text : "HearthFakeAccessToken_\(id)"))
            #expect(answer.members["isNewUser"]?.bool == (user == nil ? true : nil))
            user = user ?? answer["localId"]
            #expect(answer["localId"] == user)
            let token = try JSONWebToken(parsing: Array(try #require(answer["idToken"]).utf8))
            let firebase = try #require(token.claims["firebase"]?.object)
            #expect(firebase["sign_in_provider"]?.text == id)
            #expect(firebase["identities"]?.object?[id]?.array == [.text("17")])
        }
    }

    @Test("an access token of OAuth 1 goes back with its secret")
    func twitter() throws {
        let answer = try Self.signIn(
            try IdentityClient(),
            ["access_token": #"{"sub":"t1"}"#, "oauth_token_secret": "hush", "providerId": "twitter.com"])
        #expect(answer["oauthTokenSecret"] == "hush")
        #expect(answer["oauthAccessToken"] == #"{"sub":"t1"}"#)
    }

    @Test("what is said of the user has the provider's own form")
    func rawUserInfo() throws {
        let client = try IdentityClient()
        func info(_ provider: String) throws -> JSONObject {
            let answer = try Self.signIn(client, ["id_token": Self.claims, "providerId": provider])
            let text = try #require(answer["rawUserInfo"])
            return try #require(try JSONValue(parsing: Array(text.utf8)).object)
        }
        let google = try info("google.com")
        #expect(google["id"]?.text == "17")
        #expect(google["verified_email"]?.bool == true)
        #expect(google["sub"] == nil)
        #expect(google["granted_scopes"]?.text?.contains("userinfo.email") == true)
        let other = try info("github.com")
        #expect(other["sub"]?.text == "17")
        #expect(other["screen_name"]?.text == "annox")
    }

    @Test("parameters count in the address of the request, too")
    func requestURI() throws {
        let uri = "http://localhost?providerId=google.com&id_token=\(Self.escaped(#"{"sub":"1"}"#))"
        #expect(try Self.signIn(try IdentityClient(), [:], uri: uri)["federatedId"] == "https://accounts.google.com/1")
    }

    @Test("a SAML response is a JSON object, whose attributes go into the token")
    func saml() throws {
        let client = try IdentityClient()
        let response =
            #"{"assertion":{"subject":{"nameId":"ann@example.com"},"attributeStatements":{"team":["a","b"]}}}"#
        let answer = try Self.signIn(
            client, ["id_token": #"{"sub":"s1"}"#, "SAMLResponse": response, "providerId": "saml.any"])
        #expect(answer["email"] == "ann@example.com")
        #expect(answer.members["emailVerified"]?.bool == true)
        #expect(answer["rawUserInfo"] == #"{"team":["a","b"]}"#)
        let token = try JSONWebToken(parsing: Array(try #require(answer["idToken"]).utf8))
        let attributes = token.claims["firebase"]?.object?["sign_in_attributes"]?.object
        #expect(attributes?["team"]?.array == [.text("a"), .text("b")])
        // The subject's name is enough.
        let named = #"{"assertion":{"subject":{"nameId":"bob"}}}"#
        #expect(
            try Self.signIn(client, ["SAMLResponse": named, "providerId": "saml.any"])["federatedId"] == "bob")
        for (response, problem) in [
            ("x", "must be a JSON object"), ("{}", "Missing assertion in"),
            (#"{"assertion":{}}"#, "assertion.subject in"),
            (#"{"assertion":{"subject":{}}}"#, "assertion.subject.nameId in"),
        ] {
            let refused = try Self.signIn(
                client, ["id_token": #"{"sub":"s1"}"#, "SAMLResponse": response, "providerId": "saml.any"])
            #expect(refused.error?.hasPrefix("INVALID_IDP_RESPONSE : ") == true)
            #expect(refused.error?.contains(problem) == true, "\(refused.error ?? "")")
        }
    }

    @Test(
        "a credential without a user is refused",
        arguments: [
            ("id_token", "{}", 400, "id_token missing required fields"),
            ("id_token", #"{"sub":""}"#, 400, "id_token missing required fields"),
            ("access_token", #"{"sub":7}"#, 400, #"The "sub" field must be a string"#),
            ("id_token", #"{"sub":"1""#, 400, "not strict JSON"),
            ("id_token", "opaque", 400, "Unable to parse id_token"),
            ("access_token", "ya29.opaque", 501, "needs an id_token"),
            ("code", "abc", 501, "needs an id_token"),
        ])
    func refusals(name: String, value: String, status: Int, message: String) throws {
        let answer = try Self.signIn(try IdentityClient(), [name: value, "providerId": "google.com"])
        #expect(answer.status == status, "\(answer.http.text)")
        #expect(answer.error?.contains(message) == true, "\(answer.http.text)")
        if status == 400 { #expect(answer.error?.hasPrefix("INVALID_IDP_RESPONSE : ") == true) }
    }

    @Test("production takes none of them")
    func production() throws {
        let client = try IdentityClient(isDevelopment: false)
        for name in ["id_token", "access_token"] {
            let answer = try Self.signIn(client, [name: Self.claims, "providerId": "google.com"])
            #expect(answer.error?.hasPrefix("OPERATION_NOT_ALLOWED") == true)
        }
    }
}
