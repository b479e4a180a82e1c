import Glibc

/// A moment as RFC 3339 text in UTC, with milliseconds.
package struct Timestamp: CustomStringConvertible {
    /// Since 1970.
    package let milliseconds: Int64

    /// - parameter milliseconds: since 1970.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Reads `2026-11-22T03:15:00Z`, with or without a fraction of a second, with an offset like `+01:00` instead of
    /// `Z`, and with a space instead of `T`. Nil for anything else.
    package init?(parsing text: String) {
        let pattern =
            #/(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))/#
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: pattern), let year = Int32(match.1), let month = Int32(match.2),
            let day = Int32(match.3), let hour = Int32(match.4), let minute = Int32(match.5),
            let second = Int32(match.6)
        else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (hour, minute, second)
        let given = parts
        var seconds = Int64(timegm(&parts))
        // A day like 30 February would become another one.
        guard parts.tm_mon == given.tm_mon, parts.tm_mday == given.tm_mday, parts.tm_hour == given.tm_hour,
            parts.tm_min == given.tm_min
        else { return nil }
        if let sign = match.8, let hours = match.9.flatMap({ Int64($0) }), let minutes = match.10.flatMap({ Int64($0) })
        {
            guard hours < 24, minutes < 60 else { return nil }
            seconds -= (sign == "-" ? -1 : 1) * (hours * 3600 + minutes * 60)
        }
        let fraction = match.7.map { $0.prefix(3) + String(repeating: "0", count: max(0, 3 - $0.count)) }
        milliseconds = seconds * 1000 + (fraction.flatMap { Int64($0) } ?? 0)
    }

    package var description: String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func pad(_ value: Int32, _ width: Int = 2) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
        }
        let date = "\(pad(parts.tm_year + 1900, 4))-\(pad(parts.tm_mon + 1))-\(pad(parts.tm_mday))"
        let time = "\(pad(parts.tm_hour)):\(pad(parts.tm_min)):\(pad(parts.tm_sec))"
        return "\(date)T\(time).\(pad(Int32(milliseconds % 1000), 3))Z"
    }
}
