import HearthJSONTree
import HearthSecurityRules
package import HearthStorageErrors

/// One database: applies requests in order, keeps the tree's rows and the listeners, and says what to tell whom, and
/// when.
///
/// A deterministic function of what it is given: requests with the time of their turn, and news from storage. It does
/// no I/O but reads from its ``RowStore``, so a simulator can run it against a store that fails. Owned by the database
/// thread.
///
/// The requests that are in the mailbox make one *turn*. A turn's changes are in memory at once and go to the log as
/// one record; what it has to say waits in ``pending`` until the log has the record (``committed(through:)``). When the
/// log could not take it, ``refuse(because:storeSequence:replaying:)`` takes the tree back to what is durable, and the
/// turn's requests are answered anew.
package final class Database {
    package let index: UInt32
    /// What positions there are.
    package internal(set) var epochs: Epochs
    /// Values up to this many bytes are assembled in memory; larger ones are streamed from a snapshot of the store.
    package static let assembledBytesMax = 1 << 20
    let assembledBytesMax: Int
    /// A precondition is only checked at nodes of at most this many bytes of text: all of it is read and hashed.
    package static let comparedBytesMax = 16 << 20
    let comparedBytesMax: Int
    /// A value of this many bytes comes into the tree as text, and its rows go to the store bit by bit; so does a
    /// smaller one of very many members (`CanonicalJSON.isLarge`).
    package static let largeBytesMin = 256 << 10
    /// An update of so many children is one text (``Operation/setChildren(_:_:)``), as one of so many bytes is.
    package static let largeCountMin = 2048
    package let largeBytesMin: Int
    /// Listeners that one connection may have. Each of them makes adding and removing others more expensive
    /// (``SessionListens``).
    let listenersMax: Int
    /// Children that a query without an index visits at once; with more, it is scanned in steps.
    let scannedAtOnceMax: Int
    package internal(set) var rows: TreeRows
    /// The number of the last operation applied in memory.
    package internal(set) var sequence: UInt64
    /// The number of the last operation that the log has.
    package var durableSequence: UInt64 { pending.durableSequence }
    /// Why writes are refused at the moment, if they are.
    package internal(set) var refusal: StorageError?
    /// Another node takes the writes of this database: how clients are told; nil where they are taken here.
    package var ownedElsewhere: StorageError?

    /// What waits because the log changes hands.
    package var heldWrites = HeldWrites.none
    /// The writes that the node makes that takes them; nil where they are not sent to it.
    package var forwarded: ForwardedWrites?
    /// The time of what they wait for, in milliseconds of uptime.
    package var forwardingTime: Int64 = 0

    var listeners: ListenerTrie
    var sessions: [ConnectionID: SessionListens] = [:]
    /// Decides what is allowed; nil when everything is.
    var judge: RulesJudge?
    /// What the rules say of the large write that comes next.
    var decision: SteppedDecision?
    var explainsDenials = false
    var denials: [DeniedRequest] = []
    var dependencies = ReadDependencies()
    /// What connections want written when they end, by their number, and for whom that changed since the last freeze.
    var owed: [UInt64: OwedWrites] = [:]
    var owedChanged: Set<UInt64> = []
    /// Connections that have ended, but not their writes.
    var orphans: [UInt64] = []
    /// Connections whose writes were made by operations that the log may not have yet.
    var paid: [(connection: UInt64, sequence: UInt64)] = []
    /// Connections whose writes are not to be made, until that is durable.
    var forfeited: Set<UInt64> = []
    /// What the rules want indexed, nil until they have said it, the indexes there are, and their entries.
    var definitions: [IndexDefinition]?
    var settings = DatabaseSettings()
    var counterBuild: CounterBuild?
    var expiryBuild: ExpiryBuild?
    var queueBuild: QueueBuild?
    /// Workers that wait for jobs, and which connections have which.
    var claims = WaitingClaims()
    var leases = JobLeases()
    /// By the pattern of their setting.
    var queueTallies: [IndexPattern: QueueTally] = [:]
    /// No child expires before, in milliseconds since 1970.
    var nextExpiry = Int64.max
    /// Whom changes are told to outside.
    var triggers: [Trigger] = []
    /// Changes of the outbox since the last freeze.
    var outbox = OutboxChanges()
    /// The last operation that has changed the outbox since the database was opened; 0 for none.
    package internal(set) var outboxSequence: UInt64 = 0
    /// Events in the outbox that nobody was told to send, by the number of their operation.
    var freshEvents: [(sequence: UInt64, rows: [OutboxRow])] = []
    /// Of collections that have a limit.
    var childCounts = ChildCounts()
    /// Of clients that the settings limit.
    var rates = RateTable()
    /// What is known of values that must be unique and are not: by the number of their index, once all children were
    /// looked at; and of the index that is being looked through.
    var uniqueFindings: [UInt32: UniqueFindings] = [:]
    var duplicates = UniqueFindings()
    var catalog = IndexCatalog()
    var catalogChanged = false
    var indexTrie = IndexTrie([])
    var indexBuild: IndexBuild?
    var entries: IndexEntries
    /// Queries whose children are being visited, and those for which that is done but not used yet.
    var scanning: [LiveQuery] = []
    var scanned: [LiveQuery] = []
    /// Requests that have yet to use what a scan has found for them.
    var scanUses: [ObjectIdentifier: ScanUse] = [:]
    /// Requests that wait for a scan, one of each connection at most.
    var scanWaiters: [ConnectionID: ScanWaiter] = [:]
    /// Dropped indexes whose entries can be removed from the store, and those for which that is so once it has a
    /// generation.
    var sweepable: Set<UInt32> = []
    var sweepableLater: (numbers: Set<UInt32>, generation: UInt64)?
    var pending: WaitingTurns
    /// What the last commit has yet to tell.
    var telling: Telling?
    /// What a step of that may cost, and what all of it may, in bytes (``SharedReads/cost``). Listeners that would cost
    /// more are ended.
    var tellingStepCostMax: Int
    let tellingCostMax: Int
    /// Listeners of queries that one connection may have at a place, and children that windows keep for it.
    let queriesOfPlaceMax: Int
    let keptPlacesMax: Int
    var recent: RecentRecords
    /// Compare-and-sets that meet at one place take turns. Somebody must then call ``passOverdueTurns(now:)``.
    package var takesTurns = false
    var transactions = TransactionTurns()
    /// Records are kept for listeners that resume, also when the log has them. To be cleared when no request waits.
    package var keepsRecords = false
    var frozen: [FrozenRows] = []
    /// Bytes of memory in what was frozen and not applied.
    var frozenBytes: [(generation: UInt64, bytes: Int)] = []
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
    /// The error of storage in the middle of a change: memory may hold half of it. Until
    /// ``refuse(because:storeSequence:replaying:)`` has built it anew, nothing is read or written.
    package internal(set) var tornBy: StorageError?

    /// `sequence` is the last number that the store's rows include. Without `epochs` there is one, of the name 0.
    package init(
        index: UInt32, epochs: Epochs? = nil, store: any RowStore, sequence: UInt64, residentBytesMax: Int = 32 << 20,
        assembledBytesMax: Int = Database.assembledBytesMax, comparedBytesMax: Int = Database.comparedBytesMax,
        listenersMax: Int = .max, queriesOfPlaceMax: Int = .max, keptPlacesMax: Int = .max,
        tellingStepCostMax: Int = .max, tellingCostMax: Int = .max, scannedAtOnceMax: Int = 1000,
        largeBytesMin: Int = Database.largeBytesMin,
        packing: TreeRows.Packing = TreeRows.Packing()
    ) {
        self.index = index
        self.epochs = epochs ?? Epochs(current: .init(name: 0, start: sequence))
        self.assembledBytesMax = assembledBytesMax
        self.comparedBytesMax = comparedBytesMax
        self.listenersMax = listenersMax
        self.queriesOfPlaceMax = queriesOfPlaceMax
        self.keptPlacesMax = keptPlacesMax
        self.tellingStepCostMax = tellingStepCostMax
        self.tellingCostMax = tellingCostMax
        self.scannedAtOnceMax = scannedAtOnceMax
        self.largeBytesMin = largeBytesMin
        rows = TreeRows(store: store, residentBytesMax: residentBytesMax, packing: packing)
        entries = IndexEntries(store: store)
        self.sequence = sequence
        pending = WaitingTurns(durableSequence: sequence)
        recent = RecentRecords(after: sequence)
        listeners = ListenerTrie(database: index)
    }

    /// Right after the last operation in memory.
    var position: Position { epochs.position(sequence) }

    /// Reads what the store knows of indexes, and what is owed to connections of an earlier process. To be called
    /// before anything else.
    package func load() throws(StorageError) {
        catalog = try rows.store.indexCatalog().map(IndexCatalog.init) ?? IndexCatalog()
        catalogChanged = false
        sweepable = Set(catalog.dropped)
        sweepableLater = nil
        owed = try rows.store.owedWrites()
        owedChanged = []
        indexTrie = IndexTrie(catalog.indexes)
        nextExpiry = catalog.expiries.isEmpty ? .max : 0
        expiryBuild = nil
        queueBuild = nil
        if let definitions { setIndexes(definitions, settings) }
    }

    // MARK: Turns

    /// Works off one mailbox of requests. The record, if any, must go to the log; what there is to say comes out of
    /// ``takeReady()`` once it is durable. `now` is in milliseconds since 1970.
    package func process(_ requests: [Request], now: Int64) -> LogRecord? {
        process(requests, now: now, readBytesMax: .max).record
    }

    /// Processes requests until the values that were read have more than `readBytesMax` bytes, or until a commit has
    /// more to tell than one step may cost (``isTelling``).
    ///
    /// - parameter mayGoOn: called after each request with how many are done. The turn ends when it returns false.
    /// - returns: the record for the log, if anything changed; how many requests were looked at, from the first one on;
    ///   and those of them that have to wait: for an earlier request of their connection, which is a large read or was
    ///   forwarded, or for the log to change hands.
    package func process(
        _ requests: [Request], now: Int64, readBytesMax: Int, mayGoOn: (_ done: Int) -> Bool = { _ in true }
    ) -> (record: LogRecord?, requestCount: Int, waiting: [Request]) {
        var turn = Turn(record: LogRecord(firstSequence: sequence + 1, time: now), outputs: [])
        turn.outputs.reserveCapacity(requests.count)
        precondition(telling == nil, "the last commit is not told yet")
        if !orphans.isEmpty { payOrphans(in: &turn) }
        if now >= nextExpiry { expireSome(in: &turn) }
        keepRest(of: &turn)
        var count = 0
        var waiting: [Int] = []
        var away: Set<Int> = []
        let span = requests.span
        while count < span.count, turn.readBytes <= readBytesMax, telling == nil, count == 0 || mayGoOn(count) {
            let start = turn.outputs.count
            if !largeReads.isEmpty || forwarded?.isEmpty == false || heldWrites != .none,
                mustWait(span[count], after: waiting, of: requests)
            {
                waiting.append(count)
            } else if forwarded != nil, forward(span[count], now: now) {
                away.insert(count)
            } else {
                if let observer {
                    run(span[count], in: &turn, seenBy: observer)
                } else {
                    run(span[count], in: &turn)
                }
                tally?.add(span[count], turn.outputs, from: start)
                endScanUse(by: span[count])
            }
            count += 1
            keepRest(of: &turn)
        }
        var done = count == requests.count ? requests : Array(requests[..<count])
        if !waiting.isEmpty || !away.isEmpty {
            done = done.indices.filter { !away.contains($0) && !waiting.contains($0) }.map { done[$0] }
        }
        pending.append(
            WaitingTurn(
                requests: done, now: now, sequence: sequence, outputs: turn.outputs, readBytes: turn.readBytes,
                recordBytes: turn.record.byteCount))
        // Reads fill memory as well.
        rows.trim(looks: 1000)
        let kept = waiting.map { requests[$0] }
        guard turn.record.count > 0 else { return (nil, count, kept) }
        recent.append(turn.record)
        return (turn.record, count, kept)
    }

    /// Connections whose requests are in turns that wait for the log, or are answered later: what they asked after
    /// those is answered after them.
    package var connectionsWithPendingTurns: Set<ConnectionID> {
        pending.all.reduce(into: transactions.waitingConnections) { connections, turn in
            for request in turn.requests { connections.insert(request.connection) }
        }
    }

    /// Bytes of the values that were read by turns which wait for the log.
    package var pendingReadBytes: Int { pending.readBytes }

    /// Bytes of the records that the log does not have yet.
    package var unwrittenBytes: Int { pending.unwrittenBytes }

    /// The log now has everything up to `sequence`.
    package func committed(through sequence: UInt64) {
        pending.committed(through: sequence)
        forgetPaid()
        if !keepsRecords { recent.removeAll(through: durableSequence) }
    }

    /// Something may be said now.
    package var hasReadyTurns: Bool { pending.hasReady }

    /// What may be said now, in order: what each turn has to say. The last turn is the one with which the values that
    /// were read and written reach `bytesMax` bytes.
    package func takeReadyTurns(bytesMax: Int = .max) -> [[Output]] { pending.takeReady(bytesMax: bytesMax) }

    /// The same as one list.
    package func takeReady() -> [Output] { takeReadyTurns().flatMap(\.self) }

    struct Turn {
        var record: LogRecord
        var outputs: [Output]
        /// Of the request that is worked on.
        var principal = Principal.nobody
        /// That of the request (``Request/client``).
        var client: UInt64 = 0
        /// What the rules say of it, if that was found before the turn.
        var explanation: Explanation?
        /// Bytes of the values that were read, to be sent or to be compared; those that requests share count once.
        var readBytes = 0
        var reads = TurnReads()
        /// What it cost to tell listeners of queries (``SharedReads/cost``).
        var tellingCost = 0
    }

    /// What a request has to say after what its commit has yet to tell, waits for that.
    func keepRest(of turn: inout Turn) {
        guard let count = telling?.outputCount else { return }
        telling?.rest = Array(turn.outputs[count...])
        turn.outputs.removeSubrange(count...)
    }

    private func run(_ request: Request, in turn: inout Turn, seenBy observer: any RequestObserver) {
        let start = turn.outputs.count
        observer.begin()
        run(request, in: &turn)
        let isUnindexed =
            switch request.operation {
            case .get(let path, let query?, _), .listenQuery(let path, let query, _, _, _, _):
                !hasIndex(for: query, at: path)
            default: false
            }
        observer.end(request, turn.outputs[start...], isUnindexed: isUnindexed)
    }

    func run(_ request: Request, in turn: inout Turn) {
        let connection = request.connection
        if turn.record.time >= nextExpiry, request.operation.reads { expire(before: request.operation, in: &turn) }
        if turn.principal !== request.principal { turn.principal = request.principal }
        turn.client = request.client
        turn.explanation = decision == nil ? nil : explanation(of: request)
        answerWaiting(connection, in: &turn)
        switch request.operation {
        case .set(let target, let value, let expected, let echoes):
            let reply: Reply
            do throws(Failure) {
                guard let stored = try set(target, value, expecting: expected, for: request, in: &turn) else { return }
                reply = echoes ? .value(echo(of: value, stored, at: target.path, in: turn)) : .done
            } catch {
                reply = .failed(hiding(error, at: target.path, from: connection, in: turn))
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .update(let base, let entries):
            let reply = Self.reply { () throws(Failure) in try update(base, entries, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .setChildren(let base, let children):
            let reply = Self.reply { () throws(Failure) in try setChildren(of: base, children, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .get(let path, query: nil, needsIndex: _): get(path, for: request, in: &turn)
        case .get(let path, let query?, let needsIndex):
            get(path, query, needsIndex: needsIndex, for: request, in: &turn)
        case .describe(let path, let page):
            let reply: Reply
            do throws(Failure) { reply = .value(try describe(path, page, in: turn)) } catch { reply = .failed(error) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .listen(let path, let known, let since, let missed):
            listen(path, known: known, since: since, missed, for: request, in: &turn)
        case .unlisten(let path):
            endListener(path, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .done))
        case .listenQuery(let path, let query, let form, let known, let text, let saysPosition):
            listen(
                path, query, form, known: known, text: text, saysPosition: saysPosition, for: request, in: &turn)
        case .unlistenQuery(let name):
            endQueryListener(name, of: connection, in: &turn)
            turn.outputs.append(.reply(connection, number: request.number, .done))
        case .dropListener(let path): endListener(path, of: connection, request: request.number, in: &turn)
        case .become(let reply):
            if let reply { turn.outputs.append(.reply(connection, number: request.number, reply)) }
            if let before = sessions[connection]?.principal, before != request.principal {
                sessions[connection]?.principal = request.principal
                judgeListeners(of: connection, in: &turn)
            }
        case .relay(let reply): turn.outputs.append(.reply(connection, number: request.number, reply))
        case .onDisconnect(let entries):
            let reply = Self.reply { () throws(Failure) in try owe(entries, for: connection, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .cancelOnDisconnect(let path):
            let reply = Self.reply { () throws(Failure) in try cancelOwed(path, of: connection, in: &turn) }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .job(let place, let operation):
            let reply: Reply
            do throws(Failure) {
                guard let answer = try work(at: place, operation, for: request, in: &turn) else { return }
                reply = answer.isNull ? .done : .value(answer)
            } catch {
                reply = .failed(error)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .explain(let operation, let principal):
            let reply: Reply
            do throws(Failure) {
                reply = .explained(try explain(operation, by: principal, now: turn.record.time))
            } catch {
                reply = .failed(error)
            }
            turn.outputs.append(.reply(connection, number: request.number, reply))
        case .forfeit: forfeit(connection, in: &turn)
        case .disconnect:
            disconnect(connection, in: &turn)
            passTurns(of: connection, in: &turn)
        }
    }

    private static func reply(to body: () throws(Failure) -> Void) -> Reply {
        do throws(Failure) {
            try body()
            return .done
        } catch {
            return .failed(error)
        }
    }
}
