import Glibc
import TestSupport
import Testing

@testable import ExampleKit

@Suite("Calls of a program")
@MainActor
struct CallTests {
    private let program = Program(
        "try", "Tries.", options: [.init("color", "NAME", "a colour", usual: "red")],
        commands: [.init("list", "lists") { _ in }, .init("add NAME [DATE]", "adds") { _ in }]
    ) { _, _ in }

    @Test("have options and parameters anywhere")
    func words() throws {
        let call = try #require(
            try Call(["--server", "http://x:1", "add", "--color=blue", "-n", "--", "--d"], program))
        #expect(call.command?.name == "add")
        #expect(call.server == "http://x:1")
        #expect((call["color"], call["NAME"], call["DATE"]) == ("blue", "-n", "--d"))
        let short = try #require(try Call(["add", "n"], program))
        #expect((short["color"], short["DATE"]) == ("red", nil))
        #expect(short.server == "http://127.0.0.1:9000")
        #expect(try #require(try Call([], program)).command == nil)
        #expect(try Call(["add", "--help"], program) == nil)
    }

    @Test(
        "that make no sense say why",
        arguments: [
            (["remove"], "there is no command 'remove'"), (["add"], "the command is: add NAME [DATE]"),
            (["add", "a", "b", "c"], "the command is: add NAME [DATE]"), (["list", "x"], "the command is: list"),
            (["--colour", "x"], "there is no option --colour"), (["--color"], "--color needs a value"),
        ])
    func mistakes(words: [String], reason: String) {
        #expect(throws: Problem(reason)) { try Call(words, program) }
    }

    @Test("make the folder of their session")
    func session() throws {
        let folder = TemporaryFolder()
        let call = try #require(try Call(["--session", folder.path + "/a/b.session"], program))
        #expect(call.sessionFile == folder.path + "/a/b.session")
        #expect(TemporaryFolder.files(in: folder.path) == ["a"])
        rmdir(folder.path + "/a")
    }
}
