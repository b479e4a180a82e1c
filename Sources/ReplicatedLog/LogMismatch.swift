/// Why files cannot follow a log from where they are.
package enum LogMismatch: Hashable, Sendable {
    /// They are a beginning of the log, which does not have the records any more that follow them.
    case behind
    /// They end where the present history of the log began, and only have to be told of it.
    case continued
    /// They are of a history that the log has given up: all of them, or their end.
    case replaced
    /// They are of a history that the log never had. They may have data that no other node has.
    case foreign
    /// They are of the present history, and go beyond the end of the log.
    case ahead

    /// Nil for files that can follow.
    static func of(_ position: LogPosition, in reading: LogReading, _ head: LogHead) -> LogMismatch? {
        let isBehind = position.sequence + 1 < reading.floor
        guard let epoch = position.epoch else { return isBehind ? .behind : nil }
        if epoch == head.epoch { return position.sequence > head.lastSequence ? .ahead : isBehind ? .behind : nil }
        guard let end = reading.past.end(of: epoch) else { return .foreign }
        if position.sequence > end { return .replaced }
        return isBehind ? .behind : .continued
    }
}
