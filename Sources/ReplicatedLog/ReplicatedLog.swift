package import HearthEtcdMessages
package import HearthRealtimeDatabase

/// The replicated log of one database, at one node: who owns the log, what is appended, and what follows.
///
/// A pure value: events and times come in, actions go out. It knows no thread, no socket and no clock. It waits for
/// the answer to one call at a time, which comes back as ``Event/replied(_:_:)``; calls that it has given up may still
/// be under way, and their answers are ignored.
///
/// * A node that follows reads the log up to its end, then watches it, or follows another node. Gaps, compaction and
///   lost watches lead back to reading.
/// * A node that owns the log appends to it. Every append depends on the node's term, and on the head of the log as the
///   node left it. So an owner that lost its lease can write nothing, whenever it wakes up.
/// * An append of unknown outcome is repeated until its outcome is known. A node that gives up before that ends its own
///   term first and then reads the log: only after that can it say what the log has (``Action/settled(through:)``).
package struct ReplicatedLog: Sendable {
    package struct Options: Hashable, Sendable {
        /// Values of the store are at most about so large.
        package var partBytesMax = 1 << 20
        /// Batches, or parts of one, that a follower reads at once. An attempt of a call has little time: after a read
        /// without an answer the next one is of half as many.
        package var readLimit: Int64 = 16
        /// A read that takes no longer than this, in milliseconds, may be of twice as many the next time.
        package var quickReadMilliseconds: Int64 = 250
        /// How long an append is repeated, in milliseconds.
        package var appendMilliseconds: Int64 = 10_000
        /// Between two attempts of a call, in milliseconds.
        package var retryMilliseconds: Int64 = 50
        /// Candidates after the first wait so many times this before they claim, in milliseconds.
        package var rankMilliseconds: Int64 = 200
        /// Between two looks at what the nodes have, and at whether the log is to be moved, in milliseconds.
        package var trimMilliseconds: Int64 = 2_000
        /// Between two statements of what this node has, in milliseconds.
        package var keepMilliseconds: Int64 = 5_000
        /// Between two looks at how far the node is to which the log is to be moved, in milliseconds.
        package var moveLookMilliseconds: Int64 = 200
        /// The time for that node to catch up with the log, in milliseconds: two statements of its position.
        package var catchUpMilliseconds: Int64 = 10_000
        /// So long the writes may take that are under way when the log is to be moved, and so long the move itself is
        /// tried, in milliseconds.
        package var handOverMilliseconds: Int64 = 2_000
        /// The store keeps so many bytes of the log, even if all nodes have them.
        package var tailBytesMin = 64 << 20
        /// The store keeps at most about so many bytes, even if some node lacks them.
        package var tailBytesMax = 1 << 30
        /// How exactly the bytes of the log are known.
        package var stretchBytes = 1 << 20
        /// The node may follow others, and pass on to them what the log has.
        package var isFed = false
        /// The time between two requests for a feed, in milliseconds, and its limit: each attempt that comes to nothing
        /// doubles it.
        package var feedMilliseconds: Int64 = 1_000
        package var feedMillisecondsMax: Int64 = 64_000
        /// A node says so often that it passes on what the log has, in milliseconds.
        package var pulseMilliseconds: Int64 = 1_000
        /// A node that says nothing for so long is not followed any more.
        package var feedSilenceMilliseconds: Int64 = 3_000
        /// The batches kept for nodes that begin to follow this one: for how long, in milliseconds, and their bytes.
        package var recentMilliseconds: Int64 = 10_000
        package var recentBytesMax = 4 << 20

        package init() {}
    }

    package enum Event: Sendable {
        case tick
        /// The lease of the node has begun, or (nil) must not be relied on any more.
        case lease(Int64?)
        /// The node's place among those that may own the log: 0 claims it first, nil never.
        case rank(Int?)
        /// Records to append, which follow those of the log. The owner may be asked for one append at a time.
        case append([LogRecord])
        /// The node's own files have everything up to a sequence number, also after a loss of power.
        case kept(through: UInt64)
        /// Answers ``Action/call(_:serial:)``.
        case replied(UInt64, Result<EtcdTransactionReply, EtcdError>)
        /// From the watch with this number. Answers ``Action/watch(_:serial:)``.
        case watched(UInt64, [EtcdChange])
        case watchEnded(UInt64)
        /// Answers ``Action/copy(epoch:from:because:)``: the node's own files are elsewhere now, or the log is to be
        /// looked at again.
        case copied(LogPosition)
        /// Whether the node's own files take records. While they do not, the node gives the log up, so that another one
        /// can take it over, and does not claim it.
        case stores(Bool)
        /// Whether the node can apply the log's records, and its other files are whole. While it cannot, the same.
        case applies(Bool)
        /// Whether other nodes reach this one. While they do not, the same.
        case reached(Bool)
        /// Answers ``Action/drain(to:)``: all that was begun was appended.
        case drained
        /// Another node passes on a batch, the log's floor and its owner. Answers ``Action/askForFeed(_:)``, at first
        /// with an empty batch.
        case fed([UInt8], floor: UInt64, owner: String?)
        /// It does not, or does so no more.
        case feedEnded
        /// Another node asks that this one pass on what the log has.
        case askedForFeed(by: String, FeedRequest)
        /// It no longer has to.
        case unfollowed(by: String)
    }

    package enum Action: Sendable {
        /// Answered by ``Event/replied(_:_:)``.
        case call(EtcdTransaction, serial: UInt64)
        /// Answered by ``Event/watched(_:_:)`` and ``Event/watchEnded(_:)``. Ends all earlier watches.
        case watch(EtcdWatch, serial: UInt64)
        case endWatch
        /// Another node is to pass on what the log has. Answered by ``Event/fed(_:floor:owner:)`` and
        /// ``Event/feedEnded``.
        case askForFeed(FeedRequest)
        /// It no longer has to.
        case endFeed
        /// A batch, for nodes that follow this one; empty to say only that this node passes on what the log has.
        case pass([UInt8], floor: UInt64, owner: String?, to: [String])
        /// Nothing is passed on to these nodes, or nothing more.
        case endFeeds(of: [String])
        /// The files are of the log, whose history this is. They were empty, or nobody knew it of them.
        case begin(epoch: UInt64)
        /// Records that others appended, in order: to be stored and applied.
        case follow([LogRecord])
        /// This node owns the log; after ``drain(to:)``, it still does.
        case own(term: Int64)
        /// The log is to be handed over to another node: this one finishes its running writes, and begins no more.
        /// Answered by ``Event/drained``. Then comes ``disown(by:)``, or ``own(term:)``.
        case drain(to: String)
        /// It owns it no more.
        case disown(by: String?)
        /// The log has the appended records up to this one.
        case appended(through: UInt64)
        /// The log has the records of the append, or not: ``settled(through:)`` follows.
        case appendFailed(AppendFailure)
        /// After a failed append: the log ends here for this node, whose earlier appends cannot come any more. All
        /// records up to this were passed to ``follow(_:)`` or reported as appended.
        case settled(through: UInt64)
        /// The node's files cannot follow the log from where they are. They need a copy of another node's, or have to
        /// be told of the present history. Answered by ``Event/copied(_:)``. If neither would help
        /// (``LogMismatch/foreign``, ``LogMismatch/ahead``), the log is read again after a while.
        case copy(epoch: UInt64, from: UInt64, because: LogMismatch)
        /// The store does not have the log that the files are of, this node's or those of others. It is not founded
        /// again by itself, as another node may have more of it.
        case lost
        /// A value in the store is damaged, or of a later version: for operators.
        case damaged(String)
    }

    package enum AppendFailure: Error, Hashable, Sendable {
        /// Another node owns the log, or none does.
        case fenced(by: String?)
        /// The store could not be reached for too long.
        case noQuorum
        /// The store has refused it.
        case refused(EtcdError)
    }

    // MARK: State

    package enum Role: Hashable {
        case follower
        /// A claim was successful. The rest of the log is being read; then the head is known, and what earlier
        /// owners have left is removed.
        case claimed(term: Int64, head: LogHead? = nil)
        case owner(term: Int64, head: LogHead)
        /// The own term may still be alive, and is to be ended.
        case leaving(term: Int64)
    }

    package enum Following: Hashable {
        /// Reading, or about to.
        case reading
        /// Reading the parts of a batch. The first ones have come.
        case readingParts(LogBatch, [[UInt8]])
        case watching(serial: UInt64)
        /// Another node passes on what the log has. A node that may own the log watches who owns it.
        case fed(serial: UInt64)
        /// Another node's files are being copied.
        case copying
        /// An owner does not follow.
        case idle
    }

    /// What a call is for.
    enum Purpose: Hashable {
        case read, parts(Range<Int>), stateFiles, claim(lease: Int64), end, establish, tidy, part, append
        case readKept, trim(UInt64)
        case keep(HeldFiles?)
        case readMove, handOver, refuseMove
    }

    struct Append {
        let batch: LogBatch
        let parts: [[UInt8]]
        let head: LogHead
        /// Parts that are written.
        var partCount = 0
        let deadline: Int64
    }

    let options: Options
    let transactions: LogTransactions
    let foundingEpoch: UInt64
    /// The histories of the node's own files, for a log that begins with them.
    let past: LogPast

    package internal(set) var role = Role.follower
    package internal(set) var following = Following.reading
    /// What the node has seen of the log: everything up to this was followed or appended.
    package internal(set) var position: LogPosition
    /// Batches, or parts, that are read at once.
    var readCount: Int64
    /// A batch whose parts were not there when they were read.
    var incomplete: AppendID?
    var append: Append?
    var waiting: [LogRecord]?
    /// Another node is to own the log. Only at its owner.
    var move: OwnerMove?
    /// An append has failed, and what came of it is not known yet.
    var isInDoubt = false
    /// What the nodes of the cluster may write, as the owner has seen it last.
    var format = StoreFormat.plain
    var tail: TailMeasure
    /// Where the last stretch begins of the statement of ``tail`` in the store. Only at the log's owner.
    var statedTail: UInt64?
    var appendCount: UInt64 = 0
    /// Of the log in the store.
    package internal(set) var floor: UInt64 = 1
    /// As far as the node knows.
    package internal(set) var ownerName: String?
    /// Another process of this node's name owns the log: one that was killed a moment ago, or that of a cloned machine.
    var isOwnerNamesake = false
    /// Since when the log has no owner, as far as the node knows.
    var ownerlessSince: Int64?
    package internal(set) var lease: Int64?
    var rank: Int?
    var storesRecords = true
    var appliesRecords = true
    var isReached = true
    var keptSequence: UInt64 = 0
    var statedSequence: UInt64?
    /// How far the node's files reach, once they are in their place.
    var fileSequence: UInt64?
    /// The last statement of what the node has, and the revision of its key, as far as is known.
    var statedFiles: HeldFiles?
    var heldRevision: Int64 = 0
    /// The log needs records while the node's files are copied.
    var pinsLog = false
    /// The node's files are of a log that the store has, or had.
    var isOfLog: Bool
    /// The store has no log, though there are files of it.
    var isLost = false
    var statesFiles = false
    /// The history of the log, which the node's files cannot follow: they are of another one, or go beyond its end. If
    /// they go beyond it, what is appended later is not what they have.
    var unfollowable: UInt64?
    /// For nodes that follow this one.
    var recent = RecentBatches()
    package internal(set) var followers: Set<String> = []
    /// The next time to ask for a feed, and the pause after that.
    var nextFeed: Int64 = .min
    var feedPause: Int64
    /// When the node was asked that is followed, and when it was last heard of.
    var askedAt: Int64 = 0
    var lastFed: Int64 = 0
    var nextPulse: Int64 = .min
    var pulsedOwner: String?
    /// The history of the batches that are passed on.
    var passedEpoch: UInt64?

    var pending: (serial: UInt64, purpose: Purpose)?
    /// When the last call was made.
    var calledAt: Int64 = 0
    /// Of the last request; an answer with another number is not taken.
    package var serial: UInt64 = 0
    /// After a failed call: the next one is made at this time.
    var retryAt: Int64?
    var nextTrim: Int64 = .min
    var nextKeep: Int64 = .min
    var nextMoveLook: Int64 = .min

    var now: Int64 = 0
    var actions: [Action] = []

    /// - parameter owner: this process.
    /// - parameter position: of the node's own files.
    /// - parameter past: the histories of these files; the last end is the position.
    /// - parameter isOfLog: the files were stored by a node that followed the log. Others may establish it.
    /// - parameter foundingEpoch: a random number, the history of a log that this node begins. No two logs ever begin
    ///   with the same.
    package init(
        database: String, owner: OwnerRecord, position: LogPosition, past: LogPast = LogPast(), isOfLog: Bool = false,
        foundingEpoch: UInt64, options: Options = Options()
    ) {
        transactions = LogTransactions(LogKeys(database: database), owner: owner)
        self.position = position
        self.past = past
        self.isOfLog = isOfLog
        self.foundingEpoch = foundingEpoch
        self.options = options
        tail = TailMeasure(stretchBytes: options.stretchBytes)
        feedPause = options.feedMilliseconds
        readCount = options.readLimit
    }

    /// The node owns the log, as far as it knows. Whether it may answer for that is up to its lease
    /// (``NodeLease/validity``).
    package var isOwner: Bool { if case .owner = role { true } else { false } }

    /// Others can take the log over from this node, and have writes made by it.
    var mayOwn: Bool { areFilesWell && isReached }

    var areFilesWell: Bool { storesRecords && appliesRecords }

    /// Whether a call brings records of others, and its answer is still awaited.
    package func awaitsRecords(of serial: UInt64) -> Bool {
        guard let pending, pending.serial == serial else { return false }
        return switch pending.purpose {
        case .read, .parts: true
        default: false
        }
    }

    /// The node has seen the log, whose records its files may follow.
    package var hasBegun: Bool { isOfLog && !isLost }

    /// The log was given to this node, or claimed by it, and it does not own it yet.
    package var isTakingOver: Bool {
        switch role {
        case .follower: ownerName == transactions.owner.node && !isOwnerNamesake
        case .claimed: true
        case .owner, .leaving: false
        }
    }

    /// Handles an event.
    ///
    /// - parameter time: in milliseconds, by a monotonic clock.
    package mutating func handle(_ event: Event, at time: Int64) -> [Action] {
        now = time
        switch event {
        case .tick: break
        case .lease(let lease): leaseChanged(lease)
        case .rank(let rank):
            // The two follow in different ways.
            if (rank == nil) != (self.rank == nil) { feedEnded() }
            self.rank = rank
        case .append(let records): add(records)
        case .kept(let sequence):
            // Files that are being replaced count no more.
            if following != .copying { (keptSequence, fileSequence) = (sequence, sequence) }
        case .replied(let serial, let result): replied(serial, result)
        case .watched(let serial, let changes): watched(serial, changes)
        case .watchEnded(let serial):
            if following == .watching(serial: serial) || following == .fed(serial: serial) { following = .reading }
        case .copied(let position):
            if following == .copying {
                self.position = position
                // Also of a node that had no files before: it says what it has if the store loses the log now.
                if position.epoch != nil { isOfLog = true }
                following = .reading
                pinsLog = false
                tail = TailMeasure(stretchBytes: options.stretchBytes)
            }
        case .stores(let canStore):
            storesRecords = canStore
            changedFitness()
        case .applies(let canApply):
            appliesRecords = canApply
            changedFitness()
        case .reached(let isReached):
            self.isReached = isReached
            if !mayOwn { release() }
        case .drained: drained()
        case .fed(let batch, let floor, let owner): fed(batch, floor: floor, owner: owner)
        case .feedEnded: feedEnded()
        case .askedForFeed(let node, let request): asked(by: node, request)
        case .unfollowed(let node): followers.remove(node)
        }
        endFeedsIfLost()
        passedEpoch = position.epoch
        pulse()
        next()
        defer { actions = [] }
        return actions
    }

    mutating func emit(_ action: Action) { actions.append(action) }

    // MARK: Calls

    mutating func call(_ transaction: EtcdTransaction, for purpose: Purpose) {
        precondition(pending == nil, "one call at a time")
        serial += 1
        pending = (serial, purpose)
        calledAt = now
        retryAt = nil
        emit(.call(transaction, serial: serial))
    }

    /// Makes the call that is due, if none is under way.
    mutating func next() {
        guard pending == nil, retryAt.map({ now >= $0 }) ?? true else { return }
        switch role {
        case .leaving(let term): call(transactions.end(term: term), for: .end)
        case .owner(let term, let head): nextOfOwner(term, head)
        case .follower, .claimed: nextOfFollower()
        }
    }

    mutating func replied(_ serial: UInt64, _ result: Result<EtcdTransactionReply, EtcdError>) {
        guard let (awaited, purpose) = pending, awaited == serial else { return }
        pending = nil
        switch result {
        case .success(let reply): succeeded(purpose, reply)
        case .failure(let error): failed(purpose, error)
        }
    }

    private mutating func succeeded(_ purpose: Purpose, _ reply: EtcdTransactionReply) {
        switch purpose {
        case .read: read(reply)
        case .parts(let indexes): readParts(indexes, reply)
        case .claim(let lease): claimed(lease, reply)
        case .stateFiles: statesFiles = true
        case .end: ended()
        case .establish: following = .reading
        case .tidy: tidied(reply)
        case .part: wrotePart(reply)
        case .append: appended(reply)
        case .keep(let held): kept(held, reply)
        case .readKept: readKept(reply)
        case .trim(let floor): trimmed(floor, reply)
        case .readMove: readMove(reply)
        case .handOver: handedOver(reply)
        case .refuseMove: refusedMove()
        }
    }

    private mutating func failed(_ purpose: Purpose, _ error: EtcdError) {
        retryAt = now + options.retryMilliseconds
        switch purpose {
        case .append, .part: appendFailed(error)
        case .handOver: handOverFailed(error)
        case .claim: following = .reading
        case .keep: (statedSequence, statedFiles) = (nil, nil)
        case .readKept, .trim: nextTrim = now + options.trimMilliseconds
        case .refuseMove: refuseMoveFailed(error)
        case .read, .parts: if error.mayHaveBeenApplied { readCount = max(1, readCount / 2) }
        case .stateFiles, .end, .establish, .tidy, .readMove: break
        }
    }
}
