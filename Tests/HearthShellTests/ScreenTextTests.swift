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
        #expect(ScreenText("").fitted(to: 1) == "" && ScreenText("").width == 0)
    }

    @Test("hold nothing that a terminal takes for a command, but the colours")
    func harmless() {
        #expect(Terminal.harmless("a\u{9B}31mb\u{7F}") == "a\u{FFFD}31mb\u{FFFD}")
        #expect(Terminal.harmless("\u{1B}[32mü\u{1B}[0m") == "\u{1B}[32mü\u{1B}[0m")
    }
}
