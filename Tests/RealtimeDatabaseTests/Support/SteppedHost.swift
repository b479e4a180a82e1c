import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthRealtimeDatabase

/// A scheduler on a clock that goes on with each look at it and with each row that is read. Carries out all actions at
/// once, but steps one by one. The log has no room for parts of values.
final class SteppedHost {
    /// A store whose rows take time to be read.
    private final class SlowStore: RowStore {
        let store: MemoryRowStore
        let clock: Clock

        init(_ store: MemoryRowStore, _ clock: Clock) { (self.store, self.clock) = (store, clock) }

        var clearing: Set<[UInt8]> { store.clearing }

        func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
            -> any RowCursor
        {
            clock.now += 100_000
            return try store.rows(from: lower, below: upper, direction)
        }

        func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
            -> any RowCursor
        {
            try store.entries(from: lower, below: upper, direction)
        }

        func owedWrites() throws(StorageError) -> [UInt64: OwedWrites] { store.owedWrites() }

        func indexCatalog() throws(StorageError) -> [UInt8]? { store.indexCatalog() }
    }

    final class Clock { var now: Int64 = 0 }

    private let store: MemoryRowStore
    private let clock = Clock()
    private var scheduler: DatabaseScheduler
    private var events: [Event] = []
    private(set) var steps = 0
    /// The longest event in nanoseconds of the clock.
    private(set) var longest: Int64 = 0
    /// The paths that were written, in order, and the replies by number.
    private(set) var written: [String] = []
    private(set) var replies: [Int64: Reply] = [:]
    private(set) var replyOrder: [Int64] = []
    private(set) var reports: [Report] = []
    private var operations: [LoggedOperation] = []
    var wall: Int64 = 1000
    /// By how much the clock was set, in milliseconds.
    var clockChange: Int64 = 0
    /// The store does not remove obsolete rows.
    var keepsOldRows = false { didSet { removeOldRows() } }
    private var isRemovalDue = false

    var database: Database { scheduler.database }

    /// - parameter store: what is there, which is not in memory.
    init(
        _ store: MemoryRowStore = MemoryRowStore(), rules: String? = nil, settings: String? = nil,
        rowsAtOnceMax: Int = .max, tellingStepCostMax: Int = .max, residentBytesMax: Int = 32 << 20
    ) throws {
        self.store = store
        let database = Database(
            index: 0, store: SlowStore(store, clock), sequence: 0, residentBytesMax: residentBytesMax,
            tellingStepCostMax: tellingStepCostMax, rowsAtOnceMax: rowsAtOnceMax)
        try database.load()
        var limits = DatabaseLimits()
        limits.applyIntervalTicks = 10
        scheduler = DatabaseScheduler(
            database: database, limits: limits, lastTime: 0, isClearing: false,
            at: Conditions(wall: 1000, uptime: 1000),
            nanoseconds: { [clock] in
                clock.now += 10_000
                return clock.now
            })
        handle(.opened)
        if let rules {
            handle(.rules(try RulesProgram(parsing: Array(rules.utf8)), explainsDenials: true))
        }
        if let settings {
            let settings = try DatabaseSettings(parsing: Array(settings.utf8))
            handle(.rules(RulesProgram.open.with(settings), explainsDenials: true))
        }
        finish()
        longest = 0
    }

    func handle(_ event: Event) {
        if case .step = event { steps += 1 }
        let start = clock.now
        var actions: [Action] = []
        scheduler.handle(event, at: Conditions(wall: wall + clockChange, uptime: wall), into: &actions)
        longest = max(longest, clock.now - start)
        for action in actions {
            switch action {
            case .append(let record):
                for operation in (try? record.operations()) ?? [] {
                    operations.append(operation)
                    guard case .change(let change) = operation.content else { continue }
                    written += change.assignments.map { "\($0.target.path)" }
                }
                events.append(.committed(through: record.lastSequence))
            case .prepare(let request, let preparation, let serial):
                events.append(.prepared(preparation.prepared(request), serial: serial))
            case .freeze(let behindOthers): events.append(.freeze(behindOthers: behindOthers))
            case .write(let frozen):
                store.apply(frozen.changes)
                events.append(.written(frozen, nil, isClearing: !store.clearing.isEmpty))
            case .clear:
                isRemovalDue = true
                removeOldRows()
            case .resumeLog: events.append(.commitsDropped)
            case .readLog(let last): events.append(.logRead(.success(operations.filter { $0.sequence > last })))
            case .probe: events.append(.probed(nil))
            case .report(let report): reports.append(report)
            case .step: events.append(.step)
            case .deliver(let turns):
                for case .reply(_, let number, let reply) in turns.joined() {
                    replies[number] = reply
                    replyOrder.append(number)
                }
            default: break
            }
        }
    }

    private func removeOldRows() {
        guard isRemovalDue, !keepsOldRows else { return }
        isRemovalDue = false
        store.clearSome(rowsMax: .max)
        events.append(.cleared(nil, isClearing: !store.clearing.isEmpty))
    }

    /// False if there is nothing to do.
    @discardableResult
    func goOn(times: Int = 1) -> Bool {
        for _ in 0..<times {
            if events.isEmpty { return false }
            handle(events.removeFirst())
        }
        return true
    }

    func finish() { while goOn() {} }

    func ask(_ number: Int64, _ operation: Operation, from client: UInt64 = 1, as principal: Principal = .nobody) {
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: client)
        handle(
            .requests([
                Request(
                    connection: connection, number: number, principal: principal, operation: operation, client: client)
            ]))
    }

    func set(_ number: Int64, _ path: Path, _ value: CanonicalJSON, from client: UInt64 = 1) {
        ask(number, .set(WriteTarget(path: path), IncomingValue(json: value)), from: client)
    }

    func value(at path: Path) throws -> CanonicalJSON { try database.rows.read(path) }
}
