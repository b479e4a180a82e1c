import HearthTestSupport
import Testing

@testable import HearthSecurityRules

private func compile(_ pattern: String, ignoresCase: Bool = false) throws(Mistake) -> Pattern {
    let text = Array(pattern.utf8)
    return try PatternParser.parse(text, 0..<text.count, ignoresCase: ignoresCase)
}

private func finds(_ pattern: String, _ text: String, ignoresCase: Bool = false) throws -> Bool? {
    let pattern = try compile(pattern, ignoresCase: ignoresCase)
    var matcher = PatternMatcher()
    var left = Int.max
    return Array(text.utf8).withUnsafeBytes { matcher.finds(pattern, in: $0, left: &left) }
}

@Suite("Regular expressions")
struct PatternTests {
    // U+017F and U+212A, whose other cases are s and k.
    @Test("do not look for other cases of the characters of a class", arguments: ["\u{17F}", "\u{212A}"])
    func classes(lookalike: String) throws {
        for pattern in [#"^\w$"#, #"^[\w]$"#, #"^[\w-.]$"#] {
            #expect(try finds(pattern, lookalike, ignoresCase: true) == false)
            #expect(try finds(pattern, "K", ignoresCase: true) == true)
        }
        #expect(try finds(#"^\W$"#, lookalike, ignoresCase: true) == true)
        #expect(try finds("^[ksS]$", lookalike, ignoresCase: true) == true)
        #expect(try finds("^[KS@]$", "k", ignoresCase: true) == true)
        #expect(try finds("^[@`]$", "`", ignoresCase: true) == true)
        #expect(try finds("^@$", "`", ignoresCase: true) == false)
    }

    @Test(
        "search, by the table of docs/rules.md 3.5",
        arguments: [
            ("a", "xay", true), ("a", "xby", false), ("abc", "xabcx", true), ("abc", "ab", false),
            ("^a", "ab", true), ("^a", "ba", false), ("a$", "ba", true), ("a$", "ab", false),
            ("^a$", "a", true), ("^a$", "aa", false), ("^$", "", true), ("^$", "a", false), ("^", "a", true),
            ("$", "a", true),
            ("^a*$", "", true), ("^a*$", "aaa", true), ("^a+$", "", false), ("^a+$", "aa", true),
            ("^a?$", "", true), ("^a?$", "aa", false), ("^ab*c$", "ac", true), ("^ab*c$", "abbbc", true),
            ("^a{3}$", "aaa", true), ("^a{3}$", "aa", false), ("^a{3}$", "aaaa", false),
            ("^a{2,}$", "a", false), ("^a{2,}$", "aaaaa", true), ("^a{1,3}$", "aaa", true), ("^a{1,3}$", "aaaa", false),
            ("^a{0,1}$", "", true), ("^a{0,1}b$", "b", true), ("^(ab){2}$", "abab", true), ("^(ab){2}$", "aba", false),
            (".", "", false), ("^.$", "x", true), ("^.$", "é", true), ("^.$", "😀", true), ("^.$", "\n", false),
            ("^.$", "\r", false), ("^.*$", "a\nb", false), ("^a.c$", "abc", true),
            ("^(a|bc)$", "bc", true), ("^(a|bc)$", "ab", false), ("a|b|c", "c", true), ("^a|b$", "ax", true),
            ("^a|b$", "xb", true), ("^a|b$", "xbx", false), ("^(a|b)*c$", "ababc", true), ("(a)(b)", "ab", true),
            ("^((a|b)c)+$", "acbc", true), ("^((a|b)c)+$", "accb", false),
            ("^[abc]$", "b", true), ("^[abc]$", "d", false), ("^[a-z]$", "m", true), ("^[a-z]$", "M", false),
            ("^[^0-9]$", "a", true), ("^[^0-9]$", "5", false), ("^[a-]$", "-", true), ("^[-a]$", "-", true),
            ("^[.]$", ".", true), ("^[.]$", "a", false), ("^[a/b]$", "/", true),
            ("^[*+?(){}|^$]+$", "*+?(){}|^$", true),
            ("^[\\w-.]+$", "a-b.c", true), ("^[\\d-]$", "-", true), ("^[\\]]$", "]", true), ("^[\\\\]$", "\\", true),
            ("^[\\D]$", "a", true), ("^[\\D]$", "1", false), ("^[^\\s]$", " ", false), ("^[À-ÿ]+$", "éà", true),
            ("^\\d+$", "0123", true), ("^\\d$", "a", false), ("^\\D$", "a", true), ("^\\D$", "1", false),
            ("^\\w+$", "aZ_9", true), ("^\\w$", "é", false), ("^\\W$", "-", true), ("^\\s$", "\t", true),
            ("^\\s$", "x", false), ("^\\S$", "x", true), ("^\\.$", ".", true), ("^\\.$", "a", false),
            ("^\\/$", "/", true), ("^\\-\\@$", "-@", true), ("^\\$\\^$", "$^", true), ("^\\({2}$", "((", true),
            ("^a}$", "a}", true), ("^]$", "]", true), ("^é{2}$", "éé", true), ("^\\é$", "é", true),
            ("^[A-Z0-9]{4,8}$", "ROOM42", true), ("^[A-Z0-9]{4,8}$", "abc", false),
            (
                "^([a-zA-Z0-9_\\-\\.]+)@([a-zA-Z0-9_\\-\\.]+)\\.([a-zA-Z]{2,5})$", "ann.b-c@mail.example.org", true
            ),
            ("^([a-zA-Z0-9_\\-\\.]+)@([a-zA-Z0-9_\\-\\.]+)\\.([a-zA-Z]{2,5})$", "no address", false),
            (
                "^(19|20)[0-9][0-9][-\\/. ](0[1-9]|1[012])[-\\/. ](0[1-9]|[12][0-9]|3[01])$", "2026-11-22", true
            ),
            (
                "^(19|20)[0-9][0-9][-\\/. ](0[1-9]|1[012])[-\\/. ](0[1-9]|[12][0-9]|3[01])$", "2026-13-22", false
            ),
        ] as [(String, String, Bool)])
    func searches(pattern: String, text: String, isFound: Bool) throws {
        #expect(try finds(pattern, text) == isFound)
    }

    @Test(
        "the flag i makes letters stand for both of their cases",
        arguments: [
            ("^abc$", "AbC", true), ("^[a-c]$", "B", true), ("^[^a]$", "A", false), ("^É$", "é", true),
            ("^[B-b]$", "c", true), ("^[b-d]$", "e", false), ("^ß$", "SS", false), ("^1$", "1", true),
        ] as [(String, String, Bool)])
    func ignoringCase(pattern: String, text: String, isFound: Bool) throws {
        #expect(try finds(pattern, text, ignoresCase: true) == isFound)
    }

    @Test(
        "are refused beyond the table",
        arguments: [
            ("", "an empty alternative"), ("(a|)", "an empty alternative"), ("|a", "an empty alternative"),
            ("()", "an empty alternative"), ("(^a$|b)", "'^' stands at the beginning only"),
            ("a^", "'^' stands at the beginning only"), ("(a$)", "'$' stands at the end only"),
            ("a$|b", "'$' stands at the end only"), ("^*", "nothing to repeat"), ("*a", "nothing to repeat"),
            ("a|+", "nothing to repeat"), ("(?:a)", "groups only group: '(?' is not supported"),
            ("(?=a)", "groups only group: '(?' is not supported"),
            ("(?<n>a)", "groups only group: '(?' is not supported"),
            ("a*?", "one repetition after another"), ("a++", "one repetition after another"),
            ("a{2}{3}", "one repetition after another"), ("a{", "'{' without a count"),
            ("a{b}", "'{' without a count"),
            ("a{,3}", "'{' without a count"), ("a{3,2}", "'{' without a count"), ("a{3", "'{' without a count"),
            ("((a{0}){9999}){9999}", "a count of zero"), ("a{0,0}", "a count of zero"),
            ("{3}", "nothing to repeat"), ("a{10001}", "too many repetitions"),
            ("(a{1000}){1000}", "too many repetitions"),
            ("((((a{90}){90}){90}){90}){90}", "too many repetitions"), ("(a", "a group without an end"),
            ("a)", "an unopened ')'"), ("[a", "a set without an end"), ("[]", "an empty set"), ("[^]", "an empty set"),
            ("[z-a]", "a range that runs backwards"), ("\\b", "'\\b' is not supported"),
            ("\\1", "'\\1' is not supported"),
            ("\\p{L}", "'\\p' is not supported"), ("[\\n]", "'\\n' is not supported"),
            ("\\u0041", "'\\u' is not supported"),
            ("\\", "nothing after '\\'"),
        ] as [(String, String)])
    func refused(pattern: String, message: String) {
        #expect {
            try compile(pattern)
        } throws: { ($0 as? Mistake)?.message == "Invalid regular expression: \(message)." }
    }

    @Test("take time in proportion to text and pattern, or give up")
    func noExplosion() throws {
        let text = String(repeating: "a", count: 2_000)
        #expect(try finds("^(a+)+$", text + "b") == false)
        #expect(try finds("^(a|a)*$", text + "b") == false)
        #expect(try finds("^(a*)*b$", text) == false)
        #expect(try finds("^((a?){30})*b$", text) == false)
        // Every state is alive at every character.
        #expect(try finds("(a{0,9}){0,400}b", String(repeating: "a", count: 20_000)) == nil)
    }

    /// A matcher that tries everything: the rest of the text for each way to match a part of the pattern.
    private func naive(_ form: Pattern.Form, _ text: [UInt32], _ offset: Int, _ rest: (Int) -> Bool) -> Bool {
        switch form {
        case .set(let set): return offset < text.count && set.contains(text[offset]) && rest(offset + 1)
        case .start: return offset == 0 && rest(offset)
        case .end: return offset == text.count && rest(offset)
        case .sequence(let parts):
            guard let first = parts.first else { return rest(offset) }
            return naive(first, text, offset) { naive(.sequence(Array(parts.dropFirst())), text, $0, rest) }
        case .alternatives(let choices): return choices.contains { naive($0, text, offset, rest) }
        case .repeated(let part, let minimum, let maximum):
            if minimum > 0 {
                return naive(part, text, offset) {
                    naive(.repeated(part, minimum: minimum - 1, maximum: maximum.map { $0 - 1 }), text, $0, rest)
                }
            }
            if rest(offset) { return true }
            if maximum == 0 { return false }
            return naive(part, text, offset) { next in
                next > offset
                    && naive(.repeated(part, minimum: 0, maximum: maximum.map { $0 - 1 }), text, next, rest)
            }
        }
    }

    private func randomForm(_ depth: Int, _ random: inout SeededRandom) -> Pattern.Form {
        switch Int.random(in: 0..<(depth == 0 ? 2 : 6), using: &random) {
        case 0, 1:
            let first = UInt32(0x61 + Int.random(in: 0..<3, using: &random))
            return .set(CharacterSet(ranges: [first...first], isNegated: Bool.random(using: &random)))
        case 2, 3:
            return .sequence((0..<Int.random(in: 1...3, using: &random)).map { _ in randomForm(depth - 1, &random) })
        case 4:
            return .alternatives(
                (0..<Int.random(in: 2...3, using: &random)).map { _ in randomForm(depth - 1, &random) })
        default:
            let minimum = Int.random(in: 0...2, using: &random)
            let maximum = Bool.random(using: &random) ? nil : Optional(minimum + Int.random(in: 0...2, using: &random))
            return .repeated(randomForm(depth - 1, &random), minimum: minimum, maximum: maximum)
        }
    }

    @Test("find what trying everything finds", arguments: 1...20 as ClosedRange<UInt64>)
    func againstNaive(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var matcher = PatternMatcher()
        for step in 0..<100 {
            var parts = [randomForm(3, &random)]
            if Bool.random(using: &random) { parts.insert(.start, at: 0) }
            if Bool.random(using: &random) { parts.append(.end) }
            let form = Pattern.Form.sequence(parts)
            let pattern = try #require(Pattern(form))
            let text = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                UInt8(0x61 + Int.random(in: 0..<3, using: &random))
            }
            let characters = text.map { UInt32($0) }
            let expected = (0...text.count).contains { naive(form, characters, $0) { _ in true } }
            var left = Int.max
            let found = text.withUnsafeBytes { matcher.finds(pattern, in: $0, left: &left) }
            #expect(found == expected, "seed \(seed) step \(step)")
        }
    }
}
