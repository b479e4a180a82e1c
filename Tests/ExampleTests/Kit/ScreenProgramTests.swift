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
        #expect(screen.isAlternate)
        #expect(!terminal.readsLines)
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

    @Test("let the shell have the terminal on Ctrl-Z, and go on where they were")
    func suspended() async throws {
        let terminal = try PseudoTerminal("/bin/bash", ["--norc", "-i"], environment: ["PS1": "shell> "])
        try await terminal.wait(for: "shell>")
        let program = try #require(BuiltProgram.path("hearth-notebooks"))
        terminal.type(.text("\(program) --server http://127.0.0.1:1 --session /nonexistent"), .enter)
        try await terminal.wait(for: "q quit")
        terminal.type(.control("z"))
        let shell = try await terminal.wait(for: "Stopped")
        #expect(!shell.isAlternate)
        terminal.type(.text("fg"), .enter)
        let again = try await terminal.wait(for: "q quit")
        #expect(again.isAlternate)
        terminal.type(.text("q"))
        // Text typed before the prompt appears may be discarded with the program's input.
        try await terminal.wait(for: "a prompt") { !$0.isAlternate && $0.cursorLine == "shell>" }
        terminal.type(.text("exit"), .enter)
        #expect(try await terminal.outcome() == 0)
    }

    @Test("are drawn again when the terminal changes its size")
    func resized() async throws {
        let terminal = try PseudoTerminal(
            "hearth-notebooks", ["--server", "http://127.0.0.1:1", "--session", "/nonexistent"])
        try await terminal.wait(for: "q quit")
        terminal.resize(columns: 40, rows: 10)
        try await terminal.wait(for: "hints in the last row") { $0.lines[9].contains("q quit") }
    }
}
