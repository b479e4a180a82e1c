import Testing

@testable import HearthExampleTerminal

@Suite("Text on a terminal")
struct TextTests {
    @Test(
        "takes columns",
        arguments: [("", 0), ("abc", 3), ("äé", 2), ("e\u{301}", 1), ("日本", 4), ("🙂", 2), ("→ ▸ •", 5)])
    func columns(text: String, count: Int) { #expect(text.columns == count) }

    @Test("cannot steer the terminal")
    func control() {
        #expect(Line("a\u{1B}[2Jb\nc\u{7}\u{9B}d\u{202E}e\r\n").text == "a·[2Jb·c··d·e·")
    }

    @Test(
        "is cut and filled up to a width",
        arguments: [
            ("abc", 5, "abc  "), ("abc", 2, "ab"), ("a日本", 4, "a日 "), ("", 3, "   "), ("日", 1, " "), ("abc", 0, ""),
            ("abc", -1, ""),
        ])
    func fitted(text: String, width: Int, result: String) {
        #expect(Line(text).fitted(to: width).text == result)
        let parts = text.reduce(Line("")) { $0 + Line(String($1), .bold) }
        #expect(parts.fitted(to: width).text == result)
    }

    @Test(
        "in columns is cut and filled up, and cannot steer the terminal either",
        arguments: [("ab", "ab  "), ("abcd", "abcd"), ("abcde", "abc…"), ("\u{1B}[2", "·[2 "), ("日本語", "日 …")])
    func padded(text: String, result: String) { #expect(text.padded(to: 4) == result) }

    @Test(
        "is broken between words",
        arguments: [
            ("one two three", 8, ["one two", "three"]), ("one two", 7, ["one two"]), ("", 5, [""]),
            ("abcdefgh ij", 3, ["abc", "def", "gh", "ij"]), ("a\n\nb", 5, ["a", "", "b"]),
            ("日本語", 4, ["日本", "語"]),
        ])
    func wrapped(text: String, width: Int, lines: [String]) { #expect(text.wrapped(to: width) == lines) }
}
