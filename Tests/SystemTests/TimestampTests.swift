import HearthSystem
import Testing

@Suite("A time in RFC 3339") struct TimestampTests {
    @Test(
        "is read with offset, fraction and space",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2026-11-22T03:15:00Z", 1_795_317_300_000),
            ("2026-11-22 03:15:00.5Z", 1_795_317_300_500), ("2026-11-22T04:15:00.123456+01:00", 1_795_317_300_123),
            ("2026-11-21T22:45:00-04:30", 1_795_317_300_000), ("2024-02-29T00:00:00Z", 1_709_164_800_000),
        ] as [(String, Int64)])
    func valid(text: String, milliseconds: Int64) {
        #expect(Timestamp(parsing: text)?.milliseconds == milliseconds)
        #expect(Timestamp(parsing: "\(Timestamp(milliseconds: milliseconds))")?.milliseconds == milliseconds)
    }

    @Test(
        "is not read if it is invalid",
        arguments: [
            "", "yesterday", "2026-11-22", "2026-11-22T03:15:00", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:00+24:00", "26-01-01T00:00:00Z",
            // Digits of other scripts.
            "２０２６-11-22T03:15:00Z", "٢٠٢٦-١١-٢٢T٠٣:١٥:٠٠Z", "2026-11-22T03:15:00.５Z",
            "2026-11-22T03:15:00+０１:00",
        ])
    func invalid(text: String) { #expect(Timestamp(parsing: text) == nil) }
}
