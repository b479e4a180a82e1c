import HearthJSONTree
import Testing

@testable import HearthShell

@Suite("Commands that look at data", .timeLimit(.minutes(15)))
struct LookingTests {
    @Test("places, lists, values, trees, counts")
    func looking() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > pwd
            /
            > ls
            > get nothing
            null
            > count nothing
            0
            > update / {"rooms/a/title": "Kitchen", "rooms/a/n": 3, "rooms/b c/open": true, "x": "y"}
            > set x/.priority 2
            > ls
            rooms\t{"a": {"n": 3, "title": "Kitchen"}, "b c": {"open": true}}
            x\t"y"
            > ls -n 1
            rooms\t{"a": {"n": 3, "title": "Kitchen"}, "b c": {"open": true}}
            > ls x
            "y"
            > cd rooms
            > pwd
            /rooms
            > ls
            a\t{"n": 3, "title": "Kitchen"}
            b c\t{"open": true}
            > get a/title
            "Kitchen"
            > get "b c/open"
            true
            > get b\\ c
            {"open": true}
            > get ../x
            {".priority": 2, ".value": "y"}
            > count
            2
            > count ..
            2
            > cd a/../..
            > pwd
            /
            > tree
            /
            ├─ rooms
            │  ├─ a
            │  │  ├─ n: 3
            │  │  └─ title: "Kitchen"
            │  └─ b c
            │     └─ open: true
            └─ x: "y"
            > tree -d 1 -n 1
            /
            ├─ rooms: {"a": {"n": 3, "title": "Kitchen"}, "b c": {"open": true}}
            └─ …
            > tree x
            /x
            "y"
            > cd
            > pwd
            /
            """)
    }

    @Test("a node that is large is shown by its top, and counted, without being read")
    func large() async throws {
        let shell = try ShellFixture(columns: 80)
        let children = (0..<3000).map { #""k\#($0 + 1000)":{"text":"\#(String(repeating: "v", count: 400))"}"# }
        let file = shell.write("{\"list\":{\(children.joined(separator: ","))}}", to: "big.json")
        #expect(await shell.run("import / \(file)") == "")
        #expect(await shell.run("count list") == "3000\n")
        let top = await shell.run("get list").split(separator: "\n")
        #expect(top.count == 201)
        #expect(top.last == "a large value, of which this is the top: 'get --all', or 'export'")
        #expect(await shell.run("ls list").split(separator: "\n").count == 3000)
        #expect(await shell.run("ls list -n 1500").split(separator: "\n").count == 1500)
        #expect(await shell.run("ls") == "list  { many children }\n")
        #expect(await shell.run("tree -n 2").split(separator: "\n").count == 7)
        #expect(await shell.run("get list --all").utf8.count > 1_200_000)
    }

    @Test("many small children are no large value")
    func many() async throws {
        let shell = try ShellFixture(columns: 80)
        let children = (0..<1300).map { #""k\#($0 + 1000)":\#($0)"# }
        let file = shell.write("{\"list\":{\(children.joined(separator: ","))}}", to: "many.json")
        await shell.run("import / \(file)")
        #expect(await shell.run("get list").split(separator: "\n").count == 1302)
    }

    @Test("queries")
    func queries() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > set l {"a": {"n": 1}, "b": {"n": 3}, "c": {"n": 2}}
            > query l --order-by /n --limit-to-last 1
            {"b": {"n": 3}}
            > query l --order-by key --start-at b
            {"b": {"n": 3}, "c": {"n": 2}}
            > query l --order-by /n --equal-to 2
            {"c": {"n": 2}}
            > set names {"a": "x", "b": "y"}
            > query names --order-by value --equal-to "y"
            {"b": "y"}
            > query names --order-by "key" --end-at "a"
            {"a": "x"}
            """)
        #expect(await shell.run("query l").contains("--order-by is missing"))
        #expect(await shell.run("query l --order-by nonsense").contains("--order-by must be key, value"))
        #expect(await shell.run("query l --nonsense").contains("unknown option --nonsense; usage: query"))
    }

    @Test("children for which conditions hold")
    func finding() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > set l {"a": {"n": 1, "s": "x"}, "b": {"n": 3, "s": "x y"}, "c": {"n": 2, "t": {"u": true}}}
            > find l n > 1 --order-by "/n desc"
            b\t{"n": 3, "s": "x y"}
            c\t{"n": 2, "t": {"u": true}}
            > find l 's == "x y" or (t has "u" and n < 3)' -f n
            b\t{"n": 3}
            c\t{"n": 2}
            > find l n > 1 --aggregate count,sum --of n
            {"count": 2, "sum": 5}
            > get l --aggregate count
            {"count": 3}
            > find l --order-by "/s,/n desc" -n 2
            c\t{"n": 2, "t": {"u": true}}
            a\t{"n": 1, "s": "x"}
            > get l --where 'n in [1,3] and s starts "x"' --order-by "/n desc" --limit-to-first 1
            {"b": {"n": 3, "s": "x y"}}
            > get l --where 'n > 1' --fields s,t/u
            {"b": {"s": "x y"}, "c": {"t": {"u": true}}}
            > query l --where "t/u == true"
            {"c": {"n": 2, "t": {"u": true}}}
            """)
        #expect(
            await shell.run("find l n > 1 --order-by /n --explain")
                == "no index; it needs the setting \".index\": [[[\"n\",\"asc\"]]]\n3 examined\n")
        #expect(await shell.run("find l --explain").hasPrefix("index .key\n"))
        #expect(
            await shell.run("find l n > 1 --aggregate sum --of n --explain")
                == "no index; it needs the setting \".index\": [[[\"n\",\"asc\"]]]\n3 examined\n")
        let children = (0..<1300).map { #""k\#($0)":\#($0)"# }
        let file = shell.write("{\(children.joined(separator: ","))}", to: "many.json")
        await shell.run("import /many \(file)")
        #expect(await shell.run("find many .value >= 100 --order-by value").split(separator: "\n").count == 1200)
        #expect(await shell.run("find many -n 101 --order-by 'value desc'").hasSuffix("k1199\t1199\n"))
        for (command, message) in [
            ("find l n", "after \"n\" the condition needs one of ==,"), ("find l == 1", "a path is missing"),
            ("find l n == x", "'x' is not a value; a string is written '\"x\"'"), ("find l n ==", "a value is missing"),
            ("find l --aggregate median", "not 'median'"), ("find l --aggregate sum", "need --of"),
            ("find l --of n", "--of needs --aggregate"), ("find l --aggregate count -n 1", "--limit does not go"),
            ("find l (n == 1", "bracket"), ("find l n == 1 2", "'2' is too much"),
            ("find l n < null", "null has no range"), ("find l --order-by priority", "no order 'priority'"),
            ("get l --where n==1 --equal-to 2", "--equal-to does not go with --where"),
            ("watch l --fields n", "--fields needs --where"),
        ] {
            #expect(await shell.run(command).contains(message), "\(command)")
        }
    }

    @Test("what was committed, the newest first")
    func history() async throws {
        let shell = try ShellFixture()
        await shell.run("set a {\"x\": 1}")
        await shell.run("as ann update / {\"a/x\": 2, \"b\": true}")
        let lines = await shell.run("history a").split(separator: "\n").map { String($0) }
        try #require(lines.count == 4)
        #expect(lines[0].hasPrefix("2  20"))
        #expect(lines[0].hasSuffix("  ann"))
        #expect(lines[1] == "    /a/x  2")
        #expect(lines[3] == #"    /a  {"x": 1}"#)
        #expect(lines[2].hasPrefix("1  20"))
        #expect(lines[2].hasSuffix("  -"))
        #expect(await shell.run("history -n 1").split(separator: "\n").count == 3)
    }

    @Test("values as deep as the server takes are looked at like others")
    func deepValues() async throws {
        let shell = try ShellFixture()
        func value(_ levels: Int) -> String {
            String(repeating: #"{"k": "#, count: levels) + "1" + String(repeating: "}", count: levels)
        }
        #expect(await shell.run("set / \(value(32))") == "")
        #expect(await shell.run("ls") == "k\t\(value(31))\n")
        #expect(await shell.run("tree -d 1") == "/\n└─ k: \(value(31))\n")
        #expect(await shell.run("history /").hasSuffix("    /  \(value(32))\n"))
        // The priority of the deepest value is one level more.
        let deepest = value(32).replacing(" 1", with: #" {".priority": 2, ".value": 1}"#)
        #expect(await shell.run("set / \(deepest)") == "")
        #expect(await shell.run("get") == deepest + "\n")
        #expect(await shell.run("history / -n 1").hasSuffix("    /  \(deepest)\n"))
        #expect(await shell.run("rules explain write / \(value(32))").contains("allowed"))
    }

    @Test("everything is one line of JSON with --json, but for lists of children")
    func json() async throws {
        let shell = try ShellFixture(isJSON: true)
        await shell.play(
            """
            > set a {"x": 1, "y": "z"}
            {"path":"/a","value":{"x":1,"y":"z"}}
            > get
            {"a":{"x":1,"y":"z"}}
            > ls
            [{"t":"object","v":{"x":1,"y":"z"},"k":"a"}]
            > ls a
            [{"t":"number","v":1,"k":"x"},
            {"t":"string","v":"z","k":"y"}]
            > ls a/x
            [{"t":"number","v":1}]
            > ls nothing
            []
            > count a
            2
            > pwd
            "/"
            > tree a
            {"t":"object","c":[{"t":"number","v":1,"k":"x"},{"t":"string","v":"z","k":"y"}]}
            """)
        #expect(await shell.run("history a").hasPrefix(#"[{"seq":1,"time":"#))
        #expect(await shell.run("help").hasPrefix(#"["ls","cd","#))
    }

    @Test("a change is one line, as it comes")
    func watch() async throws {
        let shell = try ShellFixture()
        let other = ShellSession(shell.session.target, MemoryOutput())
        await shell.run("set a 1")
        async let watched = shell.run("watch a -n 3")
        // The first value has come when the listener is there; writes before that are seen as well, or not at all.
        var value = 2
        while true {
            try await other.run(try ShellWords.split("set a \(value)"))
            value += 1
            if value == 60 { break }
            try await other.run(try ShellWords.split("get a"))
        }
        let lines = await watched.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.hasPrefix("set /a ") })
    }
}
