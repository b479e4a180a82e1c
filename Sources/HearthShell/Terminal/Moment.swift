import Glibc

/// Times for people, in the zone of the machine.
enum Moment {
    /// - parameter milliseconds: since 1970.
    static func text(_ milliseconds: Int64?) -> String {
        guard let milliseconds else { return "-" }
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        func pad(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let date = "\(parts.tm_year + 1900)-\(pad(parts.tm_mon + 1))-\(pad(parts.tm_mday))"
        return "\(date) \(pad(parts.tm_hour)):\(pad(parts.tm_min)):\(pad(parts.tm_sec))"
    }

    /// How long something lasts: 45 s, 12 min, 3 h 20 min, 5 d 2 h.
    static func duration(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        default: "\(seconds / 86_400) d \(seconds % 86_400 / 3600) h"
        }
    }
}
