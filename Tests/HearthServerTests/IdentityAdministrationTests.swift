import HearthAccountEndpoints
import HearthBytes
import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing

@Suite("Administrators in production, and what they bring along") struct IdentityAdministrationTests {
    private let folder = TemporaryFolder()

    private func client() throws -> IdentityClient {
        try IdentityClient(isDevelopment: false, folder: folder.path)
    }

    @Test("a service account's key opens everything for as long as it is known (accounts.md 11)")
    func accessToken() throws {
        let client = try client()
        let key = try AdministratorKey(folder: folder.path)
        let assertion = try key.assertion()
        func exchange() throws -> IdentityClient.Answer { try client.accessToken(assertion) }
        let token = try #require(try exchange()["access_token"])
        let list = "/v1/projects/hearth/accounts:batchGet"
        let fields = ["Authorization: Bearer \(token)"]
        #expect(try client.ask("GET", list, nil, fields).status == 200)
        #expect(
            try client.ask("GET", "/v1/projects/other/accounts:batchGet", nil, fields).error == "INVALID_PROJECT_ID")
        #expect(try client.ask("GET", list, nil, ["Authorization: Bearer \(assertion)"]).status == 401)
        let id = try #require(key.account["private_key_id"]?.text)
        #expect(try ServiceAccounts(folder: folder.path).removeKey(id))
        #expect(try client.ask("GET", list, nil, fields).status == 401)
        #expect(try exchange()["error"] == "invalid_grant")
    }

    @Test("a backend signs somebody in with its key; another's key does not (accounts.md 6)")
    func customToken() throws {
        let client = try client()
        let key = try AdministratorKey(folder: folder.path)
        let members = key.claims([
            "sub": .text("backend@example.com"), "aud": .text(CustomToken.audience), "uid": .text("u1"),
            "claims": .object(JSONObject(["role": .text("editor")])),
        ])
        let signIn = try client.post("signInWithCustomToken", #"{"token":"\#(try key.sign(members))"}"#)
        #expect(signIn.members["isNewUser"]?.bool == true)
        let idToken = try JSONWebToken(parsing: Array(try #require(signIn["idToken"]).utf8))
        #expect(idToken.claims["sub"]?.text == "u1")
        #expect(idToken.claims["role"]?.text == "editor")
        let stranger = try SigningKey.make()
        var other = key.account
        other["private_key_id"] = .text(stranger.id)
        other["private_key"] = .string(try stranger.privatePEM())
        #expect(
            try client.post("signInWithCustomToken", #"{"token":"\#(try key.sign(members, as: other))"}"#).error
                == "CREDENTIAL_MISMATCH")
    }

    @Test("a custom token's claims are as long as ID tokens with them can be, and longer ones are refused")
    func longClaims() throws {
        let client = try client()
        let key = try AdministratorKey(folder: folder.path)
        func signIn(_ byteCount: Int) throws -> IdentityClient.Answer {
            let text = String(repeating: "x", count: byteCount - #"{"a":""}"#.utf8.count)
            let members = key.claims([
                "sub": .text("backend@example.com"), "aud": .text(CustomToken.audience), "uid": .text("u1"),
                "claims": .object(JSONObject(["a": .text(text)])),
            ])
            return try client.post("signInWithCustomToken", #"{"token":"\#(try key.sign(members))"}"#)
        }
        let answer = try signIn(4096)
        let idToken = try #require(answer["idToken"])
        // With the longest name and picture that there may be.
        let (name, picture) = (String(repeating: "\\u0001", count: 170), String(repeating: "y", count: 2048))
        let profile = #"{"idToken":"\#(idToken)","displayName":"\#(name)","photoUrl":"\#(picture)"}"#
        #expect(try client.post("update", profile).error == nil)
        let again = try client.refresh(try #require(answer["refreshToken"]))
        let renewed = try #require(again["id_token"])
        #expect(try client.post("lookup", #"{"idToken":"\#(renewed)"}"#).error == nil)
        #expect(try signIn(4097).error?.hasPrefix("CLAIMS_TOO_LARGE") == true)
    }

    @Test("a backend may sign users in, and name their project; a client may not name one")
    func namedProject() throws {
        let client = try client()
        let token = try #require(
            try client.accessToken(try AdministratorKey(folder: folder.path).assertion())["access_token"])
        _ = try client.signUp("ann@example.com")
        func signIn(_ project: String, _ fields: [String]) throws -> IdentityClient.Answer {
            try client.ask(
                "POST", "/v1/accounts:signInWithPassword?key=app",
                #"{"email":"ann@example.com","password":"secret1","targetProjectId":"\#(project)"}"#, fields)
        }
        let bearer = ["Authorization: Bearer \(token)"]
        #expect(try signIn("hearth", bearer)["email"] == "ann@example.com")
        #expect(try signIn("other", bearer).error == "INVALID_PROJECT_ID")
        #expect(try signIn("hearth", []).error?.hasPrefix("INSUFFICIENT_PERMISSION") == true)
    }

    @Test("a server without a way to send mails refuses to send any, and links of administrators stay good")
    func noMails() throws {
        let client = try IdentityClient(isDevelopment: false, folder: folder.path) { $0.delivery = .none }
        let key = try AdministratorKey(folder: folder.path)
        let token = try #require(try client.accessToken(try key.assertion())["access_token"])
        _ = try client.signUp("ann@example.com")
        let body = #"{"requestType":"PASSWORD_RESET","email":"ann@example.com""#
        let link = try client.ask(
            "POST", "/v1/projects/hearth/accounts:sendOobCode", body + #","returnOobLink":true}"#,
            ["Authorization: Bearer \(token)"])
        let code = try #require(link["oobCode"])
        for address in ["ann", "nobody"] {
            let answer = try client.post("sendOobCode", (body + "}").replacing("ann", with: address))
            #expect(answer.status == 400)
            #expect(answer.error == "OPERATION_NOT_ALLOWED : The server sends no mails.")
        }
        #expect(try client.post("resetPassword", #"{"oobCode":"\#(code)"}"#)["email"] == "ann@example.com")
    }

    @Test("a session cookie of a tenant's user, a list of one, and a verified user without an address")
    func lenience() throws {
        let client = try IdentityClient { $0.options.tenants = ["shop"] }
        let ann = try client.post("signUp", #"{"email":"ann@example.com","password":"secret1","tenantId":"shop"}"#)
        let cookie = try client.ask(
            "POST", "/v1/projects/hearth/tenants/shop:createSessionCookie",
            #"{"idToken":"\#(try #require(ann["idToken"]))","validDuration":600}"#, ["authorization: Bearer owner"])
        let claims = try JSONWebToken(parsing: Array(try #require(cookie["sessionCookie"]).utf8)).claims
        #expect(claims["firebase"]?.object?["tenant"]?.text == "shop")
        #expect(try client.admin("accounts", #"{"localId":"bob"}"#).status == 200)
        #expect(try client.admin("accounts:update", #"{"localId":"bob","emailVerified":true}"#).status == 200)
        let found = try client.admin("accounts:query", #"{"expression":{"userId":"bob"}}"#)
        #expect(found.members["userInfo"]?.array?.first?.object?["emailVerified"]?.bool == true)
    }

    @Test("imported passwords count, and are hashed again when they are first used (accounts.md 14)")
    func passwords() throws {
        let client = try IdentityClient()
        func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.standard.encode(bytes), as: UTF8.self) }
        let key = Array("key".utf8)
        let hash = Cryptography.hmacSHA256(Array("secret1salt".utf8), key: key)
        let user =
            #"{"localId":"u1","email":"ann@example.com","passwordHash":"\#(base64(hash))","salt":"\#(base64(Array("salt".utf8)))"}"#
        #expect(try client.admin("accounts:batchCreate", #"{"users":[\#(user)]}"#).error == "MISSING_HASH_ALGORITHM")
        #expect(
            try client.admin("accounts:batchCreate", #"{"users":[\#(user)],"hashAlgorithm":"ARGON2"}"#).error
                == "INVALID_HASH_ALGORITHM")
        let taken = try client.admin(
            "accounts:batchCreate",
            #"{"users":[\#(user)],"hashAlgorithm":"HMAC_SHA256","signerKey":"\#(base64(key))"}"#)
        #expect(taken.members["error"] == nil)
        #expect(try client.signIn("ann@example.com", "secret2").error == "INVALID_PASSWORD")
        for _ in 0..<2 { #expect(try client.signIn("ann@example.com", "secret1")["localId"] == "u1") }
    }

    @Test("administrators get hashes and salts with what an import needs to know, and nobody else does")
    func exportedPasswords() throws {
        let client = try client()
        let key = try AdministratorKey(folder: folder.path)
        let token = try #require(try client.accessToken(try key.assertion())["access_token"])
        let list = "/v1/projects/hearth/accounts:batchGet?maxResults=100"
        let bearer = ["Authorization: Bearer \(token)"]
        let made = try client.signUp("own@example.com")
        let hash = String(
            decoding: Base64.standard.encode(
                Cryptography.hmacSHA256(Array("secret2salt".utf8), key: Array("key".utf8))),
            as: UTF8.self)
        let taken = try client.ask(
            "POST", "/v1/projects/hearth/accounts:batchCreate",
            #"""
            {"users":[{"localId":"taken","email":"taken@example.com","passwordHash":"\#(hash)","salt":"c2FsdA=="},
            {"localId":"none"}],"hashAlgorithm":"HMAC_SHA256","signerKey":"a2V5"}
            """#, bearer)
        #expect(taken.status == 200)
        #expect(taken.members["error"] == nil)
        let page = try client.ask("GET", list, nil, bearer)
        let users = (page.members["users"]?.array ?? []).compactMap(\.object)
        let config = try #require(page.object("hashConfig"))
        #expect(users.count == 3)
        #expect(config["hashAlgorithm"]?.text == "STANDARD_SCRYPT")

        // Another server takes them with these parameters, and their users sign in there.
        let other = try IdentityClient()
        for user in users {
            var request = user["hashConfig"]?.object ?? config
            request["users"] = .array([.object(user)])
            let answer = try other.admin("accounts:batchCreate", String(decoding: request.bytes, as: UTF8.self))
            #expect(answer.status == 200, "\(answer.http.text)")
            #expect(answer.members["error"] == nil, "\(answer.http.text)")
        }
        #expect(try other.signIn("own@example.com", "secret1")["localId"] == made["localId"])
        #expect(try other.signIn("taken@example.com", "secret2")["localId"] == "taken")
        #expect(try other.signIn("taken@example.com", "secret1").error == "INVALID_PASSWORD")
        let imported = try #require(users.first { $0["localId"]?.text == "taken" })
        #expect(imported["passwordHash"]?.text == hash)
        #expect(imported["salt"]?.text == "c2FsdA==")
        #expect(imported["version"]?.integer == 0)
        #expect(imported["hashConfig"]?.object?["signerKey"]?.text == "a2V5")

        // Who does not want them does not get them.
        let plain = try client.ask("GET", list + "&returnPasswords=false", nil, bearer)
        #expect(plain.members["hashConfig"] == nil)
        #expect(!plain.http.text.contains("salt"))
        // Nor does a client, of its own account or with its own token as a bearer.
        let idToken = try #require(made["idToken"])
        let own = try client.post("lookup", #"{"idToken":"\#(idToken)"}"#)
        #expect(own.status == 200)
        #expect(!own.http.text.contains("salt"))
        #expect(own.members["users"]?.array?.first?.object?["passwordHash"]?.text == "UkVEQUNURUQ=")
        for fields in [[], ["Authorization: Bearer \(idToken)"], ["Authorization: Bearer owner"]] {
            #expect(try client.ask("GET", list + "&key=app", nil, fields).status == 401)
        }
    }

    @Test("second factors are refused, so that no user loses one unnoticed; nobody is made or changed (accounts.md 4)")
    func secondFactors() throws {
        let client = try IdentityClient()
        let factor = #"{"phoneInfo":"+15555550100","displayName":"Mine","mfaEnrollmentId":"e1"}"#
        func expectRefusal(_ operation: String, _ body: String) throws {
            let answer = try client.admin(operation, body)
            #expect(answer.status == 501, "\(body)")
            #expect(answer.error == "Second factors are not supported.", "\(body)")
        }
        try expectRefusal("accounts", #"{"localId":"a","mfaInfo":[\#(factor)]}"#)
        try expectRefusal("accounts", #"{"localId":"a","mfa_info":\#(factor)}"#)
        try expectRefusal("accounts", #"{"localId":"a","mfa":{"enrollments":[\#(factor)]}}"#)
        #expect(try client.admin("accounts", #"{"localId":"b","mfaInfo":[]}"#).status == 200)
        try expectRefusal(
            "accounts:update", #"{"localId":"b","displayName":"Bob","mfa":{"enrollments":[\#(factor)]}}"#)
        // Taking away what nobody has is no loss.
        #expect(try client.admin("accounts:update", #"{"localId":"b","mfa":{}}"#).status == 200)
        let taken = try client.admin(
            "accounts:batchCreate", #"{"users":[{"localId":"c"},{"localId":"d","mfaInfo":[\#(factor)]}]}"#)
        #expect(taken.status == 200)
        let problems = taken.members["error"]?.array?.compactMap(\.object) ?? []
        #expect(problems.map { $0["index"]?.integer } == [1])
        #expect(problems.map { $0["message"]?.text } == ["second factors are not supported"])
        let found = try client.admin("accounts:lookup", #"{"localId":["a","b","c","d"]}"#)
        let users = found.members["users"]?.array?.compactMap(\.object) ?? []
        #expect(users.map { $0["localId"]?.text } == ["b", "c"])
        #expect(users.first?["displayName"] == nil)
    }

    @Test("settings of a project that the server does not have are refused, also in development mode (accounts.md 4)")
    func unknownSettings() throws {
        let client = try IdentityClient()
        func patch(_ query: String, _ body: String) throws -> IdentityClient.Answer {
            try client.ask(
                "PATCH", "/identitytoolkit.googleapis.com/v2/projects/hearth/config\(query)", body,
                ["authorization: Bearer owner"])
        }
        for (query, body, name) in [
            ("?updateMask=mfa", #"{"mfa":{"state":"ENABLED"}}"#, "mfa"),
            ("", #"{"mfa":{"state":"ENABLED"}}"#, "mfa.state"),
            ("?updateMask=signIn.anonymous.enabled", "{}", "signIn.anonymous.enabled"),
            ("?updateMask=emailPrivacyConfig,smsRegionConfig", "{}", "smsRegionConfig"),
            ("", #"{"sign_in":{"anonymous":{"enabled":true}}}"#, "sign_in.anonymous"),
            ("", #"{"quota":{}}"#, "quota"),
        ] {
            let answer = try patch(query, body)
            #expect(answer.status == 501, "\(query) \(body)")
            #expect(answer.error == "The setting '\(name)' is not supported.")
        }
        let hidden = #"{"emailPrivacyConfig":{"enableImprovedEmailPrivacy":true},"mfa":{"state":"ENABLED"}}"#
        #expect(
            try patch("?updateMask=signIn", hidden).object("emailPrivacyConfig")?["enableImprovedEmailPrivacy"]
                == .bool(false))
        #expect(
            try patch("?updateMask=email_privacy_config.enable_improved_email_privacy", hidden)
                .object("emailPrivacyConfig")?["enableImprovedEmailPrivacy"] == .bool(true))
    }

    @Test("a user whose password cannot be taken over is not taken over without it")
    func unreadablePasswords() throws {
        let client = try IdentityClient()
        let users = ["?", "UkVEQUNURUQ=", "", "aGFzaA==", "UkVEQUNURUQ"].enumerated().map { index, hash in
            #"{"localId":"u\#(index)","passwordHash":"\#(hash)"}"#
        }
        let answer = try client.admin(
            "accounts:batchCreate",
            #"{"users":[\#(users.joined(separator: ","))],"hashAlgorithm":"HMAC_SHA256","signerKey":"a2V5"}"#)
        let problems = answer.members["error"]?.array?.compactMap(\.object) ?? []
        #expect(problems.map { $0["index"]?.integer } == [0, 1, 4])
        #expect(
            problems.map { $0["message"]?.text } == [
                "password hash or salt is invalid", "password hash was redacted where it comes from",
                "password hash was redacted where it comes from",
            ])
        let plain = try client.admin("accounts:batchCreate", #"{"users":[{"localId":"u5","passwordHash":""}]}"#)
        #expect(plain.members["error"] == nil)
        let found = try client.admin("accounts:lookup", #"{"localId":["u0","u1","u2","u3"]}"#)
        #expect(found.members["users"]?.array?.compactMap { $0.object?["localId"]?.text } == ["u2", "u3"])
    }
}
