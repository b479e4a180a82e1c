/// A line for a program's log; see ``DatabaseOptions/logger``.
public struct DatabaseLogEntry: Hashable, Sendable {
    /// How important a line is.
    public enum Level: Int, Comparable, Hashable, Sendable {
        /// Each attempt to connect.
        case debug
        /// Connections that were made, or ended on purpose.
        case info
        /// Something failed: a connection, a token, a listener, a write.
        case warning

        /// Whether `a` is less important than `b`.
        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// How important it is.
    public let level: Level
    /// One line. It may name locations of the database; it holds no values and no tokens.
    public let message: String
}

extension DatabaseLogEntry: CustomStringConvertible {
    /// Level and message.
    public var description: String { "\(level): \(message)" }
}
