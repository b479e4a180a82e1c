package import HearthRealtimeDatabase
import HearthStorageErrors

/// Decides when the requests of one database are processed, committed, applied, answered, refused and resumed.
///
/// A pure value: events come in, actions go out (``handle(_:at:into:)``). It knows no thread and no file, it is handed
/// the time, and its database does no I/O but reads from a row store. A host carries the actions out, by threads in the
/// server and step by step in the simulator, and returns their results as events.
///
/// Requests are held back while memory must not change or grow: when so many changed rows wait that the applier has to
/// catch up, when as much waits for the log or the event loops as may, and between a failed commit and the recovery
/// from it, which needs the committer and the applier at rest. Those of another node's clients are held back as well
/// while the link to that node has as many bytes of answers as may wait. All that wait do so in ``Admission``.
package struct DatabaseScheduler: ~Copyable {
    package let database: Database
    let limits: DatabaseLimits

    var admission: Admission
    var turnSize = TurnSize()
    var largeWrite = LargeWrite.none
    var largeWritesMade: UInt64 = 0
    var longTurns: LongTurns
    var recovery = Recovery.none
    /// Why memory could not be built again the last time, as operators were told.
    var recoveryFailure: StorageError?
    /// Why rows stayed spread, as operators were told.
    var packingFailure: StorageError?
    var probing = Probing.idle
    var applying = Applying.idle
    var clearing: Clearing
    var sweeping = Sweeping.idle
    var building = Building.possible
    var life = Life.serving
    package internal(set) var ownership: Ownership
    /// In milliseconds of uptime.
    var ownershipSince: Int64
    /// The log is being handed over, and something may still be on its way to it.
    var isDrainDue = false
    /// Records of the shared log that are not applied yet.
    var arrivals = Queue<Arrival>()
    /// The time after which the process does not wait any more for answers of other nodes.
    var forwardingEnd: Int64?
    /// The last operation that was appended here.
    var ownSequence: UInt64 = 0
    /// When a commit failed because another node had the log, in milliseconds of uptime.
    var lossTime: Int64?
    /// Outcomes of events of triggers that are not recorded yet.
    var sent = OutboxReport()
    /// The files that are open are no longer those of the data folder.
    var isReplaced = false
    /// The last step of pruning the log left some old records; the next tick continues.
    var hasMoreToPrune = false
    /// The part with which the next step begins.
    var nextPart = StepPart.background
    /// The next step was asked for, and has not come.
    var isStepDue = false
    /// The same for a freeze.
    var isFreezeDue = false
    /// The same for being woken.
    var isWakeDue = false
    /// Actions whose answer has to come before the database may be closed, and has not come.
    var unanswered = 0
    /// When requests last came, in milliseconds of uptime.
    private var lastUse: Int64
    /// The same of requests of this process's own connections; nil before the first one.
    private var lastOwnUse: Int64?
    /// The node has applied all that the shared log had at some time since it opened the database.
    package internal(set) var hasCaughtUp = false
    /// The last operation that the store includes.
    package internal(set) var appliedSequence: UInt64
    /// How often the next record of a shared log could not be applied.
    var followFailures = 0
    /// When it may be tried again, in milliseconds of uptime.
    var nextProbe: Int64 = .min
    /// Since when this node's files or memory have failed, in milliseconds of uptime.
    var failingSince: Int64?
    /// As it was said last (``Action/noteFitness(_:)``).
    var isFit = true
    var ticksSinceFreeze = 0
    /// Bytes that the log has gained since rows were last frozen.
    var bytesSinceFreeze = 0
    /// The longest part of the last step, to find long ones.
    package internal(set) var longestPart: StaticString = "step"
    /// Requests that were processed.
    package internal(set) var requestCount: Int64 = 0
    var clock: CommitClock
    let nanoseconds: () -> Int64
    /// Whether a user has lost the account or the tokens: on-disconnect writes that other nodes leave behind are not
    /// made for such users.
    package var isRevoked: (Principal) -> Bool = { _ in false }

    /// Of the event that is handled.
    private(set) var conditions: Conditions
    private(set) var now: Int64
    private var actions: [Action] = []

    /// - parameter database: not loaded yet, or only its ``Database/load()`` was called.
    /// - parameter lastTime: the time of the last commit, in milliseconds since 1970; 0 if there was none.
    /// - parameter isClearing: the store has obsolete rows.
    /// - parameter isShared: other nodes append to the log as well: ``Arrival/ownership(_:)`` tells when this one may.
    /// - parameter forwardsWrites: while another node takes the writes, clients' writes are sent to it.
    /// - parameter nanoseconds: a clock that measures the cost of requests.
    package init(
        database: Database, limits: DatabaseLimits, lastTime: Int64, isClearing: Bool, isShared: Bool = false,
        forwardsWrites: Bool = false, at conditions: Conditions, nanoseconds: @escaping () -> Int64
    ) {
        self.database = database
        self.limits = limits
        admission = Admission(largeBytesMin: limits.largeRequestBytesMin)
        longTurns = LongTurns(pauses: limits.longTurnPauses)
        appliedSequence = database.sequence
        ownership = isShared ? .elsewhere(node: nil) : .alone
        ownershipSince = conditions.uptime
        database.ownedElsewhere = isShared ? .ownedElsewhere(node: nil) : nil
        database.forwarded = forwardsWrites ? ForwardedWrites(after: Self.firstForwardingNumber(conditions)) : nil
        clearing = Clearing(state: isClearing ? .due : .idle)
        clock = CommitClock(last: lastTime, wall: conditions.wall, uptime: conditions.uptime)
        self.conditions = conditions
        self.nanoseconds = nanoseconds
        now = conditions.wall
        database.takesTurns = true
        lastUse = conditions.uptime
    }

    /// Requests that wait for their turn.
    package var waitingCount: Int { admission.count }

    /// Some writes wait until a long turn may begin (``LongTurns``).
    package var hasLongWaiting: Bool { admission.hasLong }

    /// Handles an event.
    ///
    /// - parameter actions: receives the actions, in order. Empty, with the capacity of earlier turns.
    package mutating func handle(_ event: Event, at conditions: Conditions, into actions: inout [Action]) {
        swap(&self.actions, &actions)
        defer { swap(&self.actions, &actions) }
        self.conditions = conditions
        let (time, jump) = clock.now(wall: conditions.wall, uptime: conditions.uptime)
        now = time
        database.observeTime(now, uptime: conditions.uptime, jump: jump)
        if database.forwarded != nil { database.forwardingTime = conditions.uptime }
        if let jump { report(.clockJumped(jump)) }
        if ownership == .owner { holdWrites() }
        holdLinks()
        switch event {
        case .opened: open()
        case .requests(let requests):
            lastUse = conditions.uptime
            if ownership != .alone, requests.contains(where: { !$0.connection.isForwarded }) { lastOwnUse = lastUse }
            arrive(requests)
        case .delivered: break
        case .largeReadEnded(let connection): endLargeRead(of: connection)
        case .rules(let program, let explainsDenials):
            database.setRules(program, explains: explainsDenials, now: now)
            release()
            if let error = database.tornBy { recover(because: error) }
        case .step: step()
        case .freeze(let behindOthers):
            isFreezeDue = false
            freeze(behindOthers: behindOthers)
        case .woken: passOverdueTurns()
        case .tick(let number): tick(number)
        case .endSessions:
            // Writes owed elsewhere belong to connections of the owner.
            if database.ownedElsewhere == nil { database.orphanAll() }
            payOrphans()
        case .settle: settle()
        case .committed(let sequence): committed(through: sequence)
        case .commitFailed(let failure): commitFailed(failure)
        case .commitsDropped: commitsDropped()
        case .logRead(let result): logRead(result)
        case .probed(let failure): probed(failure)
        case .pruned(let isMore):
            unanswered -= 1
            hasMoreToPrune = isMore
        case .stored(let parts, let serial, let failure):
            unanswered -= 1
            stored(parts, serial, failure)
        case .history(let result): historyRead(result)
        case .filesVerified(let problem): filesVerified(problem)
        case .arrived(let new):
            for arrival in new { arrivals.append(arrival) }
            follow()
        case .forwarding(let news):
            for news in news { database.forwarded?.take(news, now: conditions.uptime) }
        case .sent(let report):
            sent.add(report)
            if sent.count >= Self.sentMax { noteSent() }
        case .wroteSome(let frozen): wroteSome(of: frozen)
        case .written(let frozen, let error, let isClearing): written(frozen, error, isClearing)
        case .cleared(let error, let isClearing): cleared(error, isClearing)
        case .swept(let next, let error): swept(next: next, error)
        case .prepared(let request, let serial):
            unanswered -= 1
            prepared(request, serial)
        }
        if isDrainDue { sayDrained() }
        if database.forwarded != nil { goOnForwarding() }
        postStep()
        postWake()
        #if DEBUG
            if admission.count < 1000 { checkInvariants() }
        #endif
    }

    mutating func emit(_ action: Action) {
        switch action {
        case .prune, .storePart, .prepare: unanswered += 1
        default: break
        }
        actions.append(action)
    }

    mutating func report(_ news: Report) { actions.append(.report(news)) }

    /// Sends the durable outputs, up to some bytes; the rest follows in the next step.
    mutating func release() {
        let turns = database.takeReadyTurns(bytesMax: limits.turnReadBytesMax)
        if !turns.isEmpty { emit(.deliver(turns)) }
        let events = database.takeFreshEvents()
        if !events.isEmpty { emit(.send(events)) }
    }

    /// Says all that may be said.
    mutating func releaseAll() { while database.hasReadyTurns { release() } }

    /// Gets were answered without a turn.
    mutating func noteReads(_ count: Int, at conditions: Conditions) {
        lastUse = conditions.uptime
        requestCount += Int64(count)
    }

    // MARK: Beginning and end

    private mutating func open() {
        // Their connections were those of an earlier process.
        if ownership == .alone { database.orphanAll() }
        // While there is little data, indexes are whole before the first request.
        buildIndex()
        payOrphans()
        // A large value that was replayed from the log keeps large writes waiting.
        freezeSoon()
    }

    /// Makes the writes of connections that ended while they could not be made: with an earlier process, or while
    /// writes were refused.
    mutating func payOrphans() {
        if database.hasOrphans, !admission.hasReady, mayRun, database.heldWrites == .none { runTurn([]) }
    }

    private mutating func settle() {
        if life == .serving {
            life = .settling(writingUntil: conditions.uptime + Self.settlingGrace)
            database.largeReadsMax = .max
            database.takesTurns = false
            database.awaitsCommits = false
            database.turnsFullLinksAway = true
            database.endTurns(now: now)
            database.endClaims(now: now)
            database.forwarded?.stop()
            holdWrites()
            forwardingEnd = conditions.uptime + Self.forwardingGrace
            admission.releaseAll(gate)
        }
        if case .unreadable(let error) = recovery { refuseWaiting(because: error) }
        noteSent()
        payOrphans()
        releaseAll()
        if life == .leaving || database.refusal != nil { return turnAwayLarge() }
        if !applying.isWriting, !clearing.isUnderWay, !sweeping.isUnderWay { freeze() }
    }

    /// How long rows of a large value are still written, in milliseconds.
    private static let settlingGrace: Int64 = 1000

    /// After ``Event/settle``: everything is in the store, or as much as can be, or the log has the rest.
    package var isSettled: Bool {
        if applying.isWriting || clearing.isUnderWay || sweeping.isUnderWay { return false }
        if case .unreadable = recovery { return true }
        guard !recovery.isUnderWay, database.durableSequence == database.sequence else { return false }
        guard database.forwarded?.isEmpty ?? true else { return false }
        if database.refusal != nil { return !admission.hasReady }
        return (life == .leaving || !database.hasChanges) && !database.isTelling && admission.isEmpty
    }

    /// Whether the database can be closed and opened again unnoticed: there were no requests for a time, there are no
    /// listeners, owed writes or running work, the store has everything, and all clients have their whole rates.
    package func mayClose(at uptime: Int64) -> Bool {
        // A node follows all databases of its cluster, so that it can take them over.
        guard ownership == .alone else { return false }
        guard uptime - lastUse >= limits.idleMillisecondsMax, life == .serving, admission.isEmpty else { return false }
        guard case .none = recovery, case .idle = probing, case .none = largeWrite, case .possible = building,
            case .idle = sweeping, clearing.state == .idle, applying.isIdle
        else { return false }
        guard !isReplaced, !hasMoreToPrune, !isStepDue, !isFreezeDue, unanswered == 0 else { return false }
        // The store may lack operations that changed nothing.
        return database.isAtRest && !database.remembersRates(at: now)
    }

    /// A client of this process uses the database without a request to it, or is expected to.
    package mutating func noteOwnUse(at uptime: Int64) {
        lastUse = uptime
        lastOwnUse = uptime
    }

    /// Whether this node can cease to follow the log without a client of its own noticing: it does not own the log,
    /// there were no requests for a time, and no connection uses the database.
    package func isUnused(at uptime: Int64, milliseconds: Int64) -> Bool {
        guard case .elsewhere = ownership, life == .serving, admission.isEmpty, case .none = recovery else {
            return false
        }
        if let lastOwnUse, uptime - lastOwnUse < milliseconds { return false }
        return database.isUnused
    }

    // MARK: Time

    private mutating func tick(_ number: Int) {
        goOnRecovering()
        if database.refusal != nil, case .idle = probing, !recovery.isUnderWay, conditions.uptime >= nextProbe {
            probing = .underWay
            emit(.probe)
        }
        ticksSinceFreeze += 1
        let isBusy = bytesSinceFreeze >= limits.replayedBytesSoft
        let interval = isBusy ? limits.busyApplyIntervalTicks : limits.applyIntervalTicks
        if ticksSinceFreeze >= interval, database.hasChanges { freeze() }
        applyNext()
        payOrphans()
        expire()
        handOutJobs()
        noteSent()
        holdWrites()
        noteFitness()
        goOnAhead()
        database.forwarded?.tick(now: conditions.uptime)
        building = .possible
        if number.isMultiple(of: 50) || hasMoreToPrune { prune() }
        if admission.isEmpty { database.keepsRecords = false }
    }

    private mutating func prune() {
        // Recovery reads the log.
        guard !recovery.isUnderWay else { return }
        hasMoreToPrune = false
        let window = limits.logWindowMilliseconds
        emit(
            .prune(
                LogPruning(
                    before: clock.historyTime(window: window) - window, now: conditions.wall,
                    keepingBytes: limits.logBytesMax, appliedSequence: appliedSequence)))
    }

    // MARK: Invariants

    /// Traps if the parts of the state contradict each other.
    package func checkInvariants(isThorough: Bool = false) {
        database.forwarded?.checkInvariants()
        admission.checkInvariants()
        switch recovery {
        case .none, .dropping, .resting: database.checkInvariants(isThorough: isThorough)
        // A recovery that failed half way leaves memory torn.
        case .reading, .unreadable: break
        }
        precondition(appliedSequence <= database.durableSequence, "the store is ahead of the log")
        switch recovery {
        case .none: precondition(database.tornBy == nil, "memory is torn and not being recovered")
        case .reading, .unreadable: precondition(applying.isIdle, "rows are written while memory is rebuilt")
        case .dropping, .resting: break
        }
        if database.refusal == nil { precondition(!isProbing, "nothing is refused that a probe could end") }
        if case .failed = applying { precondition(database.refusal != nil || recovery.isUnderWay) }
    }

    private var isProbing: Bool { if case .underWay = probing { true } else { false } }
}
