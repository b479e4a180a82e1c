import HearthShell
import Testing

@Suite("Suggestions for mistyped names")
struct SuggestionTests {
    @Test(
        "find the name with the fewest edits",
        arguments: [
            ("serv", "serve"), ("wacth", "watch"), ("EXPORT", "export"), ("imprt", "import"), ("--kye", "--key"),
            ("restroe", "restore"), ("gett", "get"), ("exprot", "export"),
        ])
    func found(name: String, expected: String) {
        let known = ["get", "set", "serve", "watch", "export", "import", "restore", "--key", "--yes"]
        #expect(Suggestion.closest(to: name, among: known) == expected)
    }

    @Test("do not guess", arguments: ["", "x", "frob", "gt-everything", String(repeating: "s", count: 100_000)])
    func nothing(name: String) {
        #expect(Suggestion.text(for: name, among: ["get", "set", "serve"]).isEmpty)
    }

    @Test("ask a question")
    func question() {
        #expect(Suggestion.text(for: "serv", among: ["serve"]) == " (did you mean 'serve'?)")
    }
}

@Suite("Differences of lines")
struct LineDifferenceTests {
    @Test("are the lines that only one text has, with their numbers")
    func lines() {
        #expect(LineDifference.lines(from: "a\nb\nc\n", to: "a\nx\nc\nd\n") == ["-2: b", "+2: x", "+4: d"])
        #expect(LineDifference.lines(from: "", to: "a") == ["+1: a"])
        #expect(LineDifference.lines(from: "a\n\nb", to: "b") == ["-1: a", "-2: "])
    }

    @Test("are none if only the line break at the end differs")
    func same() {
        #expect(LineDifference.lines(from: "a\nb", to: "a\nb\n").isEmpty)
        #expect(LineDifference.lines(from: "", to: "").isEmpty)
    }
}
