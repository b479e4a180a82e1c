import EventLoop
import RealtimeDatabase
import TreeStorage
import StorageErrors

/// One open database with its files, on the database thread: runs its turns, and keeps the committer and the applier
/// busy.
///
/// Requests are held back while memory must not change or grow: when so many changed rows wait that the applier has to
/// catch up, when as much waits for the log or the event loops as may, and between a failed commit and the recovery
/// from it, which needs the committer and the applier at rest.
final class HostedDatabase {
    enum Phase: Equatable {
        case running
        /// A commit failed or memory is torn: the committer is asked to drop what is on its way, then memory is built
        /// anew.
        case recovering(StorageError, commitsDropped: Bool)
    }

    /// The large write that is under way; others wait for it.
    enum LargeWrite {
        case none
        /// Its rows are being made on another thread.
        case preparing
        /// Its text goes to the log.
        case storing(Request)
        /// Its turn comes next.
        case ready(Request)
    }

    let name: String
    let database: Database
    let logFile: LogFile
    let logReader: LogReader
    let tree: TreeFile
    let host: DatabaseHost

    var phase = Phase.running
    var held = HeldRequests()
    var largeWrite = LargeWrite.none
    var resumes = ResumeQueue()
    /// Large reads that connections wait for, until the applier has made their snapshot.
    var streams: [UInt64: SnapshotStream] = [:]
    /// Rows on their way to the tree file.
    var isApplying = false
    /// Rows that the tree file could not take yet.
    var unapplied: FrozenRows?
    var isClearing = false
    /// Rows that went to the tree file since some were last cleared there.
    var rowsSinceClearing = 0
    /// The indexes that are gone and whose entries are being removed, and how far that has come.
    var sweep: (indexes: Set<UInt32>, start: [UInt8]) = ([], [])
    var isSweeping = false
    /// The next step of a scan or of the making of an index is in the mailbox.
    var isStepPosted = false
    var isProbing = false
    /// The files that are open are not those of the data folder any more.
    var isReplaced = false
    /// The last step of pruning the log left some of what is too old; the next tick goes on.
    private var hasMoreToPrune = false
    /// The log could not be read when memory was to be built anew; the next tick tries again.
    var hasFailedToRecover = false
    /// The same for the making of an index.
    var hasFailedToBuild = false
    /// The server ends: what can wait is not begun any more.
    var isSettling = false
    /// The last operation that the tree file includes, as far as the applier has reported.
    var appliedSequence: UInt64
    var ticksSinceFreeze = 0
    var requestCount: Int64 = 0
    /// Nil while nobody watches what is committed.
    var tail: CommitTail?
    private var clock: CommitClock

    init(
        index: UInt32, name: String, logFile: LogFile, tree: TreeFile, host: DatabaseHost
    ) throws(StorageError) {
        self.name = name
        self.logFile = logFile
        logReader = logFile.makeReader()
        self.tree = tree
        self.host = host
        appliedSequence = tree.sequence
        clock = CommitClock(
            last: try logFile.lastTime(), wall: WallClock.milliseconds, uptime: MonotonicTime.current.milliseconds)
        database = Database(
            index: index, epochs: logFile.epochs, store: try tree.makeReader(), sequence: tree.sequence,
            residentBytesMax: host.limits.residentBytesMax, listenersMax: host.limits.listenersMax,
            queriesOfPlaceMax: host.limits.queriesOfPlaceMax, keptPlacesMax: host.limits.keptPlacesMax,
            tellingStepCostMax: host.limits.tellingStepCostMax, tellingCostMax: host.limits.tellingCostMax)
        database.tally = host.metrics.requests
        database.largeReadEnded = { [report = host.report] in report(.largeReadEnded(index, $0)) }
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
        postStep()
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

    /// Makes the writes of connections that ended while they could not be made: with an earlier process, or while the
    /// disk refused.
    func payOrphans() {
        if database.hasOrphans, held.isEmpty, mayRun { _ = runTurn([]) }
    }

    /// Takes over who listens, from before the database had files.
    func takeListeners(of unwritten: UnwrittenDatabase) { database.takeListeners(of: unwritten.database) }

    // MARK: For administrators

    func setObserver(_ observer: (any RequestObserver)?) { database.observer = observer }

    func listens(of connection: ConnectionID) -> [Database.Listen] { database.listens(of: connection) }

    var figures: DatabaseFigures {
        DatabaseFigures(
            name: name, requests: requestCount, sequence: database.sequence, durableSequence: database.durableSequence,
            appliedSequence: appliedSequence, listeners: database.listenCount,
            residentBytes: database.rows.residentBytes, changedBytes: database.changedBytes, heldRequests: held.count,
            refusal: database.refusal, unique: (try? database.uniqueStatus()) ?? [])
    }

    // MARK: Time

    /// The time of a turn that runs now.
    func now() -> Int64 {
        let (time, jump) = clock.now(wall: WallClock.milliseconds, uptime: MonotonicTime.current.milliseconds)
        if let jump {
            host.log.warning("clock.jumped", [("database", name), ("milliseconds", "\(jump)")])
        }
        return time
    }

    func tick(_ ticks: Int) {
        _ = now()
        finishRecovery()
        if database.refusal != nil, !isProbing, phase == .running {
            isProbing = true
            host.committer.post(.probe(database: database.index, logFile))
        }
        ticksSinceFreeze += 1
        if ticksSinceFreeze >= host.limits.applyIntervalTicks, database.hasChanges { freeze() }
        applyNext()
        hasFailedToBuild = false
        postStep()
        if ticks.isMultiple(of: 50) || hasMoreToPrune { prune() }
        if resumes.isEmpty, held.isEmpty, !database.isScanning { database.keepsRecords = false }
    }

    private func prune() {
        // Recovery reads the log on this thread.
        guard phase == .running else { return }
        hasMoreToPrune = false
        let window = host.limits.logWindowMilliseconds
        host.committer.post(
            .prune(
                database: database.index, logFile,
                before: clock.historyTime(window: window) - window, now: WallClock.milliseconds,
                keepingBytes: host.limits.logBytesMax, appliedSequence: appliedSequence))
    }

    func pruned(isMore: Bool) { hasMoreToPrune = isMore }

    /// Brings everything to the tree file; true once there is nothing left to do, or nothing more that can be done.
    func settle() -> Bool {
        if !isSettling {
            isSettling = true
            runAdmitted(database.releaseAll())
        }
        releaseAll()
        if isApplying || isClearing || isSweeping { return false }
        if hasFailedToRecover { return true }
        if database.refusal != nil { return phase == .running && database.durableSequence == database.sequence }
        freeze()
        return phase == .running && !isApplying && database.durableSequence == database.sequence
            && !database.hasChanges && !database.isTelling && held.isEmpty && resumes.isEmpty
    }

    func close() {
        // What the write-ahead file holds is safe there as well; this only tidies up.
        try? tree.checkpoint()
        host.committer.post(.close(logFile))
    }
}
