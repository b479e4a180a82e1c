import HearthExampleKit
import HearthExampleTerminal
import HearthClient
import HearthTestSupport
import Testing

@testable import HearthNotebooks

@Suite("Notebooks on a terminal", .timeLimit(.minutes(15)))
struct NotebookScreenTests {
    private let server: ExampleServer

    init() throws { server = try ExampleServer("Notebooks", rules: "notebooks") }

    private func signUp(_ name: String, _ terminal: PseudoTerminal) async throws {
        try await terminal.wait(for: "Create an account")
        terminal.type(.down, .enter)
        try await terminal.wait(for: "Once more")
        terminal.type(.text(name), .enter, .text("\(name)@example.com"), .enter, "secret", .enter, "secret", .enter)
        try await terminal.wait(for: "Notebooks of \(name)")
    }

    @Test("are signed up for: an address that is taken is told, and another one asked for")
    func signUp() async throws {
        let ann = try server.open("hearth-notebooks", session: "ann")
        try await signUp("Ann", ann)
        let bob = try server.open("hearth-notebooks", session: "bob")
        try await bob.wait(for: "Create an account")
        bob.type(.down, .enter)
        try await bob.wait(for: "New account")
        bob.type("Bob", .enter, "ann@example.com", .enter, "secret", .enter, "secre", .enter)
        try await bob.wait(for: "This is not the same password.")
        #expect(!bob.screen.text.contains("secre"), "passwords are hidden")
        bob.type("t", .enter)
        let screen = try await bob.wait(for: "There is an account with this email address already.")
        #expect(screen.cursorLine.contains("ann@example.com"))
        bob.type(.control("u"), "bob@example.com", .tab, .tab, .enter)
        try await bob.wait(for: "Notebooks of Bob")
    }

    @Test("are signed in to; a failure is clear; the session is kept until logout")
    func signIn() async throws {
        _ = try await server.signUp("Ann")
        let first = try server.open("hearth-notebooks", session: "desk")
        try await first.wait(for: "Sign in")
        first.type(.enter)
        try await first.wait(for: "Email address")
        first.type("ann@example.com", .enter, "wrong", .enter)
        try await first.wait(for: "The password is wrong.")
        first.type(.control("u"), "secret-Ann", .enter)
        try await first.wait(for: "Notebooks of Ann")
        first.type("q")
        #expect(try await first.outcome() == 0)
        let second = try server.open("hearth-notebooks", session: "desk")
        try await second.wait(for: "Notebooks of Ann")
        second.type("o")
        try await second.wait(for: "Create an account")
        second.type("q")
        #expect(try await second.outcome() == 0)
        let third = try server.open("hearth-notebooks", session: "desk")
        try await third.wait(for: "Create an account")
    }

    @Test("are added to by two terminals of one user at once, while another user sees only their own")
    func twoTerminals() async throws {
        let desk = try server.open("hearth-notebooks", session: "ann")
        try await signUp("Ann", desk)
        let phone = try server.open("hearth-notebooks", session: "ann")
        try await phone.wait(for: "Welcome")
        let bob = try server.open("hearth-notebooks", session: "bob")
        try await signUp("Bob", bob)
        desk.type("a")
        try await desk.wait(for: "New notebook")
        desk.type(.enter)
        try await desk.wait(for: "A notebook needs a name.")
        desk.type("Trips", .enter)
        try await phone.wait(for: "Trips")
        phone.type(.end, .enter)
        try await phone.wait(for: "No note yet.")
        phone.type("a")
        try await phone.wait(for: "New note")
        phone.type("Rome in May", .enter)
        try await desk.wait(for: "1 note")
        desk.type(.end, .enter)
        try await desk.wait(for: "Rome in May")
        desk.type(.enter)
        try await desk.waitUntilGone("delete")
        #expect(desk.screen.text.contains("Rome in May"))
        desk.type(.escape, "d")
        try await desk.wait(for: "Delete this note? y/n")
        desk.type("n", "d", "y")
        try await phone.wait(for: "No note yet.")
        try await bob.wait(for: "Welcome")
        #expect(!bob.screen.text.contains("Trips"))
    }

    @Test("are there for scripts")
    func commands() async throws {
        let name = "hearth-notebooks"
        let welcome = try await server.run(name, session: "ann", "sign-up", "Ann", "ann@example.com", input: "secret")
        #expect(welcome.text.hasSuffix("Welcome, Ann."))
        #expect(!welcome.text.contains("secret"))
        #expect(try await server.run(name, session: "ann", "add", "Trips").code == 0)
        #expect(try await server.run(name, session: "ann", "write", "Trips", "Rome").code == 0)
        #expect(try await server.run(name, session: "ann", "write", "Trips", "Oslo").code == 0)
        let notes = try await server.run(name, session: "ann", "notes", "Trips").text
        #expect(notes.contains("1  "))
        #expect(notes.hasSuffix("Oslo"))
        #expect(try await server.run(name, session: "ann", "delete", "Trips", "1").code == 0)
        let list = try await server.run(name, session: "ann", "list").text.split(separator: "\n")
        #expect(list.count == 2)
        #expect(list.first?.hasPrefix("Welcome ") == true)
        #expect(list.last?.hasPrefix("Trips ") == true)
        #expect(list.last?.hasSuffix("1 note") == true)
        for (words, reason) in [
            (["delete", "Trips", "2"], "there is no note 2"),
            (["notes", "Trip"], "there is no notebook 'Trip'"),
            (["add", ""], "A notebook needs a name."),
        ] {
            let result = try await server.run(name, session: "ann", words: words)
            #expect(result.text == "hearth-notebooks: \(reason)")
            #expect(result.code == 1)
        }
        let nobody = try await server.run(name, session: "bob", "list")
        #expect(nobody.text.hasPrefix("hearth-notebooks: nobody is signed in"))
        #expect(nobody.code == 1)
        let who = try await server.run(name, session: "ann", "who").text
        #expect(who == "Ann ann@example.com")
        #expect(try await server.run(name, session: "ann", "sign-out").code == 0)
        #expect(try await server.run(name, session: "ann", "who").code == 1)
        let wrong = try await server.run(name, session: "ann", "sign-in", "ann@example.com", input: "wrong!")
        #expect(wrong.text.hasSuffix("The password is wrong."))
        #expect(wrong.code == 1)
        let back = try await server.run(name, session: "ann", "sign-in", "ann@example.com", input: "secret")
        #expect(back.text.hasSuffix("Welcome back, Ann."))
        #expect(back.code == 0)
    }

    @Test("have notes that can be read however long they are, and names that must be told apart")
    @MainActor
    func reading() async throws {
        let (account, ann) = try await server.signUp("Ann")
        let shelf = NotebookShelf(account.database, of: ann)
        for _ in 0..<2 { try await shelf.add("Trips") }
        try await shelf.live.load()
        let trips = try #require(shelf.notebooks?.first)
        try await shelf.write((1...600).map { "word\($0)" }.joined(separator: " "), in: trips)
        let terminal = try server.open("hearth-notebooks", session: "Ann")
        try await terminal.wait(for: "1 note")
        terminal.type(.home, .enter)
        try await terminal.wait(for: "word1 ")
        terminal.type(.enter)
        try await terminal.wait(for: "word50")
        for _ in 0..<10 { terminal.type(.pageDown) }
        try await terminal.wait(for: "word600")
        try await shelf.live.load()
        try await shelf.delete(try #require(shelf.notebook(trips.id)?.list.first), in: trips)
        try await terminal.wait(for: "No note yet.")
        let several = try await server.run("hearth-notebooks", session: "Ann", "notes", "trips")
        #expect(several.text.contains("there are 2 notebooks 'trips'; say which one: "))
        #expect(several.code == 1)
        #expect(try await server.run("hearth-notebooks", session: "Ann", "notes", trips.id).code == 0)
    }

    @Test("show that notes wait for a connection, and ask before they are lost")
    func pending() async throws {
        let relay = try Relay(to: server.port)
        let terminal = try server.open("hearth-notebooks", session: "ann", at: relay.url)
        try await signUp("Ann", terminal)
        try await terminal.wait(for: "Welcome")
        terminal.type(.enter)
        try await terminal.wait(for: "Open a second terminal")
        relay.admit(0)
        relay.cut()
        try await terminal.wait(for: "no connection")
        terminal.type("a")
        try await terminal.wait(for: "New note")
        terminal.type("Rome", .enter)
        try await terminal.wait(for: "no connection, 1 change not saved")
        // The program no longer waits for the server; the note is shown, and still pending.
        terminal.type(.escape)
        try await terminal.wait(for: "d delete")
        #expect(terminal.screen.text.contains("Rome"))
        terminal.type(.escape, "q")
        try await terminal.wait(for: "The server does not have 1 change yet. Leave, and lose this? y/n")
        terminal.type("n")
        try await terminal.waitUntilGone("y/n")
        try await terminal.wait(for: "not saved")
        relay.admit(.max)
        try await terminal.waitUntilGone("not saved")
        terminal.type("q")
        #expect(try await terminal.outcome() == 0)
        let notes = try await server.run(
            "hearth-notebooks", session: "ann", at: relay.url, words: ["notes", "Welcome"])
        #expect(notes.text.hasSuffix("Rome"))
    }

    @Test("are watched by scripts")
    func watch() async throws {
        _ = try await server.signUp("Ann")
        let words = ["--server", server.url, "--session", server.sessionFile("Ann"), "watch"]
        let watching = try PseudoTerminal("hearth-notebooks", words)
        try await watching.wait(for: "--")
        #expect(try await server.run("hearth-notebooks", session: "Ann", "add", "Trips").code == 0)
        try await watching.wait(for: "0 notes")
    }
}
