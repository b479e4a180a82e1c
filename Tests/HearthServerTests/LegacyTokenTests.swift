import Glibc
import HearthServer
import HearthJSONTree
import HearthJSONValues
import HearthJSONWebTokens
import HearthSystem
import HearthTestSupport
import Testing

@Suite("Old SDKs, with their tokens and secrets (Protocol.md 19.3)") struct LegacyTokenTests {
    private static let secret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"

    private static let rules =
        #"{"rules":{"own":{"$u":{".read":"auth.uid === $u",".write":"auth.uid === $u && auth.level > 1"}}}}"#

    private static func server(
        isDevelopment: Bool = false, hasSecret: Bool = true, settings: String? = nil
    ) throws -> (server: RealtimeTestServer, folder: TemporaryFolder) {
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array(rules.utf8), to: folder.path + "/rules.json")
        TemporaryFolder.write(Array(secret.utf8), to: folder.path + "/secret")
        let server = try RealtimeTestServer {
            $0.isDevelopment = isDevelopment
            $0.rulesFile = folder.path + "/rules.json"
            $0.settingsText = settings.map { Array($0.utf8) }
            if hasSecret { $0.legacySecretFile = folder.path + "/secret" }
        }
        return (server, folder)
    }

    private static func token(_ data: String, _ more: String = "") throws -> String {
        let claims = try JSONValue(parsing: Array(#"{"v":0,"iat":\#(now),"d":\#(data)\#(more)}"#.utf8))
        return String(
            decoding: JSONWebToken.signed(try #require(claims.object), secret: Array(secret.utf8)), as: UTF8.self)
    }

    private static var now: Int64 { WallClock.milliseconds / 1000 }

    @Test("REST takes a token as auth, and the secret as an administrator's")
    func rest() throws {
        let (server, _) = try Self.server()
        let client = try server.connectREST()
        let user = try Self.token(#"{"uid":"a","level":2}"#)
        let guest = try Self.token(#"{"uid":"a"}"#)
        let admin = try Self.token(#"{"uid":"x"}"#, #","admin":true"#)
        #expect(try client.ask("PUT", "/own/a.json?auth=\(user)", [], "1").status == 200)
        #expect(try client.ask("GET", "/own/a.json?auth=\(guest)").text == "1")
        #expect(try client.ask("PUT", "/own/a.json?auth=\(guest)", [], "2").status == 401)
        #expect(try client.ask("GET", "/own/b.json?auth=\(user)").status == 401)
        for credential in [admin, Self.secret] {
            #expect(try client.ask("PUT", "/x.json?auth=\(credential)", [], "3").status == 200)
            let acting = "/own/a.json?auth=\(credential)&auth_variable_override=%7B%22uid%22:%22b%22%7D"
            #expect(try client.ask("GET", acting).status == 401)
        }
        let wrong = try client.ask("GET", "/own/a.json?auth=\(Self.secret)x")
        #expect(wrong.status == 401)
        #expect(wrong.text.contains("Could not parse auth token."))
        // A user's token is not an administrator's.
        #expect(try client.ask("GET", "/own/a.json", ["Authorization: Bearer \(user)"]).status == 401)
        #expect(try client.ask("GET", "/.settings/rules.json?auth=\(user)").status == 401)
        #expect(try client.ask("GET", "/.settings/rules.json?auth=\(Self.secret)").text == Self.rules)
    }

    @Test("a session is whom its token names, and nobody once that has ended", .timeLimit(.minutes(15)))
    func session() throws {
        let (server, _) = try Self.server()
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        // A busy machine may need seconds for the first answers.
        let end = Self.now + 6
        let data = #"{"uid":"a","level":2}"#
        try peer.send(1, "auth", #"{"cred":"\#(try Self.token(data, #","exp":\#(end)"#))"}"#)
        #expect(
            try peer.receiveMessage() == RealtimePeer.response(1, "ok", #"{"auth":\#(data),"expires":\#(end)}"#))
        try peer.send(2, "q", #"{"p":"own/a","h":""}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(2, "ok", "{}"))
        #expect(try peer.receiveMessage()?.contains(#""a":"ac","b":{"s":"expired_token""#) == true)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"c","b":{"p":"own/a"}}}"#)
        #expect(Self.now >= end)
        try peer.send(3, "auth", #"{"cred":"\#(try Self.token(data, #","exp":\#(end)"#))"}"#)
        #expect(try peer.receiveMessage()?.contains(#""s":"expired_token""#) == true)
        try peer.send(4, "gauth", #"{"cred":"\#(Self.secret)"}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(4, "ok", #"{"auth":null,"expires":null}"#))
        try peer.send(5, "p", #"{"p":"x","d":1}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(5))
    }

    @Test("a worker over REST waits for a job until its token expires", .timeLimit(.minutes(15)))
    func worker() throws {
        let (server, _) = try Self.server(settings: #"{"settings":{"own":{"$u":{".queue":{"attempts":2}}}}}"#)
        let token = try Self.token(#"{"uid":"a","level":2}"#, #","exp":\#(Self.now + 6)"#)
        let worker = try server.connectREST()
        let answer = try worker.ask("POST", "/own/a/.jobs.json?auth=\(token)", [], #"{"do":"claim","wait":60000}"#)
        #expect(answer.status == 401)
        #expect(answer.text.contains("credential is no longer valid"), "\(answer.text)")
    }

    @Test("production refuses them without the option; development takes them at their word")
    func modes() throws {
        let token = try Self.token(#"{"uid":"a","level":2}"#)
        let production = try Self.server(hasSecret: false).server.connectREST()
        for credential in [token, Self.secret] {
            #expect(try production.ask("GET", "/own/a.json?auth=\(credential)").status == 401)
        }
        let forged = token.split(separator: ".").dropLast().joined(separator: ".") + ".AAAA"
        let development = try Self.server(isDevelopment: true, hasSecret: false).server.connectREST()
        for credential in [token, forged] {
            #expect(try development.ask("PUT", "/own/a.json?auth=\(credential)", [], "1").status == 200)
        }
        #expect(try development.ask("GET", "/own/a.json?auth=\(Self.secret)").status == 401)
    }

    @Test("a server does not start with secrets that others may read")
    func permissions() throws {
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array(Self.secret.utf8), to: folder.path + "/secret")
        chmod(folder.path + "/secret", 0o640)
        let error = #expect(throws: Server.StartError.self) {
            try RealtimeTestServer { $0.legacySecretFile = folder.path + "/secret" }
        }
        #expect(error?.message.contains("chmod 600") == true)
    }
}
