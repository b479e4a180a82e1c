import Testing

@testable import HearthExampleKit

@Suite("Keys")
struct KeyTests {
    @Test(
        "are what a terminal sends for them",
        arguments: [
            ("a", [Key.character("a")]), ("aB ", [.character("a"), .character("B"), .character(" ")]),
            ("äé日🙂", [.character("ä"), .character("é"), .character("日"), .character("🙂")]),
            ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]),
            ("\u{3}", [.control("c")]), ("\u{13}x", [.control("s"), .character("x")]),
            ("\u{1B}[A\u{1B}[B\u{1B}[C\u{1B}[D", [.up, .down, .right, .left]),
            ("\u{1B}OA\u{1B}OH\u{1B}OF", [.up, .home, .end]),
            ("\u{1B}[H\u{1B}[1~\u{1B}[7~", [.home, .home, .home]),
            ("\u{1B}[F\u{1B}[4~\u{1B}[8~", [.end, .end, .end]),
            ("\u{1B}[3~\u{1B}[5~\u{1B}[6~\u{1B}[Z", [.delete, .pageUp, .pageDown, .backTab]),
            ("\u{1B}[1;5C", [.right]), ("\u{1B}[15~x", [.character("x")]), ("\u{1B}[200~a", [.character("a")]),
            ("\u{1B}", [.escape]), ("\u{1B}\u{1B}[A", [.escape, .up]), ("\u{1B}x", [.escape, .character("x")]),
            ("\u{0}a", [.character("a")]),
        ])
    func decoded(text: String, keys: [Key]) {
        var whole = KeyDecoder()
        let (found, next) = (whole.keys(in: text.utf8), whole.keys(in: "z".utf8))
        #expect(found == keys)
        #expect(next == [.character("z")], "nothing is left over")
        // Cut anywhere but after an escape, which would be the key.
        let bytes = Array(text.utf8)
        for cut in 1..<max(bytes.count, 1) where bytes[cut - 1] != 0x1B {
            var decoder = KeyDecoder()
            let found = decoder.keys(in: bytes[..<cut]) + decoder.keys(in: bytes[cut...])
            #expect(found == keys, "cut at \(cut)")
        }
    }

    @Test("a sequence that does not end is not waited for for ever")
    func endless() {
        var decoder = KeyDecoder()
        let texts = ["\u{1B}[111", String(repeating: "1", count: 20), "a"]
        let keys = texts.map { decoder.keys(in: $0.utf8) }
        #expect(keys == [[], [], [.character("a")]])
    }

    @Test(
        "edit a line",
        arguments: [
            ([Key.character("a"), .character("b")], "ab|"), ([.backspace, .delete], "|"),
            ([.character("a"), .character("b"), .left, .character("c")], "ac|b"),
            ([.character("a"), .character("b"), .home, .delete], "|b"),
            ([.character("a"), .character("b"), .left, .backspace, .end, .character("c")], "bc|"),
            ([.character("a"), .character("b"), .left, .left, .left, .right], "a|b"),
            ([.character("a"), .character("b"), .left, .control("u")], "|b"),
            ([.character("a"), .character("b"), .left, .control("k")], "a|"),
            ([.character("e"), .character("\u{301}"), .character("x"), .left, .backspace], "|x"),
        ] as [([Key], String)])
    func line(keys: [Key], result: String) {
        var field = TextField()
        for key in keys {
            let isTaken = field.press(key)
            #expect(isTaken)
        }
        #expect(String(field.text[..<field.cursor]) + "|" + String(field.text[field.cursor...]) == result)
        for key in [Key.enter, .up, .control("x")] {
            let isTaken = field.press(key)
            #expect(!isTaken)
        }
    }
}
