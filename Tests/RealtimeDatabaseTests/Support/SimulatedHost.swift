import JSONTree
import SecurityRules

@testable import RealtimeDatabase
import StorageErrors

/// A database with a log, a store and clients around it, all scripted: it does what the server's threads do, one step
/// at a time, and compares all that is said with a ``NaiveDatabase``.
struct SimulatedHost {
    struct Sizes {
        var packing = TreeRows.Packing(packedBytesMax: 40, repackBytesMax: 20)
        var residentBytesMax = 0
        var assembledBytesMax = 1 << 20
        var indexes: [IndexDefinition] = []
        var largeBytesMin = 100
        /// With 1, each query is told in a step of its own.
        var tellingStepCostMax = Int.max
    }

    enum Outcome { case succeeds, fails, failsButIsThere }

    private let sizes: Sizes
    private let store: MemoryRowStore
    private(set) var database: Database
    var clients: [ConnectionID: SimulatedClient] = [:]
    private var groups: [GroupID: Set<ConnectionID>] = [:]
    private(set) var failure: String?

    /// Records that are durable.
    private var log: [LogRecord] = []
    /// Records on their way to it.
    private(set) var inFlight: [LogRecord] = []
    private var appliedSequence: UInt64 = 0
    private var applying: FrozenRows?
    /// Taken by the applier but not written.
    private var unapplied: FrozenRows?
    private var failedReads: Set<UInt64> = []
    private(set) var recoversFrom: StorageError?
    private var held: [Request] = []
    private var now: Int64 = 1_700_000_000_000
    /// What a client knew that is gone.
    private var lastSeen: NaiveDatabase?

    /// The tree in memory, and what of it is durable.
    private var model = NaiveDatabase()
    private var durable = NaiveDatabase()
    /// Connections that have ended.
    private var ended: Set<UInt64> = []
    /// The operation after which a write may be acknowledged.
    private var sequences: [ConnectionID: [Int64: UInt64]] = [:]

    init(sizes: Sizes = Sizes()) {
        self.sizes = sizes
        store = MemoryRowStore(deletedAtOnceMax: 3)
        database = Self.makeDatabase(sizes, store, sequence: 0)
    }

    private static func makeDatabase(_ sizes: Sizes, _ store: MemoryRowStore, sequence: UInt64) -> Database {
        let database = Database(
            index: 1, store: store, sequence: sequence, residentBytesMax: sizes.residentBytesMax,
            assembledBytesMax: sizes.assembledBytesMax, scannedAtOnceMax: 2, largeBytesMin: sizes.largeBytesMin,
            packing: sizes.packing)
        database.setIndexes(sizes.indexes)
        return database
    }

    /// A step of the making of an index.
    mutating func buildIndex() {
        if recoversFrom == nil { try? database.buildIndex(childrenMax: 3) }
    }

    private var logEnd: UInt64 { log.last?.lastSequence ?? 0 }
    var readsLeft: Int? {
        get { store.readsLeft }
        nonmutating set { store.readsLeft = newValue }
    }
    /// The tree that is durable.
    var durableTree: CanonicalJSON { durable.tree }
    var isRefusing: Bool { database.refusal != nil }

    // MARK: Requests

    /// A client connects; with `keepsData` one that was connected before and has what it was told then.
    mutating func connect(loop: Int, serial: UInt64, keepsData: Bool) {
        let connection = ConnectionID(loop: loop, kind: .realtime, serial: serial)
        clients[connection] = SimulatedClient(connection: connection, kept: keepsData ? lastSeen : nil)
    }

    /// Requests arrive.
    mutating func run(_ requests: [Request]) {
        let requests = database.admit(requests, now: now)
        if !requests.isEmpty { perform(requests) }
        database.endScans()
    }

    /// A step of a scan.
    mutating func scan() {
        guard recoversFrom == nil else { return }
        run(database.scanSome(childrenMax: 2))
    }

    /// A turn.
    private mutating func perform(_ requests: [Request]) {
        guard recoversFrom == nil, held.isEmpty else {
            held.append(contentsOf: requests)
            return
        }
        now += 7
        let mayFail = isRefusing || store.readsLeft != nil
        // What fails within a step of telling is not compared here.
        database.tellingStepCostMax = mayFail ? .max : sizes.tellingStepCostMax
        var requests = requests[...]
        repeat {
            let (record, count) = database.process(Array(requests), now: now, readBytesMax: .max)
            var turn = database.pending[database.pending.count - 1]
            while database.isTelling {
                database.tellSome(now: now)
                turn.outputs += database.pending[database.pending.count - 1].outputs
            }
            check(turn.requests, turn.outputs, paid: Self.paid(by: record), mayFail: mayFail)
            for request in turn.requests {
                sequences[request.connection, default: [:]][request.number] = turn.sequence
            }
            if let record { inFlight.append(record) }
            requests = requests.dropFirst(count)
        } while !requests.isEmpty || database.hasOrphans && !mayFail
        release()
        if let error = database.tornBy { recoversFrom = recoversFrom ?? error }
        if database.tornBy == nil {
            let (owed, expected) = (database.owed, model.owed)
            expect(owed == expected, "\(owed) is owed, not \(expected)")
            expect(mayFail || !database.hasOrphans, "what is owed to ended connections waits")
        }
    }

    /// Connections whose writes a turn has made, or that cancelled all of them.
    private static func paid(by record: LogRecord?) -> Set<UInt64> {
        var paid: Set<UInt64> = []
        for operation in (try? record?.operations()) ?? [] {
            if case .cancelOwed(.root, let connection) = operation.content { paid.insert(connection) }
        }
        return paid
    }

    /// Compares the outputs of a turn with what the model says to its requests.
    private mutating func check(_ requests: [Request], _ outputs: [Output], paid: Set<UInt64>, mayFail: Bool) {
        var rest = outputs[...]
        var others = ended.intersection(paid).sorted()
        for connection in others { model.pay(connection, now: now) }
        for request in requests {
            if case .disconnect = request.operation {
                ended.insert(request.connection.raw)
                if paid.contains(request.connection.raw) { model.pay(request.connection.raw, now: now) }
                others.append(request.connection.raw)
            }
            let before = model
            guard let expected = model.run(request, now: now) else { continue }
            var hasPushed = false
            // Those pushes may be of what connections left behind.
            defer { others = [] }
            var reply: Reply?
            while reply == nil, let output = rest.popFirst() {
                switch output {
                case .push, .pushQuery: hasPushed = true
                case .reply(let connection, let number, let text):
                    expect(
                        connection == request.connection && number == request.number, "reply \(number) is out of order")
                    reply = text
                case .stream(let read):
                    expect(
                        read.connection == request.connection && read.number == request.number, "stream out of order")
                    reply = expected
                case .initial(_, let path, let value, _):
                    expect(value == model.tree.value(at: path), "initial data of \(path)")
                case .initialQuery(_, let push):
                    if case .change(.set(let assignment)) = push.content,
                        case .listenQuery(let path, let query, _, _, _, _) = request.operation
                    {
                        expect(
                            assignment.value == model.selection(query, at: path), "initial data of a query at \(path)")
                    }
                case .initialParts: expect(false, "parts that nobody asked for")
                case .missed: expect(false, "what was missed, and nobody asked for")
                case .join, .leave, .revoked: break
                }
            }
            if mayFail, case .failed(.unavailable) = reply {
                model = before
                expect(!hasPushed || !others.isEmpty, "a refused write was pushed")
                continue
            }
            // Whether there is an index yet is known to the database alone.
            if case .listeningUnindexed = reply { reply = .listening }
            expect("\(reply as Reply?)" == "\(expected as Reply?)", "\(request): \(reply as Reply?), not \(expected)")
            if case .failed = expected { expect(!hasPushed || !others.isEmpty, "a failed write was pushed") }
        }
    }

    // MARK: The log

    /// The committer writes the first `count` records in one transaction, or fails to.
    mutating func commit(_ count: Int, _ outcome: Outcome) {
        guard !inFlight.isEmpty else { return }
        let group = inFlight.prefix(count)
        if outcome != .fails {
            log.append(contentsOf: group)
            for record in group {
                for operation in (try? record.operations()) ?? [] {
                    switch operation.content {
                    case .change(let change): for assignment in change.assignments { durable.assign(assignment) }
                    case .owe(let assignments, let connection, by: _): durable.owe(assignments, of: connection)
                    case .cancelOwed(let path, let connection): durable.cancelOwed(path, of: connection)
                    }
                }
            }
        }
        if outcome == .succeeds {
            inFlight.removeFirst(group.count)
            database.committed(through: logEnd)
            release()
        } else {
            inFlight = []
            recoversFrom = recoversFrom ?? .full
        }
    }

    /// The committer and the applier are at rest.
    mutating func recover() {
        guard let error = recoversFrom, applying == nil else { return }
        // What was posted before the committer was asked to rest is written, unless that failed before.
        while !inFlight.isEmpty { commit(.max, .succeeds) }
        unapplied = nil
        let lost = database.pending.indices.filter { database.pending[$0].sequence > logEnd }
        let mayFail = store.readsLeft != nil
        do throws(StorageError) {
            var operations: [LogRecord.Operation] = []
            for record in log where record.lastSequence > appliedSequence {
                operations.append(contentsOf: try record.operations())
            }
            try database.refuse(because: error, storeSequence: appliedSequence, replaying: operations)
        } catch {
            expect(mayFail, "recovery threw \(error)")
            return
        }
        recoversFrom = nil
        model = durable
        for turn in lost.map({ database.pending[$0] }) {
            check(turn.requests, turn.outputs, paid: [], mayFail: true)
            expect(turn.sequence <= logEnd, "a turn waits for the lost log")
            for request in turn.requests { sequences[request.connection, default: [:]][request.number] = turn.sequence }
        }
        release()
        let requests = failStreams(error) + held
        held = []
        if !requests.isEmpty { perform(requests) }
    }

    mutating func accept() {
        guard recoversFrom == nil, unapplied == nil else { return }
        database.accept()
        if database.hasOrphans, held.isEmpty { perform([]) }
    }

    // MARK: The store

    mutating func freeze() {
        guard recoversFrom == nil, applying == nil, unapplied == nil else { return }
        try? database.freeze()
    }

    mutating func startApplying() {
        guard recoversFrom == nil, applying == nil else { return }
        applying = unapplied ?? database.takeFrozen()
        unapplied = nil
    }

    mutating func finishApplying(_ outcome: Outcome) {
        guard let frozen = applying else { return }
        applying = nil
        guard outcome == .succeeds else {
            unapplied = frozen
            if !isRefusing { database.refuse(because: .full) }
            let drops = failStreams(.full)
            if !drops.isEmpty { run(drops) }
            return
        }
        expect(frozen.sequence <= logEnd, "the store ran ahead of the log")
        store.apply(frozen.changes)
        for read in frozen.reads where !failedReads.contains(read.id) {
            let value = storedValue(at: read.path)
            clients[read.connection]?.receive(value, of: read, error: nil)
        }
        if let generation = frozen.generation {
            appliedSequence = frozen.sequence
            database.applied(generation)
        }
        if let problem = StoredLayout(store.all, sizes.packing).problem { failure = failure ?? problem }
    }

    func clear() { store.clearSome(rowsMax: 2) }

    private func storedValue(at path: Path) -> CanonicalJSON {
        var joiner = RowJoiner(base: path.encoded.count)
        for row in store.all where path.contains(Path(encoded: row.key)) {
            joiner.append(key: row.key, value: row.value)
        }
        return joiner.finish()
    }

    /// Large reads under way fail. Answers the requests that end their listeners.
    private mutating func failStreams(_ error: StorageError) -> [Request] {
        var drops: [Request] = []
        for connection in clients.keys.sorted(by: { $0.raw < $1.raw }) {
            while let read = clients[connection]?.stream {
                failedReads.insert(read.id)
                clients[connection]?.receive(nil, of: read, error: error)
                if case .listen = read.purpose {
                    drops.append(
                        Request(connection: connection, number: read.number, operation: .dropListener(read.path)))
                }
            }
        }
        return drops
    }

    /// The process ends at once and another one begins; `keeping` is how many records in flight the log got.
    mutating func crash(keeping count: Int) {
        commit(min(count, inFlight.count), .failsButIsThere)
        (inFlight, held, applying, unapplied, recoversFrom) = ([], [], nil, nil, nil)
        store.readsLeft = nil
        lastSeen = clients.values.first?.tree ?? lastSeen
        (clients, groups, sequences, failedReads) = ([:], [:], [:], [])
        database = Self.makeDatabase(sizes, store, sequence: appliedSequence)
        do throws(StorageError) {
            try database.load()
            for record in log where record.lastSequence > appliedSequence { try database.replay(record.operations()) }
        } catch {
            failure = failure ?? "replay threw \(error)"
        }
        model = durable
        expect(database.sequence == logEnd && database.durableSequence == logEnd, "sequence after a crash")
        ended.formUnion(durable.owed.keys)
        database.orphanAll()
        if database.hasOrphans { perform([]) }
    }

    /// Everything works again and comes to its end.
    mutating func settle() {
        store.readsLeft = nil
        finishApplying(.succeeds)
        recover()
        while database.isScanning, database.tornBy == nil { scan() }
        // Streams that begin now wait for the store, and requests behind them for the streams.
        for _ in 0..<4 + database.frozen.count {
            accept()
            commit(.max, .succeeds)
            freeze()
            startApplying()
            finishApplying(.succeeds)
        }
        accept()
        expect(!isRefusing, "writes are still refused")
        for client in clients.values {
            expect(client.waiting.isEmpty, "\(client.connection.raw) waits for answers to \(client.waiting)")
        }
        release()
        expect(storedValue(at: .root) == durable.tree, "the store holds something else")
        expect(model.tree == durable.tree, "the log has something else")
        let isOwed = store.owed == durable.owed && ended.isDisjoint(with: durable.owed.keys)
        expect(isOwed, "the store owes something else, or to connections that have ended")
        expect(database.parked.isEmpty && database.listeners.queries.allSatisfy { !$0.isEmpty }, "scans are left over")
        expect(database.changedBytes == 0 && inFlight.isEmpty, "something is left over")
    }

    // MARK: Deliveries

    private mutating func release() {
        for output in database.takeReady() { deliver(output) }
        for client in clients.values {
            failure = failure ?? client.failure
            guard client.stream == nil else { continue }
            for path in client.listening {
                let (value, expected) = (client.value(at: path), durable.tree.value(at: path))
                expect(value == expected, "\(client.connection.raw) sees \(value) at \(path), not \(expected)")
            }
            for query in client.queries.values where query.isSettled {
                if let problem = query.problem(in: durable) {
                    failure = failure ?? "\(client.connection.raw): \(problem)"
                }
            }
        }
    }

    private mutating func deliver(_ output: Output) {
        switch output {
        case .push(_, _, let addresses):
            for address in addresses {
                for connection in groups[address.group] ?? [] {
                    expect(address.loops >> UInt64(connection.loop) & 1 == 1, "a loop with members is left out")
                    clients[connection]?.receive(output)
                }
            }
        case .join(let group, let connection):
            if clients[connection] != nil { groups[group, default: []].insert(connection) }
        case .leave(let group, let connection): groups[group]?.remove(connection)
        case .pushQuery(_, let address):
            for connection in groups[address.group] ?? [] {
                expect(address.loops >> UInt64(connection.loop) & 1 == 1, "a loop with members is left out")
                clients[connection]?.receive(output)
            }
        case .initial(let connection, _, _, _), .missed(let connection, _, _), .initialQuery(let connection, _),
            .revoked(let connection, _, _, _), .initialParts(let connection, _, _, _):
            clients[connection]?.receive(output)
        case .stream(let read): clients[read.connection]?.receive(output)
        case .reply(let connection, let number, _):
            expect(sequences[connection]?[number] ?? 0 <= logEnd, "an answer before its turn is durable")
            clients[connection]?.receive(output)
        }
    }

    mutating func disconnect(_ connection: ConnectionID) {
        guard let request = clients[connection]?.request(.disconnect) else { return }
        lastSeen = clients[connection]?.tree
        clients[connection] = nil
        for group in groups.keys { groups[group]?.remove(connection) }
        run([request])
    }

    private mutating func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { failure = failure ?? what() }
    }
}
