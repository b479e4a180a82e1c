import HearthTestSupport
import Testing

@Suite("To-do lists on a terminal", .timeLimit(.minutes(15)))
struct TodoScreenTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("Todo", rules: "todo") }

    @Test("are signed up for and in to, with what is wrong said field by field")
    func validation() async throws {
        _ = try await server.signUp("Ann")
        let terminal = try server.open("hearth-todo", session: "desk")
        try await terminal.wait(for: "Create an account")
        terminal.type(.down, .enter)
        try await terminal.wait(for: "New account")
        terminal.type(.tab, "bob", .tab, "12345", .enter)
        try await terminal.wait(for: "Say what you are called.")
        // The server reports the mistake of one field at a time.
        terminal.type("Bob", .tab, .tab, .enter)
        try await terminal.wait(for: "This is not an email address.")
        terminal.type("@example.com", .tab, .enter)
        try await terminal.wait(for: "The password is too weak")
        terminal.type("6", .enter)
        try await terminal.wait(for: "To do: Bob")
        terminal.type("s")
        try await terminal.wait(for: "Sign in")
        terminal.type(.enter)
        try await terminal.wait(for: "Password")
        terminal.type(.tab, .enter)
        try await terminal.wait(for: "This is not an email address.")
        terminal.type("carl@example.com", .tab, .enter)
        try await terminal.wait(for: "The password is missing.")
        terminal.type("x", .enter)
        try await terminal.wait(for: "There is no such user.")
        terminal.type(.control("u"), "ann@example.com", .tab, .control("u"), "secret-Ann", .enter)
        try await terminal.wait(for: "To do: Ann")
    }

    @Test("take what is complete, and delete when they are told so twice")
    func entries() async throws {
        _ = try await server.signUp("Ann")
        let terminal = try server.open("hearth-todo", session: "Ann")
        try await terminal.wait(for: "Nothing to do.")
        terminal.type("a")
        try await terminal.wait(for: "New entry")
        // Typed text replaces the present date; the page keys pick one.
        terminal.type("2026-03-02")
        try await terminal.wait(for: "2026-03-02  Monday")
        terminal.type(.pageUp)
        try await terminal.wait(for: "2026-03-01  Sunday")
        terminal.type(.pageUp)
        try await terminal.wait(for: "2026-02-28  Saturday")
        terminal.type(.pageDown, .tab, .tab, "Dinner", .enter)
        try await terminal.wait(for: "The time is missing.")
        terminal.type("18:30", .tab, .enter)
        try await terminal.wait(for: "2026-03-01 18:30  Dinner")
        terminal.type(" ")
        try await terminal.wait(for: "✓ 2026-03-01 18:30  Dinner")
        terminal.type(.enter)
        try await terminal.wait(for: "What")
        terminal.type(.tab, .tab, " for two", .enter)
        try await terminal.wait(for: "✓ 2026-03-01 18:30  Dinner for two")
        terminal.type("d")
        try await terminal.wait(for: "Delete 'Dinner for two'? y/n")
        terminal.type("n")
        try await terminal.waitUntilGone("y/n")
        #expect(terminal.screen.text.contains("Dinner for two"))
        terminal.type("d", "y")
        try await terminal.wait(for: "Nothing to do.")
    }

    @Test("belong to the signed-in user: users are switched at one terminal, while another one stays")
    func switching() async throws {
        _ = try await server.signUp("Ann")
        #expect(try await server.run("hearth-todo", session: "Ann", "add", "2026-03-01", "18:30", "Dinner").code == 0)
        let home = try server.open("hearth-todo", session: "Ann")
        try await home.wait(for: "Dinner")
        _ = try await server.signUp("Bob")
        let desk = try server.open("hearth-todo", session: "Bob")
        try await desk.wait(for: "Nothing to do.")
        desk.type("s")
        try await desk.wait(for: "Sign in")
        desk.type(.enter)
        try await desk.wait(for: "Password")
        desk.type("ann@example.com", .enter, "secret-Ann", .enter)
        try await desk.wait(for: "Dinner")
        desk.type(" ")
        try await home.wait(for: "✓ 2026-03-01 18:30  Dinner")
    }

    @Test("are there for scripts")
    func commands() async throws {
        let name = "hearth-todo"
        let welcome = try await server.run(name, session: "ann", "sign-up", "Ann", "ann@example.com", input: "secret")
        #expect(welcome.text.hasSuffix("Welcome, Ann."))
        #expect(try await server.run(name, session: "ann", "delete", "1").code == 0)
        #expect(try await server.run(name, session: "ann", "add", "2026-03-02", "9:00", "Run").code == 0)
        #expect(try await server.run(name, session: "ann", "add", "2026-03-01", "18:30", "Dinner").code == 0)
        #expect(try await server.run(name, session: "ann", "done", "1").code == 0)
        let list = try await server.run(name, session: "ann", "list").text
        #expect(list == "1     2026-03-02 09:00  Run\n2  x  2026-03-01 18:30  Dinner")
        let missing = try await server.run(name, session: "ann", "add", "2026-03-01", "", "Dinner")
        #expect(missing.text == "hearth-todo: The time is missing.")
        #expect(missing.code == 1)
        let beyond = try await server.run(name, session: "ann", "done", "3")
        #expect(beyond.text == "hearth-todo: there is no entry 3")
        #expect(beyond.code == 1)
        let least = try await server.run(name, session: "ann", "done", "--", "-9223372036854775808")
        #expect(least.text == "hearth-todo: there is no entry -9223372036854775808")
        #expect(least.code == 1)
    }
}
