import HearthBytes
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthStorageErrors
import HearthTreeStorage

/// The triggers of one database, on the sender's loop: the part of the outbox that is known, and how it gets there.
///
/// Events come from the database when they are durable. A trigger for which too much waits takes no more of these; it
/// reads them from the outbox later, when the tree file has them. So it does with the contents of events of which the
/// queue keeps only the keys.
struct DatabaseTriggers {
    struct Feed {
        var definition: TriggerDefinition
        var queue: TriggerQueue
        /// The last event that is in memory, or was.
        var last: [UInt8]
        /// Until the tree file has the operation of this number, it may still have events that were delivered before
        /// the feed began.
        let floor: UInt64
        /// Until the tree file has the operation of this number, it may lack events after `last`; nil if all events
        /// are in memory. Not before ``floor``.
        var goal: UInt64?
        var times: EventTimes
        var figures: TriggerFigures

        init(
            _ definition: TriggerDefinition, database: String, goal: UInt64, pauses: TriggerQueue.Pauses,
            _ times: EventTimes
        ) {
            self.definition = definition
            self.times = times
            queue = TriggerQueue(
                concurrency: definition.concurrency, retryTime: definition.retryTime, pauses: pauses)
            last = OutboxKey.prefix(of: definition.name, isAside: false)
            floor = goal
            self.goal = goal
            figures = TriggerFigures(database: database, trigger: definition.name)
        }

        var isFull: Bool { queue.count >= DatabaseTriggers.eventsMax || queue.byteCount >= DatabaseTriggers.bytesMax }
    }

    /// Events of a trigger whose keys are in memory, and bytes of those that are there as a whole.
    static let eventsMax = 100_000
    static let bytesMax = 16 << 20
    /// Pages that one step reads of a trigger.
    private static let pagesMax = 8

    let name: String
    let reader: TreeReader
    var feeds: [String: Feed] = [:]
    /// Events that were set aside.
    var asideCount = 0
    /// Those of them that the database was asked to drop or to send again, and that the tree file may still have.
    private var told: Set<OutboxKey> = []

    init(name: String, reader: TreeReader) {
        self.name = name
        self.reader = reader
    }

    /// - parameter goal: the last operation that has changed the outbox.
    /// - parameter times: of the triggers that are new.
    mutating func set(
        _ definitions: [TriggerDefinition], goal: UInt64, pauses: TriggerQueue.Pauses, _ times: EventTimes
    ) {
        var kept: [String: Feed] = [:]
        for definition in definitions {
            var feed =
                feeds[definition.name]
                ?? Feed(definition, database: name, goal: goal, pauses: pauses, times)
            feed.definition = definition
            feed.queue.concurrency = definition.concurrency
            feed.queue.retryTime = definition.retryTime
            kept[definition.name] = feed
        }
        feeds = kept
    }

    /// Takes events that have just become durable.
    mutating func take(_ rows: [OutboxRow], at uptime: Int64) {
        for row in rows {
            if row.key.isAside {
                asideCount += 1
                feeds[row.key.trigger]?.figures.setAside += 1
                continue
            }
            guard var feed = feeds.removeValue(forKey: row.key.trigger) else { continue }
            if !feed.last.precedesBytewise(row.key.bytes) {
                // It was read from the tree file.
            } else if feed.goal != nil || feed.isFull {
                feed.goal = max(feed.goal ?? 0, row.key.sequence)
                feed.times.note(row.key.sequence, at: uptime)
            } else {
                Self.add(row, to: &feed) { _ in uptime }
            }
            feeds[row.key.trigger] = feed
        }
    }

    struct Loading {
        /// The tree file will get more.
        var isWaiting = false
        /// There is more to read, and room for it.
        var isUnfinished = false
        /// Triggers of which events cannot be read now.
        var failures: [(trigger: String, error: StorageError)] = []
    }

    /// Reads events from the tree file, as far as there is room, some at a time. Events in the file are taken at once,
    /// however far the goal moves meanwhile.
    mutating func load() -> Loading {
        var loading = Loading()
        for name in feeds.keys.sorted() {
            guard var feed = feeds[name], feed.goal != nil else { continue }
            do throws(StorageError) {
                switch try load(&feed, named: name) {
                case .waiting: loading.isWaiting = true
                case .unfinished: loading.isUnfinished = true
                case .enough: break
                }
            } catch {
                // The others go on.
                loading.failures.append((name, error))
            }
            feeds[name] = feed
        }
        return loading
    }

    private enum Progress {
        /// Nothing more is to be read, or can be held.
        case enough
        case waiting, unfinished
    }

    /// The same for one trigger.
    private func load(_ feed: inout Feed, named name: String) throws(StorageError) -> Progress {
        guard let goal = feed.goal else { return .enough }
        if try reader.sequence() < feed.floor { return .waiting }
        let prefix = OutboxKey.prefix(of: name, isAside: false)
        for _ in 0..<Self.pagesMax {
            if feed.isFull { return .enough }
            let page = try reader.outbox(after: feed.last, below: prefix + [0xFF])
            let times = feed.times
            for row in page.rows {
                Self.add(row, to: &feed) { times.due(row.key.sequence, since: $0) }
            }
            if let last = page.rows.last { feed.times.forget(through: last.key.sequence) }
            guard page.isLast else { continue }
            if page.sequence < goal { return .waiting }
            feed.goal = nil
            feed.times.forgetAll()
            return .enough
        }
        return .unfinished
    }

    enum Stored: Equatable {
        case whole([UInt8])
        /// The tree file does not have it yet.
        case awaited
        /// It was dropped, or erased, or is damaged.
        case gone
    }

    /// The contents of an event of which the queue has the key.
    func read(_ key: OutboxKey) throws(StorageError) -> Stored {
        let (event, sequence) = try reader.event(key)
        if let event { return .whole(event) }
        return sequence < key.sequence ? .awaited : .gone
    }

    // MARK: Events that were set aside

    /// Events that are kept after they have failed for too long. With ``asideSlack`` more, the oldest are dropped.
    static let asideMax = 10_000
    static let asideSlack = 500

    /// Visits events that were set aside, of a trigger or of all, until `body` answers false. Those that the database
    /// was told to drop or to send again are gone.
    mutating func forEachAside(of trigger: String?, _ body: (OutboxRow) -> Bool) throws(StorageError) {
        let prefix = trigger.map { OutboxKey.prefix(of: $0, isAside: true) } ?? [1]
        var seen: Set<OutboxKey> = []
        var isWhole = true
        try reader.forEachEvent(withPrefix: prefix) { row in
            if told.contains(row.key) {
                seen.insert(row.key)
            } else {
                isWhole = body(row)
            }
            return isWhole
        }
        if isWhole { told = told.filter { !$0.bytes.starts(with: prefix) || seen.contains($0) } }
    }

    /// How many events of a trigger were set aside, of those that the tree file has.
    func countAside(of trigger: String) throws(StorageError) -> Int {
        let prefix = OutboxKey.prefix(of: trigger, isAside: true)
        return try reader.eventKeys(from: prefix, below: prefix + [0xFF]).count { !told.contains($0) }
    }

    /// Whether the settings have a trigger, or events of it are left.
    func knows(_ trigger: String) throws(StorageError) -> Bool {
        if feeds[trigger] != nil { return true }
        for isAside in [false, true] {
            let prefix = OutboxKey.prefix(of: trigger, isAside: isAside)
            if try reader.eventCount(from: prefix, below: prefix + [0xFF]) > 0 { return true }
        }
        return false
    }

    /// The database is being told to drop these events, or to send them again.
    mutating func leaveAside(_ keys: [OutboxKey]) {
        told.formUnion(keys)
        asideCount = max(0, asideCount - keys.count)
    }

    /// The oldest events that were set aside, if there are too many: they are to be dropped.
    mutating func takeOldest() throws(StorageError) -> [OutboxKey] {
        guard asideCount > Self.asideMax + Self.asideSlack else { return [] }
        let keys = try reader.eventKeys(from: [1], below: [2])
        told.formIntersection(keys)
        let kept = keys.filter { !told.contains($0) }.sorted { ($0.sequence, $0) < ($1.sequence, $1) }
        let oldest = Array(kept.prefix(asideCount - Self.asideMax))
        leaveAside(oldest)
        return oldest
    }

    /// - parameter due: since when the event is due, which stores a time of day.
    private static func add(_ row: OutboxRow, to feed: inout Feed, _ due: (_ since: Int64) -> Int64) {
        feed.last = row.key.bytes
        guard let event = try? TriggerEvent(stored: row.event) else { return }
        feed.queue.add(.init(key: row.key, place: event.path, event: row.event, since: due(event.since)))
    }
}

extension TreeReader {
    /// Visits the events whose keys begin with a prefix, in their order, until `body` answers false.
    func forEachEvent(withPrefix prefix: [UInt8], _ body: (OutboxRow) -> Bool) throws(StorageError) {
        var last = prefix
        let end = prefix.count == 1 ? [prefix[0] + 1] : prefix + [0xFF]
        while true {
            let page = try outbox(after: last, below: end)
            for row in page.rows where !body(row) { return }
            guard !page.isLast, let next = page.rows.last else { return }
            last = next.key.bytes
        }
    }
}
