import EventLoop
import JSONWebTokens
import RealtimeDatabase
import TreeStorage

/// One open database with its files, on the database thread: runs its turns, and keeps the committer and the applier busy.
///
/// Requests are held back while memory must not change or grow: when so many changed rows wait that the applier has to catch up, when
/// as much waits for the log or the event loops as may, and between a failed commit and the recovery from it, which needs the committer
/// and the applier at rest.
final class HostedDatabase {
    private enum Phase: Equatable {
        case running
        /// A commit failed or memory is torn: the committer is asked to drop what is on its way, then memory is built anew.
        case recovering(StorageError, commitsDropped: Bool)
    }

    private let name: String
    private let database: Database
    private let logFile: LogFile
    private let logReader: LogReader
    private let tree: TreeFile
    private let host: DatabaseHost

    private var phase = Phase.running
    private var held = HeldRequests()
    private var resumes = ResumeQueue()
    /// Large reads that connections wait for, until the applier has made their snapshot.
    private var streams: [UInt64: SnapshotStream] = [:]
    /// Rows on their way to the tree file.
    private var isApplying = false
    /// Rows that the tree file could not take yet.
    private var unapplied: FrozenRows?
    private var isClearing = false
    /// Rows that went to the tree file since some were last cleared there.
    private var rowsSinceClearing = 0
    /// The indexes that are gone and whose entries are being removed, and how far that has come.
    private var sweep: (indexes: Set<UInt32>, start: [UInt8]) = ([], [])
    private var isSweeping = false
    /// The next step of a scan or of the making of an index is in the mailbox.
    private var isStepPosted = false
    private var isProbing = false
    /// The last step of pruning the log left some of what is too old; the next tick goes on.
    private var hasMoreToPrune = false
    /// The log could not be read when memory was to be built anew; the next tick tries again.
    private var hasFailedToRecover = false
    /// The server ends: what can wait is not begun any more.
    private var isSettling = false
    /// The last operation that the tree file includes, as far as the applier has reported.
    private var appliedSequence: UInt64
    private var ticksSinceFreeze = 0
    private var requestCount: Int64 = 0
    private var lastTime: Int64 = 0

    init(
        index: UInt32, name: String, logFile: LogFile, tree: TreeFile, host: DatabaseHost
    ) throws(StorageError) {
        self.name = name
        self.logFile = logFile
        logReader = logFile.makeReader()
        self.tree = tree
        self.host = host
        appliedSequence = tree.sequence
        lastTime = try logFile.lastTime()
        database = Database(
            index: index, epoch: logFile.epoch, store: try tree.makeReader(), sequence: tree.sequence,
            residentBytesMax: host.limits.residentBytesMax, listenersMax: host.limits.listenersMax)
        try database.load()
        takeRules()
        try logFile.forEachRecord(after: appliedSequence) { (record) throws(StorageError) in
            try database.replay(record.operations())
        }
        database.orphanAll()
        host.log.info(
            "database.open",
            [
                ("database", name), ("sequence", "\(database.sequence)"),
                ("replayed", "\(database.sequence - appliedSequence)"),
            ])
        // While there is little data, indexes are whole before the first request.
        buildIndex()
    }

    /// Decides by the rules that are in force now.
    func takeRules() {
        database.setRules(host.rules.program(for: name), explains: host.explainsDenials, now: now())
        release()
        postStep()
    }

    /// The server ends, and with it all connections.
    func endSessions() {
        database.orphanAll()
        payOrphans()
    }

    /// Makes the writes of connections that ended while they could not be made: with an earlier process, or while the disk refused.
    func payOrphans() {
        if database.hasOrphans, held.isEmpty, mayRun { _ = runTurn([]) }
    }

    // MARK: Scans and indexes

    /// Asks for a step of what is done bit by bit, which comes behind the requests that arrive. Ticks ask again where it was left.
    private func postStep() {
        guard database.isScanning || database.isBuildingIndex || database.rows.trimBacklog > 0 || mayRunHeld,
            !isStepPosted
        else { return }
        isStepPosted = true
        host.report(.step(database.index))
    }

    /// A scan comes first: somebody waits for it.
    func step() {
        isStepPosted = false
        if database.isScanning { scan() } else { buildIndex() }
        database.rows.trim(looks: Self.looksPerStep)
        runHeld()
        postStep()
    }

    private static let looksPerStep = 2000
    /// So much memory to look at keeps large requests waiting.
    private static let trimBacklogMax = 10 * looksPerStep

    private func scan() {
        guard phase == .running, !isSettling else { return }
        runAdmitted(database.scanSome())
    }

    private func buildIndex() {
        guard phase == .running, database.isBuildingIndex, !isSettling, database.refusal == nil else { return }
        // The applier has to catch up first.
        guard database.changedBytes < host.limits.changedBytesSoft else { return freeze() }
        do throws(StorageError) {
            try database.buildIndex()
        } catch {
            host.log.error("index.build-failed", [("database", name), ("error", error.message)])
            return
        }
        if !database.isBuildingIndex { host.log.info("index.built", [("database", name)]) }
        postStep()
    }

    // MARK: Requests

    /// Works off requests, but for those that must wait until the log is read.
    func run(_ requests: [Request]) {
        let now = now()
        let admitted = resumes.admit(requests) { database.historyNeeded(for: $0, now: now) }
        readHistory()
        if !admitted.isEmpty { runAdmitted(admitted) }
    }

    private func readHistory() {
        guard let questions = resumes.takeQuestions() else { return }
        // What the reader does not see any more is then still here.
        database.keepsRecords = true
        host.history.post(.init(database: database.index, log: logReader, questions: questions))
    }

    /// The log was read for listeners that resume.
    func received(_ answers: HistoryReader.Answers) {
        let found: [UInt64: MissedChanges.Found]
        switch answers {
        case .success(let answers): found = answers
        case .failure(let error):
            // They begin anew.
            host.log.warning("history.read-failed", [("database", name), ("error", error.message)])
            found = [:]
        }
        let requests = resumes.answered(found)
        readHistory()
        runAdmitted(requests)
    }

    /// Works off requests that need not wait for the log, but for those that must wait for a scan.
    private func runAdmitted(_ requests: [Request]) {
        perform(isSettling ? requests : database.admit(requests, now: now()))
        database.endScans()
        postStep()
    }

    /// In one turn, unless the requests hold a lot.
    private func perform(_ requests: [Request]) {
        if held.isEmpty, mayRun, requests.areShort(bytesMax: host.limits.turnBytesMax) { return runShort(requests) }
        for request in requests { held.append(request) }
        runHeld()
    }

    private func runShort(_ requests: [Request]) {
        let count = runTurn(requests)
        if count < requests.count { held.giveBack(Array(requests[count...])) }
    }

    /// A turn of small requests that wait, and one of a large one.
    private func runHeld() {
        guard mayRunHeld else { return }
        let turn = held.takeSmall(bytesMax: host.limits.turnBytesMax)
        if !turn.isEmpty { runShort(turn) }
        if mayRun, mayRunLarge, let request = held.takeLarge() { _ = runTurn([request]) }
    }

    private var mayRunHeld: Bool { !held.isEmpty && mayRun && (!held.isLargeOnly || mayRunLarge) }

    /// Large requests wait for the applier and until memory is looked through; meanwhile small ones go on.
    private var mayRunLarge: Bool {
        let rows = database.rows
        if rows.trimBacklog >= Self.trimBacklogMax { return false }
        if !isApplying, !isClearing { return true }
        return database.changedBytes < host.limits.changedBytesBulk
            && rows.residentBytes < 4 * host.limits.residentBytesMax
    }

    /// Time never goes back: server timestamps keep the order of commits.
    private func now() -> Int64 {
        lastTime = max(lastTime, WallClock.milliseconds)
        return lastTime
    }

    private var mayRun: Bool {
        phase == .running && (database.changedBytes < host.limits.changedBytesHard || !isApplying)
            && database.pendingReadBytes < host.limits.waitingReadBytesMax && !host.backlog.isFull
    }

    /// Answers how many of the requests are done.
    private func runTurn(_ requests: [Request]) -> Int {
        let (record, count) = database.process(requests, now: now(), readBytesMax: host.limits.turnReadBytesMax)
        requestCount += Int64(count)
        if let record { host.committer.post(.append(database: database.index, logFile, record)) }
        host.denials.add(database.takeDenials(), in: name)
        release()
        if let error = database.tornBy { recover(because: error) }
        if database.changedBytes >= (held.isEmpty ? host.limits.changedBytesSoft : host.limits.changedBytesBulk) {
            freeze()
        }
        applyNext()
        return count
    }

    private func release() {
        let turns = database.takeReadyTurns()
        guard !turns.isEmpty else { return }
        var builder = makeBuilder()
        for outputs in turns {
            for index in outputs.indices {
                builder.add(outputs[index])
                if builder.byteCount > host.limits.turnReadBytesMax {
                    builder.finish(host.deliver)
                    builder = makeBuilder()
                }
            }
        }
        builder.finish(host.deliver)
    }

    private func makeBuilder() -> DeliveryBuilder {
        DeliveryBuilder(loops: host.loops) { read in
            let stream = self.host.readers.makeStream(read)
            self.streams[read.id] = stream
            return stream
        }
    }

    /// There is room for more deliveries.
    func delivered() { runHeld() }

    /// Takes over who listens, from before the database had files.
    func takeListeners(of unwritten: UnwrittenDatabase) { database.takeListeners(of: unwritten.database) }

    // MARK: The commit log

    func committed(through sequence: UInt64) {
        database.committed(through: sequence)
        release()
        applyNext()
        runHeld()
    }

    func commitFailed(_ error: StorageError) {
        host.log.error("log.commit-failed", [("database", name), ("error", error.message)])
        recover(because: error)
    }

    private func recover(because error: StorageError) {
        guard phase == .running else { return }
        phase = .recovering(error, commitsDropped: false)
        host.committer.post(.resume(database: database.index))
    }

    func commitsDropped() {
        guard case .recovering(let error, _) = phase else { return }
        phase = .recovering(error, commitsDropped: true)
        finishRecovery()
    }

    /// Once both other threads are at rest, memory is built from what is durable.
    private func finishRecovery() {
        guard case .recovering(let error, commitsDropped: true) = phase, !isApplying else { return }
        unapplied = nil
        do throws(StorageError) {
            var operations: [LogRecord.Operation] = []
            try logFile.forEachRecord(after: appliedSequence) { (record) throws(StorageError) in
                operations.append(contentsOf: try record.operations())
            }
            try database.refuse(because: error, storeSequence: appliedSequence, replaying: operations)
        } catch {
            // Not even readable: stay in this phase and try again with the next tick.
            host.log.error("database.recovery-failed", [("database", name), ("error", error.message)])
            hasFailedToRecover = true
            host.readiness.database(name, refusesWrites: error)
            refuseHeld(because: error)
            return
        }
        hasFailedToRecover = false
        phase = .running
        host.readiness.database(name, refusesWrites: error)
        host.log.warning("database.writes-refused", [("database", name), ("reason", error.message)])
        release()
        // Also those that were told of just now: the states that they wait for are gone.
        failStreams(error)
        runHeld()
    }

    /// Nothing can be read at the moment, and nobody knows for how long: whoever asks hears so. What ends listeners waits.
    private func refuseHeld(because error: StorageError) {
        let requests = held.takeAll()
        var builder = DeliveryBuilder(loops: host.loops, openStream: host.readers.makeStream)
        for request in requests {
            switch request.operation {
            case .disconnect, .unlisten, .unlistenQuery, .dropListener, .become: held.append(request)
            case .set, .update, .get, .describe, .listen, .listenQuery, .onDisconnect, .cancelOnDisconnect, .relay,
                .explain:
                builder.add(.reply(request.connection, number: request.number, .failed(.unavailable(error))))
            }
        }
        builder.finish(host.deliver)
    }

    private func failStreams(_ error: StorageError) {
        for stream in streams.values { host.readers.fail(stream, error) }
        streams = [:]
    }

    func probed(_ error: StorageError?) {
        isProbing = false
        guard error == nil, database.refusal != nil, phase == .running, unapplied == nil else { return }
        database.accept()
        host.readiness.database(name, refusesWrites: nil)
        host.log.info("database.writes-accepted", [("database", name)])
        payOrphans()
    }

    // MARK: The tree file

    private func freeze() {
        guard phase == .running, !isApplying, unapplied == nil else { return }
        ticksSinceFreeze = 0
        do throws(StorageError) {
            try database.freeze()
        } catch {
            host.log.error("tree.freeze-failed", [("database", name), ("error", error.message)])
        }
        applyNext()
    }

    /// Hands the applier what there is to do: rows to write, and by turns as much to remove of what was deleted, which keeps in memory what
    /// is written in its place.
    private func applyNext() {
        guard phase == .running else { return }
        if !isApplying, let frozen = unapplied ?? database.takeFrozen() {
            unapplied = nil
            isApplying = true
            rowsSinceClearing += frozen.changes.rows.count
            let streams = frozen.reads.compactMap { self.streams.removeValue(forKey: $0.id) }
            host.applier.post(.apply(database: database.index, tree, frozen, streams))
        }
        if isClearing || isSettling { return }
        if tree.isClearing {
            isClearing = true
            host.applier.post(.clear(database: database.index, tree, rows: rowsSinceClearing))
            rowsSinceClearing = 0
        } else if !isApplying, !isSweeping, !database.droppedIndexes.isEmpty {
            isSweeping = true
            if sweep.indexes.isEmpty { sweep = (database.droppedIndexes, []) }
            host.applier.post(
                .sweep(database: database.index, tree, indexes: sweep.indexes, from: sweep.start))
        }
    }

    func applied(_ frozen: FrozenRows, _ error: StorageError?) {
        isApplying = false
        if let error {
            unapplied = frozen
            host.log.error("tree.apply-failed", [("database", name), ("error", error.message)])
            if database.refusal == nil {
                database.refuse(because: error)
                host.readiness.database(name, refusesWrites: error)
            }
            failStreams(error)
        } else {
            if let generation = frozen.generation {
                appliedSequence = frozen.sequence
                database.applied(generation)
            }
            applyNext()
        }
        finishRecovery()
        runHeld()
    }

    func cleared(_ error: StorageError?) {
        isClearing = false
        if !tree.isClearing { database.rows.storeIsCleared() }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
        runHeld()
        postStep()
    }

    func swept(next: [UInt8]?, _ error: StorageError?) {
        isSweeping = false
        if let next {
            sweep.start = next
        } else {
            database.forgetDroppedIndexes(sweep.indexes)
            sweep.indexes = []
        }
        // After a failure the next tick tries again.
        if error == nil { applyNext() }
    }

    // MARK: For administrators

    func setObserver(_ observer: (any RequestObserver)?) { database.observer = observer }

    func listens(of connection: ConnectionID) -> [Database.Listen] { database.listens(of: connection) }

    var figures: JSONObject {
        JSONObject([
            "name": .text(name), "requests": .integer(requestCount),
            "sequence": .integer(Int64(clamping: database.sequence)),
            "durable": .integer(Int64(clamping: database.durableSequence)),
            "listeners": .integer(Int64(database.listenCount)),
            "resident": .integer(Int64(database.rows.residentBytes)),
            "changed": .integer(Int64(database.changedBytes)), "held": .integer(Int64(held.count)),
            "refuses": database.refusal.map { .text($0.message) },
        ])
    }

    // MARK: Time

    func tick(_ ticks: Int) {
        lastTime = max(lastTime, WallClock.milliseconds)
        finishRecovery()
        if database.refusal != nil, !isProbing, phase == .running {
            isProbing = true
            host.committer.post(.probe(database: database.index, logFile))
        }
        ticksSinceFreeze += 1
        if ticksSinceFreeze >= host.limits.applyIntervalTicks, database.hasChanges { freeze() }
        applyNext()
        postStep()
        if ticks.isMultiple(of: 50) || hasMoreToPrune { prune() }
        if resumes.isEmpty, held.isEmpty, !database.isScanning { database.keepsRecords = false }
    }

    private func prune() {
        // Recovery reads the log on this thread.
        guard phase == .running else { return }
        hasMoreToPrune = false
        host.committer.post(
            .prune(
                database: database.index, logFile, before: lastTime - host.limits.logWindowMilliseconds,
                keepingBytes: host.limits.logBytesMax, appliedSequence: appliedSequence))
    }

    func pruned(isMore: Bool) { hasMoreToPrune = isMore }

    /// Brings everything to the tree file; true once there is nothing left to do, or nothing more that can be done.
    func settle() -> Bool {
        if !isSettling {
            isSettling = true
            runAdmitted(database.releaseAll())
        }
        if isApplying || isClearing || isSweeping { return false }
        if hasFailedToRecover { return true }
        if database.refusal != nil { return phase == .running && database.durableSequence == database.sequence }
        freeze()
        return phase == .running && !isApplying && database.durableSequence == database.sequence
            && !database.hasChanges && held.isEmpty && resumes.isEmpty
    }

    func close() {
        // What the write-ahead file holds is safe there as well; this only tidies up.
        try? tree.checkpoint()
        host.committer.post(.close(logFile))
    }
}
