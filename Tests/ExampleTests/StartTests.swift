import Glibc
import HearthTestSupport
import Testing

@Suite("scripts/example", .timeLimit(.minutes(15)))
struct StartTests {
    private let folder = TemporaryFolder()

    private func start(_ name: String) throws -> PseudoTerminal {
        let binaries = try #require(BuiltProgram.path("hearth")).split(separator: "/").dropLast().map { "/" + $0 }
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return try PseudoTerminal(
            "/bin/bash", ["\(ExampleServer.project)/scripts/example", binaries.joined(), name],
            environment: [
                "PATH": path, "EXAMPLE_DATA": folder.path, "EXAMPLE_PORT": "0", "EXAMPLE_SERVICE_PORT": "0",
            ])
    }

    @Test("starts a program with a server of its own, whose data stay for the next time")
    func notebooks() async throws {
        let first = try start("notebooks")
        try await first.wait(for: "Create an account")
        first.type(.down, .enter)
        try await first.wait(for: "Once more")
        first.type("Ann", .enter, "ann@example.com", .enter, "secret", .enter, "secret", .enter)
        // The seed has it.
        try await first.wait(for: "Welcome")
        first.type("o")
        try await first.wait(for: "Sign in")
        first.type("q")
        #expect(try await first.outcome() == 0)
        let second = try start("notebooks")
        try await second.wait(for: "Sign in")
        second.type(.enter)
        try await second.wait(for: "Password")
        second.type("ann@example.com", .enter, "secret", .enter)
        try await second.wait(for: "Welcome")
        second.type("q")
        #expect(try await second.outcome() == 0)
    }

    @Test("puts a service in between where the program needs one")
    func threads() async throws {
        let terminal = try start("threads")
        try await terminal.wait(for: "Log in")
        terminal.type("q")
        #expect(try await terminal.outcome() == 0)
    }

    @Test("names the examples when it is asked for another one")
    func unknown() async throws {
        let terminal = try start("nothing")
        #expect(try await terminal.outcome() == 2)
        #expect(terminal.screen.text.contains("the examples are accounts-weather, chat, notebooks"))
    }
}
