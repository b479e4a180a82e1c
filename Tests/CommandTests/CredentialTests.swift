import HearthServerSupport
import HearthJSONWebTokens
import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthJSONValues
import Synchronization
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

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
        let environment = ["HEARTH_KEY": key]
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
            #expect(outcome.code == 1, "\(words): \(outcome)")
            #expect(outcome.errors.contains("ermission"), "\(words): \(outcome)")
        }
        let id = try await HearthProcess.run("admin", "keys", "--data", folder.path + "/data").output.prefix {
            $0 != " "
        }
        _ = try await HearthProcess.run("admin", "remove-key", String(id), "--data", folder.path + "/data")
        let removed = try await run(["get", "/"])
        #expect(removed.code == 1, "\(removed)")
        #expect(removed.errors.contains("/token: invalid_grant: "), "\(removed)")
    }

    @Test("a key is used at the server that it is for, and at another one only if that is said")
    func keyElsewhere() async throws {
        let server = try await serve()
        let key = try await makeKey()
        let admin = String(
            decoding: TemporaryFolder.contents(of: folder.path + "/data/admin-url"), as: UTF8.self
        ).replacing("http://", with: "ws://")
        // A developer's server, which takes any token for an administrator's.
        let other = try await ServerProcess(folder.path + "/other")
        let elsewhere = "ws://\(other.address)"
        let file = folder.path + "/more.json"
        TemporaryFolder.write(Array(#"{"a":1}"#.utf8), to: file)
        #expect(try await HearthProcess.run("set", "/here", "1", "--key", key).code == 0)
        let commands = [
            ["get", "/"], ["set", "/x", "1"], ["push", "/x", "1"], ["update", "/x", "{}"], ["remove", "/x"],
            ["watch", "/x"],
            ["export", "/"], ["import", "/x", file], ["users", "list"],
        ]
        for words in commands {
            let outcome = try await HearthProcess(words + ["--url", elsewhere, "--key", key]).outcome()
            #expect(outcome.code == 64, "\(words): \(outcome)")
            let message =
                "\(key) is a key of \(admin), and --url names \(elsewhere): leave out one of them, or add --any-server"
            #expect(outcome.errors.contains(message), "\(words): \(outcome)")
        }
        for words in [
            ["shell", elsewhere, "get", "/"], ["export", "\(elsewhere)/"], ["import", "\(elsewhere)/", file],
            ["rules", "explain", "--url", elsewhere, "read /"],
        ] {
            let outcome = try await HearthProcess(words + ["--key", key]).outcome()
            #expect(outcome.code == 64, "\(words): \(outcome)")
            #expect(outcome.errors.contains("--any-server"), "\(words): \(outcome)")
        }
        #expect(try await HearthProcess.run("get", "/", "--url", elsewhere).output == "null\n")
        // Nothing else names a server for these.
        #expect(try await HearthProcess.run("get", "/here", "--key", key).output == "1\n")
        #expect(try await HearthProcess.run("shell", "--key", key, "get", "/here").output == "1\n")
        #expect(
            try await HearthProcess.run("rules", "explain", "--key", key, "read /here").output.hasPrefix("denied\n"))
        #expect(try await HearthProcess.run("users", "list", "--key", key).code == 0)
        // The public listener of the same server takes the key's tokens for data.
        let atPublic = ["get", "/here", "--key", key, "--url", "ws://\(server.address)"]
        #expect(try await HearthProcess(atPublic + ["--any-server"]).outcome().output == "1\n")
        let shell = ["shell", "ws://\(server.address)", "--key", key, "--any-server", "ls"]
        let refused = try await HearthProcess(shell).outcome()
        #expect(
            refused.errors.contains("does not answer administrators: the key is for http://127.0.0.1:"), "\(refused)")
    }

    @Test("in development mode administrators need no credential, and in production the message names one")
    func noCredential() async throws {
        let development = try await ServerProcess(folder.path + "/dev")
        #expect(try await HearthProcess.run("users", "list", "--url", "ws://\(development.address)").code == 0)
        let production = try await serve()
        let admin = String(decoding: TemporaryFolder.contents(of: folder.path + "/data/admin-url"), as: UTF8.self)
        for words in [["users", "list", "--url", admin], ["rules", "explain", "--url", admin, "read /"]] {
            let outcome = try await HearthProcess(words).outcome()
            #expect(outcome.code == 1, "\(words): \(outcome)")
            #expect(outcome.errors.contains("wants a credential: --key FILE"), "\(words): \(outcome)")
        }
        let elsewhere = try await HearthProcess.run("users", "list", "--url", "http://\(production.address)")
        #expect(elsewhere.errors.contains("They have a listener of their own"), "\(elsewhere)")
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
        #expect(wrong.code == 1, "\(wrong)")
        #expect(wrong.errors.contains("invalid_token"), "\(wrong)")
    }

    @Test("a file that is not a key, and a server of tokens that is not there")
    func wrongKeys() async throws {
        let loop = try TestLoop()
        let failure = #expect(throws: ServiceAccountKey.Failure.self) { try ServiceAccountKey(Array("{}".utf8)) }
        #expect(failure?.description.hasPrefix("no key of a service account: that is JSON with client_email, ") == true)
        let file = folder.path + "/wrong.json"
        TemporaryFolder.write(Array("{}".utf8), to: file)
        let outcome = try await HearthProcess.run("get", "/", "--key", file)
        #expect(outcome.code == 64, "\(outcome)")
        #expect(outcome.errors.contains("private_key_id"), "\(outcome)")
        let both = try await HearthProcess.run("get", "/", "--key", file, environment: ["HEARTH_AUTH": "x"])
        #expect(both.code == 64, "\(both)")
        #expect(both.errors.contains("not both"), "\(both)")
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
        let database = ScriptedServer(
            .init(received: { peer, text in
                peer.answer(to: text, status: text.contains(#""cred":"x""#) ? "invalid_token" : "ok")
            }))
        let tokens = ScriptedHTTP(in: database.network)
        let connection = try await Connection.open(
            DatabaseURL(database.urlText), on: database.clientLoop, options: .persistent)
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
        let database = ScriptedServer(
            .init(received: { peer, text in peer.answer(to: text) }))
        let tokens = ScriptedHTTP(in: database.network)
        let connection = try await Connection.open(
            DatabaseURL(database.urlText), on: database.clientLoop, options: .persistent)
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
