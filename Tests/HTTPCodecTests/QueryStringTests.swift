import HearthHTTPCodec
import Testing

@Suite("Query strings")
struct QueryStringTests {
    static let examples: [(String, [String])] = [
        ("", []),
        ("&&", []),
        ("a=b", ["a=b"]),
        ("a", ["a="]),
        ("=b", ["=b"]),
        ("a=b=c", ["a=b=c"]),
        ("a=1&&b=2&", ["a=1", "b=2"]),
        // As the Go and Python clients send them (rest.md 2).
        ("orderBy=%22$key%22&limitToFirst=3", ["orderBy=\"$key\"", "limitToFirst=3"]),
        ("orderBy=%22a/b%22&startAt=%22%5Cu00e9%20x%22", ["orderBy=\"a/b\"", "startAt=\"\\u00e9 x\""]),
        ("startAt=%22two+words%22", ["startAt=\"two words\""]),
        ("equalTo=%22a&b=c%22", ["equalTo=\"a", "b=c\""]),
        ("n=%C3%BC", ["n=ü"]),
        ("a%3Db=c%26d%2B", ["a=b=c&d+"]),
        // An invalid escape is literal (rest.md 2).
        ("a=100%", ["a=100%"]),
        ("a=%4", ["a=%4"]),
        ("a=%zz%g1%1g", ["a=%zz%g1%1g"]),
        ("a=%%41", ["a=%A"]),
        ("a=%2541", ["a=%41"]),
        ("a%=%", ["a%=%"]),
    ]

    @Test("are decoded pair by pair", arguments: examples)
    func decodes(query: String, expected: [String]) {
        let parsed = QueryString(Array(query.utf8)[...])
        #expect(parsed.map { "\(text($0.name))=\(text($0.value))" } == expected)
    }

    @Test("are decoded within a larger buffer")
    func slices() {
        let bytes = Array("/p?a=%31&b=2 HTTP".utf8)
        let query = QueryString(bytes[3..<12])
        #expect(query.map { text($0.name) + text($0.value) } == ["a1", "b2"])
        #expect(query.first("a").map(text) == "1")
        #expect(query.first("b").map(text) == "2")
    }

    @Test("give the first value of a name, which may be escaped itself")
    func first() {
        let query = QueryString(Array("ns=&print=pretty&print=silent&%61uth=t&x+y=z&shallow".utf8)[...])
        #expect(query.first("print").map(text) == "pretty")
        #expect(query.first("ns").map(text) == "")
        #expect(query.first("auth").map(text) == "t")
        #expect(query.first("x y").map(text) == "z")
        #expect(query.first("shallow").map(text) == "")
        #expect(query.first("prin") == nil)
        #expect(query.first("prints") == nil)
        #expect(query.first("") == nil)
    }

    @Test("may hold bytes that are not UTF-8")
    func invalidText() {
        let query = QueryString(Array("a=%FF%00".utf8)[...])
        #expect(query.first("a").map(Array.init) == [0xFF, 0])
    }
}

private func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }
