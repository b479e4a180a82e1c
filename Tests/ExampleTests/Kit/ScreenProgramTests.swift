import Glibc
import HearthTestSupport
import Testing

@Suite("Programs with a screen")
struct ScreenProgramTests {
    @Test("give the terminal back, however they end", arguments: [nil, SIGTERM, SIGHUP, SIGINT, SIGSEGV] as [Int32?])
    func givenBack(signal: Int32?) async throws {
        let terminal = try PseudoTerminal(
            "hearth-notebooks", ["--server", "http://127.0.0.1:1", "--session", "/nonexistent"],
            environment: ["SWIFT_BACKTRACE": "enable=no"])
        let screen = try await terminal.wait(for: "q quit")
        #expect(screen.isAlternate && !terminal.readsLines)
        if let signal { terminal.signal(signal) } else { terminal.type(.control("c")) }
        #expect(try await terminal.outcome() == signal.map { -$0 } ?? 0)
        #expect(!terminal.screen.isAlternate)
        #expect(terminal.readsLines)
    }

    @Test("show what is typed again after a password that is not given")
    func password() async throws {
        let terminal = try PseudoTerminal(
            "hearth-notebooks", ["--server", "http://127.0.0.1:1", "--session", "/nonexistent", "sign-in", "a@x.org"])
        try await terminal.wait(for: "Password:")
        terminal.type("hidden", .control("c"))
        #expect(try await terminal.outcome() == -SIGINT)
        #expect(terminal.readsLines)
        #expect(!terminal.screen.text.contains("hidden"))
    }

    @Test("are drawn anew when the terminal changes its size")
    func resized() async throws {
        let terminal = try PseudoTerminal(
            "hearth-notebooks", ["--server", "http://127.0.0.1:1", "--session", "/nonexistent"])
        try await terminal.wait(for: "q quit")
        terminal.resize(columns: 40, rows: 10)
        try await terminal.wait(for: "hints in the last row") { $0.lines[9].contains("q quit") }
    }
}
