import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
import Testing

@Suite("Setting up providers over the API (accounts.md 13)") struct ProviderConfigurationTests {
    private let folder = TemporaryFolder()
    private static let place = "/identitytoolkit.googleapis.com/v2/projects/hearth"

    private static func ask(
        _ client: IdentityClient, _ method: String, _ path: String, _ body: String? = nil,
        _ fields: [String] = RESTClient.owner
    ) throws -> IdentityClient.Answer {
        try client.ask(method, place + path, body, fields)
    }

    private static let body =
        #"{"clientId":"c1","issuer":"https://id.example","displayName":"Example","enabled":true,"responseType":{"idToken":true}}"#

    @Test("a configuration is created, read, listed, changed by its mask and deleted")
    func life() throws {
        let client = try IdentityClient(folder: folder.path)
        func ask(_ method: String, _ path: String, _ body: String? = nil) throws -> IdentityClient.Answer {
            try Self.ask(client, method, path, body)
        }
        let made = try ask("POST", "/oauthIdpConfigs?oauthIdpConfigId=oidc.example", Self.body)
        #expect(
            made.http.text == #"{"name":"projects/hearth/oauthIdpConfigs/oidc.example","clientId":"c1","#
                + #""issuer":"https://id.example","displayName":"Example","enabled":true,"#
                + #""responseType":{"idToken":true}}"#)
        #expect(try ask("GET", "/oauthIdpConfigs/oidc.example").http.text == made.http.text)
        for id in ["oidc.b", "oidc.c"] {
            let answer = try ask(
                "POST", "/oauthIdpConfigs?oauthIdpConfigId=\(id)", #"{"client_id":"c2","issuer":"https://b.example"}"#)
            #expect(answer.members["enabled"]?.bool == false)
        }
        let first = try ask("GET", "/oauthIdpConfigs?pageSize=2")
        #expect(first.members["oauthIdpConfigs"]?.array?.count == 2)
        #expect(first["nextPageToken"] == "oidc.c")
        let rest = try ask("GET", "/oauthIdpConfigs?pageSize=2&pageToken=oidc.c")
        #expect(rest.members["oauthIdpConfigs"]?.array?.count == 1)
        #expect(rest["nextPageToken"] == nil)

        // What the mask does not name stays.
        let mask = "/oauthIdpConfigs/oidc.example?updateMask="
        let changed = try ask(
            "PATCH", mask + "displayName,responseType.idToken,responseType.code,clientSecret",
            #"{"clientId":"ignored","displayName":null,"clientSecret":"hush","responseType":{"idToken":false,"code":true}}"#
        )
        #expect(changed["clientId"] == "c1")
        #expect(changed["displayName"] == nil)
        #expect(changed["clientSecret"] == "hush")
        #expect(changed.object("responseType") == JSONObject(["code": .bool(true)]))
        #expect(try ask("PATCH", mask + "enabled", #"{"enabled":false}"#).members["enabled"]?.bool == false)
        // Without a mask the request says all.
        let replaced = try ask("PATCH", mask, #"{"clientId":"c3","issuer":"https://id.example"}"#)
        #expect(replaced["clientId"] == "c3")
        #expect(replaced["clientSecret"] == nil)

        // Tenants have their own.
        #expect(
            try ask("POST", "/tenants/t/oauthIdpConfigs?oauthIdpConfigId=oidc.example", Self.body)["name"]
                == "projects/hearth/tenants/t/oauthIdpConfigs/oidc.example")
        #expect(try ask("GET", "/tenants/t/oauthIdpConfigs/oidc.b").error == "CONFIGURATION_NOT_FOUND")

        #expect(try ask("DELETE", "/oauthIdpConfigs/oidc.example").http.text == "{}")
        for method in ["GET", "DELETE"] {
            #expect(try ask(method, "/oauthIdpConfigs/oidc.example").error == "CONFIGURATION_NOT_FOUND")
        }
    }

    @Test(
        "what is wrong with a configuration is said",
        arguments: [
            ("oidc.x", #"{"issuer":"https://id.example"}"#, "MISSING_OAUTH_CLIENT_ID"),
            ("oidc.x", #"{"clientId":"c"}"#, "MISSING_ISSUER"),
            ("oidc.x", #"{"clientId":"c","issuer":"http://id.example"}"#, "INVALID_CONFIG : The issuer must be"),
            ("oidc.x", #"{"clientId":"c","issuer":"https://id.example?a"}"#, "INVALID_CONFIG : The issuer must be"),
            (
                "oidc.x", #"{"clientId":"c","issuer":"https://id.example","responseType":{"idToken":false}}"#,
                "INVALID_OAUTH_RESPONSETYPE"
            ),
            (
                "oidc.x", #"{"clientId":"c","issuer":"https://id.example","responseType":{"code":true}}"#,
                "MISSING_OAUTH_CLIENT_SECRET"
            ),
            ("", body, "MISSING_CONFIG_ID"), ("google.com", body, "INVALID_CONFIG_ID"),
            ("oidc.", body, "INVALID_CONFIG_ID"), ("oidc.a%2Fb", body, "INVALID_CONFIG_ID"),
            ("oidc.x", #"{"clientId":7,"issuer":[]}"#, "Invalid value at 'issuer'"),
            (
                "oidc.x", #"{"clientId":"\#(String(repeating: "c", count: 1025))","issuer":"https://id.example"}"#,
                "Invalid value at 'clientId'"
            ),
        ])
    func refusals(id: String, body: String, message: String) throws {
        let client = try IdentityClient()
        let answer = try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=\(id)", body)
        #expect(answer.status == 400, "\(answer.http.text)")
        #expect(answer.error?.hasPrefix(message) == true, "\(answer.http.text)")
        #expect(try Self.ask(client, "GET", "/oauthIdpConfigs").http.text == "{}")
    }

    @Test("an id is taken once; a mask names what there is")
    func conflicts() throws {
        let client = try IdentityClient()
        let target = "/oauthIdpConfigs?oauthIdpConfigId=oidc.x"
        #expect(try Self.ask(client, "POST", target, Self.body).status == 200)
        #expect(try Self.ask(client, "POST", target, Self.body).error == "CONFIGURATION_EXISTS")
        let patch = try Self.ask(client, "PATCH", "/oauthIdpConfigs/oidc.x?updateMask=frob", "{}")
        #expect(patch.error?.contains("there is no 'frob'") == true)
        #expect(
            try Self.ask(client, "PATCH", "/oauthIdpConfigs/oidc.y?updateMask=enabled", "{}").error
                == "CONFIGURATION_NOT_FOUND")
        #expect(
            try Self.ask(client, "PATCH", "/oauthIdpConfigs/oidc.x?updateMask=issuer", "{}").error == "MISSING_ISSUER")
    }

    @Test("a provider that is set up is asked for proof, and one that is switched off refuses, in every mode")
    func inForce() throws {
        let client = try IdentityClient()
        func signIn() throws -> IdentityClient.Answer {
            let post = "id_token=%7B%22sub%22:%221%22%7D&providerId=oidc.x"
            return try client.post("signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(post)"}"#)
        }
        // Development mode accepts providers that are not set up.
        #expect(try signIn().status == 200)
        #expect(try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=oidc.x", Self.body).status == 200)
        #expect(try signIn().error?.hasPrefix("INVALID_IDP_RESPONSE") == true)
        #expect(try Self.ask(client, "PATCH", "/oauthIdpConfigs/oidc.x?updateMask=enabled", "{}").status == 200)
        #expect(try signIn().error == "OPERATION_NOT_ALLOWED : The identity provider configuration is disabled.")
        #expect(try Self.ask(client, "DELETE", "/oauthIdpConfigs/oidc.x").status == 200)
        #expect(try signIn().status == 200)
    }

    @Test("the id may have capitals, and is the same for clients")
    func capitals() throws {
        let client = try IdentityClient()
        // A provider in lower case is found by any spelling.
        for (id, asked) in [("oidc.MyApp", "oidc.MyApp"), ("oidc.acme", "oidc.Acme")] {
            #expect(try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=\(id)", Self.body).status == 200)
            let post = "id_token=%7B%22sub%22:%221%22%7D&providerId=\(asked)"
            let answer = try client.post("signInWithIdp", #"{"requestUri":"http://localhost","postBody":"\#(post)"}"#)
            // It is the provider's, not one that development mode believes.
            #expect(answer.error?.hasPrefix("INVALID_IDP_RESPONSE") == true, "\(answer.http.text)")
        }
    }

    @Test("in production an issuer is on the public internet, so that no administrator reaches the operator's network")
    func publicIssuers() throws {
        let client = try IdentityClient(isDevelopment: false, folder: folder.path)
        let key = try AdministratorKey(folder: folder.path)
        let access = try #require(try client.accessToken(try key.assertion())["access_token"])
        let bearer = "Authorization: Bearer \(access)"
        for issuer in ["https://127.0.0.1", "https://10.0.0.1:8443", "http://localhost", "https://[::1]/a"] {
            let body = #"{"clientId":"c1","issuer":"\#(issuer)"}"#
            let answer = try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=oidc.x", body, [bearer])
            #expect(answer.error?.contains("must be on the public internet") == true, "\(issuer)")
        }
        #expect(
            try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=oidc.x", Self.body, [bearer]).status == 200)
    }

    @Test("a project has up to a hundred of them")
    func quota() throws {
        let client = try IdentityClient()
        func make(_ number: Int) throws -> IdentityClient.Answer {
            try Self.ask(client, "POST", "/oauthIdpConfigs?oauthIdpConfigId=oidc.p\(number)", Self.body)
        }
        for number in 0..<100 { #expect(try make(number).status == 200, "\(number)") }
        #expect(try make(100).error == "QUOTA_EXCEEDED : No more providers can be kept.")
        // Another tenant has others.
        let tenant = "/tenants/t/oauthIdpConfigs?oauthIdpConfigId=oidc.p0"
        #expect(try Self.ask(client, "POST", tenant, Self.body).status == 200)
        #expect(try Self.ask(client, "DELETE", "/oauthIdpConfigs/oidc.p0").status == 200)
        #expect(try make(100).status == 200)
    }

    @Test("SAML providers are none, and not to be had")
    func saml() throws {
        let client = try IdentityClient()
        #expect(
            try Self.ask(client, "GET", "/inboundSamlConfigs?pageSize=100").http.text == #"{"inboundSamlConfigs":[]}"#)
        for method in ["GET", "DELETE"] {
            #expect(try Self.ask(client, method, "/inboundSamlConfigs/saml.x").error == "CONFIGURATION_NOT_FOUND")
        }
        for (method, path) in [("POST", "?inboundSamlConfigId=saml.x"), ("PATCH", "/saml.x?updateMask=enabled")] {
            let answer = try Self.ask(client, method, "/inboundSamlConfigs" + path, "{}")
            #expect(answer.status == 501)
            #expect(answer.error?.contains("does not support SAML") == true)
        }
    }

    @Test("only administrators see and change them; the public listener does not know them")
    func access() throws {
        let client = try IdentityClient(isDevelopment: false, hasAdminListener: true, folder: folder.path)
        let key = try AdministratorKey(folder: folder.path)
        let token = try #require(try client.accessToken(try key.assertion())["access_token"])
        let bearer = ["Authorization: Bearer \(token)"]
        func ask(_ fields: [String], at rest: RESTClient) throws -> Int {
            try client.ask(
                "POST", Self.place + "/oauthIdpConfigs?oauthIdpConfigId=oidc.x&key=app", Self.body, fields, at: rest
            ).status
        }
        for fields in [[], RESTClient.owner] { #expect(try ask(fields, at: client.admin) == 401) }
        #expect(try ask(bearer, at: client.rest) == 404)
        #expect(try ask(bearer, at: client.admin) == 200)
    }
}
