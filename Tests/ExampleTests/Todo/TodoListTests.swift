import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import Testing

@testable import HearthTodo

@Suite("To-do lists", .timeLimit(.minutes(15)))
@MainActor
struct TodoListTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("Todo", rules: "todo") }

    private func list(_ name: String) async throws -> TodoList {
        let (account, person) = try await server.signUp(name)
        return TodoList(account.database, of: person)
    }

    @Test("have entries with date, time and content: what is due earlier comes first, and what is done last")
    func add() async throws {
        let list = try await list("Ann")
        try await list.add(date: "2026-3-1", time: "18:30", text: " Dinner ")
        try await list.add(date: "2026-03-01", time: "8:05", text: "Run")
        try await list.add(date: "2025-12-31", time: "23:00", text: "Fireworks")
        try await list.live.load()
        #expect(list.entries?.map(\.text) == ["Fireworks", "Run", "Dinner"])
        #expect(
            list.entries?.map { "\($0.date) \($0.time)" } == [
                "2025-12-31 23:00", "2026-03-01 08:05", "2026-03-01 18:30",
            ])
        try await list.setDone(try #require(list.entries?.first), true)
        try await list.live.load()
        #expect(list.entries?.map(\.text) == ["Run", "Dinner", "Fireworks"])
        #expect(list.entries?.map(\.done) == [false, false, true])
        try await list.setDone(try #require(list.entries?.last), false)
        try await list.live.load()
        #expect(list.entries?.map(\.done) == [false, false, false])
    }

    @Test(
        "refuse what is incomplete, and name the field",
        arguments: [
            ("", "18:30", "Dinner", ["date": "The date is missing."]),
            ("2026-03-01", " ", "Dinner", ["time": "The time is missing."]),
            ("2026-03-01", "18:30", " ", ["text": "The content is missing."]),
            ("2026-02-29", "18:30", "Dinner", ["date": "There is no such day; 2026-03-01 is one."]),
            ("2026-03-01", "half past six", "Dinner", ["time": "There is no such time; 18:30 is one."]),
            (
                "", "", "",
                ["date": "The date is missing.", "time": "The time is missing.", "text": "The content is missing."]
            ),
            (
                "2026-03-01", "18:30", String(repeating: "x", count: 501),
                ["text": "An entry has at most 500 characters."]
            ),
        ])
    func incomplete(date: String, time: String, text: String, problems: [String: String]) async throws {
        let list = try await list("Ann")
        await #expect(throws: FieldProblems(problems)) { try await list.add(date: date, time: time, text: text) }
        try await list.add(date: "2026-03-01", time: "18:30", text: "Dinner")
        try await list.live.load()
        let entry = try #require(list.entries?.first)
        await #expect(throws: FieldProblems(problems)) {
            try await list.change(entry, date: date, time: time, text: text)
        }
        try await list.live.load()
        #expect(list.entries == [entry])
    }

    @Test("have entries that are changed and deleted")
    func change() async throws {
        let list = try await list("Ann")
        try await list.add(date: "2026-03-01", time: "18:30", text: "Dinner")
        try await list.live.load()
        let entry = try #require(list.entries?.first)
        try await list.setDone(entry, true)
        try await list.change(entry, date: "2026-03-02", time: "19:00", text: "Supper")
        try await list.live.load()
        #expect(
            list.entries == [
                .init(id: entry.id, value: Entry(date: "2026-03-02", time: "19:00", text: "Supper", done: true))
            ])
        try await list.delete(entry)
        try await list.live.load()
        #expect(list.entries == [])
    }

    @Test("are each user's own, and live")
    func owners() async throws {
        let (account, ann) = try await server.signUp("Ann")
        let list = TodoList(account.database, of: ann)
        let other = try Account(url: server.url, sessionFile: server.sessionFile("Ann"))
        let same = TodoList(other.database, of: ann)
        try await alongside({ try await same.live.follow() }) {
            await until { same.entries == [] }
            try await list.add(date: "2026-03-01", time: "18:30", text: "Dinner")
            await until { same.entries?.map(\.text) == ["Dinner"] }
        }
        // Somebody else at the same terminal.
        try account.signOut()
        try await account.signUp(name: "Bob", email: "bob@example.com", password: "secret")
        let bob = TodoList(account.database, of: try account.needPerson())
        try await bob.live.load()
        #expect(bob.entries == [])
        await expectDenial { try await list.live.load() }
        await expectDenial { try await list.live.follow() }
        #expect(list.live.problem?.contains("permission denied") == true)
    }

    @Test("begin with what the operator has prepared")
    func welcome() async throws {
        let list = try await list("Ann")
        try await list.takeWelcome()
        try await list.live.load()
        #expect(list.entries?.map(\.text) == ["Add entries (a), and mark them as done (space)."])
        #expect(list.entries?.first?.done == false)
    }
}
