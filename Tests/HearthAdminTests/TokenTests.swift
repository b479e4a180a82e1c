import HearthBytes
import HearthAdmin
import HearthClient
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import HearthTestSupport
import Testing

@Suite("ID tokens and custom tokens of back ends", .timeLimit(.minutes(15)))
struct TokenTests {
    @Test("a token of the server is verified without a key, and says who the user is")
    func verify() async throws {
        let server = try AdminServer()
        let user = try await server.auth().createUser(withEmail: "ann@example.com", password: "secret1").user
        let verifier = try IDTokenVerifier(url: server.url, projectID: "hearth")
        let token = try await verifier.verifyIDToken(try await user.getIDToken())
        #expect(token.uid == user.uid)
        #expect(token.email == "ann@example.com")
        #expect(!token.isEmailVerified)
        #expect(token.projectID == "hearth")
        #expect(token.tenantID == nil)
        #expect(token.signInProvider == "password")
        let now = Int(WallClock.milliseconds)
        #expect(token.authDate <= now)
        #expect(token.issuedAtDate <= now)
        #expect(token.issuedAtDate > now - 600_000)
        #expect((now + 3_000_000...now + 3_600_000).contains(token.expirationDate))
    }

    @Test("a token of another project, one that somebody has made up, and one that was changed are refused")
    func madeUp() async throws {
        let server = try AdminServer()
        let user = try await server.auth().createUser(withEmail: "ann@example.com", password: "secret1").user
        let token = try await user.getIDToken()
        let elsewhere = try IDTokenVerifier(url: server.url, projectID: "shop")
        #expect(try await code { _ = try await elsewhere.verifyIDToken(token) } == .invalidToken)
        let verifier = try IDTokenVerifier(url: server.url, projectID: "hearth")
        let claims = try JSONWebToken(parsing: Array(token.utf8)).claims
        let strangers = [
            JSONWebToken.unsigned(claims), try JSONWebToken.signed(claims, with: TestKeys.first),
            JSONWebToken.signed(claims, secret: Array("secret".utf8)),
        ]
        for stranger in strangers.map({ String(decoding: $0, as: UTF8.self) }) + ["", "a.b.c", token + "A"] {
            #expect(try await code { _ = try await verifier.verifyIDToken(stranger) } == .invalidToken, "\(stranger)")
        }
        // The claims of another user under the same signature.
        var other = claims
        other["sub"] = .text("eve")
        let parts = token.split(separator: ".")
        let forged = "\(parts[0]).\(String(decoding: Base64.url.encode(other.bytes), as: UTF8.self)).\(parts[2])"
        #expect(try await code { _ = try await verifier.verifyIDToken(forged) } == .invalidToken)
        #expect(try await code { _ = try await verifier.verifyIDToken(token) } == nil)
    }

    @Test("with checkRevoked, the server is asked whether the session continues")
    func revoked() async throws {
        let server = try AdminServer()
        let admin = try server.administrator()
        let auth = try server.auth()
        let user = try await auth.createUser(withEmail: "ann@example.com", password: "secret1").user
        let token = try await user.getIDToken()
        #expect(try await admin.verifyIDToken(token, checkRevoked: true).uid == user.uid)
        // In the same second, too.
        try await admin.revokeRefreshTokens(of: user.uid)
        #expect(try await admin.verifyIDToken(token).uid == user.uid)
        #expect(try await code { _ = try await admin.verifyIDToken(token, checkRevoked: true) } == .sessionEnded)
        let again = try await auth.signIn(withEmail: "ann@example.com", password: "secret1").user.getIDToken()
        #expect(try await code { _ = try await admin.verifyIDToken(again, checkRevoked: true) } == nil)
        try await admin.updateUser(user.uid, UserUpdate(isDisabled: true))
        #expect(try await code { _ = try await admin.verifyIDToken(again, checkRevoked: true) } == .userDisabled)
        try await admin.deleteUser(user.uid)
        #expect(try await code { _ = try await admin.verifyIDToken(again, checkRevoked: true) } == .userNotFound)
    }

    @Test("in development mode tokens are not signed, but their claims are still checked")
    func development() async throws {
        let server = try AdminServer(isDevelopment: true)
        let user = try await server.auth().createUser(withEmail: "ann@example.com", password: "secret1").user
        let token = try await user.getIDToken()
        let verifier = try IDTokenVerifier(developmentURL: server.url)
        #expect(try await verifier.verifyIDToken(token, checkRevoked: true).uid == user.uid)
        var claims = try JSONWebToken(parsing: Array(token.utf8)).claims
        for (name, value, expected) in [
            ("exp", JSONValue.integer(1), AdminErrorCode.tokenExpired), ("sub", .text(""), .invalidToken),
            ("iss", .text("https://example.com"), .invalidToken), ("aud", .null, .invalidToken),
        ] {
            let old = claims[name]
            claims[name] = value
            let text = String(decoding: JSONWebToken.unsigned(claims), as: UTF8.self)
            #expect(try await code { _ = try await verifier.verifyIDToken(text) } == expected, "\(name)")
            claims[name] = old
        }
        let production = try IDTokenVerifier(url: server.url, projectID: "hearth")
        #expect(try await code { _ = try await production.verifyIDToken(token) } == .invalidToken)
    }

    @Test("while the keys cannot be fetched, no token is believed or called invalid")
    func unreachable() async throws {
        let verifier = try IDTokenVerifier(url: "http://127.0.0.1:1", projectID: "hearth")
        let claims = JSONObject(["sub": .text("ann")])
        let text = String(decoding: try JSONWebToken.signed(claims, with: TestKeys.first), as: UTF8.self)
        #expect(try await code { _ = try await verifier.verifyIDToken(text) } == .unavailable)
    }

    @Test("an app signs in with a custom token of a key, and in development mode with an unsigned one")
    func custom() async throws {
        for isDevelopment in [false, true] {
            let server = try AdminServer(isDevelopment: isDevelopment)
            let admin =
                isDevelopment ? try Administrator(developmentURL: server.url) : try server.administrator()
            let token = try admin.customToken(uid: "robot-7", claims: ["role": "auditor"])
            let user = try await server.auth().signIn(withCustomToken: token).user
            #expect(user.uid == "robot-7")
            let decoded = try await admin.verifyIDToken(try await user.getIDToken())
            #expect(decoded.claims["role"] == "auditor")
            #expect(decoded.signInProvider == "custom")
            #expect(try await code { _ = try admin.customToken(uid: "") } == .invalidArgument)
        }
        let other = try AdminServer()
        let wrong = try other.auth()
        let stranger = try AdminServer().administrator()
        let error = await #expect(throws: AuthError.self) {
            try await wrong.signIn(withCustomToken: try stranger.customToken(uid: "ann"))
        }
        #expect(error?.code == .customTokenMismatch)
        withExtendedLifetime(other) {}
    }
}
