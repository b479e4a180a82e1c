import HearthEventLoop
import HearthServer
import HearthIdentity
import HearthJSONTree
import HearthJSONValues
import HearthServerLog
import HearthServerSupport
import HearthTestSupport
import Testing

@testable import HearthShell
import HearthClientSession
import HearthConnection

@Suite("Commands about the server", .timeLimit(.minutes(15)))
struct ServingTests {
    private static let rules = """
        {"rules": { // who is who
          "mine": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid && auth.token.editor === true"}}
        }}
        """

    @Test("who is connected, and who is not any more")
    func sessions() async throws {
        let shell = try ShellFixture()
        let other = try await Connection.open(shell.session.target.url, on: shell.loop)
        let changes = try await other.listen(try Path(parsing: "rooms/a"))
        let lines = await shell.run("sessions -l").split(separator: "\n").map { String($0) }
        try #require(lines.count == 4)
        #expect(lines[0].hasPrefix("id   "))
        #expect(lines.contains("    /rooms/a"))
        let id = try #require(lines.first { !$0.contains("administrator") && $0.contains("websocket") })
            .prefix { $0 != " " }
        #expect(await shell.run("dry sessions kick \(id)") == "would end session \(id)\n")
        #expect(await shell.run("sessions kick \(id)") == "")
        let end = await #expect(throws: ConnectionError.self) { for try await _ in changes {} }
        #expect(end?.description.hasSuffix(": an administrator has ended the connection") == true)
        #expect(await shell.run("sessions kick \(id)").contains("there is no session"))
        #expect(await shell.run("sessions").split(separator: "\n").count == 2)
    }

    @Test("figures, databases, the log, a backup")
    func figures() async throws {
        let shell = try ShellFixture()
        await shell.run("set a 1")
        let stats = await shell.run("stats")
        #expect(stats.contains("clients   sessions 1"))
        #expect(stats.contains("database  sequence  durable"))
        #expect(await shell.run("databases").hasPrefix("database           files"))
        #expect(await shell.run("log") == "")
        #expect(await shell.run("backup").contains("/data/backups/default-"))
        #expect(TemporaryFolder.files(in: shell.folder.path + "/data/backups").count == 1)
    }

    @Test("prints the requests to the database, up to a number")
    func profile() async throws {
        let (begun, continuation) = AsyncStream.makeStream(of: Void.self)
        let shell = try ShellFixture(onText: { if $0.contains("request") { continuation.yield() } })
        async let lines = shell.run("profile -n 1")
        for await _ in begun { break }
        // The head is there once the server was asked.
        let other = ShellSession(shell.session.target, MemoryOutput())
        try await other.run(try ShellWords.split("set a/b 5 -y"))
        let text = await lines.split(separator: "\n")
        #expect(text.count == 2, "\(text)")
        #expect(text.last?.hasSuffix("administrator     set /a/b") == true, "\(text)")
    }

    @Test("the rules: shown, checked, replaced, tested, and what they denied")
    func rules() async throws {
        let shell = try ShellFixture(rules: Self.rules)
        #expect(await shell.run("rules show") == Self.rules + "\n")
        let bad = shell.write("{\"rules\": {\n\".read\": \"nonsense\"}}", to: "bad.json")
        #expect(await shell.run("rules check \(bad)").hasPrefix("\(bad):2:"))
        let good = shell.write(#"{"rules": {"public": {".read": true}}}"#, to: "good.json")
        #expect(await shell.run("rules check \(good)") == "\(good): 1 .read, 0 .write, 0 .validate, 0 .indexOn\n")
        #expect(await shell.run("rules put \(bad) -y").hasPrefix("\(bad):2:"))
        #expect(
            await shell.run("dry rules put \(good)") == "would replace the rules of the default database by \(good)\n")
        #expect(await shell.run("rules put \(good)") == "nothing was done\n")
        #expect(await shell.run("as ann get mine/ann") == "null\n")
        shell.prompter.expect(true)
        #expect(await shell.run("rules put \(good)") == "")
        #expect(await shell.run("rules") == #"{"rules": {"public": {".read": true}}}"# + "\n")
        #expect(await shell.run("as ann get mine/ann").contains("permission_denied"))
        #expect(await shell.run("rules denials -n 1").contains("ann  read /mine/ann"))
        let cases = #"{"tests": [{"name": "all read", "as": null, "read": "/public", "allowed": true}]}"#
        let test = shell.write(cases, to: "test.json")
        #expect(await shell.run("rules test \(test)").hasPrefix("\(test): 1 of 1 passed\nthe rules in force: "))
        let wrong = shell.write(cases.replacing("true}", with: "false}"), to: "wrong.json")
        #expect(await shell.run("rules test \(wrong)").contains("1 case came out otherwise"))
        #expect(await shell.run("rules nonsense").contains("there is no 'rules nonsense'"))
    }

    @Test("somebody's reads and writes are judged by the rules")
    func acting() async throws {
        let shell = try ShellFixture(rules: Self.rules)
        await shell.run("users create ann@example.com --uid ann --password secret1")
        await shell.run("set mine/ann 1")
        let why = await shell.run("as ann rules explain write mine/ann {\"x\": 1}")
        #expect(why.hasPrefix("denied\n"))
        #expect(why.contains("auth.token.editor === true"))
        #expect(await shell.run("as ann rules explain read mine/ann").hasPrefix("allowed\n"))
        #expect(await shell.run("rules explain read mine/ann").hasPrefix("denied\n"))
        #expect(await shell.run("rules explain write mine {\"a.b\": 1}").contains("invalid"))
        #expect(await shell.run("as nobody get mine/ann").contains("permission_denied"))
        #expect(await shell.run("as ann ls mine").contains("permission_denied"))
        #expect(await shell.run("as ann set mine/ann 2").contains("permission_denied"))
        await shell.play(
            """
            > users claims ann {"editor": true}
            > as ann@example.com
            > get mine/ann
            1
            > ls mine/ann
            1
            > set mine/ann 2
            > count mine/ann
            0
            > as
            > get mine
            {"ann": 2}
            > as eve ls mine/eve
            """)
        #expect(await shell.run("as bob@example.com").contains("there is no user bob@example.com"))
    }

    @Test("rules see of somebody acted as what a token would say")
    func actingClaims() async throws {
        let rule = """
            auth.provider === 'password' && auth.token.firebase.sign_in_provider === 'password'
              && auth.token.email === 'ann@example.com' && auth.token.name === 'Ann' && auth.token.aud === 'hearth'
              && auth.token.role === 'editor' && auth.token.sub === auth.uid
            """
        let shell = try ShellFixture(rules: #"{"rules":{".read":"\#(rule.replacing("\n", with: " "))"}}"#)
        await shell.run("users create ann@example.com --uid ann --password \"secret 1\" --name \"Ann\"")
        await shell.run("users claims ann {\"role\": \"editor\"}")
        #expect(await shell.run("as ann rules explain read /").hasPrefix("allowed\n"))
        #expect(await shell.run("as eve rules explain read /").hasPrefix("denied\n"))
        let anonymous = try ShellFixture(rules: #"{"rules":{".read":"auth.provider === 'anonymous'"}}"#)
        await anonymous.run("users create --uid bob")
        #expect(await anonymous.run("as bob rules explain read /").hasPrefix("allowed\n"))
    }

    @Test("users whose ids mean something in addresses are listed, page by page")
    func strangeIDs() async throws {
        let shell = try ShellFixture()
        for thousand in 1...2 {
            let users = (0..<501).map { index in
                JSONValue.object(JSONObject(["localId": .text("u&\(thousand * 1000 + index)+%41 #")]))
            }
            _ = try await shell.session.call(
                "POST", "/v1/projects/hearth/accounts:batchCreate", JSONObject(["users": .array(users)]).bytes)
        }
        let rows = await shell.run("users list -n 2000").split(separator: "\n")
        #expect(rows.count == 1003)
        #expect(rows.last?.hasPrefix("u&2500+%41 #") == true)
    }

    @Test("accounts")
    func users() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > users
            id  email  name  last sign-in
            > dry users create ann@example.com
            would create ann@example.com
            > users create ann@example.com --name Ann --uid ann
            ann
            > users create --uid bob
            bob
            > users list
            id   email            name  last sign-in
            ann  ann@example.com  Ann   -
            bob  -                      -
            > users claims ann
            {}
            > users claims ann@example.com {"role": "editor"}
            > users claims ann
            {
              "role": "editor"
            }
            > users claims ann {}
            > users claims ann
            {}
            > users disable ann
            > users list -n 1
            id   email            name  last sign-in
            ann  ann@example.com  Ann   -             disabled
            > users enable ann
            > users revoke ann
            > dry users delete ann
            would delete ann
            > users delete bob -y
            > users delete ann
            nothing was done
            > users get bob
            there is no user 'bob'
            > users get
            too few words; usage: users get USER
            """)
        #expect(await shell.run("users get ann").contains(#""displayName": "Ann""#))
        #expect(
            await shell.run("users create ann@example.com") == "another user has this email address (EMAIL_EXISTS)\n")
    }

    @Test("names and ids that users gave themselves are shown as text, one row each, and nothing else")
    func hostileNames() async throws {
        let shell = try ShellFixture()
        let evil = #"e\u001b]52;c;eA==\u0007\u009b2J\ney"#
        #expect(await shell.run("users create --uid \"\(evil)\" --name \"\(evil)\"").split(separator: "\n").count == 1)
        let shown = "e\u{FFFD}]52;c;eA==\u{FFFD}\u{FFFD}2J\u{FFFD}ey"
        let rows = await shell.run("users").split(separator: "\n")
        #expect(rows.count == 2)
        #expect(rows.last?.hasPrefix("\(shown)  -      \(shown)") == true)
        await shell.run("as \"\(evil)\" set a 1")
        let history = await shell.run("history").split(separator: "\n")
        #expect(history.count == 2)
        #expect(history.first?.hasSuffix(shown) == true)
    }

    @Test("every command has help, and names what it takes")
    func help() async throws {
        let shell = try ShellFixture()
        let overview = await shell.run("help")
        for command in ShellCommand.all {
            #expect(overview.contains("  \(command.name) "))
            for entry in [command] + command.subcommands {
                let text = await shell.run("help \(entry.fullName)")
                let usage = entry.subcommands.first?.usage ?? entry.usage
                #expect(text.hasPrefix("usage: \(usage)\n"))
                #expect(text.contains("\n\n\(entry.summary)\n"))
                for option in entry.options { #expect(text.contains(option.usage), "\(entry.fullName) \(option.name)") }
                if !command.takesCommand { #expect(await shell.run("\(entry.fullName) --help") == text) }
            }
        }
        #expect(await shell.run("help help").contains("usage: help [COMMAND [SUBCOMMAND]]"))
        #expect(await shell.run("users create x -h").hasPrefix("usage: users create [EMAIL]"))
        #expect(await shell.run("help users lst").contains("there is no 'users lst' (did you mean 'list'?)"))
        await shell.run("exit")
        #expect(shell.session.isOver)
    }

    @Test("what a server that shuts down has not answered is asked of the next one")
    func restart() async throws {
        let shell = try ShellFixture()
        await shell.run("set a 1")
        #expect(await shell.run("stats").contains("default"))
        shell.stopServer()
        var configuration = ServerConfiguration(
            address: .loopback(port: shell.server.address.port), dataFolder: shell.folder.path + "/next")
        configuration.isDevelopment = true
        configuration.logLevel = .error
        configuration.bePatient()
        let next = try Server(configuration)
        defer { next.stop() }
        #expect(await shell.run("set b 2") == "")
        #expect(await shell.run("get b") == "2\n")
    }

    @Test("a shell that may not in says what it needs, and a lost connection comes back")
    func connections() async throws {
        let production = try ShellFixture(rules: Self.rules) { $0.isDevelopment = false }
        #expect(await production.run("ls").contains("wants a credential: --key FILE"))
        let shell = try ShellFixture()
        await shell.run("set a 1")
        let sessions = await shell.run("sessions").split(separator: "\n")
        let id = try #require(sessions.last?.prefix { $0 != " " })
        #expect(await shell.run("sessions kick \(id)").contains("the server closed the connection"))
        #expect(await shell.run("get a") == "1\n")
        // Whom somebody acts as is not guessed at when the server does not say.
        func kick() async throws {
            let other = ShellSession(shell.session.target, MemoryOutput())
            let sessions = await shell.run("sessions").split(separator: "\n")
            let id = try #require(sessions.last?.prefix { $0 != " " })
            try await other.run(try ShellWords.split("sessions kick \(id)"))
        }
        try await kick()
        #expect(await shell.run("as ann").contains("the server closed the connection"))
        #expect(shell.session.acting == nil)
        // A completion notices the loss, and what comes next does not suffer from it.
        try await kick()
        #expect(await Completer(session: shell.session).candidates("ls ").candidates.isEmpty)
        #expect(await shell.run("get a") == "1\n")
    }

    @Test("a key of the server opens its admin listener")
    func key() async throws {
        let folder = TemporaryFolder()
        let shell = try ShellFixture(rules: Self.rules) {
            $0.isDevelopment = false
            $0.adminAddress = .loopback(port: 0)
        }
        let accounts = try ServiceAccounts(folder: shell.folder.path + "/data")
        let file = try accounts.makeKey(
            email: "a@example.com", project: "hearth", tokenURI: "http://\(shell.server.adminAddress)/token", now: 1)
        var target = shell.session.target
        target.credential = Credential.key(try ServiceAccountKey(file))
        let out = MemoryOutput()
        let session = ShellSession(target, out)
        try await session.run(try ShellWords.split("set mine/ann 1"))
        try await session.run(try ShellWords.split("as ann get mine/ann"))
        try await session.run(try ShellWords.split("export mine \(folder.path)/out.json"))
        #expect(out.takeText().hasPrefix("1\n"))
        target.url = try DatabaseURL("ws://\(shell.server.address)")
        let outside = ShellSession(target, out)
        try await outside.run(try ShellWords.split("get mine"))
        let error = await #expect(throws: ShellError.self) { try await outside.run([Word("sessions")]) }
        let key = "the key is for http://\(shell.server.adminAddress)"
        #expect(error?.message == "\(target.url) does not answer administrators: \(key)")
    }
}
