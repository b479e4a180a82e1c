import Glibc
import HearthTestSupport
import Testing

@Suite("Small example programs", .timeLimit(.minutes(15)))
struct SmallProgramTests {
    @Test("Hello shows the greetings of both who run it")
    func hello() async throws {
        let server = try ExampleServer("Hello", rules: "../sample-rules", isSeeded: false)
        let ann = try PseudoTerminal("hearth-hello", ["Ann", server.url])
        try await ann.wait(for: "Ann: Hello!")
        let bob = try PseudoTerminal("hearth-hello", ["Bob", server.url])
        try await bob.wait(for: "Bob: Hello!")
        try await ann.wait(for: "Bob: Hello!")
        #expect(bob.screen.text.contains("Ann: Hello!"))
    }

    @Test("Hello says why it does nothing")
    func helloProblems() async throws {
        let usage = try PseudoTerminal("hearth-hello", [])
        _ = try await usage.outcome()
        #expect(usage.screen.text.contains("usage: hearth-hello NAME [URL]"))
        let url = try PseudoTerminal("hearth-hello", ["Ann", "nowhere"])
        _ = try await url.outcome()
        #expect(url.screen.text.contains("hearth-hello: "))
        let closed = try PseudoTerminal("hearth-hello", ["Ann", "http://127.0.0.1:1"])
        _ = try await closed.outcome()
        #expect(closed.screen.text.contains("hearth-hello: "))
    }

    @Test("Chat shows who comes, what they say and who goes")
    func chat() async throws {
        let server = try ExampleServer("Chat", rules: "chat", isSeeded: false)
        let ann = try PseudoTerminal("hearth-chat", ["Ann", "hall", server.url])
        try await ann.wait(for: "* Ann is here")
        let bob = try PseudoTerminal("hearth-chat", ["Bob", "hall", server.url])
        try await bob.wait(for: "* Ann is here")
        try await ann.wait(for: "* Bob is here")
        bob.type("Anybody here?", .enter)
        try await ann.wait(for: "Bob: Anybody here?")
        bob.type(.control("d"))
        #expect(try await bob.outcome() == 0)
        try await ann.wait(for: "* Bob has left")

        // Whoever comes later sees what was said, and another room is another one.
        let cem = try PseudoTerminal("hearth-chat", ["Cem", "hall", server.url])
        try await cem.wait(for: "Bob: Anybody here?")
        try await ann.wait(for: "* Cem is here")
        cem.signal(SIGKILL)
        try await ann.wait(for: "* Cem has left")
        let dora = try PseudoTerminal("hearth-chat", ["Dora", "attic", server.url])
        try await dora.wait(for: "* Dora is here")
        #expect(!dora.screen.text.contains("Anybody"))
    }

    @Test("Chat says why it may not enter")
    func chatProblems() async throws {
        let server = try ExampleServer("Chat", rules: "chat", isSeeded: false)
        let name = String(repeating: "x", count: 41)
        let ann = try PseudoTerminal("hearth-chat", [name, "hall", server.url])
        _ = try await ann.outcome()
        #expect(ann.screen.text.contains("hearth-chat: permission denied"))
    }
}
