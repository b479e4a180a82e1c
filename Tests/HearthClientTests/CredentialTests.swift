import EventLoop
import HTTPCodec
import HearthClient
import JSONTree
import JSONWebTokens
import Synchronization
import TestSupport
import Testing

@Suite("Credentials of commands", .timeLimit(.minutes(15)))
struct CredentialTests {
    private let folder = TemporaryFolder()

    private static let rules = #"{"rules":{"own":{"$u":{".read":"auth.uid === $u",".write":"auth.uid === $u"}}}}"#

    private func serve() async throws -> ServerProcess {
        TemporaryFolder.write(Array(Self.rules.utf8), to: folder.path + "/rules.json")
        return try await ServerProcess(
            folder.path + "/data", isDevelopment: false, "--rules", folder.path + "/rules.json")
    }

    private func makeKey() async throws -> String {
        let file = folder.path + "/key.json"
        let made = try await HearthProcess.run("admin", "create-key", file, "--data", folder.path + "/data")
        try #require(made.code == 0)
        return file
    }

    @Test("every command works with the key of an administrator, and no other")
    func key() async throws {
        let server = try await serve()
        let key = try await makeKey()
        let environment = ["HEARTH_URL": "ws://\(server.address)", "HEARTH_KEY": key]
        let run = { @Sendable (words: [String]) in try await HearthProcess(words, environment: environment).outcome() }
        #expect(try await run(["set", "/own", #"{"ann":1}"#]).code == 0)
        #expect(try await run(["update", "/own", #"{"bob":2}"#]).code == 0)
        #expect(try await run(["push", "/list", "3"]).code == 0)
        #expect(try await run(["remove", "/list"]).code == 0)
        #expect(try await run(["get", "/"]).output == #"{"own":{"ann":1,"bob":2}}"# + "\n")
        #expect(try await run(["export", "/own"]).output == #"{"ann":1,"bob":2}"# + "\n")
        TemporaryFolder.write(Array(#"{"cat":3}"#.utf8), to: folder.path + "/more.json")
        #expect(try await run(["import", "/own", folder.path + "/more.json", "--merge"]).code == 0)
        #expect(try await run(["import", "/new", folder.path + "/more.json"]).code == 0)
        let watch = try HearthProcess(["watch", "/own/cat"], environment: environment)
        #expect(await watch.line() == "set /own/cat 3\n")

        let url = ["HEARTH_URL": "ws://\(server.address)"]
        for words in [["get", "/"], ["export", "/"], ["import", "/own", folder.path + "/more.json"]] {
            let outcome = try await HearthProcess(words, environment: url).outcome()
            #expect(outcome.code == 1 && outcome.errors.contains("ermission"), "\(words): \(outcome)")
        }
        let id = try await HearthProcess.run("admin", "keys", "--data", folder.path + "/data").output.prefix {
            $0 != " "
        }
        _ = try await HearthProcess.run("admin", "remove-key", String(id), "--data", folder.path + "/data")
        let removed = try await run(["get", "/"])
        #expect(removed.code == 1 && removed.errors.contains("/token: invalid_grant: "), "\(removed)")
    }

    @Test("the ID token of a user opens what is the user's")
    func token() async throws {
        let server = try await serve()
        var call = HTTPCall(try HTTPAddress("http://\(server.address)/v1/accounts:signUp?key=k"))
        call.method = .post
        call.body = Array(#"{"email":"ann@example.com","password":"secret1","returnSecureToken":true}"#.utf8)
        let loop = try TestLoop()
        let user = try #require(try JSONValue(parsing: try await call.answer(on: loop.loop)).object)
        let (id, token) = (try #require(user["localId"]?.text), try #require(user["idToken"]?.text))
        let environment = ["HEARTH_URL": "ws://\(server.address)", "HEARTH_AUTH": token]
        #expect(try await HearthProcess.run("set", "/own/\(id)", "7", environment: environment).code == 0)
        #expect(try await HearthProcess.run("get", "/own/\(id)", environment: environment).output == "7\n")
        #expect(try await HearthProcess.run("export", "/own/\(id)", environment: environment).output == "7\n")
        #expect(try await HearthProcess.run("get", "/own/other", environment: environment).code == 1)
        let words = ["get", "/", "--url", "ws://\(server.address)", "--auth", "x"]
        let wrong = try await HearthProcess(words).outcome()
        #expect(wrong.code == 1 && wrong.errors.contains("invalid_token"), "\(wrong)")
    }

    @Test("a file that is no key, and a server of tokens that is not there")
    func wrongKeys() async throws {
        let loop = try TestLoop()
        #expect(throws: ServiceAccountKey.Failure.self) { try ServiceAccountKey(Array("{}".utf8)) }
        let file = folder.path + "/wrong.json"
        TemporaryFolder.write(Array("{}".utf8), to: file)
        let outcome = try await HearthProcess.run("get", "/", "--key", file)
        #expect(outcome.code == 64 && outcome.errors.contains("private_key_id"), "\(outcome)")
        let both = try await HearthProcess.run("get", "/", "--key", file, environment: ["HEARTH_AUTH": "x"])
        #expect(both.code == 64 && both.errors.contains("not both"), "\(both)")
        let key = try ServiceAccountKey(serviceAccount(tokenURI: "http://127.0.0.1:1/token"))
        await #expect {
            _ = try await key.accessToken(on: loop.loop)
        } throws: { error in
            "\(error)".contains("http://127.0.0.1:1/token: ")
        }
    }

    @Test("before a token for a key ends, the connection shows another one")
    func renewal() async throws {
        let database = try TestDatabase()
        let body = #"{"access_token":"owner","expires_in":0}"#
        let tokens = try BrokenServer(
            "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", ends: false)
        let uri = tokens.urlText.replacing("ws://", with: "http://") + "/token"
        let connection = try await database.connect()
        try await connection.authenticate(.key(try ServiceAccountKey(serviceAccount(tokenURI: uri))))
        await tokens.requests(2)
        connection.close()
    }

    @Test("a renewal that fails is tried again")
    func renewalAgain() async throws {
        let database = try TestDatabase()
        let tokens = try ScriptedHTTP()
        let connection = try await database.connect()
        let key = try ServiceAccountKey(serviceAccount(tokenURI: tokens.urlText + "/token"))
        async let first: Void = connection.authenticate(.key(key))
        await tokens.next()?.answer(#"{"access_token":"owner","expires_in":0}"#)
        try await first
        // The second asks for a token that the server of the database refuses.
        await tokens.next()?.answer("{}", status: 503)
        await tokens.next()?.answer(#"{"access_token":"x","expires_in":0}"#)
        await tokens.next()?.answer(#"{"access_token":"owner","expires_in":3600}"#)
        connection.close()
    }

    @Test("a credential is not renewed when somebody else is there")
    func replaced() async throws {
        let database = try ScriptedServer(
            .init(received: { peer, text in peer.answer(to: text) }))
        let clients = try TestLoop()
        let tokens = try ScriptedHTTP()
        let connection = try await Connection.open(DatabaseURL(database.urlText), on: clients.loop)
        let key = try ServiceAccountKey(serviceAccount(tokenURI: tokens.urlText + "/token"))
        async let first: Void = connection.authenticate(.key(key))
        await tokens.next()?.answer(#"{"access_token":"early","expires_in":0}"#)
        try await first
        let renewal = await tokens.next()
        try await connection.authenticate(Array("other".utf8), acting: Array("null".utf8))
        renewal?.answer(#"{"access_token":"late","expires_in":0}"#)
        // Time for what should not come.
        for _ in 0..<50 { try await connection.remove(path("a")) }
        #expect(database.heard.all.contains { $0.contains("early") })
        #expect(!database.heard.all.contains { $0.contains("late") })
        connection.close()
    }

    private func serviceAccount(tokenURI: String) throws -> [UInt8] {
        JSONObject([
            "client_email": .text("hearth@p"), "private_key_id": .text("k"),
            "private_key": .string(try TestKeys.first.privatePEM()), "token_uri": .text(tokenURI),
        ]).bytes
    }
}
