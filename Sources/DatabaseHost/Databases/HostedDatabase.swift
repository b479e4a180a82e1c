import HearthClusterNode
import HearthDatabaseScheduler
import HearthDelivery
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSecurityRules
import HearthServerLog
import HearthSystem
import HearthTreeStorage
import HearthTriggers
import HearthSecurityRules
import HearthStorageErrors

/// One open database with its files, on the database thread: hands events to its scheduler, and the scheduler's actions
/// to the other threads.
final class HostedDatabase {
    let name: String
    private let index: UInt32
    private let logFile: LogFile
    private var log: MeasuredLog
    /// Of the cluster's log; nil for a log of this process's own.
    private var logKeeper: LogKeeper?
    /// How often it was said that this node owns the log.
    private var ownedCount = 0
    private let logReader: LogReader
    private let tree: TreeFile
    private let host: DatabaseHost
    /// Writes the log: a thread of its own where that waits for other machines.
    private let committer: Committer
    private var scheduler: DatabaseScheduler
    private var actions: [Action] = []
    /// Large reads that connections wait for, until the applier has made their snapshot.
    private var streams: [UInt64: SnapshotStream] = [:]
    /// Whose events are sent; nil while none are.
    private var triggers: [TriggerDefinition]?
    /// Memory is as the files say.
    private var hasBegun = false
    /// Nil without watchers of commits.
    var tail: CommitTail?

    /// The settings in force have a history kept.
    private var keepsHistory = false

    private var database: Database { scheduler.database }

    /// Builds memory from the files. ``begin()`` comes next.
    ///
    /// - parameter isVisited: this node does not hold it, and clients use it here.
    init(
        index: UInt32, name: String, logFile: LogFile, tree: TreeFile, host: DatabaseHost, isVisited: Bool = false
    ) throws(StorageError) {
        self.index = index
        self.name = name
        self.logFile = logFile
        logReader = logFile.makeReader()
        self.tree = tree
        self.host = host
        log = MeasuredLog(SQLiteLog(logFile), host.metrics)
        // Appends of one database wait for etcd, those of others do not wait for them.
        committer = host.cluster == nil ? host.committer : try Self.ownCommitter(host)
        let limits = host.limits
        let database = Database(
            index: index, epochs: logFile.epochs, store: try tree.makeReader(), sequence: tree.sequence,
            committedAt: try logFile.time(of: tree.sequence), residentBytesMax: limits.residentBytesMax,
            listenersMax: limits.listenersMax,
            queriesOfPlaceMax: limits.queriesOfPlaceMax, keptPlacesMax: limits.keptPlacesMax,
            keptMemory: limits.keptMemory,
            tellingStepCostMax: limits.tellingStepCostMax, tellingCostMax: limits.tellingCostMax,
            rowsAtOnceMax: limits.rowsAtOnceMax)
        // Messages between nodes are not clients' requests.
        if name != DataFolder.clusterDatabase { database.tally = host.metrics.requests }
        database.largeReadEnded = { [report = host.report] in report(.event(index, .largeReadEnded($0))) }
        try database.load()
        scheduler = DatabaseScheduler(
            database: database, limits: limits, lastTime: try logFile.lastTime(), isClearing: tree.isClearing,
            isShared: host.cluster != nil, forwardsWrites: host.cluster?.forwardsWrites ?? false, at: host.conditions,
            nanoseconds: { MonotonicTime.current.nanoseconds })
        scheduler.isRevoked = host.isRevoked
        takeRules()
        try log.forEachRecord(after: tree.sequence) { (record) throws(StorageError) in
            try database.replay(record.operations())
        }
        if let cluster = host.cluster { try join(cluster, isVisited: isVisited) }
        host.log.info(
            "database.open",
            [
                ("database", name), ("sequence", "\(database.sequence)"),
                ("replayed", "\(database.sequence - tree.sequence)"),
            ])
    }

    /// The log is that of the cluster from now on. Only now, as a node that cannot read its files must not own it.
    private func join(_ cluster: ClusterNode, isVisited: Bool) throws(StorageError) {
        let sequence = max(tree.sequence, logFile.lastSequence)
        let log = try cluster.openLog(of: name, logFile, sequence: sequence, isVisited: isVisited) {
            [index, report = host.report] arrivals in
            report(.event(index, .arrived(arrivals)))
        } needsCopy: { [index, report = host.report] need in
            report(.needsCopy(index, need))
        }
        logKeeper = log.keeper
        self.log = MeasuredLog(log, host.metrics)
    }

    private static func ownCommitter(_ host: DatabaseHost) throws(StorageError) -> Committer {
        do throws(SystemError) {
            return try Committer(pauses: true) { [report = host.report] in report(.event($0, $1)) }
        } catch {
            throw .inputOutput("\(error)")
        }
    }

    /// On-disconnect writes owed to connections of an earlier process are made now, except for users who have lost
    /// their accounts or tokens: that process may have ended before it could drop their writes.
    func begin() {
        if host.cluster == nil { database.forfeitOwed(where: host.isRevoked) }
        handle(.opened)
        hasBegun = true
        setTriggers()
    }

    /// Decides by the rules that are in force now.
    func takeRules() {
        let program = host.rules.program(for: name)
        let kept = keepsHistory
        keepsHistory = !(program?.settings.histories.isEmpty ?? true)
        if keepsHistory { host.keeper.positions.begin(name) }
        if keepsHistory || kept || host.keeper.positions.position(of: name) != nil { host.keeper.advance(name) }
        handle(.rules(program, explainsDenials: host.explainsDenials))
        setTriggers()
    }

    /// Has the history read new records, if one is kept.
    func advanceHistory() { if keepsHistory { host.keeper.advance(name) } }

    /// Throws unless somebody may read the history of a place.
    func admitToHistory(of path: Path, by principal: Principal, from client: UInt64) throws(Failure) {
        try database.admitToHistory(of: path, by: principal, from: client, now: host.conditions.wall)
    }

    /// Counts bytes of the past that somebody is told. Throws if they are too many now.
    func countBytesRead(_ bytes: Int, at path: Path, by principal: Principal, from client: UInt64) throws(Failure) {
        try database.countBytesRead(bytes, at: path, by: principal, from: client, now: host.conditions.wall)
    }

    /// Takes over who listens, from before the database had files.
    func takeSessions(of unwritten: UnwrittenDatabase) { database.takeSessions(of: unwritten.database) }

    // MARK: Events

    func handle(_ event: Event) {
        var time = MonotonicTime.current
        if case .arrived(let arrivals) = event { ownedCount += arrivals.count(where: \.makesOwner) }
        // The files are of the cluster's log from now on, and are told so.
        if case .arrived(let arrivals) = event, arrivals.contains(where: \.beginsFiles) {
            committer.post(.storeArrived(database: index, log, through: 0))
        }
        var conditions = host.conditions
        if let logKeeper { conditions.isOwnershipCertain = logKeeper.isOwned(toldTimes: ownedCount) }
        scheduler.handle(event, at: conditions, into: &actions)
        let isStep = if case .step = event { true } else { false }
        time = host.partTimes.ended(isStep ? scheduler.longestPart : event.name, since: time)
        var next: [Event] = []
        for action in actions {
            carryOut(action, &next)
            time = host.partTimes.ended(action.name, since: time)
        }
        actions.removeAll(keepingCapacity: true)
        if let tail { tell(tail, of: event) }
        if case .committed = event, name == DataFolder.clusterDatabase { host.clusterCommitted() }
        for event in next { handle(event) }
    }

    /// Answers gets without a turn, as far as that is possible.
    func answerAtOnce(_ reads: [PlainRead]) -> PlainAnswers {
        var answers = PlainAnswers()
        let span = reads.span
        answers.left = scheduler.answerAtOnce(reads, at: host.conditions) { index, value in
            answers.append(value, to: span[index].number, of: span[index].connection)
        }
        return answers
    }

    private func tell(_ tail: CommitTail, of event: Event) {
        switch event {
        case .committed(let sequence): tail.committed(through: sequence, host)
        case .commitsDropped: tail.dropWaiting()
        default: break
        }
    }

    /// The applier gives large reads back whose state is not written yet.
    func takeBack(_ streams: [SnapshotStream]) {
        for stream in streams { self.streams[stream.read.id] = stream }
    }

    /// Finds out whether the files are those that were opened.
    ///
    /// - parameter problem: a problem of the data folder as a whole.
    func verifyFiles(_ problem: StorageError?) {
        do throws(StorageError) {
            if let problem { throw problem }
            try logFile.verify()
            try tree.verify()
            handle(.filesVerified(nil))
        } catch {
            handle(.filesVerified(error))
        }
    }

    /// Brings everything to the tree file; true once there is nothing left to do, or nothing more that can be done.
    func settle() -> Bool {
        handle(.settle)
        return scheduler.isSettled
    }

    func close() {
        host.triggers.end(index)
        // Data are safe in the write-ahead file as well; this only tidies up.
        _ = try? tree.emptyWriteAheadFile()
        committer.post(.close(log))
        if host.cluster != nil { committer.stop() }
    }

    /// Gives up everything that is under way, so that its files can be closed and replaced once this object is gone.
    /// Nodes that make writes for its connections hear that these have ended, and those whose connections wait for
    /// answers here hear that these will not come. Only in a cluster.
    func abandon() -> AbandonedDatabase {
        host.triggers.end(index)
        let (notDone, unknown) = scheduler.giveUpForwarded()
        host.cluster?.turnAway(notDone, because: .ownedElsewhere(node: nil))
        host.cluster?.endForwarded(unknown)
        for (node, requests) in scheduler.endForwarding() { host.cluster?.forward(requests, of: name, to: node) }
        return AbandonedDatabase(index: index, name: name, files: takeFiles()) { [committer, log] in
            committer.post(.close(log))
            committer.stop()
        }
    }

    /// Whether it was not used for a while, and closing it loses nothing.
    var mayClose: Bool { triggers?.isEmpty ?? true && scheduler.mayClose(at: MonotonicTime.current.milliseconds) }

    /// Memory has had all that the cluster's log had at some time since this was opened.
    var hasCaughtUp: Bool { scheduler.hasCaughtUp }

    /// A client of this node uses it, or is expected to.
    func noteUse() { scheduler.noteOwnUse(at: MonotonicTime.current.milliseconds) }

    /// Whether this node can cease to follow it without a client of its own noticing.
    func isUnused(milliseconds: Int64) -> Bool {
        scheduler.isUnused(at: MonotonicTime.current.milliseconds, milliseconds: milliseconds)
    }

    /// Its files, for the thread that closes them once this object is gone.
    func takeFiles() -> FilesToClose {
        host.triggers.end(index)
        return FilesToClose(logFile, tree)
    }

    // MARK: Actions

    /// - parameter next: events that come before all others.
    private func carryOut(_ action: Action, _ next: inout [Event]) {
        switch action {
        case .append(let record):
            tail?.add(record)
            committer.post(.append(database: index, log, record))
        case .storeArrived(let records):
            guard let last = records.last else { return }
            for record in records { tail?.add(record) }
            committer.post(.storeArrived(database: index, log, through: last.lastSequence))
        case .storePart(let text, let serial): committer.post(.store(database: index, log, text, serial: serial))
        case .dropParts: committer.post(.dropParts(log))
        case .resumeLog: committer.post(.resume(database: index))
        case .probe: committer.post(.probe(database: index, log))
        case .prune(var pruning):
            if let position = host.keeper.positions.position(of: name) {
                pruning.appliedSequence = min(pruning.appliedSequence, position)
            }
            committer.post(.prune(database: index, log, pruning))
        case .readLog(let sequence): committer.post(.read(database: index, log, after: sequence))
        case .readHistory(let questions):
            host.history.post(.init(database: index, log: logReader, questions: questions))
        case .write(let frozen):
            let streams = frozen.reads.compactMap { self.streams.removeValue(forKey: $0.id) }
            host.applier.post(.apply(database: index, tree, logKeeper, frozen, streams))
        case .clear(let rows): host.applier.post(.clear(database: index, tree, rows: rows))
        case .sweep(let indexes, let start):
            host.applier.post(.sweep(database: index, tree, indexes: indexes, from: start))
        case .prepare(let request, let preparation, let serial):
            host.preparer.post(.init(database: index, request: request, preparation: preparation, serial: serial))
        case .deliver(let turns): deliver(turns)
        case .turnAway(let requests): host.refuse(requests, because: .stopping)
        case .failLargeReads(let error):
            for stream in streams.values.sorted(by: { $0.read.id < $1.read.id }) { host.readers.fail(stream, error) }
            streams = [:]
        case .endConnections(let connections):
            for connection in connections where !connection.isForwarded { host.endConnection(connection) }
            host.cluster?.endForwarded(connections.filter(\.isForwarded))
        case .abandon(let connections): for connection in connections { host.abandon(connection) }
        case .forward(let node, let requests): host.cluster?.forward(requests, of: name, to: node)
        case .drained: host.cluster?.drained(name)
        case .noteFitness(let isFit): host.cluster?.note(isFit: isFit, of: name)
        case .send(let events): if triggers != nil { host.triggers.send(events, of: index) }
        case .step: host.report(.event(index, .step))
        case .freeze(let behindOthers): next.append(.freeze(behindOthers: behindOthers))
        case .wake(let milliseconds): host.wake(milliseconds, index)
        case .report(let news):
            host.report(news, of: name)
            if case .ownership = news { setTriggers() }
            if case .indexesBuilt = news { host.log.warn(of: (try? database.uniqueStatus()) ?? [], in: name) }
        }
    }

    private func deliver(_ turns: [[Output]]) {
        var builder = makeBuilder()
        var forwarded: [(connection: ConnectionID, number: Int64, reply: Reply)] = []
        for turn in turns {
            // A span lends its elements. A copy of each would count references to values that are anywhere in memory.
            let outputs = turn.span
            for index in outputs.indices {
                if outputs[index].isForwardedReply,
                    case .reply(let connection, let number, let reply) = outputs[index]
                {
                    forwarded.append((connection, number, reply))
                    continue
                }
                builder.add(outputs[index])
                if builder.byteCount > host.limits.turnReadBytesMax {
                    builder.finish(host.deliver)
                    builder = makeBuilder()
                }
            }
        }
        builder.finish(host.deliver)
        if !forwarded.isEmpty { host.cluster?.answer(forwarded, of: name, sequence: database.durableSequence) }
    }

    private func makeBuilder() -> DeliveryBuilder {
        host.makeBuilder { read in
            let stream = self.host.readers.makeStream(read)
            self.streams[read.id] = stream
            (self.database.observer as? Profiler)?.follow(stream)
            return stream
        }
    }

    // MARK: Triggers

    /// Has events sent by the settings that are in force now, if this process takes the writes of the database.
    private func setTriggers() {
        guard hasBegun else { return }
        let definitions = host.rules.program(for: name)?.settings.triggers ?? []
        guard scheduler.ownership == .alone || scheduler.ownership == .owner else {
            if triggers != nil { host.triggers.end(index) }
            triggers = nil
            return
        }
        if triggers != nil {
            host.triggers.set(definitions, of: index, goal: database.outboxSequence)
            triggers = definitions
        } else if !definitions.isEmpty {
            beginTriggers(definitions)
        }
    }

    /// Begins to send events, or to answer questions about those that are left of triggers that are gone.
    func beginTriggers(_ definitions: [TriggerDefinition] = []) {
        guard triggers == nil, scheduler.ownership == .alone || scheduler.ownership == .owner else { return }
        do throws(StorageError) {
            host.triggers.begin(
                index, name, definitions, try tree.makeReader(), goal: database.outboxSequence)
            triggers = definitions
        } catch {
            host.log.error("triggers.unreadable", [("database", name), ("error", error.message)])
        }
    }

    // MARK: For administrators

    func setObserver(_ observer: (any RequestObserver)?) { database.observer = observer }

    func listens(of connection: ConnectionID) -> [Database.Listen] { database.listens(of: connection) }

    /// Costs no access to rows.
    var figures: DatabaseFigures {
        DatabaseFigures(
            name: name, requests: scheduler.requestCount, sequence: database.sequence,
            durableSequence: database.durableSequence, appliedSequence: scheduler.appliedSequence,
            listeners: database.listenCount, residentBytes: database.rows.residentBytes,
            changedBytes: database.changedBytes, heldRequests: scheduler.waitingCount, refusal: database.refusal,
            ownership: scheduler.ownership, queues: database.queueStatus)
    }

    /// With the states of its unique values and totals, for which it may read rows.
    var detailedFigures: DatabaseFigures {
        var figures = figures
        figures.unique = (try? database.uniqueStatus()) ?? []
        figures.counters = database.counterStatus()
        return figures
    }
}

extension Arrival {
    fileprivate var beginsFiles: Bool { if case .began = self { true } else { false } }

    fileprivate var makesOwner: Bool { if case .ownership(.owner) = self { true } else { false } }
}
