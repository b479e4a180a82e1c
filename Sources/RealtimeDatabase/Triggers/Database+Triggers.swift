import HearthJSONTree
import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// Events of triggers (docs/using/triggers.md): made before a change, of the tree before it and the tree after it, and
/// part of the same log record.
extension Database {
    /// Places that one commit looks at for a trigger; with more, one event says so.
    static let triggeredPlacesMax = 10_000
    /// The limit for places above them where the data ends, before and after the change together.
    static let triggerDeadEndsMax = 2 * triggeredPlacesMax
    /// Bytes of a value before or after a change that an event can have, and of all that a commit has.
    static let eventValueBytesMax = 1 << 20
    static let eventBytesMax = 32 << 20

    // MARK: Making events

    /// The events of a change that is about to be performed, whose operation will have the next number.
    func events(of change: Change, in turn: borrowing Turn) throws(Failure) -> [OutboxRow] {
        let concerned = outbox.triggers.filter { $0.definition.pattern.concerns(change.base) }
        if concerned.isEmpty { return [] }
        let assignments = change.assignments
        var making = EventMaking(
            before: rows, after: WrittenTree(rows, assignments), assignments: assignments,
            // After the change itself.
            sequence: sequence + 2,
            epoch: epochs.current.name, time: turn.record.time, author: turn.principal.author,
            context: RuleContext(auth: turn.principal.auth, now: turn.record.time))
        return try Failure.reading { () throws(RuleTreeError) in
            for trigger in concerned { try making.add(trigger, change.base) }
            return making.rows
        }
    }

    /// Puts events that a change has made into the outbox, right after it.
    func append(events: [OutboxRow], to turn: inout Turn) {
        if events.isEmpty { return }
        let change = OutboxChange(added: events)
        turn.record.append(change)
        log.advance(at: turn.record.time)
        outbox.take(change, as: sequence, telling: events)
    }

    // MARK: The outbox

    /// The last operation that has changed the outbox since the database was opened; 0 for none.
    package var outboxSequence: UInt64 { outbox.sequence }

    /// Events that can be sent now: those that the log has come to have since the last call.
    package func takeFreshEvents() -> [OutboxRow] { outbox.takeFresh(through: durableSequence) }

    /// Notes what became of events, as one operation. The record must go to the log; nil while nothing can be written.
    package func note(_ report: OutboxReport, now: Int64) -> LogRecord? {
        precondition(telling == nil, "the last commit is not told yet")
        guard !report.isEmpty, ownedElsewhere == nil, refusal == nil, tornBy == nil else { return nil }
        var change = OutboxChange(removed: report.done + report.aside.map(\.key) + report.again.map(\.key))
        for (event, isAside) in report.aside.map({ ($0.event, true) }) + report.again.map({ ($0.event, false) }) {
            let key = OutboxKey(
                trigger: event.trigger, isAside: isAside, sequence: sequence + 1, index: change.added.count)
            change.added.append(OutboxRow(key: key, event: event.stored))
        }
        var record = LogRecord(firstSequence: sequence + 1, time: now)
        record.append(change)
        log.advance(at: now)
        outbox.take(change, as: sequence, telling: change.added.filter { !$0.key.isAside })
        log.append(
            WaitingTurn(requests: [], now: now, sequence: sequence, outputs: [], recordBytes: record.byteCount), record)
        return record
    }
}

extension Principal {
    fileprivate var author: TriggerEvent.Author {
        if self === Principal.server { return .server }
        if isAdministrator { return .administrator }
        return uid.isEmpty ? .nobody : .user(uid)
    }
}

/// The making of the events of one change.
private struct EventMaking {
    let before: TreeRows
    let after: WrittenTree
    let assignments: [Assignment]
    /// The number of the operation that will hold the events.
    let sequence: UInt64
    let epoch: UInt64
    let time: Int64
    let author: TriggerEvent.Author
    let context: RuleContext
    var rows: [OutboxRow] = []
    /// Of those events.
    private var bytes = 0

    init(
        before: TreeRows, after: WrittenTree, assignments: [Assignment], sequence: UInt64, epoch: UInt64, time: Int64,
        author: TriggerEvent.Author, context: RuleContext
    ) {
        (self.before, self.after, self.assignments, self.sequence) = (before, after, assignments, sequence)
        (self.epoch, self.time, self.author, self.context) = (epoch, time, author, context)
    }

    mutating func add(_ trigger: Trigger, _ base: Path) throws(RuleTreeError) {
        var search = PlaceSearch()
        for assignment in assignments where !assignment.target.isPriority {
            guard try search.find(trigger.definition.pattern, assignment, [before, after]) else {
                let text = "too many places may have changed in one commit"
                return addPart(trigger, trigger.definition.kind, at: base, text)
            }
        }
        let (start, bytesBefore) = (rows.count, bytes)
        for path in search.found.sorted() where try !add(trigger, at: path) {
            rows.removeSubrange(start...)
            bytes = bytesBefore
            return addPart(trigger, trigger.definition.kind, at: base, "one commit has changed too much")
        }
    }

    /// False if there is no room for the event.
    private mutating func add(_ trigger: Trigger, at path: Path) throws(RuleTreeError) -> Bool {
        let definition = trigger.definition
        // A large value need not be read for this.
        let isConcerned = definition.kind.includes(
            before: try before.exists(at: path.encoded), after: try after.exists(at: path.encoded))
        guard isConcerned else { return true }
        let max = Database.eventValueBytesMax
        guard let old = try before.value(at: path.encoded, bytesMax: max),
            let new = try after.value(at: path.encoded, bytesMax: max)
        else {
            addPart(trigger, definition.kind, at: path, "a value of more than \(max) bytes")
            return true
        }
        let (data, value) = (old.withoutPriorities, new.withoutPriorities)
        guard data != value else { return true }
        if let judge = trigger.judge, try !judge.holds(at: path, becoming: new, context, in: before) { return true }
        append(
            TriggerEvent(
                id: nextID, trigger: definition.name, kind: definition.kind, path: path, time: time, author: author,
                data: data.bytes, delta: data.mergePatch(to: value)), isAside: false)
        return bytes <= Database.eventBytesMax
    }

    /// An event that cannot be sent, and says why.
    private mutating func addPart(
        _ trigger: Trigger, _ kind: TriggerDefinition.Kind, at path: Path, _ failure: String
    ) {
        let null = Array("null".utf8)
        var event = TriggerEvent(
            id: nextID, trigger: trigger.definition.name, kind: kind, path: path, time: time, author: author,
            data: null, delta: null)
        event.failure = failure
        event.isWhole = false
        append(event, isAside: true)
    }

    private var nextID: String { "\(String(epoch, radix: 16))-\(sequence)-\(rows.count)" }

    private mutating func append(_ event: TriggerEvent, isAside: Bool) {
        let key = OutboxKey(trigger: event.trigger, isAside: isAside, sequence: sequence, index: rows.count)
        let row = OutboxRow(key: key, event: event.stored)
        bytes += row.event.count
        rows.append(row)
    }
}

/// The places of a pattern that assignments may have changed.
private struct PlaceSearch {
    private(set) var found: Set<Path> = []
    /// So many more may be looked at.
    private var left = Database.triggeredPlacesMax
    /// So many more places in the tree may be looked at where the data ends above the pattern, before and after the
    /// commit: nothing is found there, but each costs a look.
    private var deadEndsLeft = Database.triggerDeadEndsMax

    /// False if there are too many.
    mutating func find(
        _ pattern: IndexPattern, _ assignment: Assignment, _ trees: [any RuleTree]
    ) throws(RuleTreeError) -> Bool {
        let path = assignment.target.path
        var above = path.segments
        var end = 0
        for (depth, segment) in pattern.segments.enumerated() {
            guard let range = above.next() else {
                let rest = pattern.segments[depth...]
                for tree in trees where try !find(rest, at: path.encoded, tree, isExpanded: false) { return false }
                return true
            }
            guard segment?.elementsEqual(path.encoded[range]) ?? true else { return true }
            end = range.upperBound
        }
        return insert(path.prefix(bytes: end))
    }

    /// - parameter isExpanded: whether the place comes from the tree; otherwise the request names it.
    private mutating func find(
        _ pattern: ArraySlice<[UInt8]?>, at path: [UInt8], _ tree: any RuleTree, isExpanded: Bool
    ) throws(RuleTreeError) -> Bool {
        guard let first = pattern.first else { return insert(Path(encoded: path)) }
        let rest = pattern.dropFirst()
        if let first { return try find(rest, at: path + first, tree, isExpanded: isExpanded) }
        guard let segments = try tree.children(of: path, max: Database.triggeredPlacesMax) else { return false }
        if segments.isEmpty, isExpanded {
            deadEndsLeft -= 1
            return deadEndsLeft >= 0
        }
        for segment in segments where try !find(rest, at: path + segment, tree, isExpanded: true) { return false }
        return true
    }

    private mutating func insert(_ path: Path) -> Bool {
        if found.insert(path).inserted { left -= 1 }
        return left >= 0
    }
}
