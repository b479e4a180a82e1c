import Glibc
import HearthIdentity
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import HearthTestSupport
import Testing
import HearthAccountEndpoints

/// An identity provider that takes connections and says nothing.
private final class SilentProvider {
    private let descriptor: Int32
    let port: UInt16

    init() throws {
        (descriptor, port) = try LoopbackSocket.listen(backlog: 16)
    }

    /// Hangs up on everybody.
    func end() { close(descriptor) }
}

@Suite("Identity providers that take their time") struct SlowProviderTests {
    @Test("keep nobody from signing in with a password, and no more of them are asked than may be")
    func slowProvider() throws {
        let provider = try SilentProvider()
        let issuer = "http://127.0.0.1:\(provider.port)"
        let folder = TemporaryFolder()
        let trust = folder.path + "/trust.json"
        TemporaryFolder.write(
            Array(#"{"providers":[{"id":"oidc.slow","issuer":"\#(issuer)","clientIDs":["app"]}]}"#.utf8), to: trust)
        let client = try IdentityClient(isDevelopment: false, trustFile: trust) {
            $0.slowThreads = 1
            $0.quickThreads = 1
            $0.providerQuestionsMax = 3
        }
        _ = try client.signUp("ann@example.com")
        let now = WallClock.milliseconds / 1000
        let claims = JSONObject([
            "iss": .text(issuer), "aud": .text("app"), "sub": .text("1"), "iat": .integer(now),
            "exp": .integer(now + 60),
        ])
        let token = String(decoding: try JSONWebToken.signed(claims, with: TestKeys.first), as: UTF8.self)
        let body = #"{"requestUri":"http://localhost","postBody":"id_token=\#(token)&providerId=oidc.slow"}"#
        func ask() throws -> RESTClient {
            let connection = try client.server.connectREST()
            try connection.send(
                RESTClient.request("POST", "/v1/accounts:signInWithIdp?key=k", body: Array(body.utf8)))
            return connection
        }
        // One too many, which is refused at once.
        let all = try (0..<4).map { _ in try ask() }
        var answered: RESTClient?
        try blockUntil("a refusal") {
            answered = all.first { $0.hasInput }
            return answered != nil
        }
        let refused = try #require(answered)
        #expect(try refused.receive().status == 503)
        #expect(try client.signIn("ann@example.com").status == 200)
        let others = all.filter { $0 !== refused }
        #expect(others.allSatisfy { !$0.hasInput })
        provider.end()
        for connection in others { #expect(try connection.receive().status == 503) }
    }
}
