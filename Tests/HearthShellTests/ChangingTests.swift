import JSONTree
import TestSupport
import Testing

@testable import HearthShell

@Suite("Commands that change data", .timeLimit(.minutes(15)))
struct ChangingTests {
    @Test("set, update, push, rm, mv, cp")
    func changing() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > set a {"x": 1}
            > set a/y "two words"
            > set a/.priority 7
            > get a
            {".priority": 7, "x": 1, "y": "two words"}
            > update a {"x": {".sv": {"increment": 2}}, "z/deep": false}
            > get a
            {".priority": 7, "x": 3, "y": "two words", "z": {"deep": false}}
            > cp a b
            > mv a/z b/w
            > get
            {"a": {".priority": 7, "x": 3, "y": "two words"}, "b": {".priority": 7, "w": {"deep": false}, "x": 3, "y": "two words", "z": {"deep": false}}}
            > rm a b/z
            > get
            {"b": {".priority": 7, "w": {"deep": false}, "x": 3, "y": "two words"}}
            > mv b b/c
            /b and /b/c: one place is inside the other
            > cp nothing x
            there is nothing at /nothing
            > set b null
            > get
            null
            """)
        let key = await shell.run("push list {\"n\": 1}").dropLast()
        #expect(key.count == 20)
        #expect(await shell.run("get list/\(key)/n") == "1\n")
    }

    @Test("a dry run shows what would change, and changes nothing")
    func dry() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > set a {"x": 1, "y": {"z": true}}
            > dry set a/x 5
            would set /a/x to 5; it is 1
            > dry set a/.priority 5
            would set /a/.priority to 5; it is no priority
            > dry update a {"x": null, "new": "v"}
            would remove /a/x, which is 1
            would set /a/new to "v"; it is null
            > dry rm a
            would remove /a, which is { 2 children, 21 B }
            > dry mv a/x b
            would set /b to 1; it is null
            would remove /a/x, which is 1
            > dry cp a/x b
            would set /b to 1; it is null
            > dry push list 1
            would add a child to /list: 1
            > dry backup
            would copy the database
            > dry as ann set a 1
            would set /a to 1; it is { 2 children, 21 B }
            > get
            {"a": {"x": 1, "y": {"z": true}}}
            """)
        shell.session.isDry = true
        #expect(await shell.run("rm a") == "would remove /a, which is { 2 children, 21 B }\n")
        shell.session.isJSON = true
        #expect(await shell.run("set a 1") == #"{"path":"/a","value":1,"dryRun":true}"# + "\n")
        shell.session.isDry = false
        #expect(await shell.run("get a/x") == "1\n")
    }

    @Test("large deletes are asked about; without anybody to ask they need -y")
    func confirmation() async throws {
        let shell = try ShellFixture()
        let children = (0..<150).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await shell.run("set big {\(children)}")
        await shell.run("set small {\"x\": 1}")
        #expect(await shell.run("rm small big") == "nothing was done\n")
        #expect(shell.prompter.takeQuestions() == ["remove /big, which is { 150 children }. Go on? [y/N] "])
        #expect(await shell.run("count") == "2\n")
        #expect(await shell.run("set big 1") == "nothing was done\n")
        #expect(await shell.run("cp small big") == "nothing was done\n")
        #expect(shell.prompter.takeQuestions().count == 2)
        shell.prompter.expect(true)
        #expect(await shell.run("rm big small") == "")
        #expect(await shell.run("get") == "null\n")
        let script = ShellSession(shell.session.target, shell.out)
        try await script.run(try ShellWords.split("set big {\(children)}"))
        await #expect(throws: ShellError.self) { try await script.run(try ShellWords.split("rm big")) }
        try await script.run(try ShellWords.split("rm big -y"))
        #expect(await shell.run("get") == "null\n")
    }

    @Test("what is not understood is explained, and changes nothing")
    func mistakes() async throws {
        let shell = try ShellFixture()
        for (line, message) in [
            ("set a", "the value is missing; usage: set PATH JSON [-y]"), ("set a.b 1", "invalid path 'a.b'"),
            ("set a Bob", #"unexpected character B; a string is written '"…"'"#), ("set a {\"x\": }", "invalid JSON"),
            ("set \"\" 1", "the path is empty"), ("update a 5", "an update needs a JSON object"),
            ("update a {\"b\": 1, \"b/c\": 2}", "an update may not set a path and another one above it"),
            ("rm", "PATH is missing"), ("mv a", "too few words"), ("cp a b c", "too many words"),
            ("get a b", "too many words"), ("get a/.priority", "a priority cannot be read alone"),
            ("set a/.priority/b 1", "nothing stands below a priority"), ("nonsense", "there is no command 'nonsense'"),
            ("ls -x", "unknown option -x"), ("ls -n", "-n needs a value"), ("ls -n x", "-n must be a number"),
            ("dry", "COMMAND is missing"), ("help nonsense", "there is no command 'nonsense'"),
            ("set a/.priority 5", "there is no data here that could have a priority"),
        ] {
            #expect(await shell.run(line).contains(message), "\(line)")
        }
        #expect(await shell.run("get") == "null\n")
    }

    @Test("files in and out")
    func files() async throws {
        let shell = try ShellFixture()
        let file = shell.write(#"{"a":{".value":1,".priority":2},"b":[true]}"#, to: "in.json")
        #expect(await shell.run("dry import \(file) x") == "would write 43 B of JSON to /x\n")
        #expect(await shell.run("import \(file) x") == "/x: 43 B of JSON written\n")
        #expect(await shell.run("get x") == #"{"a": {".priority": 2, ".value": 1}, "b": {"0": true}}"# + "\n")
        #expect(await shell.run("import \(file) x") == "nothing was done\n")
        #expect(await shell.run("import \(file) x --merge") == "/x: 43 B of JSON written\n")
        let bad = shell.write(#"{"a":"#, to: "bad.json")
        #expect(await shell.run("import \(bad) x -y").contains("bad.json: "))
        #expect(await shell.run("import /nonsense x -y").contains("cannot read /nonsense"))
        #expect(await shell.run("export x \(shell.folder.path)/out.json") == "\(shell.folder.path)/out.json: 48 B\n")
        #expect(shell.contents(of: "out.json") == #"{"a":{".priority":2,".value":1},"b":{"0":true}}"# + "\n")
        #expect(await shell.run("as ann export x").contains("is the administrator's"))
    }
}
