import HearthTestSupport
import Testing

@Suite("The terminal that tests look at")
struct TerminalScreenTests {
    /// Four rows of eight columns, joined by `|`, after these bytes.
    private static func shown(_ text: String) -> String {
        var whole = TerminalScreen(columns: 8, rows: 4)
        whole.write(text.utf8)
        var pieces = TerminalScreen(columns: 8, rows: 4)
        for byte in text.utf8 { pieces.write([byte]) }
        #expect(whole.lines == pieces.lines)
        return whole.lines.joined(separator: "|")
    }

    @Test(
        "shows what a program writes",
        arguments: [
            ("ab\r\ncd", "ab|cd||"),
            ("abc\u{8}\u{8}X", "aXc|||"),
            ("a\tb", "a      b|||"),
            ("äöü→日", "äöü→日|||"),
            ("12345678", "12345678|||"),
            ("123456789", "12345678|9||"),
            ("12345678\r\nx", "12345678|x||"),
            ("1\r\n2\r\n3\r\n4\r\n5", "2|3|4|5"),
            ("\u{1B}[2;3Hx", "|  x||"),
            ("\u{1B}[Hx\u{1B}[9;9Hy", "x|||       y"),
            ("abc\u{1B}[2D\u{1B}[K", "a|||"),
            ("abc\u{1B}[D\u{1B}[1K", "   |||".replacing("   ", with: "")),
            ("abc\u{1B}[2Kd", "   d|||"),
            ("a\r\nb\u{1B}[2Jc", "| c||"),
            ("a\r\nb\r\nc\u{1B}[2;1H\u{1B}[J", "a|||"),
            ("a\r\nb\r\nc\u{1B}[2;1H\u{1B}[1J", "||c|"),
            ("abcd\u{1B}[1;2H\u{1B}[2P", "ad|||"),
            ("abcd\u{1B}[1;2H\u{1B}[2@", "a  bcd|||"),
            ("abcdefgh\u{1B}[1;2H\u{1B}[2@", "a  bcdef|||"),
            ("abcd\u{1B}[1;2H\u{1B}[2X", "a  d|||"),
            ("a\r\nb\r\nc\u{1B}[1;1H\u{1B}[M", "b|c||"),
            ("a\r\nb\r\nc\u{1B}[1;1H\u{1B}[L", "|a|b|c"),
            ("a\u{1B}7\u{1B}[3;3Hb\u{1B}8c", "ac||  b|"),
            ("\u{1B}[1;31mred\u{1B}[0m", "red|||"),
            ("\u{1B}]0;title\u{7}x\u{1B}]0;t\u{1B}\\y", "xy|||"),
            ("\u{1B}(Bx\u{1B}=y", "xy|||"),
            ("main\u{1B}[?1049h\u{1B}[Hother\u{1B}[?1049l!", "main!|||"),
            ("\u{1B}[5Gx\u{1B}[3dy", "    x||     y|"),
            ("a\u{1B}[Bb\u{1B}[Ac\u{1B}[Cd", "a c d| b||"),
            ("b\u{1B}[H\u{1B}Ma", "a|b||"),
        ])
    func shows(text: String, screen: String) { #expect(Self.shown(text) == screen) }

    @Test("keeps what was scrolled away, and cuts what does not fit a new size")
    func sizes() {
        var screen = TerminalScreen(columns: 8, rows: 2)
        screen.write("one\r\ntwo\r\nthree".utf8)
        #expect(screen.scrolled == ["one"])
        #expect(screen.cursorLine == "three")
        screen.resize(columns: 4, rows: 3)
        #expect(screen.lines == ["two", "thre", ""])
        #expect(screen.cursor == (1, 3))
    }
}

@Suite("A program on a pseudo-terminal")
struct PseudoTerminalTests {
    @Test("is typed to, sees the size of its terminal, and ends with a code")
    func shell() async throws {
        let terminal = try PseudoTerminal(
            "/bin/sh", ["-c", "stty size; read x; echo \"<$x>\"; exit 3"], columns: 40, rows: 5)
        try await terminal.wait(for: "5 40")
        #expect(terminal.readsLines)
        terminal.type("héllo", .enter)
        try await terminal.wait(for: "<héllo>")
        #expect(try await terminal.outcome() == 3)
        let failure = await #expect(throws: PseudoTerminal.Failure.self) { try await terminal.wait(for: "more") }
        #expect(failure?.description.contains("waited for 'more': /bin/sh ended with 3;") == true)
    }

    @Test("is told by signals what happens to it")
    func signals() async throws {
        // A shell that waits for input itself can miss a signal; one that waits for `cat` cannot, as the signal ends `cat`.
        let script = "trap 'stty size' WINCH; trap 'exit 5' INT; echo ready; read x; cat"
        let terminal = try PseudoTerminal("/bin/bash", ["-c", script])
        try await terminal.wait(for: "ready")
        terminal.resize(columns: 60, rows: 10)
        terminal.type(.enter)
        try await terminal.wait(for: "10 60")
        terminal.type("typed", .enter)
        try await terminal.wait(for: "typed\ntyped")
        terminal.type(.control("c"))
        #expect(try await terminal.outcome() == 5)
    }

    @Test("is seen before and after what it draws at once, not in between")
    func drawing() async throws {
        let script = "printf 'old\\033[?2026h\\r'; printf 'new'; read x; printf ' and all\\033[?2026l'; read x"
        let terminal = try PseudoTerminal("/bin/sh", ["-c", script])
        let failure = await #expect(throws: PseudoTerminal.Failure.self) {
            try await terminal.wait(for: "new", within: .milliseconds(50))
        }
        #expect(failure?.description.contains("/bin/sh did not show it in time") == true)
        terminal.type(.enter)
        try await terminal.wait(for: "and all")
    }

    @Test("that shows something else is a failure which says what, in time")
    func late() async throws {
        let terminal = try PseudoTerminal("/bin/cat")
        terminal.type("hello")
        try await terminal.wait(for: "hello")
        let failure = await #expect(throws: PseudoTerminal.Failure.self) {
            try await terminal.wait(for: "goodbye", within: .milliseconds(20))
        }
        #expect(failure?.description.contains("waited for 'goodbye'") == true)
        #expect(failure?.description.contains("\nhello\n") == true)
    }
}
