import Glibc
import HearthJSONValues
import Synchronization
package import HearthSystem

/// The server's log: one line per event, written whole by one system call.
///
/// Text is `time level event key=value …`, where values with spaces, quotes or control characters are quoted. JSON is
/// one object per line with `time`, `level`, `event` and the fields, all of them strings. For the journal, which has
/// times of its own, text begins with the priority instead (sd-daemon(3)). No value that clients store, and no
/// credential, is ever passed to it; of their keys only those that a slow request names, where that is asked for.
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

        /// As syslog numbers it.
        var priority: Int {
            switch self {
            case .debug: 7
            case .info: 6
            case .warning: 4
            case .error: 3
            }
        }

        package static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    package enum Format: String, Sendable, CaseIterable {
        case text, json, journal
    }

    /// Events below this level are not written.
    package let level: Level
    private let format: Format
    private let descriptor: Int32
    private let recent = RecentLines()

    package init(level: Level, format: Format = .text, descriptor: Int32 = STDERR_FILENO) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
    }

    package func debug(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        if level <= .debug { write(.debug, event, fields()) }
    }

    package func info(_ event: StaticString, _ fields: @autoclosure () -> [(StaticString, String)] = []) {
        if level <= .info { write(.info, event, fields()) }
    }

    /// An event whose name is that of a kind.
    package func info(event: String, _ fields: @autoclosure () -> [(StaticString, String)]) {
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
        let time = Timestamp(milliseconds: WallClock.milliseconds)
        var text = event
        for (key, value) in fields { text += " \(key)=\(Self.quoted(value))" }
        let line = "\(time) \(level.name) \(text)"
        recent.add(line, level)
        var written =
            switch format {
            case .text: line + "\n"
            case .journal: "<\(level.priority)>\(text)\n"
            case .json: Self.jsonLine(time, level, event, fields)
            }
        written.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    /// One object and the end of the line.
    package static func jsonLine(
        _ time: Timestamp, _ level: Level?, _ event: String, _ fields: [(StaticString, String)]
    ) -> String {
        var object = JSONObject([
            "time": .text("\(time)"), "level": level.map { .text($0.name) }, "event": .text(event),
        ])
        for (key, value) in fields { object["\(key)"] = .text(value) }
        return String(decoding: JSONValue.object(object).bytes, as: UTF8.self) + "\n"
    }

    /// Writes of the long steps of a thread, at debug level.
    package func stepTimes(of thread: String) -> StepTimes {
        StepTimes { step, duration in
            debug(
                "thread.long-step",
                [
                    ("thread", thread), ("step", "\(step)"), ("milliseconds", "\(duration / .milliseconds(1))"),
                ])
        }
    }

    /// The last lines, without their ends.
    package var recentLines: [String] { recent.lines }

    /// How many lines were written of each level.
    package var counts: [(level: Level, count: Int64)] { zip(Level.allCases, recent.counts).map { ($0, $1) } }

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
