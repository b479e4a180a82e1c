import HearthJSONTree
import HearthTreeQueries
import HearthSecurityRules

/// The indexes of a database, each with the number that its entries carry.
///
/// A definition that goes and comes back gets a new number, since its entries were not kept up meanwhile. Until all
/// entries of an index are there it is kept up by writes, but not used.
struct IndexCatalog {
    struct Index {
        let number: UInt32
        let definition: IndexDefinition
        var isComplete: Bool
        /// The settings want the values of each collection to be unique.
        var isUnique = false
        /// Since the settings want that, all children were looked at, and none shared a value.
        var isProven = false
    }

    /// A count or a sum kept with the data.
    struct Counter {
        /// That of the entries that have exact sums (``KeptSum``).
        var number: UInt32
        let definition: CounterDefinition
        /// All totals are those of the children; else they are being counted.
        var isComplete: Bool
        /// There may be such entries.
        var hasSums = false
    }

    /// The order in which children expire.
    struct Expiry {
        let number: UInt32
        let definition: ExpiryDefinition
        /// All children with a time have an entry.
        var isComplete: Bool
    }

    /// The order in which the jobs of queues are due.
    struct Queue {
        let number: UInt32
        var definition: QueueDefinition
        /// All jobs have an entry.
        var isComplete: Bool

        /// Whether the entries are those of a definition.
        func isOf(_ other: QueueDefinition) -> Bool {
            definition.pattern == other.pattern && definition.at == other.at
        }
    }

    private(set) var indexes: [Index] = []
    private(set) var queues: [Queue] = []
    private(set) var expiries: [Expiry] = []
    private(set) var counters: [Counter] = []
    /// Numbers of indexes whose definition was removed, and of which a store may still have entries.
    private(set) var dropped: [UInt32] = []
    private var next: UInt32 = 1

    /// How entries are made. Version 1 left some out in collections below wildcards, so what a store has of those is
    /// made again.
    private static let version = 2

    init() {}

    /// Reads what the store knows: after the next number, on each line `number TAB complete TAB pattern TAB index`, or
    /// the number of a dropped index alone. `complete` is 0 or 1, or 2 if the index is also proven to be unique. Of a
    /// counter, a line is `count TAB number TAB complete TAB sums TAB pattern TAB collection TAB target TAB summed`,
    /// where `sums` is 0 or 1 (totals of a line without the two are counted again); of an expiry
    /// `expires TAB number TAB complete TAB pattern TAB index TAB after`, of a queue `queue TAB number TAB complete TAB
    /// pattern TAB at`; `version TAB number`
    /// tells how the entries were made, which is 1 if no line does.
    init(stored: [UInt8]) {
        let lines = String(decoding: stored, as: UTF8.self).split(separator: "\n")
        var version = 1
        for (place, line) in lines.enumerated() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            if fields.count == 1, let number = UInt32(line) {
                if place == 0 { next = number } else { dropped.append(number) }
            }
            if fields.count == 2, fields[0] == "version" { version = Int(fields[1]) ?? version }
            if fields.count == 5, let queue = Queue(fields) { queues.append(queue) }
            if fields.count == 6, let expiry = Expiry(fields) { expiries.append(expiry) }
            if fields.count == 8, let counter = Counter(fields) { counters.append(counter) }
            guard fields.count == 4, let number = UInt32(fields[0]),
                let pattern = IndexPattern(text: String(fields[2])),
                let index = QueryIndex(description: String(fields[3]))
            else { continue }
            let definition = IndexDefinition(pattern: pattern, index: index)
            let isProven = fields[1] == "2"
            indexes.append(
                Index(
                    number: number, definition: definition, isComplete: isProven || fields[1] == "1",
                    isProven: isProven))
        }
        guard version < 2 else { return }
        for place in indexes.indices where indexes[place].definition.pattern.segments.contains(nil) {
            indexes[place].isComplete = false
            indexes[place].isProven = false
        }
    }

    /// Keeps those that are defined, and adds missing ones. `uniques` are those whose values must be unique.
    mutating func set(
        _ definitions: [IndexDefinition], uniques: [IndexDefinition] = [], counters: [CounterDefinition] = [],
        expiries: [ExpiryDefinition] = [], queues: [QueueDefinition] = []
    ) {
        let lines = self.queues
        self.queues = queues.map { definition in
            if var known = lines.first(where: { $0.isOf(definition) }) {
                known.definition = definition
                return known
            }
            defer { next += 1 }
            return Queue(number: next, definition: definition, isComplete: false)
        }
        dropped += lines.filter { line in !queues.contains { line.isOf($0) } }.map(\.number)
        let ordered = self.expiries
        self.expiries = expiries.map { definition in
            if let known = ordered.first(where: { $0.definition == definition }) { return known }
            defer { next += 1 }
            return Expiry(number: next, definition: definition, isComplete: false)
        }
        dropped += ordered.filter { !expiries.contains($0.definition) }.map(\.number)
        let totals = self.counters
        self.counters = counters.map { definition in
            if let known = totals.first(where: { $0.definition == definition }) { return known }
            defer { next += 1 }
            return Counter(number: next, definition: definition, isComplete: false)
        }
        dropped += totals.filter { !counters.contains($0.definition) }.map(\.number)
        let known = Dictionary(indexes.map { ($0.definition, $0) }) { first, _ in first }
        indexes = []
        for definition in definitions + uniques where !indexes.contains(where: { $0.definition == definition }) {
            if let index = known[definition] {
                indexes.append(index)
            } else {
                indexes.append(Index(number: next, definition: definition, isComplete: false))
                next += 1
            }
        }
        for place in indexes.indices {
            indexes[place].isUnique = uniques.contains(indexes[place].definition)
            // It is no longer maintained.
            if !indexes[place].isUnique { indexes[place].isProven = false }
        }
        let kept = Set(indexes.map(\.number))
        dropped += known.values.map(\.number).filter { !kept.contains($0) }.sorted()
    }

    var stored: [UInt8] {
        let lines = indexes.map {
            "\($0.number)\t\($0.isComplete ? $0.isProven ? 2 : 1 : 0)\t\($0.definition.pattern.text)\t\($0.definition.index)"
        }
        let head = [String(next), "version\t\(Self.version)"]
        let all =
            head + lines + counters.map(\.line) + expiries.map(\.line) + queues.map(\.line)
            + dropped.map { String($0) }
        return Array(all.joined(separator: "\n").utf8)
    }

    /// The places that it is about.
    var patterns: [IndexPattern] {
        indexes.map(\.definition.pattern) + expiries.map(\.definition.pattern) + queues.map(\.definition.pattern)
            + counters.flatMap { [$0.definition.collections, $0.definition.targets] }
    }

    /// The indexes whose values must be unique.
    var uniques: [Index] { indexes.filter(\.isUnique) }

    /// No store has entries of these indexes any more.
    mutating func forgetDropped(_ numbers: Set<UInt32>) { dropped.removeAll { numbers.contains($0) } }

    /// Values that must be unique are to be looked through again.
    mutating func forgetProofs() {
        for place in indexes.indices { indexes[place].isProven = false }
    }

    mutating func complete(_ number: UInt32, isProven: Bool = false) {
        for place in indexes.indices where indexes[place].number == number {
            indexes[place].isComplete = true
            indexes[place].isProven = isProven
        }
    }

    /// All totals of a counter are right.
    mutating func complete(_ counter: CounterDefinition) {
        for place in counters.indices where counters[place].definition == counter { counters[place].isComplete = true }
    }

    /// All children have their entries.
    mutating func completeExpiry(_ number: UInt32) {
        for place in expiries.indices where expiries[place].number == number { expiries[place].isComplete = true }
    }

    /// All jobs have their entries.
    mutating func completeQueue(_ number: UInt32) {
        for place in queues.indices where queues[place].number == number { queues[place].isComplete = true }
    }

    /// All totals are to be counted again. What there is of exact sums is dropped.
    mutating func forgetTotals() {
        for place in counters.indices {
            counters[place].isComplete = false
            if !counters[place].hasSums { continue }
            dropped.append(counters[place].number)
            (counters[place].number, counters[place].hasSums) = (next, false)
            next += 1
        }
    }

    /// There is an entry with an exact sum.
    mutating func noteSum(of number: UInt32) {
        for place in counters.indices where counters[place].number == number { counters[place].hasSums = true }
    }
}

extension IndexCatalog.Counter {
    /// Reads what ``line`` gives, split at its tabs.
    fileprivate init?(_ fields: [Substring]) {
        guard fields[0] == "count", let number = UInt32(fields[1]), let pattern = IndexPattern(text: String(fields[4])),
            let collection = try? Path(parsing: String(fields[5])), let target = try? Path(parsing: String(fields[6]))
        else { return nil }
        self.number = number
        definition = CounterDefinition(
            pattern: pattern, collection: collection, target: target,
            summed: QueryIndex(description: String(fields[7])))
        (isComplete, hasSums) = (fields[2] == "1", fields[3] == "1")
    }

    fileprivate var line: String {
        let paths = [definition.collection, definition.target].map { String(decoding: $0.text, as: UTF8.self) }
        let summed = definition.summed?.description ?? ""
        let state = "\(number)\t\(isComplete ? 1 : 0)\t\(hasSums ? 1 : 0)"
        return "count\t\(state)\t\(definition.pattern.text)\t\(paths[0])\t\(paths[1])\t\(summed)"
    }
}

extension IndexCatalog.Expiry {
    /// Reads what ``line`` gives, split at its tabs.
    fileprivate init?(_ fields: [Substring]) {
        guard fields[0] == "expires", let number = UInt32(fields[1]),
            let pattern = IndexPattern(text: String(fields[3])),
            let index = QueryIndex(description: String(fields[4])), let after = Int64(fields[5])
        else { return nil }
        self.number = number
        definition = ExpiryDefinition(pattern: pattern, index: index, after: after)
        isComplete = fields[2] == "1"
    }

    fileprivate var line: String {
        let place = "\(definition.pattern.text)\t\(definition.index)\t\(definition.after)"
        return "expires\t\(number)\t\(isComplete ? 1 : 0)\t\(place)"
    }
}

extension IndexCatalog.Queue {
    /// Reads what ``line`` gives, split at its tabs.
    fileprivate init?(_ fields: [Substring]) {
        guard fields[0] == "queue", let number = UInt32(fields[1]), let pattern = IndexPattern(text: String(fields[3]))
        else { return nil }
        self.number = number
        definition = QueueDefinition(pattern: pattern, at: QueryIndex(description: String(fields[4])))
        isComplete = fields[2] == "1"
    }

    fileprivate var line: String {
        "queue\t\(number)\t\(isComplete ? 1 : 0)\t\(definition.pattern.text)\t\(definition.at?.description ?? "")"
    }
}
