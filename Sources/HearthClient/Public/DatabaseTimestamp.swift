import HearthPlatform

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A moment, stored as milliseconds since 1970, like ``ServerValue/timestamp()``. A member of this type is read from
/// such a number and written as one.
public struct DatabaseTimestamp: Hashable, Comparable, Sendable {
    /// Since the beginning of 1970, in UTC.
    public let milliseconds: Int64

    /// The moment this many milliseconds after the beginning of 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The present moment by this machine's clock. For the server's, see ``Database/serverTime``.
    public static var now: DatabaseTimestamp { DatabaseTimestamp(milliseconds: WallClock.milliseconds) }

    /// The day in the time zone of this machine, as in `2026-03-01`.
    public var date: String { formatted("%Y-%m-%d") }

    /// The time of day in the time zone of this machine, as in `18:30`.
    public var time: String { formatted("%H:%M") }

    private func formatted(_ format: String) -> String {
        var (seconds, parts) = (time_t(milliseconds / 1000), tm())
        localtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 32) { text in
            text.withMemoryRebound(to: CChar.self) { strftime($0.baseAddress, $0.count, format, &parts) }
        }
    }

    /// Earlier is less.
    public static func < (a: DatabaseTimestamp, b: DatabaseTimestamp) -> Bool { a.milliseconds < b.milliseconds }
}

extension DatabaseTimestamp: Codable, DatabaseValueConvertible {
    /// From a number.
    public init(from decoder: any Decoder) throws { milliseconds = try Int64(from: decoder) }

    /// As a number.
    public func encode(to encoder: any Encoder) throws { try milliseconds.encode(to: encoder) }
}

extension DatabaseTimestamp: CustomStringConvertible {
    /// Day and time in the time zone of this machine, as in `2026-03-01 18:30`.
    public var description: String { "\(date) \(time)" }
}
