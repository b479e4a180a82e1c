import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Testing

@testable import HearthNotebooks

@Suite("Notebooks", .timeLimit(.minutes(15)))
@MainActor
struct NotebookShelfTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("Notebooks", rules: "notebooks") }

    private func shelf(_ name: String) async throws -> NotebookShelf {
        let (account, person) = try await server.signUp(name)
        return NotebookShelf(account.database, of: person)
    }

    @Test("have a name and the date on which they were made, in the order of their making")
    func add() async throws {
        let shelf = try await shelf("Ann")
        let before = DatabaseTimestamp.now
        try await shelf.add(" Trips ")
        try await shelf.add("Books")
        try await shelf.live.load()
        let notebooks = try #require(shelf.notebooks)
        #expect(notebooks.map(\.name) == ["Trips", "Books"])
        #expect(notebooks.allSatisfy { $0.created >= before && $0.created <= DatabaseTimestamp.now && $0.list.isEmpty })
    }

    @Test(
        "need a name that is not too long",
        arguments: [("", "A notebook needs a name."), ("  ", "A notebook needs a name.")] + [
            (String(repeating: "x", count: 101), "A name has at most 100 characters.")
        ])
    func names(name: String, problem: String) async throws {
        let shelf = try await shelf("Ann")
        await #expect(throws: FieldProblems(["name": problem])) { try await shelf.add(name) }
        try await shelf.add(String(repeating: "🙂", count: 50))
        try await shelf.live.load()
        #expect(shelf.notebooks?.count == 1)
    }

    @Test("are those of the user who is signed in, and nobody else's")
    func owners() async throws {
        let ann = try await shelf("Ann")
        try await ann.add("Trips")
        let (account, bob) = try await server.signUp("Bob")
        let shelf = NotebookShelf(account.database, of: bob)
        try await shelf.live.load()
        #expect(shelf.notebooks == [])
        // Not even on purpose.
        let person = try #require(try server.person("Ann"))
        let foreign = NotebookShelf(account.database, of: person)
        await expectDenial { try await foreign.live.load() }
        await expectDenial { try await foreign.add("Mine") }
        await expectDenial { try await foreign.live.follow() }
        #expect(foreign.live.problem?.contains("permission denied") == true)
    }

    @Test("have notes with text and date, which are added and deleted")
    func notes() async throws {
        let shelf = try await shelf("Ann")
        try await shelf.add("Trips")
        try await shelf.live.load()
        let trips = try #require(shelf.notebooks?.first)
        try await shelf.write(" Rome ", in: trips)
        try await shelf.write("Oslo", in: trips)
        try await shelf.live.load()
        let notes = try #require(shelf.notebook(trips.id)).list
        #expect(notes.map(\.text) == ["Rome", "Oslo"])
        #expect(notes.allSatisfy { $0.date >= trips.created && $0.date <= DatabaseTimestamp.now })
        try await shelf.delete(notes[0], in: trips)
        try await shelf.live.load()
        #expect(shelf.notebook(trips.id)?.list == [notes[1]])
        for (text, problem) in [
            (" ", "The note is empty."), (String(repeating: "x", count: 10001), "A note has at most 10000 characters."),
        ] {
            await #expect(throws: FieldProblems(["text": problem])) { try await shelf.write(text, in: trips) }
        }
    }

    @Test("are live wherever their owner is signed in")
    func live() async throws {
        let (account, ann) = try await server.signUp("Ann")
        let desk = NotebookShelf(account.database, of: ann)
        let other = try Account(url: server.url, sessionFile: server.sessionFile("Ann"))
        let phone = NotebookShelf(other.database, of: ann)
        try await alongside({ try await desk.live.follow() }) {
            try await alongside({ try await phone.live.follow() }) {
                await until { desk.notebooks == [] && phone.notebooks == [] }
                try await desk.add("Trips")
                await until { phone.notebooks?.map(\.name) == ["Trips"] }
                try await phone.write("Rome", in: try #require(phone.notebooks?.first))
                await until { desk.notebooks?.first?.list.map(\.text) == ["Rome"] }
                let trips = try #require(desk.notebooks?.first)
                try await desk.delete(trips.list[0], in: trips)
                await until { phone.notebooks?.first?.list == [] }
            }
        }
    }

    @Test("begin with the one that the operator has prepared, if there is one")
    func welcome() async throws {
        let shelf = try await shelf("Ann")
        try await shelf.takeWelcome()
        try await shelf.live.load()
        let welcome = try #require(shelf.notebooks?.first)
        #expect(welcome.name == "Welcome")
        #expect(
            welcome.list.map(\.text) == [
                "A notebook has a name, and as many notes as you like.",
                "Open a second terminal: what you write here is there at once.",
            ])
    }
}
