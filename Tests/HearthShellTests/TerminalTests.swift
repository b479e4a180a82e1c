import Glibc
import HearthClient
import HearthServer
import HearthTestSupport
import Testing

@testable import HearthShell

@Suite("The shell at a terminal", .timeLimit(.minutes(15)))
struct TerminalTests {
    private func terminal(
        _ fixture: ShellFixture, _ words: [String] = [], environment: [String: String] = [:]
    ) throws -> PseudoTerminal {
        try PseudoTerminal(
            "hearth", ["shell", "ws://\(fixture.server.address)"] + words,
            environment: ["HOME": fixture.folder.path].merging(environment) { $1 })
    }

    /// Waits until the shell waits for a line: text typed earlier is shown twice, as in any shell.
    private func prompt(of terminal: PseudoTerminal, _ prompt: String) async throws {
        try await terminal.wait(for: "the prompt \(prompt)") { $0.cursorLine == prompt }
    }

    @Test("completion, history, pages, questions, ^C and ^D")
    func person() async throws {
        let fixture = try ShellFixture()
        let children = (0..<300).map { #""k\#(1000 + $0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set rooms {\"kitchen\":{\"title\":\"Kitchen\"},\"kit box\":1,\"garden\":2}")
        await fixture.run("set many {\(children)}")
        let terminal = try terminal(fixture)
        try await prompt(of: terminal, "hearth/>")
        // A command from one letter, then a path with only one completion.
        terminal.type("pw", .tab, .enter)
        try await terminal.wait(for: "hearth/> pwd\n/\n")
        try await prompt(of: terminal, "hearth/>")
        terminal.type("ls ro", .tab)
        try await terminal.wait(for: "ls rooms/")
        terminal.type("k", .tab)
        try await terminal.wait(for: "ls rooms/kit")
        // Several go on: they are listed, and the line stays.
        terminal.type(.tab)
        try await terminal.wait(for: "kit box   kitchen/")
        terminal.type("\\ ", .tab, .enter)
        try await terminal.wait(for: "ls rooms/kit\\ box\n1\n")
        try await prompt(of: terminal, "hearth/>")
        // The earlier input comes back.
        terminal.type("cd rooms", .enter)
        try await prompt(of: terminal, "hearth/rooms>")
        terminal.type(.up, .up, .up, .enter)
        try await terminal.wait(for: "hearth/rooms> pwd\n/rooms\n")
        try await prompt(of: terminal, "hearth/rooms>")
        // A line that is given up.
        terminal.type("rm kitchen", .control("c"))
        try await terminal.wait(for: "rm kitchen^C\nhearth/rooms>")
        try await prompt(of: terminal, "hearth/rooms>")
        // Long output waits at the end of each page.
        terminal.type("ls /many", .enter)
        var screen = try await terminal.wait(for: "-- more")
        #expect(screen.text.contains("k1022"))
        #expect(!screen.text.contains("k1023"))
        terminal.type(" ")
        screen = try await terminal.wait(for: "k1045")
        #expect(!screen.text.contains("k1046"))
        terminal.type(.enter)
        try await terminal.wait(for: "k1046")
        terminal.type("q")
        try await prompt(of: terminal, "hearth/rooms>")
        // A question before much goes.
        terminal.type("rm /many", .enter)
        try await terminal.wait(for: "remove /many, which is { 300 children }. Go on? [y/N]")
        terminal.type("n", .enter)
        try await terminal.wait(for: "nothing was done")
        try await prompt(of: terminal, "hearth/rooms>")
        #expect(await fixture.run("count many") == "300\n")
        terminal.type("rm /many", .enter)
        try await terminal.wait(for: "nothing was done\nhearth/rooms> rm /many\nremove /many")
        terminal.type("y", .enter)
        try await terminal.wait(for: "[y/N] y\nhearth/rooms>")
        try await prompt(of: terminal, "hearth/rooms>")
        #expect(await fixture.run("count many") == "0\n")
        // ^C ends the running command, not the shell.
        terminal.type("watch garden", .enter)
        try await terminal.wait(for: "set /rooms/garden 2")
        // More than a page of them.
        for value in 3...40 { await fixture.run("set rooms/garden \(value)") }
        try await terminal.wait(for: "set /rooms/garden 40")
        terminal.type(.control("c"))
        try await terminal.wait(for: "^C\nhearth/rooms>")
        try await prompt(of: terminal, "hearth/rooms>")
        terminal.type("as ann", .enter)
        try await prompt(of: terminal, "hearth/rooms as ann>")
        terminal.type("nonsense", .enter)
        try await terminal.wait(for: "there is no command 'nonsense'")
        try await prompt(of: terminal, "hearth/rooms as ann>")
        terminal.type(.control("d"))
        #expect(try await terminal.outcome() == 0)
        // The next shell has the history.
        let next = try self.terminal(fixture)
        try await prompt(of: next, "hearth/>")
        next.type(.up, .up)
        try await next.wait(for: "hearth/> as ann")
    }

    @Test("$PAGER gets what is more than a screen")
    func pager() async throws {
        let fixture = try ShellFixture()
        let children = (0..<100).map { #""k\#(1000 + $0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set many {\(children)}")
        let terminal = try terminal(fixture, environment: ["PAGER": "tail -n 1 | sed 's/^/paged: /'", "NO_COLOR": "1"])
        try await prompt(of: terminal, "hearth/>")
        terminal.type("ls many", .enter)
        try await terminal.wait(for: "paged: k1099  99\nhearth/>")
        try await prompt(of: terminal, "hearth/>")
        terminal.type("get many/k1001", .enter)
        try await terminal.wait(for: "get many/k1001\n1\nhearth/>")
    }

    @Test("a list as JSON is whole on a terminal")
    func json() async throws {
        let fixture = try ShellFixture()
        await fixture.run("set list {\"a\":1,\"b\":2}")
        let terminal = try terminal(fixture, ["--json"])
        try await prompt(of: terminal, "hearth/>")
        terminal.type("ls list", .enter)
        try await terminal.wait(
            for: #"[{"t":"number","v":1,"k":"a"},"# + "\n" + #"{"t":"number","v":2,"k":"b"}]"# + "\nhearth/>")
    }

    @Test("a password is not shown")
    func secret() async throws {
        let fixture = try ShellFixture()
        let terminal = try terminal(fixture)
        try await prompt(of: terminal, "hearth/>")
        terminal.type("users create ann@example.com --uid ann", .enter)
        try await terminal.wait(for: "Password")
        terminal.type("secret1", .enter)
        try await terminal.wait(for: "\nann\n")
        #expect(!terminal.screen.text.contains("secret1"))
        // Cancelled at once, and no user is created.
        try await prompt(of: terminal, "hearth/>")
        terminal.type("users create eve@example.com --uid eve", .enter)
        try await terminal.wait(for: "uid eve\nPassword")
        terminal.type("sec", .control("c"))
        try await prompt(of: terminal, "hearth/>")
        #expect(await fixture.run("users get eve") == "there is no user 'eve'\n")
        // Characters of several bytes count, and go as a whole.
        terminal.type("users create bob@example.com --uid bob", .enter)
        try await terminal.wait(for: "uid bob\nPassword")
        terminal.type("secret", "é", "ü", .backspace, .backspace, "ö", .enter)
        try await terminal.wait(for: "\nbob\n")
        let auth = try Auth(url: "http://\(fixture.server.address)")
        #expect(try await auth.signIn(withEmail: "bob@example.com", password: "secretö").user.uid == "bob")
    }

    @Test("^C ends a command of the program, also at a question, and the exit code says so")
    func interrupts() async throws {
        let fixture = try ShellFixture()
        let children = (0..<150).map { #""k\#($0)":\#($0)"# }.joined(separator: ",")
        await fixture.run("set many {\(children)}")
        let url = "ws://\(fixture.server.address)"
        await fixture.run("users create --uid ann")
        for (line, shown) in [
            ("watch /many/k1", "set /many/k1 1"), ("top", "database"), ("remove /many", "[y/N]"),
            ("users create eve@example.com", "Password"), ("users delete ann", "[y/N]"),
            ("shell \(url) watch many/k1", "set /many/k1 1"),
        ] {
            let isShell = line.hasPrefix("shell")
            let words = line.split(separator: " ").map { String($0) } + (isShell ? [] : ["--url", url])
            let terminal = try PseudoTerminal("hearth", words, columns: 200)
            try await terminal.wait(for: shown)
            terminal.type(.control("c"))
            #expect(try await terminal.outcome() == 130, "\(line)")
        }
        #expect(await fixture.run("count many") == "150\n")
        #expect(await fixture.run("users list -o raw") == "ann\t-\t-\n")
    }

    @Test("what is on a terminal holds no commands for it, wherever it comes from")
    func harmless() async throws {
        let fixture = try ShellFixture()
        await fixture.run("set evil \"a\u{9B}2Jb\"")
        let url = "ws://\(fixture.server.address)"
        for words in [["get", "/evil", "--url", url], ["export", "\(url)/evil"], ["shell", url, "export", "evil"]] {
            let terminal = try PseudoTerminal("hearth", words)
            try await terminal.wait(for: "\"a\u{FFFD}2Jb\"")
        }
    }

    @Test(
        "^Z gives the terminal back to the shell before, which wakes it again",
        .enabled(if: access("/bin/bash", X_OK) == 0))
    func suspending() async throws {
        let fixture = try ShellFixture()
        let program = try #require(BuiltProgram.path("hearth"))
        let terminal = try PseudoTerminal(
            "/bin/bash", ["--norc", "-i"], environment: ["HOME": fixture.folder.path, "PS1": "bash> "])
        try await prompt(of: terminal, "bash>")
        terminal.type(.text("\(program) shell ws://\(fixture.server.address)"), .enter)
        for _ in 0..<2 {
            try await prompt(of: terminal, "hearth/>")
            terminal.type("pw", .control("z"))
            try await terminal.wait(for: "the end of the stop") { $0.cursorLine == "bash>" }
            terminal.type("fg", .enter)
            try await terminal.wait(for: "the line again") { $0.cursorLine.hasSuffix("hearth/> pw") }
            terminal.type("d", .enter)
            try await terminal.wait(for: "pwd\n/\n")
        }
    }
}
