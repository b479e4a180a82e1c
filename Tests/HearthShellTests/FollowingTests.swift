import HearthServer
import HearthJSONTree
import HearthJSONValues
import HearthServerLog
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("Commands that follow a server", .timeLimit(.minutes(15)))
struct FollowingTests {
    private func object(_ text: String) throws -> JSONObject {
        try #require(try JSONValue(parsing: Array(text.utf8)).object)
    }

    @Test("requests are summed up by user, kind and place, and the costliest comes first")
    func sums() {
        var sums = RequestSums()
        let one = #"{"count":2,"us":5,"uid":"ann","op":"get","path":"/a"}"#
        let other = #"{"count":1,"us":7,"uid":"ann","op":"set","path":"/a"}"#
        sums.add(Array("[\(one),\(other)]".utf8))
        sums.add(Array("[\(one),{\"others\":4}]".utf8))
        let taken = sums.take()
        #expect(taken.map(\.request.text) == ["get /a", "set /a", "other requests"])
        #expect(taken.map(\.count) == [4, 1, 4])
        #expect(taken.map(\.microseconds) == [10, 7, 0])
        #expect(taken.first?.request.user == "ann")
        #expect(sums.take().isEmpty)
    }

    @Test("figures of any size are shown")
    func largeFigures() throws {
        var sums = RequestSums()
        let one = #"{"count":9223372036854775807,"us":9223372036854775807,"op":"get","path":"/a"}"#
        sums.add(Array("[\(one),\(one)]".utf8))
        #expect(sums.take().count == 1)
        let before = try object(#"{"cpu":0,"pushes":0,"databases":[]}"#)
        let database = #"{"sequence":9223372036854775807}"#
        let after = try object(
            "{\"cpu\":1e300,\"pushes\":\(Int64.max),\"databases\":[\(database),\(database)]}")
        let max = Int.max
        #expect(
            ServerRates(from: before, to: after, seconds: 0.01).text
                == "commits \(max)/s, messages to listeners \(max)/s, cpu \(max) % of a core")
        let child = #"{"k":"a","t":"string","s":"","b":9223372036854775807}"#
        let page = NodePage(try object("{\"t\":\"object\",\"c\":[\(child),\(child)]}"))
        #expect(page.byteCount == 2 * (1 << 40 + 5))
    }

    @Test("rates are what was added per second, in all databases, and never negative")
    func rates() throws {
        let before = try object(#"{"cpu":1.5,"pushes":100,"databases":[{"sequence":10},{"sequence":5}]}"#)
        let after = try object(#"{"cpu":2.5,"pushes":140,"databases":[{"sequence":30},{"sequence":9}]}"#)
        let rates = ServerRates(from: before, to: after, seconds: 4)
        #expect(rates.commits == 6)
        #expect(rates.pushes == 10)
        #expect(rates.cores == 0.25)
        #expect(rates.text == "commits 6/s, messages to listeners 10/s, cpu 25 % of a core")
        // The server was started over.
        #expect(ServerRates(from: after, to: before, seconds: 4).commits == 0)
    }

    @Test("top shows what was asked since the page before, and ends when it is interrupted")
    func top() async throws {
        let fixture = try ShellFixture(isJSON: true)
        let writer = ShellSession(fixture.session.target, MemoryOutput())
        let top = Task { await fixture.run("top -s 1") }
        // The first page may count a write already.
        try await eventually("a second page, and one that counts the writes") {
            try await writer.run(try ShellWords.split("set a 1"))
            let text = fixture.out.text
            return text.contains(#""request":"set /a""#) && text.split(separator: "\n").count >= 2
        }
        top.cancel()
        let lines = await top.value.split(separator: "\n")
        let pages = lines.dropLast()
        #expect(lines.last == "(stopped)")
        #expect(pages.count >= 2)
        let first = try object(String(try #require(pages.first)))
        #expect(first["rates"] == nil)
        #expect(first["figures"]?.object?["sessions"] != nil)
        #expect(try object(String(try #require(pages.last)))["rates"]?.object?["commits"] != nil)
    }

    @Test(
        "an interruption ends what follows, without a word, even while the server is asked",
        arguments: ["top", "profile", "logs -f", "watch /"])
    func interrupted(command: String) async throws {
        let fixture = try ShellFixture()
        let following = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await fixture.run(command)
        }
        #expect(await following.value.hasSuffix("(stopped)\n"))
    }

    @Test("top for people: figures, without rates on the first page")
    func page() async throws {
        let fixture = try ShellFixture()
        await fixture.run("set a 1")
        let text = await fixture.run("top -n 1")
        #expect(text.hasPrefix("up        "), "\(text)")
        #expect(text.contains("\ndefault  "), "\(text)")
        #expect(!text.contains("\nnow "), "\(text)")
        #expect(await fixture.run("top -s 0").contains("--seconds must be a number from 1 to 3600"))
    }

    @Test("new lines of a log are found among its last lines")
    func tail() {
        var tail = LogTail()
        func add(_ lines: String...) -> [String] { tail.add(lines.map { .text($0) }).compactMap(\.text) }
        #expect(add("a", "b") == ["a", "b"])
        #expect(add("a", "b") == [])
        #expect(add("b", "c", "c") == ["c", "c"])
        #expect(add("c", "c", "c") == ["c"])
        // More came than are shown.
        #expect(add("x", "y") == ["x", "y"])
        #expect(add() == [])
    }

    @Test("logs are followed until they are interrupted")
    func logs() async throws {
        let fixture = try ShellFixture(columns: 100) { $0.logLevel = .info }
        #expect(await fixture.run("logs -n 1").split(separator: "\n").count == 1)
        #expect(await fixture.run("log -n 1").split(separator: "\n").count == 1)
        let follower = Task { await fixture.run("logs -f") }
        try await eventually("lines of the log") { !fixture.out.text.isEmpty }
        follower.cancel()
        #expect(await follower.value.hasSuffix("\n"))
    }

    @Test("use goes to another database, and stays where it is if there is none")
    func use() async throws {
        let fixture = try ShellFixture()
        await fixture.play(
            """
            > set a 1
            > use
            default
            > cd a
            > use other
            > pwd
            /
            > get a
            null
            > set b 2
            > use
            other
            > use default
            > get
            {"a": 1}
            """)
        #expect(await fixture.run("use no/such").contains("HTTP 403"))
        #expect(await fixture.run("use") == "default\n")
        #expect(await fixture.run("use ''").contains("the name of the database is empty"))
        #expect(await fixture.run("get a") == "1\n")
        let completion = await Completer(session: fixture.session).candidates("use o")
        #expect(completion.candidates.map(\.label) == ["other"])
        let option = await Completer(session: fixture.session).candidates("ls --li")
        #expect(option.candidates.map(\.label) == ["--limit"])
        for (line, labels) in [
            ("users cr", ["create"]), ("help users de", ["delete"]), ("users create --pa", ["--password"]),
            ("users list --pa", []), ("rules explain w", ["write"]), ("ls --dr", ["--dry-run"]),
            ("jobs re", ["release", "retry"]),
        ] {
            let found = await Completer(session: fixture.session).candidates(line)
            #expect(found.candidates.map(\.label) == labels, "\(line)")
        }
        let alias = await Completer(session: fixture.session).candidates("rm")
        #expect(alias.candidates.map(\.label) == ["rm"])
    }

    @Test("a list comes as an array, or each element on a line of its own")
    func formats() async throws {
        let fixture = try ShellFixture()
        await fixture.run("set a {\"x\":1,\"y\":{}, \"z\": [true]}")
        fixture.session.format = .jsonl
        #expect(
            await fixture.run("ls a") == #"{"t":"number","v":1,"k":"x"}"# + "\n"
                + #"{"t":"object","v":{"0":true},"k":"z"}"# + "\n")
        #expect(await fixture.run("databases").hasPrefix(#"{"name":"default""#))
        fixture.session.format = .raw
        #expect(await fixture.run("get a") == #"{"x":1,"z":{"0":true}}"# + "\n")
        #expect(await fixture.run("count a") == "2\n")
        #expect(OutputFormat(named: "table") == .text)
        #expect(OutputFormat(named: "yaml") == nil)
    }
}
