import Testing

@testable import HearthShell

@Suite("Texts on a screen")
struct ScreenTextTests {
    @Test("are cut where the line ends, colours not counted")
    func cut() {
        #expect(ScreenText("abcdef").fitted(to: 6) == "abcdef")
        #expect(ScreenText("abcdef").fitted(to: 5) == "abcd…")
        #expect(ScreenText("äöüß").fitted(to: 3) == "äö…")
        let coloured = "a\u{1B}[32mbcd\u{1B}[0mef"
        #expect(ScreenText(coloured).width == 6)
        #expect(ScreenText(coloured).fitted(to: 6) == coloured)
        #expect(ScreenText(coloured).fitted(to: 4) == "a\u{1B}[32mbc…\u{1B}[0m")
        #expect(ScreenText("").fitted(to: 1) == "")
        #expect(ScreenText("").width == 0)
    }

    @Test(
        "hold nothing that a terminal takes for a command, but the colours",
        arguments: [
            ("a\u{9B}31mb\u{7F}", "a\u{FFFD}31mb\u{FFFD}"), ("\u{1B}[32mü\u{1B}[0m", "\u{1B}[32mü\u{1B}[0m"),
            ("\u{1B}]52;c;eA==\u{7}", "\u{FFFD}]52;c;eA==\u{FFFD}"), ("\u{1B}[2J", "\u{FFFD}[2J"),
            ("\u{1B}[8mhidden", "\u{FFFD}[8mhidden"), ("a\tb\nc\rd", "a\tb\nc\u{FFFD}d"), ("Â\u{A0}é€😀", "Â\u{A0}é€😀"),
        ])
    func harmless(text: String, shown: String) { #expect(Terminal.harmless(text) == shown) }

    @Test("of others are one line, wherever they are cut")
    func printable() {
        let text = "a\u{1B}b\nc\u{85}d\u{A9}e\t\u{7F}"
        #expect(text.printable == "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{A9}e\u{FFFD}\u{FFFD}")
        let bytes = Array(text.utf8)
        var whole = ControlFilter(keepsLines: true)
        let filtered = whole.filtered(bytes)
        var byByte = ControlFilter(keepsLines: true)
        #expect(bytes.flatMap { byByte.filtered(CollectionOfOne($0)) } == filtered)
        #expect(String(decoding: filtered, as: UTF8.self) == text.printableLines)
    }
}
