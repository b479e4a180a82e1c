import Testing

@testable import HearthExampleKit

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

    @Test(
        "names days",
        arguments: [
            ("2026-03-01", "2026-03-01"), ("2026-3-1", "2026-03-01"), ("2024-02-29", "2024-02-29"),
            ("2000-02-29", "2000-02-29"), ("2023-02-29", nil), ("1900-02-29", nil), ("2026-04-31", nil),
            ("2026-13-01", nil), ("2026-00-10", nil), ("2026-01-00", nil), ("2026-01", nil), ("tomorrow", nil),
            ("", nil), ("2026-01-01-01", nil), ("2026--1-01", nil), ("٢٠٢٦-01-01", nil), ("0-1-1", nil),
        ])
    func dates(text: String, date: String?) { #expect(Moment.date(text) == date) }

    @Test(
        "counts days across months and years",
        arguments: [
            ("2026-03-01", -1, "2026-02-28"), ("2024-03-01", -1, "2024-02-29"), ("2026-12-31", 1, "2027-01-01"),
            ("2026-3-1", 0, "2026-03-01"), ("1969-12-31", 1, "1970-01-01"), ("9999-12-31", 1, nil), ("noon", 1, nil),
        ] as [(String, Int, String?)])
    func days(date: String, count: Int, result: String?) { #expect(Moment.date(date, adding: count) == result) }

    @Test("names days of the week", arguments: [("2026-03-01", "Sunday"), ("2024-2-29", "Thursday"), ("today", nil)])
    func weekdays(date: String, name: String?) { #expect(Moment.weekday(ofDate: date) == name) }

    @Test(
        "names times of day",
        arguments: [
            ("18:30", "18:30"), ("8:05", "08:05"), ("0:0", "00:00"), ("24:00", nil), ("12:60", nil), ("12", nil),
            ("noon", nil), ("-1:00", nil), ("1:2:3", nil),
        ])
    func times(text: String, time: String?) { #expect(Moment.time(text) == time) }

    @Test("names moments, in their order")
    func moments() {
        let first = Moment(milliseconds: 1_700_000_000_000)
        #expect(Moment.date(first.date) == first.date && Moment.time(first.time) == first.time)
        #expect(first < Moment(milliseconds: 1_700_000_060_000))
        #expect(!(first < first))
        #expect(first.description == "\(first.date) \(first.time)")
    }
}
