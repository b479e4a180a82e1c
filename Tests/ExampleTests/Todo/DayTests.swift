import Testing

@testable import HearthTodo

@Suite("Days of entries")
struct DayTests {
    @Test(
        "names days",
        arguments: [
            ("2026-03-01", "2026-03-01"), ("2026-3-1", "2026-03-01"), ("2024-02-29", "2024-02-29"),
            ("2000-02-29", "2000-02-29"), ("2023-02-29", nil), ("1900-02-29", nil), ("2026-04-31", nil),
            ("2026-13-01", nil), ("2026-00-10", nil), ("2026-01-00", nil), ("2026-01", nil), ("tomorrow", nil),
            ("", nil), ("2026-01-01-01", nil), ("2026--1-01", nil), ("٢٠٢٦-01-01", nil), ("0-1-1", nil),
        ])
    func dates(text: String, date: String?) { #expect(Day.date(text) == date) }

    @Test(
        "counts days across months and years",
        arguments: [
            ("2026-03-01", -1, "2026-02-28"), ("2024-03-01", -1, "2024-02-29"), ("2026-12-31", 1, "2027-01-01"),
            ("2026-3-1", 0, "2026-03-01"), ("1969-12-31", 1, "1970-01-01"), ("9999-12-31", 1, nil), ("noon", 1, nil),
        ] as [(String, Int, String?)])
    func days(date: String, count: Int, result: String?) { #expect(Day.date(date, adding: count) == result) }

    @Test("names days of the week", arguments: [("2026-03-01", "Sunday"), ("2024-2-29", "Thursday"), ("today", nil)])
    func weekdays(date: String, name: String?) { #expect(Day.weekday(of: date) == name) }

    @Test(
        "names times of day",
        arguments: [
            ("18:30", "18:30"), ("8:05", "08:05"), ("0:0", "00:00"), ("24:00", nil), ("12:60", nil), ("12", nil),
            ("noon", nil), ("-1:00", nil), ("1:2:3", nil),
        ])
    func times(text: String, time: String?) { #expect(Day.time(text) == time) }
}
