import Glibc
import HearthTestSupport
import Testing

@testable import HearthExampleKit
@testable import HearthExampleTerminal

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
        #expect(call.command?.words[0] == "add")
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
        #expect(throws: WrongCall(reason)) { try Call(words, program) }
    }

    @Test("of a program that does a single thing name no command")
    func single() throws {
        let program = Program(
            .init("feed SOURCE [CITY]", "Feeds.") { _ in },
            options: [.init("server", "URL", "the database", usual: "http://127.0.0.1:9000")])
        let call = try #require(try Call(["--server=http://x:1", "file"], program))
        #expect(call.command?.words[0] == "feed")
        #expect(call["SOURCE"] == "file")
        #expect(call["CITY"] == nil)
        #expect(call.server == "http://x:1")
        #expect(try Call(["--help"], program) == nil)
        #expect(throws: WrongCall("the command is: feed SOURCE [CITY]")) { try Call([], program) }
        #expect(throws: WrongCall("there is no option --session")) { try Call(["--session", "x", "y"], program) }
    }

    private struct Item: Identifiable {
        var id: String
        var name: String
    }

    @Test(
        "find items by number, id or name, and none that is not clear",
        arguments: [
            ("b", "b"), ("One", "a"), ("one", "b"), ("THREE", "x"), ("Twice", nil), ("oNE", nil), ("None", nil),
        ] as [(String, String?)])
    func items(name: String, id: String?) throws {
        let items = [("a", "One"), ("b", "one"), ("c", "Twice"), ("d", "Twice"), ("x", "three")].map(Item.init)
        let call = try #require(try Call(["add", name], program))
        let found = try? call.item(named: "NAME", of: items, "thing", by: \.name).id
        #expect(found == id)
        for (number, index) in [
            ("1", 0), ("5", 4), ("0", nil), ("6", nil), ("-1", nil), ("\(Int.min)", nil), ("x", nil),
        ] {
            let call = try #require(try Call(["add", "--", number], program))
            #expect((try? call.item(numbered: "NAME", of: items, "thing").id) == index.map { items[$0].id })
        }
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
