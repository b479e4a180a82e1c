import HearthServerSupport
import HearthBytes
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

@Suite(
    "Sign-in with a real OpenID provider", .timeLimit(.minutes(15)),
    .enabled("needs the package oidc-provider-mock, in the Python that HEARTH_PYTHON names") {
        await PythonProcess.has("oidc_provider_mock", "requests")
    })
struct OpenIDProviderTests {
    private let folder = TemporaryFolder()

    @Test("its ID tokens are verified: signature, audience and nonce; a user comes back as the same")
    func signIn() async throws {
        let provider = try PythonProcess.start("openid_provider.py")
        let issuer = try #require(await provider.line()).dropLast()
        let trust = folder.path + "/trust.json"
        let entry = #"{"id":"oidc.test","issuer":"\#(issuer)","clientIDs":["app"]}"#
        TemporaryFolder.write(Array(#"{"providers":[\#(entry)]}"#.utf8), to: trust)
        TemporaryFolder.write(Array(#"{"rules":{}}"#.utf8), to: folder.path + "/rules.json")
        let server = try await ServerProcess(
            folder.path + "/data", isDevelopment: false, "--rules", folder.path + "/rules.json", "--trust", trust)
        let client = try Client(server: server.address)
        func token(_ user: String, for app: String = "app", nonce: String = "-") async throws -> String {
            provider.write("\(user) \(app) \(nonce)\n")
            return String(try #require(await provider.line()).dropLast())
        }

        let ann = try await client.signIn(try await token("ann"))
        #expect(ann["email"]?.text == "ann@example.com")
        #expect(ann["displayName"]?.text == "Ann")
        #expect(ann["isNewUser"]?.bool == true)
        #expect(ann["federatedId"] != nil)
        #expect(ann["providerId"]?.text == "oidc.test")
        let own = try #require(ann["idToken"]?.utf8)
        #expect(try JSONWebToken(parsing: own).claims["email_verified"]?.bool == true)
        let again = try await client.signIn(try await token("ann", nonce: "n1"), nonce: "n1")
        #expect(again["localId"] == ann["localId"])
        #expect(again["isNewUser"]?.bool != true)
        let bob = try await client.signIn(try await token("bob"))
        #expect(bob["localId"] != nil)
        #expect(bob["localId"] != ann["localId"])

        let wrongNonce = "MISSING_OR_INVALID_NONCE"
        let refusals = [
            (try await token("ann", for: "other"), nil, "INVALID_IDP_RESPONSE"),
            (try await token("ann", nonce: "n2"), "n3", wrongNonce),
            (try await token("ann", nonce: "n4"), nil, wrongNonce), (try await token("ann"), "n5", wrongNonce),
            (try forged(try await token("ann")), nil, "INVALID_IDP_RESPONSE"),
        ]
        for (token, nonce, message) in refusals {
            await #expect {
                _ = try await client.signIn(token, nonce: nonce)
            } throws: { error in
                "\(error)".contains(message)
            }
        }
    }

    /// Claims that the signature is not of.
    private func forged(_ token: String) throws -> String {
        var parts = token.split(separator: ".").map { String($0) }
        let claims = try #require(Base64.url.decode(Array(parts[1].utf8)))
        let text = String(decoding: claims, as: UTF8.self).replacing(#""sub":"ann""#, with: #""sub":"bob""#)
        parts[1] = String(decoding: Base64.url.encode(Array(text.utf8)), as: UTF8.self)
        return parts.joined(separator: ".")
    }

    private struct Client {
        let address: HTTPAddress
        let loop: TestLoop

        init(server: String) throws {
            loop = try TestLoop()
            address = try HTTPAddress(
                "http://\(server)/identitytoolkit.googleapis.com/v1/accounts:signInWithIdp?key=app")
        }

        func signIn(_ token: String, nonce: String? = nil) async throws -> JSONObject {
            var call = HTTPCall(address)
            call.method = .post
            let parameters = "id_token=\(token)&providerId=oidc.test" + (nonce.map { "&nonce=\($0)" } ?? "")
            call.body =
                JSONObject([
                    "requestUri": .text("http://localhost"), "postBody": .text(parameters),
                    "returnSecureToken": .bool(true),
                ]).bytes
            return try #require(try JSONValue(parsing: try await call.answer(on: loop.loop)).object)
        }
    }
}
