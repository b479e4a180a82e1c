import Glibc

/// A time, shown to the minute in the zone of the machine. In a database it is a number of milliseconds since 1970.
public struct Moment: Hashable, Comparable, Sendable {
    private let milliseconds: Int

    /// The moment at milliseconds since 1970, as databases have them.
    public init(milliseconds: Int) { self.milliseconds = milliseconds }

    /// Now.
    public static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Moment(milliseconds: time.tv_sec * 1000 + time.tv_nsec / 1_000_000)
    }

    /// As in `2026-03-01`.
    public var date: String { formatted("%Y-%m-%d") }
    /// As in `18:30`.
    public var time: String { formatted("%H:%M") }

    private func formatted(_ format: String) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        localtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 32) { text in
            text.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, format, &parts) }
        }
    }

    /// A date as people write it (`2026-3-1`), in the form with two digits; nil if there is no such day.
    public static func date(_ text: String) -> String? {
        guard let parts = numbers(text, "-", count: 3), (1...9999).contains(parts[0]), (1...12).contains(parts[1]),
            (1...days(in: parts[1], of: parts[0])).contains(parts[2])
        else { return nil }
        return "\(padded(parts[0], 4))-\(padded(parts[1], 2))-\(padded(parts[2], 2))"
    }

    /// A time of day as people write it (`8:05`), in the form with two digits; nil if there is no such time.
    public static func time(_ text: String) -> String? {
        guard let parts = numbers(text, ":", count: 2), (0...23).contains(parts[0]), (0...59).contains(parts[1]) else {
            return nil
        }
        return "\(padded(parts[0], 2)):\(padded(parts[1], 2))"
    }

    /// The date so many days after another one, or before it; nil if that is not a date.
    public static func date(_ date: String, adding days: Int) -> String? {
        guard var parts = broken(date) else { return nil }
        parts.tm_mday += Int32(days)
        // Brings the day into its month.
        timegm(&parts)
        return Self.date("\(Int(parts.tm_year) + 1900)-\(parts.tm_mon + 1)-\(parts.tm_mday)")
    }

    /// As in `Sunday`; nil if there is no such day.
    public static func weekday(ofDate date: String) -> String? {
        guard var parts = broken(date) else { return nil }
        timegm(&parts)
        let names = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
        return names[Int(parts.tm_wday)]
    }

    /// A date for the C library.
    private static func broken(_ text: String) -> tm? {
        guard let date = Self.date(text), let numbers = numbers(date, "-", count: 3) else { return nil }
        var parts = tm()
        parts.tm_year = Int32(numbers[0] - 1900)
        parts.tm_mon = Int32(numbers[1] - 1)
        parts.tm_mday = Int32(numbers[2])
        return parts
    }

    private static func numbers(_ text: String, _ separator: Character, count: Int) -> [Int]? {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.allSatisfy(\.isASCII) ? UInt16($0).map(Int.init) : nil }
        return parts.count == count && numbers.count == count ? numbers : nil
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }

    /// Earlier is less.
    public static func < (a: Moment, b: Moment) -> Bool { a.milliseconds < b.milliseconds }
}

extension Moment: Codable {
    /// From a number.
    public init(from decoder: any Decoder) throws { milliseconds = try Int(from: decoder) }

    /// As a number.
    public func encode(to encoder: any Encoder) throws { try milliseconds.encode(to: encoder) }
}

extension Moment: CustomStringConvertible {
    /// As in `2026-03-01 18:30`.
    public var description: String { "\(date) \(time)" }
}
