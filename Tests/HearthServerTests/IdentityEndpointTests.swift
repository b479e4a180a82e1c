import HearthHTTPCodec
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthTestSupport
import Testing
import HearthAccountEndpoints

@Suite("Endpoints about accounts") struct IdentityEndpointTests {
    @Test("a user's story: up, in, again with another spelling, seen, renewed, deleted (accounts.md 4)")
    func story() throws {
        let client = try IdentityClient()
        let up = try client.signUp("Ann@example.com")
        #expect(up.status == 200)
        #expect(up["kind"] == "identitytoolkit#SignupNewUserResponse")
        #expect(up["email"] == "ann@example.com")
        #expect(up["expiresIn"] == "3600")
        #expect(up.http.field("cache-control") == "no-store")
        #expect(up.http.field("access-control-allow-origin") == "*")
        #expect(try client.signUp("ann@EXAMPLE.com").error == "EMAIL_EXISTS")
        #expect(
            try client.signUp("bob@example.com", "12345").error
                == "WEAK_PASSWORD : Password should be at least 6 characters")
        #expect(try client.signIn("ann@example.com", "secret2").error == "INVALID_PASSWORD")
        #expect(try client.signIn("bob@example.com").error == "EMAIL_NOT_FOUND")
        let signIn = try client.signIn("ann@example.com")
        #expect(signIn["localId"] == up["localId"])
        #expect(signIn.members["registered"]?.bool == true)
        let idToken = try #require(signIn["idToken"])
        let seen = try client.post("lookup", #"{"id_token":"\#(idToken)"}"#)
        let user = try #require(seen.members["users"]?.array?.first?.object)
        #expect(user["localId"]?.text == up["localId"])
        #expect(user["passwordHash"]?.text == "UkVEQUNURUQ=")
        #expect(user["salt"] == nil)
        #expect(user["disabled"] == nil)
        #expect(user["providerUserInfo"]?.array?.first?.object?["providerId"]?.text == "password")
        let renewed = try client.refresh(try #require(signIn["refreshToken"]))
        #expect(renewed["access_token"] == renewed["id_token"])
        #expect(renewed["refresh_token"] == signIn["refreshToken"])
        #expect(renewed["token_type"] == "Bearer")
        #expect(renewed["user_id"] == up["localId"])
        let gone = try client.post("delete", #"{"idToken":"\#(idToken)"}"#)
        #expect(gone["kind"] == "identitytoolkit#DeleteAccountResponse")
        #expect(try client.refresh(try #require(signIn["refreshToken"])).error == "USER_NOT_FOUND")
        #expect(try client.post("lookup", #"{"idToken":"\#(idToken)"}"#).error == "USER_NOT_FOUND")
    }

    @Test("what is wrong with a request is said in the words of the API (accounts.md 5)")
    func refusals() throws {
        let client = try IdentityClient()
        for (operation, body, message) in [
            ("signUp", #"{"email":"a@b"}"#, "MISSING_PASSWORD"),
            ("signUp", #"{"password":"secret1"}"#, "MISSING_EMAIL"),
            ("signUp", #"{"email":"","password":"secret1"}"#, "INVALID_EMAIL"),
            ("signUp", #"{"localId":"x"}"#, "UNEXPECTED_PARAMETER : User ID"),
            ("signInWithPassword", "{}", "MISSING_EMAIL"), ("signInWithPassword", #"{"email":"a"}"#, "INVALID_EMAIL"),
            ("signInWithPassword", #"{"email":"a@b"}"#, "MISSING_PASSWORD"),
            ("signInWithCustomToken", "{}", "MISSING_CUSTOM_TOKEN"),
            ("signInWithCustomToken", #"{"token":"x"}"#, "INVALID_CUSTOM_TOKEN : the token is malformed"),
            ("signInWithCustomToken", #"{"token":"{\"uid\":\"u\",\"claims\":{\"iss\":1}}"}"#, "FORBIDDEN_CLAIM : iss"),
            ("signInWithIdp", "{}", "MISSING_REQUEST_URI"),
            ("signInWithEmailLink", #"{"email":"a@b"}"#, "MISSING_OOB_CODE"),
            ("lookup", "{}", "MISSING_ID_TOKEN"), ("lookup", #"{"idToken":"x"}"#, "INVALID_ID_TOKEN"),
            ("update", "{}", "INVALID_REQ_TYPE : Unsupported request parameters."),
            ("delete", "{}", "MISSING_ID_TOKEN"),
            ("sendOobCode", "{}", "MISSING_REQ_TYPE"), ("sendOobCode", #"{"requestType":1}"#, "MISSING_EMAIL"),
            ("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"a@b"}"#, "EMAIL_NOT_FOUND"),
            ("sendOobCode", #"{"requestType":"VERIFY_EMAIL"}"#, "MISSING_ID_TOKEN"),
            (
                "sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"a@b","returnOobLink":true}"#,
                "INSUFFICIENT_PERMISSION"
            ),
            ("resetPassword", "{}", "MISSING_OOB_CODE"), ("resetPassword", #"{"oobCode":"x"}"#, "INVALID_OOB_CODE"),
            ("createAuthUri", "{}", "MISSING_IDENTIFIER"),
            ("createAuthUri", #"{"identifier":"a@b"}"#, "MISSING_CONTINUE_URI"),
            ("createAuthUri", #"{"identifier":"a@b","continueUri":"x"}"#, "INVALID_CONTINUE_URI"),
            (
                "lookup", #"{"idToken":"x","targetProjectId":"p"}"#,
                "INSUFFICIENT_PERMISSION : Only authenticated requests can specify target_project_id."
            ),
        ] {
            let answer = try client.post(operation, body)
            #expect(answer.status == 400, "\(operation) \(body)")
            #expect(answer.error == message, "\(operation) \(body)")
            let error = answer.object("error")
            #expect(error?["code"]?.integer == 400)
            #expect(error?["errors"]?.array?.first?.object?["domain"]?.text == "global")
        }
        for body in ["{", "[]", "\"x\"", #"{"email":[1]}"#, "\u{0}"] {
            let answer = try client.post("signUp", body)
            #expect(answer.status == 400, "\(body)")
            #expect(answer.object("error")?["status"]?.text == "INVALID_ARGUMENT", "\(body)")
        }
        for (body, message) in [
            ("{}", "MISSING_GRANT_TYPE"), (#"{"grantType":"x"}"#, "INVALID_GRANT_TYPE"),
            (#"{"grantType":"refresh_token"}"#, "MISSING_REFRESH_TOKEN"),
            (#"{"grant_type":"refresh_token","refresh_token":"x"}"#, "INVALID_REFRESH_TOKEN"),
        ] {
            #expect(try client.ask("POST", "/securetoken.googleapis.com/v1/token?key=k", body).error == message)
        }
    }

    @Test(
        "who asks: clients need a key, administrators a credential, and whose credential is unknown gets nothing"
    )
    func credentials() throws {
        let client = try IdentityClient()
        let noKey = try client.ask("POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp", "{}")
        #expect(noKey.status == 403)
        #expect(noKey.error == "The request is missing a valid API key.")
        #expect(noKey.object("error")?["status"]?.text == "PERMISSION_DENIED")
        let header = try client.ask(
            "POST", "/identitytoolkit.googleapis.com/v1/accounts:signUp", "{}", ["x-goog-api-key: k"])
        #expect(header.status == 200)
        let list = "/identitytoolkit.googleapis.com/v1/projects/hearth/accounts:batchGet"
        for (fields, status, message) in [
            ([], 401, "Login Required."), (["Authorization: Bearer nobody"], 401, "Invalid Credentials"),
            (["Authorization: Basic owner"], 401, "Login Required."), (["AUTHORIZATION: bearer OWNER"], 200, nil),
            (["Authorization: Bearer ya29.x"], 200, nil),
        ] as [([String], Int, String?)] {
            let answer = try client.ask("GET", list, nil, fields)
            #expect(answer.status == status, "\(fields)")
            #expect(
                answer.object("error")?["errors"]?.array?.first?.object?["message"]?.text == message, "\(fields)")
        }
        #expect(try client.ask("GET", list + "?key=k").status == 401)
        let preflight = try client.ask(
            "OPTIONS", list, nil,
            ["Origin: http://localhost:3000", "Access-Control-Request-Headers: x-client-version, authorization"])
        #expect(preflight.status == 204)
        #expect(preflight.http.field("access-control-allow-headers") == "x-client-version, authorization")
        #expect(try client.ask("POST", "/identitytoolkit.googleapis.com/v1/accounts:unknown?key=k", "{}").status == 404)
        #expect(
            try client.ask("POST", "/identitytoolkit.googleapis.com/v1/accounts:sendVerificationCode?key=k", "{}")
                .status
                == 501)
    }

    @Test("administrators make, find, change, list and delete users (accounts.md 4)")
    func administration() throws {
        let client = try IdentityClient()
        let made = try client.admin(
            "accounts", #"{"localId":"u1","email":"ann@example.com","password":"secret1","displayName":"Ann"}"#)
        #expect(made["localId"] == "u1")
        #expect(made["idToken"] == nil)
        #expect(try client.admin("accounts", #"{"localId":"u1"}"#).error == "DUPLICATE_LOCAL_ID")
        #expect(try client.admin("accounts:lookup", #"{"localId":["none"]}"#).members["users"] == nil)
        let both = try client.admin("accounts:lookup", #"{"localId":["u1"],"email":["ann@example.com"]}"#)
        #expect(both.members["users"]?.array?.count == 1)
        let claims = #"{"localId":"u1","customAttributes":"{\"admin\": true}"}"#
        #expect(try client.admin("accounts:update", claims)["localId"] == "u1")
        let signIn = try client.signIn("ann@example.com")
        let token = try JSONWebToken(parsing: Array(try #require(signIn["idToken"]).utf8))
        #expect(token.claims["admin"]?.bool == true)
        for index in 2...5 { _ = try client.admin("accounts", #"{"localId":"u\#(index)"}"#) }
        let list = "/identitytoolkit.googleapis.com/v1/projects/hearth/accounts:batchGet?maxResults=3"
        let first = try client.ask("GET", list, nil, ["authorization: Bearer owner"])
        #expect(first.members["users"]?.array?.map { $0.object?["localId"]?.text } == ["u1", "u2", "u3"])
        #expect(first["nextPageToken"] == "u3")
        let rest = try client.ask("GET", list + "&nextPageToken=u3", nil, ["authorization: Bearer owner"])
        #expect(rest.members["users"]?.array?.count == 2)
        #expect(rest["nextPageToken"] == nil)
        #expect(try client.admin("accounts:query", #"{"returnUserInfo":false}"#)["recordsCount"] == "5")
        #expect(
            try client.admin("accounts:query", #"{"order":"DESC","limit":"1"}"#).members["userInfo"]?.array?.first?
                .object?["localId"]?.text == "u5")
        #expect(try client.admin("accounts:update", #"{"localId":"u1","disableUser":true}"#).status == 200)
        #expect(try client.signIn("ann@example.com").error == "USER_DISABLED")
        let kept = try client.admin("accounts:batchDelete", #"{"localIds":["u1","u2"]}"#)
        #expect(kept.members["errors"]?.array?.first?.object?["localId"]?.text == "u2")
        #expect(try client.admin("accounts:delete", #"{"localId":"u1"}"#).error == "USER_NOT_FOUND")
        let imported = try client.admin(
            "accounts:batchCreate",
            #"{"users":[{"localId":"i1","email":"i1@example.com","rawPassword":"secret1"},{"email":"x"}]}"#)
        #expect(imported.members["error"]?.array?.first?.object?["message"]?.text == "localId is missing")
        #expect(try client.signIn("i1@example.com")["localId"] == "i1")
        // Another project is another place.
        #expect(try client.admin("accounts:lookup", #"{"localId":["i1"]}"#, project: "p2").members["users"] == nil)
        #expect(try client.ask("DELETE", "/emulator/v1/projects/hearth/accounts").status == 200)
        #expect(try client.admin("accounts:query", #"{"returnUserInfo":false}"#)["recordsCount"] == "0")
    }

    @Test("claims that an administrator has taken away are seen as an empty object, as admin SDKs expect")
    func emptyClaims() throws {
        let client = try IdentityClient()
        func seen(_ id: String) throws -> JSONObject {
            let answer = try client.admin("accounts:lookup", #"{"localId":"\#(id)"}"#)
            return try #require(answer.members["users"]?.array?.first?.object)
        }
        let ann = try #require(try client.signUp("ann@example.com")["localId"])
        #expect(try seen(ann)["customAttributes"] == nil)
        for claims in [#"{\"admin\":true}"#, "{}"] {
            let body = #"{"localId":"\#(ann)","customAttributes":"\#(claims)"}"#
            #expect(try client.admin("accounts:update", body).status == 200)
        }
        #expect(try seen(ann)["customAttributes"]?.text == "{}")
        let token = try JSONWebToken(parsing: Array(try #require(try client.signIn("ann@example.com")["idToken"]).utf8))
        #expect(token.claims["admin"] == nil)
        _ = try client.admin("accounts:batchCreate", #"{"users":[{"localId":"bob","customAttributes":"{}"}]}"#)
        #expect(try seen("bob")["customAttributes"]?.text == "{}")
    }

    @Test("version 3 has other names for the same, as some SDKs ask (accounts.md 1)")
    func legacy() throws {
        let client = try IdentityClient()
        let base = "/www.googleapis.com/identitytoolkit/v3/relyingparty"
        let body = #"{"email":"ann@example.com","password":"secret1"}"#
        #expect(try client.ask("POST", "\(base)/signupNewUser?key=k", body).status == 200)
        let signIn = try client.ask("POST", "\(base)/verifyPassword?key=k", body)
        let token = try #require(signIn["idToken"])
        let seen = try client.ask("POST", "\(base)/getAccountInfo?key=k", #"{"idToken":"\#(token)"}"#)
        #expect(seen.members["users"]?.array?.first?.object?["email"]?.text == "ann@example.com")
        let list = try client.ask(
            "POST", "\(base)/downloadAccount", #"{"targetProjectId":"hearth","maxResults":5}"#,
            ["authorization: Bearer owner"])
        #expect(list.members["users"]?.array?.count == 1)
        // Without the name of the service, and with escapes in the path.
        #expect(try client.ask("POST", "/v1/accounts%3AsignInWithPassword?key=k", body).status == 200)
    }

    @Test("an anonymous user links an address, then unlinks it (accounts.md 9)")
    func anonymous() throws {
        let client = try IdentityClient()
        let guest = try client.post("signUp", #"{"returnSecureToken":true}"#)
        let id = try #require(guest["localId"])
        #expect(guest["email"] == nil)
        let token = try #require(guest["idToken"])
        let linked = try client.post(
            "signUp", #"{"idToken":"\#(token)","email":"guest@example.com","password":"secret1"}"#)
        #expect(linked["localId"] == id)
        #expect(try client.signIn("guest@example.com")["localId"] == id)
        let newToken = try #require(linked["idToken"])
        let left = try client.post("update", #"{"idToken":"\#(newToken)","deleteProvider":["password"]}"#)
        #expect(left.status == 200)
        #expect(left.members["providerUserInfo"] == nil)
        #expect(try client.signIn("guest@example.com").error == "EMAIL_NOT_FOUND")
    }

    @Test("a new name is shown, a new password ends other sessions, and strangers change nothing (accounts.md 9)")
    func updates() throws {
        let client = try IdentityClient()
        let first = try client.signUp("ann@example.com")
        let token = try #require(first["idToken"])
        let named = try client.post(
            "update", #"{"idToken":"\#(token)","displayName":"Ann","photoUrl":null,"returnSecureToken":true}"#)
        #expect(named["displayName"] == "Ann")
        #expect(named["idToken"] == nil)
        let other = try client.signIn("ann@example.com")
        let changed = try client.post("update", #"{"idToken":"\#(token)","password":"secret2"}"#)
        #expect(changed["refreshToken"] != nil)
        #expect(try client.refresh(try #require(other["refreshToken"])).error == "TOKEN_EXPIRED")
        #expect(try client.refresh(try #require(changed["refreshToken"])).status == 200)
        let fresh = try #require(changed["idToken"])
        #expect(
            try client.post("update", #"{"idToken":"\#(fresh)","customAttributes":"{}"}"#).error
                == "INSUFFICIENT_PERMISSION")
        #expect(
            try client.post("update", #"{"idToken":"\#(fresh)","disableUser":true}"#).error == "OPERATION_NOT_ALLOWED")
        // Another user's account of a provider cannot be attached by naming it.
        let link = #"{"idToken":"\#(fresh)","linkProviderUserInfo":{"providerId":"google.com","rawId":"1"}}"#
        let info = try client.post("update", link).members["providerUserInfo"]?.array
        #expect(info?.map { $0.object?["providerId"]?.text } == ["password"])
        let cleared = try client.post("update", #"{"idToken":"\#(fresh)","deleteAttribute":["DISPLAY_NAME"]}"#)
        #expect(cleared["displayName"] == nil)
    }

    @Test("of the codes in mails only that of a sign-in link signs its reader in (accounts.md 7)")
    func codesWithoutSession() throws {
        let client = try IdentityClient()
        let token = try #require(try client.signUp("ann@example.com")["idToken"])
        func code(_ request: String) throws -> String {
            #expect(try client.post("sendOobCode", request).status == 200, "\(request)")
            return try #require(try client.lastCode()["oobCode"]?.text)
        }
        func expectNoSession(_ operation: String, _ body: String) throws {
            let answer = try client.post(operation, body)
            #expect(answer.status == 200, "\(body)")
            for name in ["idToken", "refreshToken", "expiresIn"] { #expect(answer[name] == nil, "\(body)") }
        }
        let verification = try code(#"{"requestType":"VERIFY_EMAIL","idToken":"\#(token)"}"#)
        try expectNoSession("update", #"{"oobCode":"\#(verification)"}"#)
        let change = try code(
            #"{"requestType":"VERIFY_AND_CHANGE_EMAIL","idToken":"\#(token)","newEmail":"ann2@example.com"}"#)
        try expectNoSession("update", #"{"oobCode":"\#(change)"}"#)
        let recovery = try client.lastCode()
        #expect(recovery["requestType"]?.text == "RECOVER_EMAIL")
        try expectNoSession("update", #"{"oobCode":"\#(try #require(recovery["oobCode"]?.text))"}"#)
        let reset = try code(#"{"requestType":"PASSWORD_RESET","email":"ann@example.com"}"#)
        try expectNoSession("resetPassword", #"{"oobCode":"\#(reset)","newPassword":"secret2"}"#)
        let link = try code(#"{"requestType":"EMAIL_SIGNIN","email":"ann@example.com"}"#)
        let signIn = try client.post("signInWithEmailLink", #"{"email":"ann@example.com","oobCode":"\#(link)"}"#)
        #expect(signIn["idToken"] != nil)
    }

    @Test("the answer to a request for a mail does not tell whether one is sent (accounts.md 8)")
    func codesForAnybody() throws {
        let client = try IdentityClient(isDevelopment: false) {
            $0.options.protectsEmails = true
            $0.options.mailsPerAccountMax = 100
        }
        let token = try #require(try client.signUp("ann@example.com")["idToken"])
        _ = try client.signUp("bob@example.com")
        func expectSame(_ request: (String) -> String, _ addresses: [String]) throws {
            let answers = try addresses.map { address in
                let answer = try client.post("sendOobCode", request(address))
                #expect(answer.status == 200, "\(address)")
                return answer.http.text.replacing(address.lowercased(), with: "ADDRESS")
            }
            #expect(Set(answers).count == 1, "\(answers)")
        }
        try expectSame(
            { #"{"requestType":"VERIFY_AND_CHANGE_EMAIL","idToken":"\#(token)","newEmail":"\#($0)"}"# },
            ["bob@example.com", "free@example.com"])
        try expectSame(
            { #"{"requestType":"PASSWORD_RESET","email":"\#($0)"}"# }, ["Bob@example.com", "Free@example.com"])
    }

    @Test("a provider's user signs in, links and is refused as clients expect (accounts.md 4)")
    func providers() throws {
        let client = try IdentityClient()
        func signIn(_ token: String, _ more: String = "") throws -> IdentityClient.Answer {
            let escaped = token.utf8.map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    String(Unicode.Scalar(byte))
                default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }
            }.joined()
            return try client.post(
                "signInWithIdp",
                #"{"requestUri":"http://localhost","postBody":"id_token=\#(escaped)&providerId=google.com"\#(more)}"#)
        }
        let first = try signIn(#"{"sub":"1","email":"ann@example.com","email_verified":true,"name":"Ann"}"#)
        #expect(first["federatedId"] == "https://accounts.google.com/1")
        #expect(first.members["isNewUser"]?.bool == true)
        #expect(first.members["needConfirmation"] == nil)
        let profile = try JSONValue(parsing: Array(try #require(first["rawUserInfo"]).utf8))
        #expect(profile.object?["name"]?.text == "Ann")
        #expect(first["oauthIdToken"] != nil)
        #expect(try signIn(#"{"sub":"1"}"#)["localId"] == first["localId"])
        _ = try client.signUp("bob@example.com")
        let asked = try signIn(#"{"sub":"2","email":"bob@example.com"}"#)
        #expect(asked.status == 200)
        #expect(asked.members["needConfirmation"]?.bool == true)
        #expect(asked["idToken"] == nil)
        let guest = try #require(try client.post("signUp", "{}")["idToken"])
        let taken = #","idToken":"\#(guest)""#
        #expect(try signIn(#"{"sub":"1"}"#, taken).error == "FEDERATED_USER_ID_ALREADY_LINKED")
        let told = try signIn(#"{"sub":"1"}"#, taken + #","returnIdpCredential":true"#)
        #expect(told.status == 200)
        #expect(told["errorMessage"] == "FEDERATED_USER_ID_ALREADY_LINKED")
        #expect(try signIn(#"{"sub":"9"}"#, #","autoCreate":false"#).error == "USER_NOT_FOUND")
    }

    @Test("how an address signs in is told, unless that is nobody's business (accounts.md 8)")
    func createAuthURI() throws {
        let client = try IdentityClient()
        _ = try client.signUp("ann@example.com")
        let body = #"{"identifier":"ann@example.com","continueUri":"http://localhost"}"#
        let told = try client.post("createAuthUri", body)
        #expect(told.members["registered"]?.bool == true)
        #expect(told.members["signinMethods"]?.array?.map(\.text) == ["password"])
        let path = "/emulator/v1/projects/hearth/config"
        let set = try client.ask("PATCH", path, #"{"emailPrivacyConfig":{"enableImprovedEmailPrivacy":true}}"#)
        #expect(set.object("emailPrivacyConfig")?["enableImprovedEmailPrivacy"]?.bool == true)
        let hidden = try client.post("createAuthUri", body)
        #expect(hidden.members["registered"] == nil)
        #expect(hidden["sessionId"] != nil)
        #expect(try client.signIn("ann@example.com", "wrong!").error == "INVALID_LOGIN_CREDENTIALS")
    }

    @Test("bodies are limited before they are read whole")
    func bodyLimit() throws {
        let client = try IdentityClient()
        let answer = try client.post("signUp", #"{"email":"\#(String(repeating: "x", count: 300 << 10))"}"#)
        #expect(answer.status == 413)
    }

    @Test("tenants are there when the operator has named them, each with accounts of its own")
    func tenants() throws {
        let body = #"{"email":"ann@example.com","password":"secret1","tenantId":"shop","returnSecureToken":true}"#
        let none = try IdentityClient(isDevelopment: false)
        #expect(try none.post("signUp", body).error == "TENANT_NOT_FOUND")
        let client = try IdentityClient(isDevelopment: false) { $0.options.tenants = ["shop"] }
        let user = try client.post("signUp", body)
        #expect(user["localId"] != nil)
        let token = try JSONWebToken(parsing: Array(try #require(user["idToken"]).utf8))
        #expect(token.claims["firebase"]?.object?["tenant"]?.text == "shop")
        #expect(try client.post("signInWithPassword", body).status == 200)
        #expect(try client.signIn("ann@example.com").status == 400)
        #expect(try client.post("signUp", body.replacing("shop", with: "other")).error == "TENANT_NOT_FOUND")
        #expect(try client.signUp("ann@example.com")["localId"] != user["localId"])
    }

    @Test("in production the doors of the development are closed, and tokens are signed (Protocol.md 19.2)")
    func production() throws {
        let client = try IdentityClient(isDevelopment: false) {
            $0.options.protectsEmails = true
            $0.apiKeys = ["app"]
        }
        for (method, path) in [
            ("GET", "/"), ("DELETE", "/emulator/v1/projects/hearth/accounts"),
            ("GET", "/emulator/v1/projects/hearth/oobCodes"),
            ("GET", "/emulator/action?mode=verifyEmail&oobCode=x"),
        ] {
            #expect(try client.ask(method, path).status == 404, "\(path)")
        }
        #expect(try client.admin("accounts:query", "{}").status == 401)
        #expect(try client.ask("POST", "/v1/accounts:signUp?key=other", "{}").status == 403)
        let up = try client.signUp("ann@example.com")
        let token = try JSONWebToken(parsing: Array(try #require(up["idToken"]).utf8))
        #expect(token.algorithm == .signed(.rs256))
        let jwks = try client.ask(
            "GET", "/www.googleapis.com/service_accounts/v1/jwk/securetoken@system.gserviceaccount.com")
        let key = jwks.members["keys"]?.array?.first?.object
        #expect(key?["kid"]?.utf8 == token.keyID)
        #expect(jwks.http.field("cache-control") == "public, max-age=21600")
        let certificates = try client.ask("GET", "/robot/v1/metadata/x509/securetoken@system.gserviceaccount.com")
        #expect(certificates.members[try #require(token.keyID)]?.text?.hasPrefix("-----BEGIN CERTIFICATE") == true)
        #expect(try client.signIn("ann@example.com", "wrong!").error == "INVALID_LOGIN_CREDENTIALS")
        #expect(try client.signIn("nobody@example.com").error == "INVALID_LOGIN_CREDENTIALS")
        let sent = try client.post("sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"nobody@example.com"}"#)
        #expect(sent.status == 200)
        #expect(sent["email"] == "nobody@example.com")
        #expect(
            try client.post("signInWithCustomToken", #"{"token":"{\"uid\":\"u1\"}"}"#).error?.hasPrefix(
                "INVALID_CUSTOM_TOKEN") == true)
        let unsigned = String(decoding: JSONWebToken.unsigned(token.claims), as: UTF8.self)
        #expect(try client.post("lookup", #"{"idToken":"\#(unsigned)"}"#).error == "INVALID_ID_TOKEN")
        for (url, message) in [
            ("https://evil.example", "UNAUTHORIZED_DOMAIN : Domain not allowlisted by project"),
            ("javascript:alert(1)", "INVALID_CONTINUE_URI : ((expected an absolute URI with valid scheme and host))"),
        ] {
            let body = #"{"requestType":"PASSWORD_RESET","email":"ann@example.com","continueUrl":"\#(url)"}"#
            #expect(try client.post("sendOobCode", body).error == message)
        }
        for _ in 0..<9 { #expect(try client.signIn("ann@example.com", "wrong!").error == "INVALID_LOGIN_CREDENTIALS") }
        #expect(
            try client.signIn("ann@example.com").error
                == "TOO_MANY_ATTEMPTS_TRY_LATER : Too many unsuccessful login attempts. Please try again later.")
    }

    @Test("SDKs learn what a password must be like, and that there is no reCAPTCHA (accounts.md 4)")
    func clientSettings() throws {
        let client = try IdentityClient(isDevelopment: false) { $0.apiKeys = ["app"] }
        let policy = try client.ask("GET", "/identitytoolkit.googleapis.com/v2/passwordPolicy?key=app")
        #expect(policy.object("customStrengthOptions")?["minPasswordLength"]?.integer == 6)
        #expect(policy.members["forceUpgradeOnSignin"]?.bool == false)
        #expect(policy["enforcementState"] == "OFF")
        let longest = try #require(policy.object("customStrengthOptions")?["maxPasswordLength"]?.integer)
        #expect(try client.signUp("a@example.com", String(repeating: "x", count: Int(longest))).status == 200)
        #expect(try client.signUp("b@example.com", String(repeating: "x", count: Int(longest) + 1)).status == 400)
        #expect(try client.signUp("b@example.com", "12345").error?.hasPrefix("WEAK_PASSWORD") == true)
        for path in ["/v1/recaptchaParams?key=app", "/identitytoolkit/v3/relyingparty/getRecaptchaParam?key=app"] {
            #expect(try client.ask("GET", path)["kind"] == "identitytoolkit#GetRecaptchaParamResponse", "\(path)")
        }
        for path in ["/v2/passwordPolicy?key=", "/v1/recaptchaParams?key="] {
            #expect(try client.ask("GET", path + "other").status == 403, "\(path)")
        }
    }

    @Test("session cookies can be verified with the published keys (accounts.md 6)")
    func sessionCookieKeys() throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(isDevelopment: false, folder: folder.path)
        let key = try AdministratorKey(folder: folder.path)
        let token = try #require(try client.signUp("ann@example.com")["idToken"])
        let access = try #require(try client.accessToken(try key.assertion())["access_token"])
        let made = try client.ask(
            "POST", "/v1/projects/hearth:createSessionCookie", #"{"idToken":"\#(token)","validDuration":600}"#,
            ["Authorization: Bearer \(access)"])
        let cookie = try JSONWebToken(parsing: Array(try #require(made["sessionCookie"]).utf8))
        let keys = try client.ask("GET", "/identitytoolkit.googleapis.com/v1/sessionCookiePublicKeys")
        let names = try #require(keys.members["keys"]?.array).compactMap { $0.object?["kid"]?.text }
        #expect(names.contains(String(decoding: try #require(cookie.keyID), as: UTF8.self)))
        // Nothing of the private key.
        #expect(keys.members["keys"]?.array?.allSatisfy { $0.object?["d"] == nil } == true)
    }

    @Test("phone numbers are refused, and no code was ever sent to one (accounts.md 4)")
    func phones() throws {
        let client = try IdentityClient()
        for operation in ["sendVerificationCode", "signInWithPhoneNumber"] {
            #expect(try client.post(operation, #"{"phoneNumber":"+15555550100"}"#).status == 501, "\(operation)")
        }
        let codes = try client.ask("GET", "/emulator/v1/projects/hearth/verificationCodes")
        #expect(codes.members["verificationCodes"]?.array?.isEmpty == true)
        let production = try IdentityClient(isDevelopment: false)
        #expect(try production.ask("GET", "/emulator/v1/projects/hearth/verificationCodes").status == 404)
    }

    @Test("a server without accounts has none of these paths")
    func without() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        #expect(try client.ask("POST", "/v1/accounts:signUp?key=k", [], "{}").status == 404)
        #expect(try client.ask("GET", "/").status == 404)
    }

    @Test("requests that come together are all answered, each on its connection")
    func together() throws {
        let client = try IdentityClient()
        let clients = try (0..<8).map { _ in try client.server.connectREST() }
        for (index, rest) in clients.enumerated() {
            let body = #"{"email":"p\#(index)@example.com","password":"secret1"}"#
            for _ in 0..<2 {
                try rest.send(RESTClient.request("POST", "/v1/accounts:signUp?key=k", body: Array(body.utf8)))
            }
        }
        for (index, rest) in clients.enumerated() {
            let first = try rest.receive()
            #expect(first.status == 200, "\(first.text)")
            #expect(first.text.contains("p\(index)@example.com"))
            #expect(try rest.receive().text.contains("EMAIL_EXISTS"))
        }
    }
}
