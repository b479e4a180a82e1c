import HearthTestSupport
import Testing

@Suite("Threads on a terminal", .timeLimit(.minutes(15)))
struct ThreadsScreenTests {
    private let house: ThreadsHouse

    init() throws { house = try ThreadsHouse() }

    private func open(_ session: String) throws -> PseudoTerminal {
        try house.server.open("hearth-threads", session: session, at: house.url)
    }

    /// A terminal on which somebody has signed up.
    private func signUp(_ firstName: String, _ lastName: String) async throws -> PseudoTerminal {
        let terminal = try open(firstName)
        try await terminal.wait(for: "Sign up")
        terminal.type(.down, .enter)
        try await terminal.wait(for: "Once more")
        let email = "\(firstName.lowercased())@example.com"
        terminal.type(
            .text(firstName), .tab, .text(lastName), .tab, .text(email), .tab, "secret1", .tab, "secret1", .enter)
        try await terminal.wait(for: "Threads: \(firstName) \(lastName)")
        return terminal
    }

    @Test("are signed up for and logged in to, with what is wrong below each field, and stay so in the next run")
    func accounts() async throws {
        let ann = try await signUp("Ann", "Lee")
        ann.type("q")
        #expect(try await ann.outcome() == 0)
        let again = try open("Ann")
        try await again.wait(for: "Threads: Ann Lee")
        again.type("o")
        try await again.wait(for: "Sign up")
        again.type(.down, .enter)
        try await again.wait(for: "Once more")
        again.type(.tab, .tab, .tab, "secret1", .tab, "secret2", .enter)
        try await again.wait(for: "This is not the same password.")
        again.type(.backspace, "1", .enter)
        let missing = try await again.wait(for: "The field 'email' is missing.")
        #expect(missing.text.contains("The field 'fname' is missing."))
        again.type("Bob", .tab, "Ray", .tab, "ann@example.com", .tab, .tab, .enter)
        try await again.wait(for: "There is an account with this email address already.")
        again.type(.escape)
        try await again.wait(for: "Log in")
        again.type(.up, .enter)
        try await again.wait(for: "Password")
        again.type("ann@example.com", .tab, "wrong", .enter)
        try await again.wait(for: "The email address or the password is wrong.")
        again.type(.control("u"), "secret1", .enter)
        try await again.wait(for: "Threads: Ann Lee")
    }

    @Test("are shared by two users, who see each other's threads and messages and delete their own")
    func twoUsers() async throws {
        let (ann, bob) = (try await signUp("Ann", "Lee"), try await signUp("Bob", "Ray"))
        try await ann.wait(for: "Welcome")
        #expect(ann.screen.text.contains("The House"))
        ann.type("a")
        try await ann.wait(for: "New thread")
        ann.type(.enter)
        try await ann.wait(for: "The field 'title' is missing.")
        ann.type("Trips", .enter)
        try await ann.wait(for: "Trips") { $0.text.contains("Trips") && $0.text.contains("Welcome") }

        // It is not Bob's to delete, but to write in.
        bob.type("r")
        try await bob.wait(for: "Trips")
        bob.type(.up)
        try await bob.waitUntilGone("d delete")
        bob.type("d")
        try await bob.wait(for: "Only Ann Lee may delete 'Trips'.")
        bob.type(.enter)
        try await bob.wait(for: "No message yet.")
        bob.type("a")
        try await bob.wait(for: "New message")
        bob.type("Rome in May, or is that too hot? ", .text(String(repeating: "Sun ", count: 30)), "end", .enter)
        try await bob.wait(for: "the message in the list") {
            $0.text.contains("Trips (Ann Lee)") && $0.text.contains("Rome in May")
        }

        ann.type(.up, .enter)
        try await ann.wait(for: "Rome in May")
        #expect(ann.screen.text.contains("Trips (Ann Lee)"))
        #expect(ann.screen.text.contains("Bob Ray"))
        #expect(!ann.screen.text.contains("end"))
        #expect(!ann.screen.text.contains("delete"))
        ann.type("d")
        try await ann.wait(for: "Only Bob Ray may delete this message.")
        ann.type(.enter)
        try await ann.wait(for: "Message in Trips")
        #expect(ann.screen.text.contains("end"))
        #expect(!ann.screen.text.contains("delete"))
        ann.type(.escape)
        try await ann.wait(for: "Trips (Ann Lee)")

        bob.type(.enter)
        try await bob.wait(for: "Message in Trips")
        bob.type("d")
        try await bob.wait(for: "Delete this message? y/n")
        bob.type("n")
        try await bob.waitUntilGone("y/n")
        bob.type("d", "y")
        try await bob.wait(for: "No message yet.")
        ann.type("r")
        try await ann.wait(for: "No message yet.")

        ann.type(.escape)
        try await ann.wait(for: "Threads: Ann Lee")
        ann.type("d")
        try await ann.wait(for: "Delete 'Trips' and its messages? y/n")
        ann.type("y")
        try await ann.waitUntilGone("Trips")

        // Bob's list has changed.
        bob.type(.escape)
        try await bob.wait(for: "Threads: Bob Ray")
        bob.type(.enter)
        try await bob.wait(for: "There is no such thread.")
        try await bob.waitUntilGone("Trips")
    }

    @Test("are there for scripts")
    func commands() async throws {
        func run(_ words: String..., input: String? = nil) async throws -> (text: String, code: Int32) {
            try await house.server.run(
                "hearth-threads", session: "ann", at: house.url, words: words, input: input)
        }
        let early = try await run("threads")
        #expect(early.text == "hearth-threads: Nobody is logged in.")
        #expect(early.code == 1)
        #expect(
            try await run("sign-up", "Ann", "Lee", "ann@example.com", input: "secret1").text.hasSuffix(
                "Welcome, Ann Lee."))
        #expect(try await run("add", "Trips").code == 0)
        #expect(try await run("write", "Trips", "Rome?").code == 0)
        let threads = try await run("threads").text.split(separator: "\n").map { $0.prefix(40) }
        #expect(threads == ["Trips                           Ann Lee ", "Welcome                         The Hous"])
        let messages = try await run("messages", "Trips").text
        #expect(messages.hasPrefix("1  Ann Lee  "))
        #expect(messages.hasSuffix("  Rome?"))
        let refused = try await run("delete", "Welcome")
        #expect(refused.text == "hearth-threads: Only its creator may delete a thread.")
        #expect(refused.code == 1)
        #expect(try await run("delete-message", "Trips", "2").text == "hearth-threads: there is no message 2")
        #expect(try await run("delete-message", "Trips", "1").code == 0)
        #expect(try await run("messages", "Trips").text == "")
        // Text of other users cannot control the terminal.
        #expect(try await run("add", "a\u{1B}[2Jb").code == 0)
        #expect(try await run("threads").text.hasPrefix("a·[2Jb  "))
        #expect(try await run("write", "a\u{1B}[2Jb", "c\u{1B}[2Jd").code == 0)
        #expect(try await run("messages", "a\u{1B}[2Jb").text.hasSuffix("  c·[2Jd"))
        #expect(try await run("messages", "\u{1B}[2J").text == "hearth-threads: there is no thread '·[2J'")
        // Somebody else may use a title, too.
        _ = try await house.addThread("Trips", try await house.signUp("Bob").token)
        let several = try await run("delete", "Trips")
        #expect(several.text.hasPrefix("hearth-threads: there are 2 threads 'Trips'; say which one: "))
        #expect(several.code == 1)
        #expect(try await run("log-out").code == 0)
        #expect(try await run("log-in", "ann@example.com", input: "secret2").text.hasSuffix("is wrong."))
    }
}
