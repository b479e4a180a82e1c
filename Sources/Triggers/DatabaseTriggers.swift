import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTreeStorage

/// The triggers of one database, on the sender's loop: what of the outbox is in memory, and how it gets there.
///
/// Events come from the database when they are durable. A trigger for which too much waits takes no more of these; it
/// reads them from the outbox later, when the tree file has them.
struct DatabaseTriggers {
    struct Feed {
        var definition: TriggerDefinition
        var queue: TriggerQueue
        /// The last event that is in memory, or was.
        var last: [UInt8]
        /// Until the tree file has the operation of this number, it may lack events after `last`; nil if all events
        /// are in memory.
        var goal: UInt64?
        var figures: TriggerFigures

        init(_ definition: TriggerDefinition, database: String, goal: UInt64, pauses: TriggerQueue.Pauses) {
            self.definition = definition
            queue = TriggerQueue(
                concurrency: definition.concurrency, retryTime: definition.retryTime, pauses: pauses)
            last = OutboxKey.prefix(of: definition.name, isAside: false)
            self.goal = goal
            figures = TriggerFigures(database: database, trigger: definition.name)
        }

        var isFull: Bool { queue.count >= DatabaseTriggers.eventsMax || queue.byteCount >= DatabaseTriggers.bytesMax }
    }

    /// Events of a trigger in memory, and bytes of them.
    static let eventsMax = 10_000
    static let bytesMax = 16 << 20

    let name: String
    let reader: TreeReader
    var feeds: [String: Feed] = [:]
    /// Events that were set aside.
    var asideCount = 0

    init(name: String, reader: TreeReader) {
        self.name = name
        self.reader = reader
    }

    /// - parameter goal: the last operation that has changed the outbox.
    mutating func set(_ definitions: [TriggerDefinition], goal: UInt64, pauses: TriggerQueue.Pauses) {
        var kept: [String: Feed] = [:]
        for definition in definitions {
            var feed =
                feeds[definition.name]
                ?? Feed(
                    definition, database: name, goal: goal, pauses: pauses)
            feed.definition = definition
            feed.queue.concurrency = definition.concurrency
            feed.queue.retryTime = definition.retryTime
            kept[definition.name] = feed
        }
        feeds = kept
    }

    /// Takes events that have just become durable.
    mutating func take(_ rows: [OutboxRow]) {
        for row in rows {
            if row.key.isAside {
                asideCount += 1
                feeds[row.key.trigger]?.figures.setAside += 1
                continue
            }
            guard var feed = feeds.removeValue(forKey: row.key.trigger) else { continue }
            if feed.goal != nil || feed.isFull {
                feed.goal = max(feed.goal ?? 0, row.key.sequence)
            } else {
                Self.add(row, to: &feed)
            }
            feeds[row.key.trigger] = feed
        }
    }

    /// Reads events from the tree file, as far as there is room. Answers whether the file has yet to get some.
    mutating func load() throws(StorageError) -> Bool {
        var isWaiting = false
        for name in feeds.keys {
            guard var feed = feeds[name], let goal = feed.goal else { continue }
            while !feed.isFull {
                let prefix = OutboxKey.prefix(of: name, isAside: false)
                let page = try reader.outbox(after: feed.last, below: prefix + [0xFF])
                // It may still have events that were delivered.
                if page.sequence < goal {
                    isWaiting = true
                    break
                }
                for row in page.rows { Self.add(row, to: &feed) }
                if page.isLast {
                    feed.goal = nil
                    break
                }
            }
            feeds[name] = feed
        }
        return isWaiting
    }

    private static func add(_ row: OutboxRow, to feed: inout Feed) {
        feed.last = row.key.bytes
        guard let event = try? TriggerEvent(stored: row.event) else { return }
        feed.queue.add(.init(key: row.key, place: event.path, event: row.event, since: event.since))
    }
}
