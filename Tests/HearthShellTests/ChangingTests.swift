import Glibc
import HearthJSONTree
import HearthJSONValues
import HearthTestSupport
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
        shell.session.format = .json
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
        // A mistyped path does not look like success.
        #expect(shell.out.takeErrors() == [])
        #expect(await shell.run("rm small") == "")
        #expect(shell.out.takeErrors() == ["there is nothing at /small"])
        // A long text is much, too.
        await shell.run("set text \"\(String(repeating: "x", count: 1_000_001))\"")
        #expect(await shell.run("rm text") == "nothing was done\n")
        #expect(shell.prompter.takeQuestions().last?.hasPrefix("remove /text, which is ") == true)
        #expect(await shell.run("rm text -y") == "")
        await shell.run("cd smal")
        #expect(shell.out.takeErrors() == ["there is nothing at /smal"])
        await shell.run("cd")
        #expect(shell.out.takeErrors() == [])
        #expect(await shell.run("get") == "null\n")
        let script = ShellSession(shell.session.target, shell.out)
        try await script.run(try ShellWords.split("set big {\(children)}"))
        let error = await #expect(throws: ShellError.self) { try await script.run(try ShellWords.split("rm big")) }
        #expect(error?.message == "remove /big, which is { 150 children }: -y says that you are sure")
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
            ("set a/.priority/b 1", "a priority has no children"), ("nonsense", "there is no command 'nonsense'"),
            ("ls -x", "unknown option -x"), ("ls -n", "-n needs a value"), ("ls -n x", "--limit must be a number"),
            ("ls -n 1 --lmit 2", "unknown option --lmit (did you mean '--limit'?)"),
            ("rm a -y=1", "-y takes no value"),
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
        #expect(await shell.run("dry import x \(file)") == "would write 43 B of JSON to /x\n")
        #expect(await shell.run("import x \(file)") == "")
        #expect(await shell.run("get x") == #"{"a": {".priority": 2, ".value": 1}, "b": {"0": true}}"# + "\n")
        #expect(await shell.run("import x \(file)") == "nothing was done\n")
        #expect(await shell.run("import x \(file) --merge") == "")
        #expect(
            await shell.run("import y \(shell.folder.path)")
                == "cannot read \(shell.folder.path): Is a directory; nothing was written\n")
        // A file that cannot get its name leaves no trace.
        let folder = "\(shell.folder.path)/data"
        #expect(await shell.run("export x \(folder) --overwrite") == "\(folder) already exists, and is not a file\n")
        #expect(!TemporaryFolder.files(in: shell.folder.path).contains { $0.hasSuffix(".part") })
        // A file with another's temporary name is somebody's, and stays.
        let other = shell.write("precious", to: "out.json.part")
        #expect(await shell.run("export x \(shell.folder.path)/out.json") == "")
        #expect(TemporaryFolder.contents(of: other) == Array("precious".utf8))
        unlink("\(shell.folder.path)/out.json")
        let bad = shell.write(#"{"a":"#, to: "bad.json")
        #expect(await shell.run("import x \(bad) -y").contains("bad.json: "))
        #expect(await shell.run("import x /nonsense -y").contains("cannot read /nonsense"))
        #expect(await shell.run("export x \(shell.folder.path)/out.json") == "")
        #expect(shell.contents(of: "out.json") == #"{"a":{".priority":2,".value":1},"b":{"0":true}}"# + "\n")
        #expect(await shell.run("as ann export x").contains("is the administrator's"))
    }

    @Test("with JSON every change answers with its places and values, in a dry run too")
    func json() async throws {
        let shell = try ShellFixture(isJSON: true)
        await shell.play(
            """
            > update / {"a": 1, "b/c": null}
            {"changes":[{"path":"/a","value":1},{"path":"/b/c","value":null}]}
            > cp a d
            {"changes":[{"path":"/d","value":1}]}
            > dry mv a e
            {"changes":[{"path":"/e","value":1},{"path":"/a","value":null}],"dryRun":true}
            > mv a e
            {"changes":[{"path":"/e","value":1},{"path":"/a","value":null}]}
            > dry push list 1
            {"path":"/list","value":1,"dryRun":true}
            > get
            {"d":1,"e":1}
            """)
    }

    @Test("an update asks before much goes, too")
    func update() async throws {
        let shell = try ShellFixture()
        let children = (0..<150).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await shell.run("set users {\(children)}")
        #expect(await shell.run("update / {\"x\": 1, \"users\": null}") == "nothing was done\n")
        #expect(shell.prompter.takeQuestions() == ["replace /users, which is { 150 children }. Go on? [y/N] "])
        #expect(await shell.run("count users") == "150\n")
        #expect(await shell.run("update / {\"users\": null} -y") == "")
        #expect(await shell.run("get") == "null\n")
    }

    @Test("a command after 'as' or 'dry' has its options")
    func nested() async throws {
        let shell = try ShellFixture()
        await shell.play(
            """
            > set a {"x": 1, "y": 2}
            > as ann ls a -n 1
            x\t1
            > dry rm a -y
            would remove /a, which is { 2 children, 12 B }
            > dry as ann rm a -y
            would remove /a, which is { 2 children, 12 B }
            """)
    }

    @Test("what is too large to pass through is neither read nor moved")
    func tooLarge() async throws {
        let shell = try ShellFixture()
        shell.session.copiedBytesMax = 100_000
        let text = String(repeating: "v", count: 60_000)
        await shell.run("set big {\"a\":{\"b\":\"\(text)\"},\"c\":\"\(text)\"}")
        #expect(await shell.run("mv big small") == "/big has more than 100.0 kB: use 'export' and 'import'\n")
        #expect(await shell.run("mv big/a small") == "")
        #expect(await shell.run("count") == "2\n")
        #expect(await shell.run("count big") == "1\n")
    }

    @Test("what is written meanwhile is moved too, or stays, but is not lost")
    func movedWhileWritten() async throws {
        let shell = try ShellFixture()
        let writer = ShellSession(shell.session.target, MemoryOutput())
        let count = 150
        try await writer.run(try ShellWords.split("set from/k0 0"))
        async let written: Void = {
            for index in 1..<count { try await writer.run(try ShellWords.split("set from/k\(index) \(index)")) }
        }()
        for index in 0..<30 {
            let answer = await shell.run("mv from to\(index)")
            #expect(answer.isEmpty || answer.contains("nothing at /from") || answer.contains("does not stop"))
        }
        try await written
        let all = try #require(try JSONValue(parsing: Array(await shell.run("get").utf8)).object)
        let keys = Set(
            all.members.flatMap { ($0.value.object?.members ?? []).map { String(decoding: $0.name, as: UTF8.self) } })
        #expect(keys.count == count)
    }
}
