import Testing

@testable import HearthShell

@Suite("The words of a line")
struct ShellWordsTests {
    @Test(
        "a line is cut at white space, but not within JSON and quotes",
        arguments: [
            ("", []), ("  \t ", []), ("ls", ["ls"]), (" ls  /a/b ", ["ls", "/a/b"]), ("# all of it", []),
            ("ls # the rest", ["ls"]), ("ls a#b", ["ls", "a#b"]),
            (#"set a {"x": [1, 2], "y": "}"} end"#, ["set", "a", #"{"x": [1, 2], "y": "}"}"#, "end"]),
            (#"set a [1, {"b": " ] "}]"#, ["set", "a", #"[1, {"b": " ] "}]"#]),
            (#"set a "two words""#, ["set", "a", #""two words""#]), (#"set a "\"q\"""#, ["set", "a", #""\"q\"""#]),
            (#"set a '{"x": 1}'"#, ["set", "a", #"{"x": 1}"#]), (#"ls a\ b"#, ["ls", "a b"]),
            ("set a -5", ["set", "a", "-5"]), ("ls ü/日本", ["ls", "ü/日本"]),
        ])
    func raw(line: String, words: [String]) throws {
        #expect(try ShellWords.split(line).map(\.raw) == words)
    }

    @Test("as a name or a path, a word has no quotes")
    func text() throws {
        #expect(try ShellWords.split(#"ls "a b"/c 'd e' f\"g"#).map(\.text) == ["ls", "a b/c", "d e", "f\"g"])
        #expect(try ShellWords.split(#"ls "\u00fc\n""#).map(\.text) == ["ls", "ü\n"])
    }

    @Test(
        "what is not closed is refused",
        arguments: [
            (#"set a "x"#, "the quote \" is not closed"), ("set a {", "a bracket is not closed"),
            ("set a [1", "a bracket is not closed"), ("ls 'x", "the quote ' is not closed"),
            ("ls x\\", "a backslash at the end of the line"),
            (#"ls "\x""#, #""\x" is no JSON string: malformed escape sequence"#),
        ])
    func unclosed(line: String, message: String) {
        let error = #expect(throws: ShellError.self) { try ShellWords.split(line) }
        #expect(error?.message == message)
    }

    @Test(
        "what is written in a line for a path is read back as it",
        arguments: ["a", "a b", "x\"y", "it's", "a\\b", "#1", "{x"])
    func escaping(path: String) throws {
        #expect(try ShellWords.split("ls " + ShellWords.escaped(path)).map(\.text) == ["ls", path])
    }

    @Test(
        "what is quoted or escaped is not an option, and what follows one has no quotes",
        arguments: [
            (#"ls \-Ok"#, ["-Ok"], nil), (#"ls "-n" x"#, ["-n", "x"], nil), ("ls -5 -n 7", ["-5"], "7"),
            (#"ls -n "two words""#, [], "two words"), (#"ls -n two\ words x"#, ["x"], "two words"),
            ("ls -n '7'", [], "7"), ("ls --limit 7 a", ["a"], "7"), ("ls --limit=7", [], "7"), ("ls -n7 a", ["a"], "7"),
            ("ls -- -n 7", ["-n", "7"], nil),
        ] as [(String, [String], String?)])
    func options(line: String, words: [String], value: String?) throws {
        let arguments = try ShellCommand.ls.call(Array(try ShellWords.split(line).dropFirst())).arguments
        #expect(arguments.words.map(\.text) == words)
        #expect(arguments["limit"] == value)
    }

    @Test("a path whose first key begins with a dash is completed, and then found")
    func dash() throws {
        let path = "-OfH0QpZ0aaaaaaaaaaa"
        let line = "ls " + ShellWords.escaped(path)
        let arguments = try ShellCommand.ls.call(Array(try ShellWords.split(line).dropFirst())).arguments
        #expect(arguments.words.map(\.text) == [path])
        #expect(ShellWords.unfinished(line)?.start == path)
    }

    @Test("the word that somebody is still writing")
    func unfinished() {
        func start(_ line: String) -> String? {
            ShellWords.unfinished(line).map { "\($0.words.count) \($0.start)" }
        }
        #expect(start("") == "0 ")
        #expect(start("l") == "0 l")
        #expect(start("ls ") == "1 ")
        #expect(start("ls ro") == "1 ro")
        #expect(start(#"ls a\ "#) == "1 a ")
        #expect(start(#"set a "x"#) == nil)
        #expect(start(#"set a {"x":1}"#) == nil)
    }
}
