import CLinux
import EventLoop
import Glibc
import Synchronization

/// The server's log: one line per event, `time level event key=value …`, written whole by one system call.
///
/// Values with spaces, quotes or control characters are quoted. Nothing that clients store, and no credential, is ever
/// passed to it.
package struct Log: Sendable {
    package enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        package init?(_ name: String) {
            guard let level = Level.allCases.first(where: { $0.name == name }) else { return nil }
            self = level
        }

        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }

        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// Events below this level are not written.
    package let level: Level
    private let descriptor: Int32
    private let recent = RecentLines()

    package init(level: Level, descriptor: Int32 = STDERR_FILENO) {
        self.level = level
        self.descriptor = descriptor
    }

    package func debug(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        if level <= .debug { write(.debug, event, fields()) }
    }

    package func info(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        if level <= .info { write(.info, event, fields()) }
    }

    /// An event whose name is that of a kind.
    func info(event: String, _ fields: @autoclosure () -> [(StaticString, String)]) {
        if level <= .info { write(.info, event, fields()) }
    }

    package func warning(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        if level <= .warning { write(.warning, event, fields()) }
    }

    package func error(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        write(.error, event, fields())
    }

    private func write(_ level: Level, _ event: StaticString, _ fields: [(StaticString, String)]) {
        write(level, "\(event)", fields)
    }

    private func write(_ level: Level, _ event: String, _ fields: [(StaticString, String)]) {
        var line = "\(Timestamp(milliseconds: WallClock.milliseconds)) \(level.name) \(event)"
        for (key, value) in fields { line += " \(key)=\(Self.quoted(value))" }
        recent.add(line, level)
        line += "\n"
        line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The last lines, without their ends.
    var recentLines: [String] { recent.lines }

    /// How many lines were written of each level.
    var counts: [(level: Level, count: Int64)] { zip(Level.allCases, recent.counts).map { ($0, $1) } }

    private final class RecentLines: Sendable {
        private struct State {
            var lines: [String] = []
            var counts = [Int64](repeating: 0, count: Level.allCases.count)
        }

        private static let countMax = 1000
        private let state = Mutex(State())

        var lines: [String] { state.withLock { $0.lines.suffix(Self.countMax) } }
        var counts: [Int64] { state.withLock { $0.counts } }

        func add(_ line: String, _ level: Level) {
            state.withLock { state in
                state.counts[level.rawValue] += 1
                // Twice as many stay as are shown, so that few are moved.
                if state.lines.count >= 2 * Self.countMax { state.lines.removeFirst(Self.countMax) }
                state.lines.append(line)
            }
        }
    }

    private static func quoted(_ value: String) -> String {
        let isPlain = value.utf8.allSatisfy {
            $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=") && $0 != 0x7F
        }
        if isPlain, !value.isEmpty { return value }
        var out = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"", "\\": out += "\\\(scalar)"
            case "\n": out += "\\n"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: out += "?"
            default: out.unicodeScalars.append(scalar)
            }
        }
        return out + "\""
    }
}

/// A moment as RFC 3339 text in UTC, with milliseconds.
package struct Timestamp: CustomStringConvertible {
    private let milliseconds: Int64

    /// - parameter milliseconds: since 1970.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

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
