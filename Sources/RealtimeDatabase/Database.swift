import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

/// One database: applies requests in order, keeps the tree's rows and the listeners, and says what to tell whom, and
/// when.
///
/// A deterministic function of its inputs: requests with the time of their turn, and results of storage. Its only I/O
/// is reading from its ``RowStore``, so a simulator can run it against a store that fails. Used by one thread at a
/// time.
///
/// The requests that are in the mailbox make one *turn*. A turn's changes are in memory at once and go to the log as
/// one record; its output waits in ``log`` until the log has the record (``committed(through:)``). When the log could
/// not take it, ``refuse(because:storeSequence:replaying:)`` takes the tree back to the durable state, and the turn's
/// requests are answered again.
package final class Database {
    package let index: UInt32
    /// Values up to this many bytes are assembled in memory; larger ones are streamed from a snapshot of the store.
    package static let assembledBytesMax = 1 << 20
    let assembledBytesMax: Int
    /// A precondition is only checked at nodes of at most this many bytes of text: all of it is read and hashed.
    package static let comparedBytesMax = 16 << 20
    let comparedBytesMax: Int
    /// See ``Operation/largeBytesMin``.
    package let largeBytesMin: Int
    /// Listeners that one connection may have. Each of them makes adding and removing others more expensive
    /// (``SessionListens``).
    let listenersMax: Int
    /// Children that a query without an index visits at once; with more, it is scanned in steps.
    let scannedAtOnceMax: Int
    /// The rows in memory, and those on their way to the store.
    var tree: DatabaseTree
    /// The numbers of operations, and the turns whose outputs wait for the log.
    var log: TurnLog
    /// Why writes are refused at the moment, if they are.
    package internal(set) var refusal: StorageError?
    /// Another node takes the writes of this database: how clients are told; nil where they are taken here.
    package var ownedElsewhere: StorageError? {
        didSet {
            // By now the time may have gone on with commits of another node.
            if ownedElsewhere == nil, oldValue != nil { leaseOffset = nil }
        }
    }
    /// Requests that wait because the log changes hands. While some do, the server writes nothing of its own accord.
    package var heldWrites = HeldWrites.none
    /// Links whose nodes take their answers too slowly: the requests that come over them wait.
    package var fullLinks = LinkSet()
    /// The server stops: those requests do not wait any more, and the next owner does them.
    package var turnsFullLinksAway = false
    /// The writes that the node makes that takes them; nil where they are not sent to it.
    package var forwarded: ForwardedWrites?
    /// Writes of other nodes' clients that came while another node took the writes.
    var turnedAway = TurnedAwayRequests()
    /// The time for which they wait, in milliseconds of uptime.
    package var forwardingTime: Int64 = 0
    /// Listeners that are ahead of this node.
    var awaited = AwaitedCommits()
    /// Whether such listeners wait.
    package var awaitsCommits = true
    /// The time since 1970 less that of a monotonic clock, in milliseconds (``observeTime(_:uptime:)``).
    var clockOffset: Int64?
    /// The same when leases were last moved with the clock; nil if it is to be found out.
    var leaseOffset: Int64?
    var leaseMoveFailure: StorageError?

    /// The listens of each connection.
    var listeners: ListenerRegistry
    /// The rules; nil if everything is allowed.
    var judge: RulesJudge?
    /// No decisions are needed: everything is allowed, and no results of rules are wanted.
    var isOpen: Bool { judge.map { $0.program.allowsEverything && $0.coverage == nil } ?? true }
    /// The next large write.
    var pendingWrite = PendingWrite()
    /// Rows that a write which is not an administrator's may set one by one (``ExaminedWrite/rowCount``).
    let rowsAtOnceMax: Int
    var explainsDenials = false
    var denials: [DeniedRequest] = []
    /// The writes that connections have registered for their end.
    package internal(set) var onDisconnect: OnDisconnectWrites
    /// The indexes, and other data that is kept with the tree.
    let indexes: IndexKeeper
    /// The workers of queues.
    let workers = JobWorkers()
    /// The events of triggers that are to be sent.
    var outbox = TriggerOutbox()
    /// Of clients that the settings limit.
    var rates = RateTable()
    /// Children that one commit removes because they have expired. Requests wait for one such commit at most, which
    /// takes less than a millisecond.
    var expiredMax = 32
    /// Queries that somebody listens to leave out children that had expired by then; nil if none do.
    var hiddenBy: Int64?
    /// Queries that begin within so many milliseconds leave out the same.
    var hidingInterval: Int64 = 1000
    /// The remaining pushes of the last commit.
    var telling: Telling?
    /// The cost limits of one step and of all steps of that, in bytes (``SharedReads/cost``). Listeners that would cost
    /// more are ended.
    var tellingStepCostMax: Int
    let tellingCostMax: Int
    /// Listeners of queries that one connection may have at a place, and children that windows keep for it.
    let queriesOfPlaceMax: Int
    let keptPlacesMax: Int
    /// Compare-and-sets that meet at one place take turns. Somebody must then call ``passOverdueTurns(now:)``.
    package var takesTurns = false
    var transactions = TransactionTurns()
    /// Records are kept for listeners that resume, also when the log has them. To be cleared when no request waits.
    package var keepsRecords: Bool {
        get { log.keepsRecords }
        set { log.keepsRecords = newValue }
    }
    /// Large reads so far.
    var snapshotReads: UInt64 = 0
    /// How many large reads of each connection are under way.
    var largeReads: [ConnectionID: Int] = [:]
    /// Large reads of one connection that are under way at a time, if ``largeReadEnded`` is there.
    package var largeReadsMax = 2
    /// Called, on any thread, when a large read of a connection has ended: has ``endLargeRead(of:)`` called.
    package var largeReadEnded: (@Sendable (ConnectionID) -> Void)?
    /// Told of every request, if somebody wants to know.
    package var observer: (any RequestObserver)?
    /// Counts every request.
    package var tally: RequestTally?
    /// Empty; keeps the room of records that were followed before.
    var followed: [RecordedOperation] = []

    /// `sequence` is the last number that the store's rows include, and `time` that of its commit in milliseconds since
    /// 1970, if the log knows it. Without `epochs` there is one, of the name 0.
    package init(
        index: UInt32, epochs: Epochs? = nil, store: any RowStore, sequence: UInt64, committedAt time: Int64? = nil,
        residentBytesMax: Int = 32 << 20,
        assembledBytesMax: Int = Database.assembledBytesMax, comparedBytesMax: Int = Database.comparedBytesMax,
        listenersMax: Int = .max, queriesOfPlaceMax: Int = .max, keptPlacesMax: Int = .max,
        keptMemory: KeptMemory = KeptMemory(),
        tellingStepCostMax: Int = .max, tellingCostMax: Int = .max, scannedAtOnceMax: Int = 1000,
        largeBytesMin: Int = Operation.largeBytesMin, rowsAtOnceMax: Int = .max,
        packing: RowPacking = RowPacking()
    ) {
        self.index = index
        log = TurnLog(
            epochs: epochs ?? Epochs(current: .init(name: 0, start: sequence)), sequence: sequence, committedAt: time)
        self.assembledBytesMax = assembledBytesMax
        self.comparedBytesMax = comparedBytesMax
        self.listenersMax = listenersMax
        self.queriesOfPlaceMax = queriesOfPlaceMax
        self.keptPlacesMax = keptPlacesMax
        self.tellingStepCostMax = tellingStepCostMax
        self.tellingCostMax = tellingCostMax
        self.scannedAtOnceMax = scannedAtOnceMax
        self.largeBytesMin = largeBytesMin
        self.rowsAtOnceMax = rowsAtOnceMax
        tree = DatabaseTree(TreeRows(store: store, residentBytesMax: residentBytesMax, packing: packing))
        indexes = IndexKeeper(store: store, workers.news)
        listeners = ListenerRegistry(database: index, keptMemory)
        onDisconnect = OnDisconnectWrites(keptMemory)
    }

    /// The tree.
    package var rows: TreeRows { tree.rows }
    /// The error of storage in the middle of a change: memory may hold half of it. Until
    /// ``refuse(because:storeSequence:replaying:)`` has built it again, nothing is read or written.
    package var tornBy: StorageError? { tree.tornBy }
    /// The epochs in which numbers were given out.
    package var epochs: Epochs { log.epochs }
    /// The number of the last operation applied in memory.
    package var sequence: UInt64 { log.sequence }
    /// The number of the last operation that the log has.
    package var durableSequence: UInt64 { log.durableSequence }

    /// Reads the store's indexes, and the on-disconnect writes owed to connections of an earlier process. Must be
    /// called first.
    package func load() throws(StorageError) {
        try indexes.load(rows.store.base)
        onDisconnect.load(try rows.store.owedWrites())
    }

    // MARK: Turns

    /// Processes one mailbox of requests. The record, if any, must go to the log; the output comes from ``takeReady()``
    /// once it is durable. `now` is in milliseconds since 1970.
    package func process(_ requests: [Request], now: Int64) -> LogRecord? {
        process(requests, now: now, readBytesMax: .max).record
    }

    /// Processes requests until the values that were read have more than `readBytesMax` bytes, or until a commit has
    /// more to tell than one step may cost (``isTelling``).
    ///
    /// - parameter mayGoOn: called after each request with how many are done. The turn ends when it returns false.
    /// - returns: the record for the log, if anything changed; how many requests were looked at, from the first one on
    ///   (none if that is a large write whose preparation is out of date); and those of them that have to wait
    ///   (``mustWait(_:after:of:)`` says for what).
    package func process(
        _ requests: [Request], now: Int64, readBytesMax: Int, mayGoOn: (_ done: Int) -> Bool = { _ in true }
    ) -> (record: LogRecord?, requestCount: Int, waiting: [Request]) {
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [])
        turn.outputs.reserveCapacity(requests.count)
        precondition(telling == nil, "the last commit is not told yet")
        if heldWrites == .none {
            if hasOrphans { payOrphans(in: &turn) }
            if isMovingLeases { moveSomeLeases(in: &turn) }
            if hasExpired(at: now) { expireSome(in: &turn) }
        }
        if hiddenBy != nil { showAll(in: &turn) }
        keepRest(of: &turn)
        var count = 0
        var waiting: [Int] = []
        var away: Set<Int> = []
        let span = requests.span
        let (observer, tally) = (observer, tally)
        while count < span.count, turn.readBytes <= readBytesMax, telling == nil, count == 0 || mayGoOn(count) {
            let start = turn.outputs.count
            if count.isMultiple(of: TreeRows.touchedMax) { touchRows(of: requests, from: count) }
            if !largeReads.isEmpty || ownedElsewhere != nil || holdsSome || pendingWrite.isThere
                || forwarded?.isEmpty == false,
                mustWait(span[count], after: waiting, of: requests)
            {
                waiting.append(count)
            } else if forwarded != nil, forward(span[count], now: now) {
                away.insert(count)
            } else if mustBeginAnew(span[count], in: &turn) {
                keepRest(of: &turn)
                break
            } else {
                if let observer {
                    run(span[count], in: &turn, seenBy: observer)
                } else {
                    run(span[count], in: &turn)
                }
                tally?.add(span[count].kind, turn.outputs, from: start)
                endScanUse(by: span[count])
            }
            count += 1
            keepRest(of: &turn)
        }
        var done = count == requests.count ? requests : Array(requests[..<count])
        if !waiting.isEmpty || !away.isEmpty {
            done = done.indices.filter { !away.contains($0) && !waiting.contains($0) }.map { done[$0] }
        }
        let record = turn.record.count > 0 ? turn.record : nil
        log.append(
            WaitingTurn(
                requests: done, now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: turn.record.byteCount), record)
        // Reads fill memory as well.
        rows.trim(looks: 1000)
        return (record, count, waiting.map { requests[$0] })
    }

    /// Touches what the next requests read or set.
    private func touchRows(of requests: [Request], from start: Int) {
        rows.touch(start..<min(start + TreeRows.touchedMax, requests.count)) { index in
            // Taken out alone: a call would copy the whole operation. Safe because: the request keeps the path.
            switch requests.span[index].operation {
            case .get(let path, query: nil, needsIndex: _): path.encoded.withUnsafeBytes { $0 }
            case .set(let target, _, _, _): target.path.encoded.withUnsafeBytes { $0 }
            default: nil
            }
        }
    }

    /// Connections whose requests are in turns that wait for the log, or are answered later. Their later requests are
    /// answered after those.
    package var connectionsWithPendingTurns: Set<ConnectionID> {
        var connections = transactions.waitingConnections
        for turn in log.waitingTurns {
            for request in turn.requests { connections.insert(request.connection) }
            // Also to requests of earlier turns.
            for case .reply(let connection, _, _) in turn.outputs { connections.insert(connection) }
        }
        for case .reply(let connection, _, _) in telling?.rest ?? [] { connections.insert(connection) }
        return connections
    }

    /// Bytes of the values that were read by turns which wait for the log.
    package var pendingReadBytes: Int { log.readBytes }

    /// Bytes of the records that the log does not have yet.
    package var unwrittenBytes: Int { log.unwrittenBytes }

    /// The log now has everything up to `sequence`.
    package func committed(through sequence: UInt64) {
        log.committed(through: sequence)
        onDisconnect.committed(through: durableSequence)
    }

    /// Something may be said now.
    package var hasReadyTurns: Bool { log.hasReady }

    /// The outputs that may be sent now, turn by turn. The last turn is the one with which the values that were read
    /// and written reach `bytesMax` bytes.
    package func takeReadyTurns(bytesMax: Int = .max) -> [[Output]] { log.takeReady(bytesMax: bytesMax) }

    /// The same as one list.
    package func takeReady() -> [Output] { takeReadyTurns().flatMap(\.self) }
}
