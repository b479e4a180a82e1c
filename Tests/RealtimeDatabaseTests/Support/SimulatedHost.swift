import HearthDatabaseScheduler
import HearthDelivery
import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Synchronization
import HearthRealtimeDatabase
import HearthStorageErrors

/// Carries out the actions of a ``DatabaseScheduler``, one step at a time when the simulation says so, with a log and a
/// store in memory and clients that store their pushes. Answers are compared with a ``SimulatedModel``, clients with
/// the durable data.
final class SimulatedHost {
    struct Sizes {
        var packing = RowPacking(packedBytesMax: 40, repackBytesMax: 20)
        var residentBytesMax = 0
        var assembledBytesMax = 1 << 20
        var indexes: [IndexDefinition] = []
        var largeBytesMin = 100
        /// With 1, each query is told in a step of its own.
        var tellingStepCostMax = Int.max
        var limits = DatabaseLimits()
        /// Requests of a session that may be in flight.
        var requestsMax = 1024
        /// Messages of at least so many bytes are parsed on another thread.
        var parsedBesideBytesMin = Int.max
    }

    /// What ends with a process.
    struct Process {
        var commitJobs: [CommitJob] = []
        var storeJobs: [StoreJob] = []
        var preparations: [(request: Request, preparation: RowPreparation, serial: UInt64)] = []
        var group: CommitGroup
        /// What the threads have reported, and steps.
        let mailbox: Mailbox
        var clients: [ConnectionID: SimulatedClient] = [:]
        /// Also of clients that are gone and whose last message is being parsed.
        var sessions: [ConnectionID: SimulatedSession] = [:]
        /// Messages that are being parsed, and clients whose credentials are being looked up.
        var beside: [Request] = []
        /// Requests that event loops have yet to hand over, in order.
        var outbox: [Request] = []
        /// Requests of clients that are gone, by which the database hears of it once their last message is parsed.
        var endings: [ConnectionID: Request] = [:]
        var groups: [GroupID: Set<ConnectionID>] = [:]
        /// Large reads that clients were told of and that have not begun.
        var reads: [UInt64: SnapshotRead] = [:]
        var isBacklogFull = false
        var ticks = 0
        var isWakeDue = false
        /// It ends in order.
        var isStopping = false
        /// Clients whose requests were turned away because of that.
        var turnedAway: Set<ConnectionID> = []
        /// Clients were told something since they were last checked.
        var hasDelivered = false

        init() {
            let mailbox = Mailbox()
            self.mailbox = mailbox
            group = CommitGroup { _, event in mailbox.post(event) }
        }
    }

    enum StoreJob {
        case write(FrozenRows, [SnapshotRead])
        case clear
        case sweep
    }

    final class Mailbox: Sendable {
        private let events = Mutex<[Event]>([])

        func post(_ event: Event) { events.withLock { $0.append(event) } }

        func take() -> Event? { events.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

        var isEmpty: Bool { events.withLock { $0.isEmpty } }

        private let clock = Mutex<Int64>(0)

        func pass(_ time: Duration) { clock.withLock { $0 += time.components.attoseconds / 1_000_000_000 } }

        /// A microsecond later each time.
        func time() -> Int64 {
            clock.withLock { time in
                time += 1000
                return time
            }
        }
    }

    let sizes: Sizes
    private let store: MemoryRowStore
    let log = SimulatedLog()
    private var storedSequence: UInt64 = 0
    private var scheduler: DatabaseScheduler
    var process: Process
    var model: SimulatedModel
    /// What clients may know, and its number.
    private(set) var told = NaiveDatabase()
    private var toldSequence: UInt64 = 0
    private var now: Int64 = 1_700_000_000_000
    /// What a client knew that is gone.
    var lastSeen: SimulatedClient.Kept?
    private(set) var failure: String?
    /// Rows that could not be read stayed spread.
    private var hasFailedToPack = false
    /// Something was made to fail.
    var hasFailed = false
    /// With a list, each event, action and answer is noted in it, for who looks for the cause of a failure.
    var trace: [String]?
    /// Events that were handled.
    private(set) var eventCount = 0
    /// Requests that clients have sent.
    var requestCount = 0
    /// How often the log was read for listeners that resume, and how many received the missed changes.
    private(set) var historyReadCount = 0
    var resumeCount = 0
    /// Events, calls and processes that were made to fail or to lag.
    private(set) var faultCount = 0
    private(set) var stopCount = 0
    /// Gets that were answered without a turn.
    var plainReadCount = 0
    /// How often the database was closed because it was not used.
    private(set) var closeCount = 0
    /// How many requests there had been when it was last closed: a database that nobody uses is closed once.
    private var requestsAtClose = 0

    private var database: Database { scheduler.database }
    var clients: [ConnectionID: SimulatedClient] {
        get { process.clients }
        set { process.clients = newValue }
    }

    init(sizes: Sizes = Sizes()) {
        self.sizes = sizes
        store = MemoryRowStore(deletedAtOnceMax: 3)
        process = Process()
        scheduler = Self.makeScheduler(sizes, store, 0, now, process.mailbox, log, log.beginEpoch())
        model = SimulatedModel(scheduler.database, store, NaiveDatabase())
        begin()
    }

    private static func makeScheduler(
        _ sizes: Sizes, _ store: MemoryRowStore, _ sequence: UInt64, _ now: Int64, _ mailbox: Mailbox,
        _ log: SimulatedLog, _ epochs: Epochs
    ) -> DatabaseScheduler {
        let database = Database(
            index: 1, epochs: epochs, store: store, sequence: sequence, committedAt: log.time(of: sequence),
            residentBytesMax: sizes.residentBytesMax, assembledBytesMax: sizes.assembledBytesMax,
            tellingStepCostMax: sizes.tellingStepCostMax,
            scannedAtOnceMax: 2, largeBytesMin: sizes.largeBytesMin, packing: sizes.packing)
        database.largeReadEnded = { mailbox.post(.largeReadEnded($0)) }
        database.setIndexes(sizes.indexes)
        return DatabaseScheduler(
            database: database, limits: sizes.limits, lastTime: 0, isClearing: !store.clearing.isEmpty,
            at: Conditions(wall: now, uptime: now), nanoseconds: mailbox.time)
    }

    /// A process begins with what the files hold.
    private func begin() {
        do throws(StorageError) {
            try database.load()
            try log.forEachRecord(after: storedSequence) { (record) throws(StorageError) in
                try database.replay(record.operations())
            }
        } catch {
            failure = failure ?? "replay threw \(error)"
        }
        expect(database.sequence == log.last && database.durableSequence == log.last, "sequence at the start")
        model = SimulatedModel(database, store, log.tree)
        database.observer = model
        (told, toldSequence) = (log.tree, log.last)
        handle(.opened)
    }

    func expect(_ condition: Bool, _ what: @autoclosure () -> String) {
        if !condition { failure = failure ?? what() }
    }

    // MARK: Events and actions

    func handle(_ event: Event) {
        eventCount += 1
        trace?.append("\(database.sequence)/\(database.durableSequence) \(Self.words(event))")
        now += 7
        model.now = now
        if case .logRead(.success) = event { model.recovered(to: log.tree, through: log.last) }
        var actions: [Action] = []
        scheduler.handle(
            event, at: Conditions(wall: now, uptime: now, isBacklogFull: process.isBacklogFull), into: &actions)
        scheduler.checkInvariants(isThorough: true)
        model.payEnded()
        tell(through: database.durableSequence)
        var next: [Event] = []
        for action in actions { carryOut(action, &next) }
        failure = failure ?? model.failure ?? log.failure
        check()
        checkPlainReads()
        for event in next { handle(event) }
    }

    /// Has gets answered without a turn, of which the model is not told.
    func answerAtOnce(_ reads: [PlainRead], _ answer: (Int, UnsafeRawBufferPointer) -> Void) -> [Int] {
        database.observer = nil
        defer { database.observer = model }
        return scheduler.answerAtOnce(
            reads, at: Conditions(wall: now, uptime: now, isBacklogFull: process.isBacklogFull), answer)
    }

    private static func words(_ event: Event) -> String {
        guard case .requests(let requests) = event else { return "\(event)" }
        return requests.map { "\($0.connection.raw) asks \($0.number): \($0.operation)" }.joined(separator: "\n    ")
    }

    /// More is durable, and may be said.
    private func tell(through sequence: UInt64) {
        for record in log.records where record.firstSequence > toldSequence && record.lastSequence <= sequence {
            for operation in (try? record.operations()) ?? [] { told.take(operation) }
            toldSequence = record.lastSequence
        }
    }

    private func carryOut(_ action: Action, _ next: inout [Event]) {
        trace?.append("    \(action)")
        switch action {
        case .append(let record): process.commitJobs.append(.append(database: 1, log, record))
        case .storePart(let text, let serial):
            process.commitJobs.append(.store(database: 1, log, text, serial: serial))
        case .dropParts: process.commitJobs.append(.dropParts(log))
        case .resumeLog: process.commitJobs.append(.resume(database: 1))
        case .probe: process.commitJobs.append(.probe(database: 1, log))
        case .prune(let pruning): process.commitJobs.append(.prune(database: 1, log, pruning))
        case .readLog(let sequence): process.commitJobs.append(.read(database: 1, log, after: sequence))
        case .readHistory(let questions):
            historyReadCount += 1
            process.mailbox.post(.history(Result { () throws(StorageError) in try log.answers(to: questions) }))
        case .write(let frozen):
            let reads = frozen.reads.compactMap { process.reads.removeValue(forKey: $0.id) }
            process.storeJobs.append(.write(frozen, reads))
        // No triggers are set.
        case .send: break
        case .clear: process.storeJobs.append(.clear)
        case .sweep: process.storeJobs.append(.sweep)
        case .prepare(let request, let preparation, let serial):
            process.preparations.append((request, preparation, serial))
        case .deliver(let turns): for output in turns.joined() { deliver(output) }
        case .turnAway(let requests):
            expect(process.isStopping, "requests are turned away, and the process goes on")
            process.turnedAway.formUnion(requests.map(\.connection))
        case .failLargeReads(let error): failReads(error)
        case .step: process.mailbox.post(.step)
        case .wake: process.isWakeDue = true
        case .freeze(let behindOthers): next.append(.freeze(behindOthers: behindOthers))
        case .storeArrived, .endConnections, .abandon, .forward, .drained, .noteFitness:
            expect(false, "a log of its own is shared")
        case .report(.packingFailed): hasFailedToPack = true
        case .report: break
        }
    }

    /// Hands over what the threads have reported, and takes the steps that were asked for.
    func deliverNews(_ count: Int) {
        // Steps ask for further steps while there is something to do.
        for done in 0..<count {
            expect(done < 10_000, "it never comes to rest")
            guard failure == nil else { return }
            handOver()
            guard let event = process.mailbox.take() else { return }
            handle(event)
        }
    }

    func tick() {
        process.ticks += 1
        if process.isWakeDue {
            process.isWakeDue = false
            handle(.woken)
        }
        process.mailbox.pass(.milliseconds(200))
        handle(.tick(process.ticks))
        let isUsed =
            !process.beside.isEmpty || !process.outbox.isEmpty || process.sessions.values.contains(where: \.hasUnread)
        guard requestCount != requestsAtClose, !isUsed, store.readsLeft == nil, log.isReadable else { return }
        if scheduler.mayClose(at: now) { closeAndOpen() }
    }

    /// The unused database is closed, and opened again while the clients stay.
    private func closeAndOpen() {
        closeCount += 1
        requestsAtClose = requestCount
        for job in process.commitJobs {
            if case .dropParts = job { continue }
            return expect(false, "it is closed before \(job) is done")
        }
        commit(process.commitJobs.count, .succeeds)
        expect(process.storeJobs.isEmpty && process.preparations.isEmpty, "it is closed while threads work for it")
        expect(process.mailbox.isEmpty, "it is closed before it has heard everything")
        expect(process.reads.isEmpty, "it is closed before large reads have begun")
        expect(storedValue(at: .root) == log.tree.tree, "it is closed before the store has everything")
        for client in process.clients.values {
            expect(client.waiting.isEmpty, "it is closed while \(client.connection.raw) waits for answers")
            expect(client.listening.isEmpty && client.queries.isEmpty, "it is closed while somebody listens")
        }
        expect(log.tree.owed.isEmpty, "it is closed while somebody is owed a write")
        open(log.beginEpoch())
    }

    private func open(_ epochs: Epochs) {
        scheduler = Self.makeScheduler(sizes, store, storedSequence, now, process.mailbox, log, epochs)
        begin()
    }

    func setBacklog(isFull: Bool) {
        process.isBacklogFull = isFull
        if !isFull { handle(.delivered) }
    }

    // MARK: Threads

    /// The committer does the first jobs that wait.
    func commit(_ count: Int, _ outcome: SimulatedLog.Outcome) {
        let jobs = Array(process.commitJobs.prefix(count))
        process.commitJobs.removeFirst(jobs.count)
        log.outcome = outcome
        if case .succeeds = outcome {} else { faultCount += 1 }
        process.group.run(jobs)
        log.outcome = .succeeds
    }

    enum StoreOutcome { case succeeds, fails, isHalfDone }

    /// The applier does the first job that waits.
    func store(_ outcome: StoreOutcome) {
        guard !process.storeJobs.isEmpty else { return }
        let isClearing = !store.clearing.isEmpty
        let error: StorageError? = if case .fails = outcome { .full } else { nil }
        if error != nil { faultCount += 1 }
        switch process.storeJobs.removeFirst() {
        case .clear:
            if error == nil { store.clearSome(rowsMax: 2) }
            process.mailbox.post(.cleared(error, isClearing: !store.clearing.isEmpty))
        case .sweep: process.mailbox.post(.swept(next: nil, nil))
        case .write(let frozen, let reads):
            if let error {
                for read in reads { end(read, nil, error) }
                return process.mailbox.post(.written(frozen, error, isClearing: isClearing))
            }
            if case .isHalfDone = outcome, frozen.changes.large != nil {
                store.applyPart(of: frozen.changes)
                for read in reads { process.reads[read.id] = read }
                return process.mailbox.post(.wroteSome(frozen))
            }
            write(frozen)
            for read in reads { end(read, storedValue(at: read.path), nil) }
            process.mailbox.post(.written(frozen, nil, isClearing: !store.clearing.isEmpty))
        }
    }

    private func write(_ frozen: FrozenRows) {
        expect(frozen.sequence <= log.last, "the store ran ahead of the log")
        store.apply(frozen.changes)
        if !frozen.changes.isEmpty { storedSequence = frozen.sequence }
        if let problem = StoredLayout(store.all, sizes.packing, maySpread: hasFailedToPack).problem {
            failure = failure ?? problem
        }
    }

    /// The rows of a large value are made.
    func prepare() {
        guard !process.preparations.isEmpty else { return }
        let (request, preparation, serial) = process.preparations.removeFirst()
        process.mailbox.post(.prepared(preparation.prepared(request), serial: serial))
    }

    var readsLeft: Int? {
        get { store.readsLeft }
        set {
            if newValue != nil { faultCount += 1 }
            store.readsLeft = newValue
        }
    }

    private func storedValue(at path: Path) -> CanonicalJSON {
        var joiner = RowJoiner(base: path.encoded.count)
        for row in store.all where path.contains(Path(encoded: row.key)) {
            joiner.append(key: row.key, value: row.value)
        }
        return joiner.finish()
    }

    private func failReads(_ error: StorageError) {
        let reads = process.reads.values.sorted { $0.id < $1.id }
        process.reads = [:]
        for read in reads { end(read, nil, error) }
    }

    /// What the applier has done of the job that was first when the process ended.
    enum StoreAtCrash: CaseIterable { case untouched, torn, written }

    /// The process ends at once and another one begins; `keeping` is how many jobs of the committer were done. With
    /// records that are lost, the log goes on with the epoch that they were of, as if they had never been there.
    func crash(keeping count: Int, _ rows: StoreAtCrash, losing recordCount: Int = 0) {
        commit(count, .succeeds)
        if case .write(let frozen, _)? = process.storeJobs.first {
            switch rows {
            case .untouched: break
            case .torn: store.applyPart(of: frozen.changes)
            case .written: write(frozen)
            }
        }
        faultCount += 1
        let clients = process.clients.values.sorted { $0.connection.raw < $1.connection.raw }
        lastSeen = (clients.first { !$0.kept.positions.isEmpty } ?? clients.first)?.kept ?? lastSeen
        store.readsLeft = nil
        log.takeOver()
        log.lose(recordCount, after: storedSequence)
        let epochs = log.beginEpoch(goesOn: recordCount > 0)
        process = Process()
        open(epochs)
    }

    // MARK: Checks

    /// Compares the clients' values with the durable data.
    private func check() {
        guard process.hasDelivered else { return }
        process.hasDelivered = false
        for client in process.clients.values { failure = failure ?? client.failure }
        guard failure == nil, !database.isTelling, !database.hasReadyTurns else { return }
        for client in process.clients.values where process.sessions[client.connection]?.isStreaming == false {
            for path in client.listening {
                let (value, expected) = (client.value(at: path), told.tree.value(at: path))
                expect(value == expected, "\(client.connection.raw) sees \(value) at \(path), not \(expected)")
            }
            for query in client.queries.values where query.isSettled {
                if let problem = query.problem(in: told) {
                    failure = failure ?? "\(client.connection.raw): \(problem)"
                }
            }
        }
        if database.tornBy == nil, database.durableSequence == database.sequence {
            expect(
                database.onDisconnect.registered == log.tree.owed,
                "\(database.onDisconnect.registered) is owed, not \(log.tree.owed)")
        }
    }

    // MARK: The end

    /// The process ends in order, in the middle of what is under way, and another one begins. Requests come no more,
    /// and large values take the store long.
    func stop(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let end = eventCount + 10_000
        stopCount += 1
        process.isStopping = true
        setBacklog(isFull: false)
        model.endSessions()
        handle(.endSessions)
        handle(.settle)
        while failure == nil, !scheduler.isSettled {
            now += Int64.random(in: 0..<100, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...4: if let event = process.mailbox.take() { handle(event) }
            case 5, 6: commit(Int.random(in: 1...3, using: &random), .succeeds)
            case 7: store(Int.random(in: 0..<4, using: &random) == 0 ? .succeeds : .isHalfDone)
            case 8: prepare()
            default: tick()
            }
            handle(.settle)
            expect(eventCount < end, "the process does not end")
        }
        if database.refusal == nil { model.checkAllAnswered(for: process.clients.keys) }
        crash(keeping: 0, .untouched)
    }

    /// Everything works again and comes to its end.
    func settle() {
        store.readsLeft = nil
        log.isReadable = true
        process.isBacklogFull = false
        for connection in process.sessions.keys.sorted(by: { $0.raw < $1.raw }) { setWritable(connection, true) }
        handle(.delivered)
        work()
        // Another process has the log: only a new one may write to it.
        if database.refusal != nil { crash(keeping: 0, .untouched) }
        handle(.settle)
        work()
        handle(.settle)
        work()
        expect(scheduler.isSettled, "it does not settle")
        expect(database.refusal == nil, "writes are still refused")
        for client in process.clients.values {
            expect(client.waiting.isEmpty, "\(client.connection.raw) waits for answers to \(client.waiting)")
            expect(process.sessions[client.connection]?.hasUnread == false, "\(client.connection.raw) is not read")
        }
        model.checkAllAnswered(for: process.clients.keys)
        expect(storedValue(at: .root) == log.tree.tree, "the store holds something else than the log")
        expect(model.memory.tree == log.tree.tree, "the log has something else than clients were told")
        let isOwed = store.owed == log.tree.owed && Set(model.ended).isDisjoint(with: log.tree.owed.keys)
        expect(isOwed, "the store owes something else, or to connections that have ended")
        expect(scheduler.waitingCount == 0, "requests wait")
        expect(database.areScansSettled, "scans are left over")
        expect(database.changedBytes == 0, "something is left over")
    }

    /// The threads rest and nothing is in the mailbox, so only a tick could go on with what waits. That is for what has
    /// failed, and for writes that wait for a long turn.
    private func checkNothingIsForgotten() {
        if hasFailed || database.refusal != nil || database.tornBy != nil { return }
        expect(
            scheduler.waitingCount == 0 || scheduler.hasLongWaiting,
            "\(scheduler.waitingCount) requests wait, and nobody goes on")
        expect(!database.hasReadyTurns, "a turn is durable, and nobody is told")
        expect(!database.isTelling, "a commit is told half, and nobody goes on")
        for (connection, session) in process.sessions {
            expect(!session.isStuck, "\(connection.raw) is answered, and not read on")
        }
    }

    /// All threads work until nothing is left to do.
    private func work() {
        for _ in 0..<1000 where failure == nil {
            deliverNews(.max)
            commit(.max, .succeeds)
            while !process.storeJobs.isEmpty { store(.succeeds) }
            while !process.preparations.isEmpty { prepare() }
            while !process.beside.isEmpty { finishBeside() }
            if process.mailbox.isEmpty, process.outbox.isEmpty, process.commitJobs.isEmpty, process.storeJobs.isEmpty {
                checkNothingIsForgotten()
                tick()
            }
            if process.mailbox.isEmpty, process.outbox.isEmpty, process.commitJobs.isEmpty, process.storeJobs.isEmpty,
                process.preparations.isEmpty, !database.hasChanges
            {
                return
            }
        }
        expect(failure != nil, "it never comes to rest")
    }
}
