import HearthJSONTree
import HearthSecurityRules

/// A setting that has changes told outside.
struct Trigger {
    let definition: TriggerDefinition
    let judge: RulesJudge?
}

/// The triggers of a database, and the part of its outbox that is in memory: what the store does not have yet, and
/// the events that their sender does not have yet.
struct TriggerOutbox {
    private(set) var triggers: [Trigger] = []
    private var patterns = ConcernedPatterns([])
    /// Changes since the last freeze.
    private var changes: [OutboxKey: [UInt8]?] = [:]
    /// Bytes of memory in those, about.
    private(set) var byteCount = 0
    /// The last operation that has changed the outbox since the database was opened; 0 for none.
    private(set) var sequence: UInt64 = 0
    /// Events that the sender does not know, by the number of their operation.
    private var fresh: [(sequence: UInt64, rows: [OutboxRow])] = []

    mutating func setTriggers(_ definitions: [TriggerDefinition]) {
        guard definitions != triggers.map(\.definition) else { return }
        triggers = definitions.map { Trigger(definition: $0, judge: $0.filter?.makeJudge()) }
        patterns = ConcernedPatterns(definitions.map(\.pattern))
    }

    /// Whether a write at a path can change a place of some trigger.
    func isConcerned(by path: Path) -> Bool { patterns.concern(path) }

    /// Does what an operation says, of which the sender does not know `events`.
    mutating func take(_ change: OutboxChange, as sequence: UInt64, telling events: [OutboxRow]) {
        take(change, as: sequence)
        if !events.isEmpty { fresh.append((sequence, events)) }
    }

    /// Does what an operation of the log says.
    mutating func take(_ change: OutboxChange, as sequence: UInt64) {
        self.sequence = sequence
        for key in change.removed { set(nil, at: key) }
        for row in change.added { set(row.event, at: row.key) }
    }

    private mutating func set(_ event: [UInt8]?, at key: OutboxKey) {
        let old = changes.updateValue(event, forKey: key)
        byteCount += (event?.count ?? 0) - ((old ?? nil)?.count ?? 0)
        if old == nil { byteCount += key.bytes.count + 64 }
    }

    /// Takes the events of operations up to `sequence`, which the log has.
    mutating func takeFresh(through sequence: UInt64) -> [OutboxRow] {
        if fresh.isEmpty { return [] }
        let count = fresh.prefix { $0.sequence <= sequence }.count
        defer { fresh.removeFirst(count) }
        return fresh[..<count].flatMap(\.rows)
    }

    /// Takes the changes that the store is to have; nil for rows that are gone.
    mutating func freeze() -> [OutboxKey: [UInt8]?] {
        defer { (changes, byteCount) = ([:], 0) }
        return changes
    }

    /// Memory is built again from the store.
    mutating func forgetChanges() { (changes, byteCount) = ([:], 0) }

    /// Operations after `sequence` are lost.
    mutating func lose(after sequence: UInt64) {
        fresh.removeAll { $0.sequence > sequence }
        self.sequence = min(self.sequence, sequence)
    }

    /// Traps if parts of the state contradict each other. O(events that are not sent).
    func checkInvariants(last: UInt64) {
        precondition(zip(fresh, fresh.dropFirst()).allSatisfy { $0.sequence < $1.sequence }, "events are out of order")
        precondition(fresh.last?.sequence ?? 0 <= last, "an event has a number from the future")
        precondition(changes.isEmpty == (byteCount == 0), "bytes of the outbox are not counted")
    }
}
