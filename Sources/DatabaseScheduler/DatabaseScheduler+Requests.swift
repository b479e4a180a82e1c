import HearthRealtimeDatabase
import HearthStorageErrors

/// When requests are processed: at once, in turns, or in steps between turns.
extension DatabaseScheduler {
    /// The database's reason for a request to wait.
    struct Gate: AdmissionGate {
        let database: Database
        let now: Int64
        let isScanning: Bool
        /// Until then, a query whose scan is to begin is scanned at once.
        let scanningUntil: Int64
        let nanoseconds: () -> Int64

        func history(for request: Request) -> HistoryNeed? {
            database.historyNeeded(for: request, now: now).map { HistoryNeed(path: $0.path, after: $0.after) }
        }

        func mustScan(_ request: Request) -> Bool {
            isScanning && database.mustScan(for: request, now: now) { nanoseconds() < scanningUntil }
        }

        func endsListener(_ request: Request) -> Bool { database.replacesListener(request) }

        func waitsBehindScan(_ request: Request) { database.observer?.park(request) }

        func endScan(for connection: ConnectionID) { database.endScan(for: connection) }
    }

    /// For one step: all scans that begin together have the time of one.
    var gate: Gate {
        Gate(
            database: database, now: now, isScanning: life == .serving,
            scanningUntil: nanoseconds() + limits.stepNanosecondsMax, nanoseconds: nanoseconds)
    }

    mutating func arrive(_ requests: [Request]) {
        if !admission.hasReady, mayRun, areShort(requests) {
            let passing = admission.takePassing(of: requests, gate)
            readHistory()
            if !passing.isEmpty { runTurn(passing) }
        } else {
            let gate = gate
            for request in requests { admission.append(request, gate) }
            readHistory()
        }
        database.endScans()
    }

    private func areShort(_ requests: [Request]) -> Bool {
        requests.areShort(bytesMax: limits.turnBytesMax, largeBytesMin: limits.largeRequestBytesMin)
    }

    private mutating func readHistory() {
        guard let questions = admission.takeQuestions() else { return }
        emit(.readHistory(questions))
    }

    mutating func historyRead(_ result: Result<[UInt64: MissedChanges.Found], StorageError>) {
        switch result {
        case .success(let answers): admission.answered(answers, gate)
        case .failure(let error):
            // The listeners start over.
            report(.historyReadFailed(error))
            admission.answered([:], gate)
        }
        readHistory()
        database.endScans()
    }

    mutating func endLargeRead(of connection: ConnectionID) {
        database.endLargeRead(of: connection)
        admission.goOn(connection)
    }

    // MARK: Turns

    /// A turn of small requests that wait. One of a large one comes after it, and the rest with the next step.
    private mutating func runReadySmall() {
        guard mayRunReady else { return }
        let turn = admission.takeSmall(countMax: turnSize.countMax, bytesMax: limits.turnBytesMax, gate)
        if !turn.isEmpty { runTurn(turn) }
    }

    private mutating func runReadyLarge() {
        if mayRunReady { runLarge() }
    }

    mutating func runTurn(_ requests: [Request]) {
        let (count, waiting) = process(requests)
        turnSize.note(done: count, of: requests.count)
        if count < requests.count || !waiting.isEmpty { admission.giveBack(requests[count...], waiting: waiting, gate) }
        admission.endTurn()
    }

    mutating func process(_ requests: [Request]) -> (count: Int, waiting: [Request]) {
        var time = nanoseconds()
        let end = time + limits.turnNanosecondsMax
        var costly: [(index: Int, nanoseconds: Int64)] = []
        let (record, count, waiting) = database.process(
            requests, now: now, readBytesMax: limits.turnReadBytesMax
        ) { [nanoseconds] done in
            let now = nanoseconds()
            // Cheap requests were charged before.
            if now - time > Admission.expectedCost { costly.append((done - 1, now - time)) }
            time = now
            return now < end
        }
        for (index, cost) in costly { admission.charge(requests[index], nanoseconds: cost) }
        requestCount += Int64(count - waiting.count)
        if let record { append(record) }
        if let error = database.takeLeaseMoveFailure() { report(.leasesNotMoved(error)) }
        let denials = database.takeDenials()
        if !denials.isEmpty { report(.denials(denials)) }
        release()
        if let error = database.tornBy { recover(because: error) }
        freezeSoon()
        applyNext()
        return (count, waiting)
    }

    /// Freezes rows once enough of them have changed.
    mutating func freezeSoon() {
        // The next large write waits until the rows of this one are frozen.
        let isMany = database.changedCount >= limits.changedRowsMax || !database.rows.canAttach
        let isBulk = admission.hasLarge(orLong: false) || admission.hasBegun
        let bytesMax = isBulk ? limits.changedBytesBulk : limits.changedBytesSoft
        let isExpiryPaused = database.changedCount >= limits.expiryChangesMax && hasExpiry
        if isMany || isExpiryPaused || database.changedBytes >= bytesMax { postFreeze(behindOthers: isMany) }
    }

    var mayRun: Bool { mayRun(at: conditions) }

    func mayRun(at conditions: Conditions) -> Bool {
        !recovery.isUnderWay && (database.unappliedBytes < limits.changedBytesHard || !applying.isWriting)
            && !database.isTelling && database.unwrittenBytes < limits.unwrittenBytesMax && hasRoomToSay(conditions)
    }

    /// Outputs that were sent already do not count.
    private var hasRoomToSay: Bool { hasRoomToSay(conditions) }

    private func hasRoomToSay(_ conditions: Conditions) -> Bool {
        database.pendingReadBytes < limits.waitingReadBytesMax && !conditions.isBacklogFull
    }

    private var mayRunReady: Bool {
        guard admission.hasReady || admission.hasLong, mayRun else { return false }
        switch largeWrite {
        case .ready(let request) where !mustWaitToAttach(request): return true
        case .final: return true
        case .none, .examining, .reading, .resolving, .deciding, .preparing, .storing, .ready:
            return admission.hasSmall || mayRunLarge
        }
    }

    // MARK: Turns of transactions

    /// Somebody did not come back in its turn: those who wait for it go on.
    mutating func passOverdueTurns() {
        isWakeDue = false
        if recovery.isUnderWay { return }
        database.passOverdueTurns(now: now)
        release()
    }

    mutating func postWake() {
        guard !isWakeDue, !recovery.isUnderWay else { return }
        let turn = database.turnDeadline.map { $0 - now }
        let attempt = database.forwarded?.nextAttempt.map { $0 - conditions.uptime }
        guard let wait = [turn, attempt].compactMap(\.self).min() else { return }
        isWakeDue = true
        emit(.wake(milliseconds: Int(max(1, wait))))
    }

    // MARK: Steps

    /// Requests a step of incremental work, which comes after the requests that have arrived. Ticks request it again if
    /// it was left.
    mutating func postStep() {
        guard !isStepDue else { return }
        guard
            mayTell || mayScan || mayBuildIndex || mayExpire || mayHandOut || mayDecide || database.isTrimDue
                || mayRunReady || database.hasReadyTurns || !arrivals.isEmpty && mayFollow
        else { return }
        isStepDue = true
        emit(.step)
    }

    /// Sends the durable outputs and does a turn of small requests. Then it does the other parts in turn until their
    /// time is used up, and continues with the next one in the next step. So a small request waits for one costly part
    /// instead of all.
    mutating func step() {
        isStepDue = false
        var longest: Int64 = 0
        measure("release", &longest) {
            $0.release()
            // Rows for a large read wait until its client is told of it.
            $0.applyNext()
        }
        measure("turn", &longest) { $0.runReadySmall() }
        let end = nanoseconds() + limits.stepNanosecondsMax
        for _ in StepPart.allCases {
            let part = nextPart
            nextPart = part.next
            measure(name(of: part), &longest) { $0.run(part) }
            if nanoseconds() >= end { break }
        }
        database.endScans()
    }

    /// The name of a part among the measured times of steps.
    private func name(of part: StepPart) -> StaticString {
        switch part {
        case .background: mayTell ? "tell" : mayScan ? "scan" : "index"
        case .expiry: "expiry"
        case .trim: "trim"
        case .follow: "follow"
        case .decide: "decide"
        case .large: "large"
        }
    }

    private mutating func run(_ part: StepPart) {
        switch part {
        // A scan comes before the making of an index: a request waits for it.
        case .background:
            if mayTell {
                tell()
            } else if mayScan {
                scan()
            } else if mayBuildIndex {
                buildIndex()
            }
        case .expiry:
            expire()
            handOutJobs()
        case .trim: database.trim(looks: Self.looksPerStep)
        case .follow: follow()
        case .decide: decide()
        case .large: runReadyLarge()
        }
    }

    /// A few children at a time, since the cost of a child depends on its size and on the caches.
    private mutating func scan() {
        let end = nanoseconds() + limits.stepNanosecondsMax
        var left = limits.scannedPerStepMax
        repeat {
            for connection in database.scanSome(childrenMax: min(Database.scannedPerLook, left)) {
                admission.scanEnded(for: connection)
            }
            left -= Database.scannedPerLook
        } while left > 0 && mayScan && nanoseconds() < end
    }

    private mutating func measure(
        _ part: StaticString, _ longest: inout Int64, _ body: (inout DatabaseScheduler) -> Void
    ) {
        let start = nanoseconds()
        body(&self)
        let took = nanoseconds() - start
        if took >= longest { (longest, longestPart) = (took, part) }
    }

    private static var looksPerStep: Int { 2000 }
    /// So much memory to look at keeps large requests waiting.
    static var trimBacklogMax: Int { 10 * looksPerStep }

    private var mayTell: Bool { database.isTelling && !recovery.isUnderWay && hasRoomToSay }

    /// A step of telling listeners of queries of the last commit; requests wait for the end of that.
    private mutating func tell() {
        database.tellSome(now: now)
        release()
        if let error = database.tornBy { return recover(because: error) }
        if !database.isTelling { payOrphans() }
    }

    private var mayScan: Bool {
        database.isScanning && !database.isTelling && !recovery.isUnderWay && life == .serving
    }

    /// The applier has to catch up first.
    private var mayBuildIndex: Bool {
        guard case .possible = building, life == .serving, !recovery.isUnderWay else { return false }
        let mayCount = database.isCounting && mayRun && database.heldWrites == .none
        return (database.isBuildingIndex || mayCount) && database.refusal == nil
            && database.changedBytes < limits.changedBytesSoft
    }

    mutating func buildIndex() {
        guard mayBuildIndex else { return }
        do throws(StorageError) {
            if database.isBuildingIndex {
                try database.buildIndex()
                if !database.isBuildingIndex { report(.indexesBuilt) }
            } else {
                try count()
            }
        } catch {
            building = .failed
            return report(.buildFailed(error))
        }
        if database.changedBytes >= limits.changedBytesSoft { postFreeze() }
    }

    /// A step of counting the children that are older than their counter.
    private mutating func count() throws(StorageError) {
        if let record = try database.countSome(now: now) { append(record) }
        release()
        if let error = database.tornBy { recover(because: error) }
        applyNext()
    }

    private var mayExpire: Bool {
        life == .serving && mayRun && hasExpiry && database.refusal == nil && database.heldWrites == .none
            && database.changedCount < limits.expiryChangesMax
    }

    /// Children have expired, or leases move with the clock.
    private var hasExpiry: Bool { database.hasExpired(at: now) || database.isMovingLeases }

    /// Removes some of the children that have expired, and moves leases with the clock, a commit at a time, until that
    /// has taken as long as it may; the others come with the next step.
    mutating func expire() {
        let end = nanoseconds() + limits.stepNanosecondsMax
        while mayExpire {
            runTurn([])
            if nanoseconds() >= end { return }
        }
    }

    private var mayHandOut: Bool { life == .serving && mayRun && database.hasReadyClaims(at: now) }

    /// Answers workers for which there is a job, or that have waited long enough.
    mutating func handOutJobs() {
        guard mayHandOut else { return }
        let requests = database.takeReadyClaims(at: now) { admission.isChanging($0) }
        arrive(requests)
    }
}
