import HearthJSONTree
import HearthJSONValues
import HearthRealtimeDatabase
import HearthSystem
import HearthServerProtocol

/// Sends commits to the watchers of a database, once they are durable. It exists only while there are watchers; without
/// it, a turn costs one check. On the databases' thread.
final class CommitTail {
    /// Entries of one message; operations beyond them are counted only.
    private static let entriesMax = 500
    /// A turn with more is not read, but counted.
    private static let recordBytesMax = 1 << 20
    /// At least between two messages, but for ticks.
    private static let interval = Duration.milliseconds(50)

    private struct Part {
        var entries: [JSONValue] = []
        var others: Int64 = 0
    }

    var watchers: Set<ConnectionID> = []
    /// Of turns that are not durable yet, with their last sequence numbers.
    private var waiting: [(last: UInt64, part: Part)] = []
    private var ready = Part()
    private var lastFlush: MonotonicTime?

    /// Takes note of a turn on its way to the log.
    func add(_ record: LogRecord) {
        var part = Part()
        let isShort =
            record.byteCount <= Self.recordBytesMax
            && record.count + waiting.reduce(0) { $0 + $1.part.entries.count } <= Self.entriesMax
        if isShort, let operations = try? record.operations() {
            let root = HistoryPage(path: .root, before: nil, limit: 0)
            part.entries = operations.compactMap { root.entry(of: $0).map { .object($0) } }
        } else {
            part.others = Int64(record.count)
        }
        waiting.append((record.lastSequence, part))
    }

    /// The log has everything up to an operation.
    func committed(through sequence: UInt64, _ host: DatabaseHost) {
        let count = waiting.prefix { $0.last <= sequence }.count
        for (_, part) in waiting.prefix(count) {
            if ready.entries.count + part.entries.count <= Self.entriesMax {
                ready.entries += part.entries
            } else {
                ready.others += Int64(part.entries.count)
            }
            ready.others += part.others
        }
        waiting.removeFirst(count)
        if let lastFlush, MonotonicTime.current - lastFlush < Self.interval { return }
        flush(host)
    }

    /// Records in flight do not reach the log.
    func dropWaiting() { waiting = [] }

    /// Tells the watchers.
    func flush(_ host: DatabaseHost) {
        guard !ready.entries.isEmpty || ready.others > 0 else { return }
        let news = JSONObject([
            "entries": .array(ready.entries), "others": ready.others > 0 ? .integer(ready.others) : nil,
        ])
        ready = Part()
        lastFlush = .current
        var message: [UInt8] = []
        ServerMessageWriter.appendTail(news.bytes, to: &message)
        host.push(message, to: watchers)
    }
}
