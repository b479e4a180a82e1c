import HearthEventLoop
import HearthHTTPCodec
import HearthIdentity
import HearthJSONValues
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthServerLog
@testable import HearthAccess
@testable import HearthAccountEndpoints

@Suite("The audit trail") struct AuditTrailTests {
    /// Events of a server's log, without their times; ids and keys are left out.
    private static func events(_ client: IdentityClient) -> [String] {
        client.server.server.services.log.recentLines.filter { $0.contains(" auth.") || $0.contains(" admin.") }.map {
            String($0.split(separator: " ", maxSplits: 1)[1])
        }
    }

    @Test("tells who got in, who tried, and who changed what, and holds no secrets")
    func story() throws {
        let folder = TemporaryFolder()
        let client = try IdentityClient(isDevelopment: false, folder: folder.path, logLevel: .info)
        let key = try AdministratorKey(folder: folder.path)
        let access = try client.accessToken(key.assertion())["access_token"]
        let bearer = ["Authorization: Bearer \(try #require(access))"]
        _ = try client.accessToken("x.y.z")
        let user = try client.signUp("ann@example.com")
        let (id, token) = (try #require(user["localId"]), try #require(user["idToken"]))
        _ = try client.signIn("ann@example.com")
        _ = try client.signIn("ann@example.com", "secret-typo")
        _ = try client.signIn("not an address secret-typo", "secret-typo")
        _ = try client.post("update", #"{"idToken":"\#(token)","password":"secret-new"}"#)
        let target = "/v1/projects/hearth/accounts:update"
        _ = try client.ask("POST", target, #"{"localId":"\#(id)","disableUser":true}"#, bearer)
        _ = try client.ask("POST", target, "{}", ["Authorization: Bearer nobody"])
        _ = try client.ask("PUT", "/.settings/rules.json", #"{"rules":{".read":false}}"#, bearer)
        _ = try client.rest.ask("GET", "/.settings/rules.json")
        let name = "backend@example.com/\(try #require(key.account["private_key_id"]?.text))"
        // Revocations are told after the answer: later requests are answered after them.
        _ = try client.server.server.services.identity?.accounts.userCount(in: Realm(project: "hearth"))
        #expect(
            Self.events(client).sorted()
                == [
                    "info admin.keys added=\(name)",
                    "info auth.access-token-given client=127.0.0.1 to=\(name)",
                    #"info auth.access-token-refused client=127.0.0.1 reason="the token is malformed""#,
                    "info auth.signed-up client=127.0.0.1 user=\(id) provider=password",
                    "info auth.signed-in client=127.0.0.1 user=\(id) provider=password",
                    "info auth.sign-in-failed client=127.0.0.1 at=signInWithPassword account=ann@example.com "
                        + "reason=INVALID_PASSWORD",
                    "info auth.sign-in-failed client=127.0.0.1 at=signInWithPassword reason=INVALID_EMAIL",
                    "info auth.revoked user=\(id) loss=tokens",
                    "info auth.methods-changed client=127.0.0.1 user=\(id) changes=~password",
                    "info auth.revoked user=\(id) loss=disabled",
                    "info admin.accounts client=127.0.0.1 by=\(name) did=update users=\(id)",
                    "info admin.denied client=127.0.0.1 at=update reason=authError",
                    "info admin.rules by=\(name) database=default",
                    #"info admin.denied client=127.0.0.1 at=/.settings/rules.json reason="not an administrator""#,
                ].sorted())
        for line in client.server.server.services.log.recentLines {
            for secret in ["secret", token, access ?? "", user["refreshToken"] ?? ""] {
                #expect(!line.contains(secret), "\(line)")
            }
        }
    }

    @Test("is not flooded by strangers, who are told apart, and keeps what they cannot cause")
    func flood() {
        let log = Log(level: .info, descriptor: -1)
        let trail = AuditTrail(log, eventsMax: 2)
        for _ in 0..<5 {
            trail.note(AuditEvent(.denied, client: "a", []))
            trail.note(AuditEvent(.signedIn, client: "a", []))
        }
        trail.note(AuditEvent(.denied, client: "b", []))
        let names = log.recentLines.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
        #expect(names.filter { $0 == "admin.denied client=a" }.count == 2)
        #expect(names.filter { $0 == "auth.more-not-shown event-kind=admin.denied client=a" }.count == 1)
        #expect(names.filter { $0 == "auth.signed-in client=a" }.count == 5)
        #expect(names.contains("admin.denied client=b"))
    }
}

@Suite("What a client's address may ask for") struct AttemptLimitTests {
    @Test(
        "every kind of sign-in counts, and refused refresh tokens, and questions that tell whether there is an account",
        arguments: [
            ["signInWithPassword", #"{"email":"a@b","password":"wrong!"}"#],
            ["signInWithCustomToken", #"{"token":"x"}"#],
            ["signInWithIdp", #"{"requestUri":"http://localhost","postBody":"id_token=x&providerId=google.com"}"#],
            ["signInWithEmailLink", #"{"email":"a@b","oobCode":"x"}"#], ["resetPassword", #"{"oobCode":"x"}"#],
            ["update", #"{"oobCode":"x"}"#], ["update", #"{"idToken":"x","email":"a@b"}"#], ["signUp", "{}"],
            ["createAuthUri", #"{"identifier":"a@b","continueUri":"http://localhost"}"#],
            ["sendOobCode", #"{"requestType":"PASSWORD_RESET","email":"a@b"}"#],
        ])
    func counted(request: [String]) throws {
        let client = try IdentityClient(isDevelopment: false) { $0.options.attemptsPerAddressMax = 2 }
        for _ in 0..<2 {
            #expect(try client.post(request[0], request[1]).error?.hasPrefix("TOO_MANY") != true)
        }
        #expect(try client.post(request[0], request[1]).error?.hasPrefix("TOO_MANY_ATTEMPTS_TRY_LATER") == true)
    }

    @Test("refresh tokens count when they are refused, and good ones are taken even then")
    func refresh() throws {
        let client = try IdentityClient(isDevelopment: false) { $0.options.attemptsPerAddressMax = 2 }
        let token = try #require(try client.signUp("ann@example.com")["refreshToken"])
        for _ in 0..<5 { #expect(try client.refresh(token).status == 200) }
        for _ in 0..<2 { #expect(try client.refresh("x").error == "INVALID_REFRESH_TOKEN") }
        #expect(try client.refresh("x").error?.hasPrefix("TOO_MANY") == true)
        #expect(try client.refresh(token).status == 200)
    }
}
