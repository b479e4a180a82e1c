import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

/// A scheduler, and what it wants done.
struct SharedLogBench: ~Copyable {
    var scheduler: DatabaseScheduler
    var actions: [Action] = []
    private var number: Int64 = 0
    private var now: Int64 = 1000
    /// As the owner, it knows that no other node owns the log.
    var isCertain = true
    /// Links that take the answers of this node too slowly.
    var fullLinks = LinkSet()

    static func record(_ number: UInt64, _ path: Path, _ value: CanonicalJSON) -> LogRecord {
        var record = LogRecord(firstSequence: number, time: 5000)
        record.append(Assignment(target: WriteTarget(path: path), value: value), uid: [])
        return record
    }

    init(forwardsWrites: Bool = false, store: MemoryRowStore = MemoryRowStore()) {
        scheduler = DatabaseScheduler(
            database: Database(index: 0, store: store, sequence: 0), limits: DatabaseLimits(),
            lastTime: 0, isClearing: false, isShared: true, forwardsWrites: forwardsWrites,
            at: Conditions(wall: 1000, uptime: 1000), nanoseconds: { 0 })
        handle(.opened)
    }

    mutating func handle(_ event: Event) {
        now += 1
        actions = []
        var next: Event? = event
        // Steps are taken at once.
        while let event = next {
            var new: [Action] = []
            scheduler.handle(
                event,
                at: Conditions(wall: now, uptime: now, fullLinks: fullLinks, isOwnershipCertain: isCertain),
                into: &new)
            next = new.contains { if case .step = $0 { true } else { false } } ? .step : nil
            actions += new
        }
    }

    /// A commit fails, and the log is read again.
    mutating func recover(
        from failure: CommitFailure, reading log: Result<[LoggedOperation], StorageError> = .success([])
    ) {
        handle(.commitFailed(failure))
        handle(.commitsDropped)
        handle(.logRead(log))
    }

    mutating func set(_ path: Path, _ value: CanonicalJSON, by connection: ConnectionID = DatabaseBench.writer) {
        ask(.set(path, value), by: connection)
    }

    /// Sets "a" if nothing is there.
    mutating func create(by connection: ConnectionID = DatabaseBench.writer) {
        ask(.set(WriteTarget(path: "a"), IncomingValue(json: "9"), expecting: []), by: connection)
    }

    mutating func ask(_ operation: Operation, by connection: ConnectionID = DatabaseBench.writer) {
        number += 1
        handle(.requests([Request(connection: connection, number: number, operation: operation)]))
    }

    mutating func pass(milliseconds: Int64) { now += milliseconds }

    var isDrained: Bool { actions.contains { if case .drained = $0 { true } else { false } } }

    /// The reports on whether the node could take the writes.
    var fitness: [Bool] { actions.compactMap { if case .noteFitness(let isFit) = $0 { isFit } else { nil } } }

    var isProbing: Bool { actions.contains { if case .probe = $0 { true } else { false } } }

    var ended: [ConnectionID] {
        actions.flatMap { if case .endConnections(let ids) = $0 { ids } else { [ConnectionID]() } }
    }

    var appended: [LogRecord] { actions.compactMap { if case .append(let record) = $0 { record } else { nil } } }

    var stored: [LogRecord] {
        actions.flatMap { if case .storeArrived(let records) = $0 { records } else { [LogRecord]() } }
    }

    /// The requests for the node that takes the writes.
    var sent: [ForwardedRequest] {
        actions.flatMap { if case .forward(_, let requests) = $0 { requests } else { [ForwardedRequest]() } }
    }

    var replies: [String] {
        actions.flatMap { action -> [String] in
            guard case .deliver(let turns) = action else { return [] }
            return turns.joined().compactMap { if case .reply(_, _, let reply) = $0 { "\(reply)" } else { nil } }
        }
    }

    /// Everything that clients are told.
    var said: [String] {
        actions.flatMap { action -> [String] in
            guard case .deliver(let turns) = action else { return [] }
            return turns.joined().map(DatabaseBench.words)
        }
    }

    /// Listens to everything from a commit of ``SharedLogSchedulerTests/record(_:_:_:)`` on.
    mutating func resume(after number: UInt64, epoch: UInt64 = 7, by connection: ConnectionID) {
        let position = Position(epoch: epoch, sequence: number, time: 5000)
        ask(.listen("", known: nil, since: .position(position)), by: connection)
    }

    var waitingCount: Int { scheduler.waitingCount }

    var isSettled: Bool { scheduler.isSettled }

    func value(_ path: Path) throws -> CanonicalJSON { try scheduler.database.rows.read(path) }
}
