import HearthServerSupport
import HearthConnection
import Glibc
import HearthClient
import HearthJSONTree
import Testing

@Suite("The program's commands", .timeLimit(.minutes(15)))
struct CommandTests {
    private typealias Outcome = HearthProcess.Outcome

    private func success(_ output: String = "") -> Outcome { Outcome(code: 0, output: output, errors: "") }

    @Test("set, get, update, push, remove")
    func commands() async throws {
        let database = try TestDatabase()
        let url = database.urlText
        #expect(try await HearthProcess.run("get", "/", "--url", url) == success("null\n"))
        #expect(try await HearthProcess.run("set", "/a", #" {"b":[1,2], "x":"ü"} "#, "--url=\(url)") == success())
        #expect(
            try await HearthProcess.run("get", "a/", "--url", url) == success(#"{"b":{"0":1,"1":2},"x":"ü"}"# + "\n"))
        #expect(try await HearthProcess.run("update", "/a", #"{"c/d":true,"x":null}"#, "--url", url) == success())
        #expect(try await HearthProcess.run("set", "/a/b/.priority", "-5", "--url", url) == success())
        #expect(
            try await HearthProcess.run("get", "/a", "--url", url, "--json")
                == success(#"{"b":{".priority":-5,"0":1,"1":2},"c":{"d":true}}"# + "\n"))
        let removed = Outcome(code: 0, output: "", errors: "hearth remove: remove /a/b at \(url)\n")
        #expect(try await HearthProcess.run("remove", "/a/b", "--url", url) == removed)
        #expect(try await HearthProcess.run("get", "/a/c", "--url", url) == success("{\"d\":true}\n"))
        let first = try await HearthProcess.run("push", "/list", "1", "--url", url)
        let second = try await HearthProcess.run("push", "/list", "2", "--url", url, "--json")
        #expect(first.code == 0)
        #expect(first.output.utf8.count == 21)
        #expect(second.output.hasPrefix(#"{"name":"-"#))
        #expect(second.output.hasSuffix("\"}\n"))
        let key = first.output.dropLast()
        #expect(try await HearthProcess.run("get", "/list/\(key)", "--url", url) == success("1\n"))
    }

    @Test(
        "a query shows some of the children",
        arguments: [
            ("--order-by key --limit-to-last 1", #"{"c":{"n":2}}"#),
            ("--order-by /n --limit-to-first 2", #"{"b":{"n":1},"c":{"n":2}}"#),
            ("--order-by=/n --start-at=2", #"{"a":{"n":3},"c":{"n":2}}"#),
            ("--order-by /n --start-after 2", #"{"a":{"n":3}}"#),
            ("--order-by /n --end-before 3 --limit-to-last 1", #"{"c":{"n":2}}"#),
            ("--order-by /n --equal-to 1", #"{"b":{"n":1}}"#),
            ("--order-by key --end-at b --start-at b", #"{"b":{"n":1}}"#),
            ("--order-by value --end-at 7", "null"), ("--order-by priority", #"{"a":{"n":3},"b":{"n":1},"c":{"n":2}}"#),
        ])
    func queries(options: String, expected: String) async throws {
        let database = try TestDatabase()
        let connection = try await database.connect()
        try await connection.set(place("l"), to: json(#"{"a":{"n":3},"b":{"n":1},"c":{"n":2}}"#))
        let process = try HearthProcess(
            ["get", "/l", "--url", database.urlText] + options.split(separator: " ").map { String($0) })
        #expect(try await process.outcome() == success(expected + "\n"))
    }

    @Test("the server, the database and the place come from the URL, options and the environment")
    func addresses() async throws {
        let database = try TestDatabase()
        let url = database.urlText
        let environment = ["HEARTH_URL": "\(url)/rooms?ns=other"]
        #expect(try await HearthProcess.run("set", "a", "1", environment: environment) == success())
        #expect(
            try await HearthProcess.run("get", "/", "--url", "\(url)/?ns=other") == success("{\"rooms\":{\"a\":1}}\n"))
        #expect(
            try await HearthProcess.run("get", "rooms", "--url", url, "--database", "other") == success("{\"a\":1}\n"))
        #expect(
            try await HearthProcess.run("get", "/", "--database", "third", environment: environment)
                == success("null\n"))
        #expect(
            try await HearthProcess.run("get", "/", "--url", url.replacing("ws:", with: "http:")) == success("null\n"))
    }

    @Test("the environment sets an option of one command; only those of a server are for all")
    func environment() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        #expect(try await HearthProcess.run("set", "/a", #"{"b":1,"c":2}"#, environment: environment) == success())
        func ls(_ more: [String: String]) async throws -> HearthProcess.Outcome {
            try await HearthProcess.run("ls", "/a", environment: environment.merging(more) { $1 })
        }
        #expect(try await ls(["HEARTH_LS_LIMIT": "1"]) == success("b\t1\n"))
        #expect(try await ls(["HEARTH_LIMIT": "1", "HEARTH_TREE_LIMIT": "1"]) == success("b\t1\nc\t2\n"))
        #expect(try await ls(["HEARTH_LS_URL": "ws://127.255.255.254:9"]).code == 69)
        let sure = try await HearthProcess.run(
            "remove", "/a", environment: environment.merging(["HEARTH_DRY_RUN": "1"]) { $1 })
        #expect(sure.code == 0)
        #expect(try await HearthProcess.run("get", "/a", environment: environment) == success("null\n"))
    }

    @Test("JSON from standard input, as large as it may be")
    func standardInput() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let text = "\"" + String(repeating: "0123456789", count: 100_000) + "\""
        #expect(
            try await HearthProcess.run("set", "/big", "-", input: "\n  " + text + "\n", environment: environment)
                == success())
        #expect(try await HearthProcess.run("get", "/big", environment: environment) == success(text + "\n"))
        #expect(
            try await HearthProcess.run("update", "/", "-", input: #"{"big":null,"a":1}"#, environment: environment)
                == success())
        #expect(try await HearthProcess.run("get", "/", environment: environment) == success("{\"a\":1}\n"))
        let pushed = try await HearthProcess.run("push", "/", "-", input: "true", environment: environment)
        #expect(pushed.code == 0)
    }

    @Test(
        "what is wrong on the command line is said in one line, before anything is sent",
        arguments: [
            (["get", "/a", "/b"], "too many words; usage: get [PATH]"),
            (["set", "/a"], "the value is missing; usage: set PATH JSON"),
            (["get", "/a", "--frob"], "unknown option --frob"), (["get", "/a", "--url"], "--url needs a value"),
            (["get", "/a", "--url", "ftp://x"], "--url: a database URL begins with"),
            (["get", "/a", "--limit-to-first", "1"], "a query needs --order-by"),
            (["get", "/a", "--order-by", "n"], "--order-by must be key, value, priority or /PATH, not 'n'"),
            (
                ["get", "/a", "--order-by", "/n", "--start-at", "x"],
                "--start-at must be null, true, false, a number or"
            ),
            (["get", "/a", "--order-by", "key", "--end-at", "x", "--equal-to", "y"], "--equal-to does not go with"),
            (["get", "/a$"], "invalid path '/a$': a key contains"),
            (["get", "/a/.priority"], "a priority cannot be read alone"),
            (["push", "/.priority", "1"], "a priority cannot be read alone"),
            (["set", "/a", #"{"b":}"#], "invalid JSON at line 1, column 6: unexpected character }"),
            (["set", "/a", "{\n  \"é\": 1,\n  \"é\" 2}"], "invalid JSON at line 3, column 7: unexpected character 2"),
            (["set", "/a", ""], "invalid JSON at line 1, column 1: the JSON text ends too early"),
            (["set", "/a", "1 2"], "invalid JSON at line 1, column 3: unexpected text after the JSON value"),
            (["set", "/a", "Hello"], #"unexpected character H; a string is written '"…"'"#),
            (["set", "/a", "nice"], #"unexpected character i; a string is written '"…"'"#),
            (["set", "", "1"], "the path is empty: / is the whole database"),
            (["remove", ""], "the path is empty"),
            (["set", "/a", #"{"$":1}"#], "invalid JSON at line 1, column 2: a key contains"),
            (["set", "/a/.priority", "true"], "invalid JSON at line 1, column 1: a priority is neither"),
            (["update", "/a", "[1]"], "an update needs a JSON object"),
            (
                ["update", "/a", "{\n\"b\": 1,\n\"c\": [1,]}"],
                "invalid JSON at line 3, column 9: unexpected character ]"
            ),
            (["update", "/a", #"{"b":1,"b/c":2}"#], "an update may not set a path and another one above it"),
            (["update", "/a", #"{"b#":1}"#], "invalid path: a key contains"),
            (["export", "ftp://x/a"], "'ftp://x/a': a database URL begins with"),
            (["import"], "too few words; usage: import [PATH] FILE"), (["import", "/none/y"], "cannot read /none/y"),
            (["import", "/a", "/none/x"], "cannot read /none/x: No such file"),
            (["backup", "--keep", "3"], "--keep needs FILE or --to DIR"),
            (["restore", "a", "b"], "needs FILE"),
            (["frob"], "unknown command 'frob'"),
            (["get", "/a", "-o", "yaml"], "--output must be table or one of text, raw"),
            (["get", "/a", "--json", "-o", "raw"], "use --json or --output, not both"),
        ])
    func usageErrors(words: [String], message: String) async throws {
        // Nothing listens there; no connection is attempted.
        let process = try HearthProcess(words, environment: ["HEARTH_URL": "ws://127.255.255.254:9"])
        let outcome = try await process.outcome()
        #expect(outcome.code == 64)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("hearth"), "\(outcome.errors)")
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
        #expect(outcome.errors.filter { $0 == "\n" }.count == 1)
    }

    @Test("what the server refuses ends with 1")
    func refusals() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let priority = try await HearthProcess.run("set", "/none/.priority", "1", environment: environment)
        #expect(priority.code == 1)
        #expect(priority.errors.hasPrefix("hearth set: invalid_argument: "))
        let name = try await HearthProcess.run("get", "/", "--database", "no/such", environment: environment)
        #expect(name.code == 1)
        #expect(name.errors.hasPrefix("hearth get: the server refused the connection: HTTP 403"))
    }

    @Test(
        "a server that is not there ends with 69",
        arguments: [["get", "/"], ["set", "/a", "1"], ["watch", "/"], ["export", "/"], ["import", "/", "-"]])
    func unreachable(words: [String]) async throws {
        let process = try HearthProcess(words, environment: ["HEARTH_URL": "ws://127.255.255.254:9"])
        let outcome = try await process.outcome()
        let expected =
            "hearth \(words[0]): cannot reach ws://127.255.255.254:9: connect to 127.255.255.254:9: Connection refused\n"
        #expect(outcome == Outcome(code: 69, output: "", errors: expected))
    }

    @Test("help for every command, and for all together")
    func help() async throws {
        let overview = try await HearthProcess.run("help")
        #expect(overview.code == 0)
        #expect(overview.errors.isEmpty)
        #expect(try await HearthProcess.run() == Outcome(code: 64, output: "", errors: overview.output))
        let unknown = "hearth: unknown command 'frob'; 'hearth help' lists the commands\n"
        #expect(try await HearthProcess.run("help", "frob") == Outcome(code: 64, output: "", errors: unknown))
        for name in [
            "get", "set", "push", "update", "remove", "watch", "export", "import", "backup", "restore", "serve",
            "version",
        ] {
            #expect(overview.output.contains("\n  \(name)"), "\(name)")
            let help = try await HearthProcess.run("help", name)
            #expect(help.code == 0)
            #expect(help.output.hasPrefix("usage: hearth \(name)"))
            #expect(help.errors.isEmpty)
            #expect(try await HearthProcess.run(name, "--help") == help)
            for line in help.output.split(separator: "\n") { #expect(line.count <= 120, "\(line)") }
        }
    }

    @Test("the help of each command that prints JSON names the members")
    func helpAboutJSON() async throws {
        let overview = try await HearthProcess.run("help").output
        var count = 0
        for command in overview.matches(of: #/\n  ([a-z]+)  /#).map({ String($0.1) }) {
            let usage = try await HearthProcess.run("help", command).output.split(separator: "\n\n", maxSplits: 1)[0]
            for form in usage.matches(of: /hearth ([a-z]+(?: [a-z][a-z-]+)?)/) {
                let words = ["help"] + form.1.split(separator: " ").map(String.init)
                let help = try await HearthProcess(words).outcome().output
                guard help.contains("--output") else { continue }
                count += 1
                #expect(help.contains("\n\nJSON: "), "\(form.1)")
            }
        }
        #expect(count > 30)
    }

    @Test("a secret among the words is warned of, with the place where it belongs")
    func secrets() async throws {
        let database = try TestDatabase()
        let url = database.urlText
        let warning = "warning: all users of this machine can read the value of"
        let token = try await HearthProcess.run("get", "/a", "--url", url, "--auth=x")
        let line = "hearth get: \(warning) --auth while the command runs: set HEARTH_AUTH instead\n"
        #expect(token.errors.hasPrefix(line), "\(token)")
        let quiet = [
            try await HearthProcess.run("get", "/a", "--url", url, environment: ["HEARTH_AUTH": "x"]),
            try await HearthProcess.run("get", "/a", "--url", url, "--auth", "owner"),
            try await HearthProcess.run(
                "users", "create", "--url", "http://127.0.0.1:1", "--password", "-", input: "secret1\n"),
        ]
        for outcome in quiet { #expect(!outcome.errors.contains("warning"), "\(outcome)") }
        let password = try await HearthProcess.run(
            "users", "create", "--url", "http://127.0.0.1:1", "--password", "secret1")
        let advice = "set HEARTH_USERS_PASSWORD instead, or give - and the secret on standard input\n"
        #expect(
            password.errors.hasPrefix("hearth users create: \(warning) --password while the command runs: \(advice)"))
        #expect(!(token.errors + password.errors).contains("secret1"))
    }

    // MARK: Two processes

    @Test("watch sees who comes into a query and who leaves it")
    func watchQuery() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let client = try await database.connect()
        try await client.set(place("n"), to: json(#"{"a":1,"b":3}"#))
        let watch = try HearthProcess(
            ["watch", "/n", "--order-by", "value", "--limit-to-last", "1"], environment: environment)
        #expect(await watch.line() == "set /n {\"b\":3}\n")
        try await client.set(place("n/c"), to: json("4"))
        #expect(await watch.line() == "update /n {\"b\":null,\"c\":4}\n")
        try await client.set(place("n/a"), to: json("2"))
        try await client.set(place("n/c"), to: json("5"))
        #expect(await watch.line() == "set /n/c 5\n")
        watch.signal(SIGINT)
        #expect(try await watch.outcome().code == 130)
    }

    @Test("watch sees what others write, line by line, until a signal ends it", arguments: [SIGINT, SIGTERM])
    func watch(signal: Int32) async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let watch = try HearthProcess(["watch", "/rooms"], environment: environment)
        #expect(await watch.line() == "set /rooms null\n")
        #expect(try await HearthProcess.run("set", "/rooms/a", #"{"n":1}"#, environment: environment) == success())
        #expect(await watch.line() == "set /rooms/a {\"n\":1}\n")
        #expect(
            try await HearthProcess.run("update", "/rooms/a", #"{"n":2,"m/k":"ü"}"#, environment: environment)
                == success())
        #expect(await watch.line() == "update /rooms/a {\"n\":2,\"m/k\":\"ü\"}\n")
        #expect(try await HearthProcess.run("set", "/other", "1", environment: environment) == success())
        #expect(try await HearthProcess.run("remove", "/", environment: environment).code == 0)
        #expect(await watch.line() == "set /rooms null\n")
        watch.signal(signal)
        #expect(try await watch.outcome() == Outcome(code: 128 + signal, output: "", errors: ""))
    }

    @Test("watch in JSON, with the time")
    func watchJSON() async throws {
        let database = try TestDatabase()
        let environment = ["HEARTH_URL": database.urlText]
        let watch = try HearthProcess(["watch", "/a \"b", "--json"], environment: environment)
        let timed = try HearthProcess(["watch", "/a \"b", "--json", "--time"], environment: environment)
        #expect(await watch.line() == #"{"type":"set","path":"/a \"b","value":null}"# + "\n")
        _ = await timed.line()
        #expect(
            try await HearthProcess.run("update", "/a \"b", #"{"c":1,"d":2}"#, environment: environment) == success())
        #expect(await watch.line() == #"{"type":"update","path":"/a \"b","value":{"c":1,"d":2}}"# + "\n")
        let line = try #require(await timed.line())
        #expect(line.hasPrefix(#"{"time":"20"#))
        #expect(line.contains(#"Z","type":"update","path":"/a \"b","value""#))
        let json = try CanonicalJSON.parse(Array(line.utf8)).value
        #expect(json.value(at: try path("value/c")).description == "1")
        for process in [watch, timed] {
            process.signal(SIGINT)
            #expect(try await process.outcome() == Outcome(code: 130, output: "", errors: ""))
        }
    }

    @Test("watch says so when the server goes away")
    func watchLoses() async throws {
        let database = try TestDatabase()
        let watch = try HearthProcess(["watch", "/a", "--url", database.urlText])
        #expect(await watch.line() == "set /a null\n")
        database.stop()
        let expected =
            "hearth watch: \(database.urlText): the server closed the connection: the server is shutting down\n"
        #expect(try await watch.outcome() == Outcome(code: 69, output: "", errors: expected))
    }
}
