import EventLoop
import RealtimeDatabase
import SecurityRules
import Synchronization
import TreeStorage
import StorageErrors

/// The thread that owns all databases. Event loops hand it requests in batches; it hands them deliveries.
///
/// A turn is everything that is in the mailbox: the requests of one database become one turn of it. The committer and
/// the applier have threads of their own and report back through the same mailbox, so the database never waits for the
/// disk.
package final class DatabaseThread: Sendable {
    enum Message: Sendable {
        case requests(UInt32, [Request])
        case committed(UInt32, through: UInt64)
        case commitFailed(UInt32, StorageError)
        case commitsDropped(UInt32)
        case probed(UInt32, StorageError?)
        case pruned(UInt32, isMore: Bool)
        case applied(UInt32, FrozenRows, StorageError?)
        /// Some rows of a large value are in the tree file, and there are more to write.
        case wroteSome(UInt32, FrozenRows, [SnapshotStream])
        /// The log has a part more of a large text, or could not take it.
        case stored(UInt32, TextParts, StorageError?)
        /// The rows of a large value are made.
        case prepared(UInt32, Request)
        case cleared(UInt32, StorageError?)
        /// The log was read.
        case history(UInt32, HistoryReader.Answers)
        /// Some databases have other rules now.
        case rulesChanged
        /// Entries of indexes that are gone have been looked for up to a place, nil for everywhere.
        case swept(UInt32, next: [UInt8]?, StorageError?)
        /// Go on with a scan or the making of an index.
        case step(UInt32)
        /// The loops have passed on so much that there is room for more.
        case delivered
        /// A large read of a connection has ended.
        case largeReadEnded(UInt32, ConnectionID)
        /// Somebody does not use a database any more.
        case released(UInt32)
        /// A connection wants to be told of something, or not any more.
        case watch(UInt32, Watched, Bool, by: ConnectionID)
        /// A question about all databases.
        case ask(@Sendable (HostedDatabases) -> Void)
        /// Time has passed: freeze, probe, prune.
        case tick
        /// Open what is to be served from the start, then call back.
        case openServed(@Sendable () -> Void)
        /// Finish what is under way, write everything to the tree files, then call back.
        case finish(@Sendable () -> Void)
    }

    private let worker: Worker<Message>
    private let backlog: DeliveryBacklog
    private let committer: Committer
    private let applier: Applier
    private let history: HistoryReader
    private let preparer: Preparer

    /// - parameter deliver: called on this thread with what each loop must send.
    init(
        folder: DataFolder, directory: DatabaseDirectory, limits: DatabaseLimits, rules: RulesInForce,
        denials: DenialLog, explainsDenials: Bool, loops: Int, log: Log, readers: SnapshotReaders, readiness: Readiness,
        metrics: ServerMetrics, outbound: OutboundMemory,
        deliver: @escaping @Sendable (_ loop: Int, LoopDelivery) -> Void
    ) throws(SystemError) {
        // The committer and the applier exist before the thread they report to.
        let address = Address()
        let backlog = DeliveryBacklog(bytesMax: limits.backlogBytesMax)
        self.backlog = backlog
        let report: @Sendable (Message) -> Void = { address.post($0) }
        let committer = try Committer(metrics: metrics, report: report)
        let applier = try Applier(readers: readers, metrics: metrics, report: report)
        let history = try HistoryReader(bytesMax: limits.resumeBytesMax, report: report)
        self.committer = committer
        self.applier = applier
        self.history = history
        let preparer = try Preparer(report: report)
        self.preparer = preparer
        let host = DatabaseHost(
            limits: limits, rules: rules, denials: denials, explainsDenials: explainsDenials, loops: loops, log: log,
            stepTimes: log.stepTimes(of: "database"), committer: committer, applier: applier, history: history,
            preparer: preparer, readers: readers, readiness: readiness, metrics: metrics, backlog: backlog,
            outbound: outbound, report: report
        ) { loop, delivery in
            backlog.add(delivery.backlogBytes)
            deliver(loop, delivery)
        }
        worker = try Worker(name: "database") {
            let state = HostedDatabases(folder: folder, directory: directory, host: host)
            return { messages in state.run(messages) }
        }
        address.worker.withLock { $0 = worker }
    }

    /// False once the thread has ended: nobody will work on the requests.
    @discardableResult
    func post(_ database: UInt32, _ requests: [Request]) -> Bool { worker.post(.requests(database, requests)) }

    /// Waits until the databases that are served from the start are open, or it is known why they cannot be. Not from
    /// an event loop.
    func openServed() {
        let isDone = Semaphore()
        worker.post(.openServed { isDone.signal() })
        isDone.wait()
    }

    /// Bytes that databases have said and loops have not passed on.
    var backlogBytes: Int { backlog.byteCount }

    /// A loop has passed on so many bytes of a delivery.
    func delivered(_ bytes: Int) {
        if backlog.remove(bytes) { worker.post(.delivered) }
    }

    /// Somebody does not use a database any more; what was posted for it comes first.
    func release(_ database: UInt32) { worker.post(.released(database)) }

    /// Databases decide by the rules that are in force now: whatever is posted from here on is decided by them.
    func rulesChanged() { worker.post(.rulesChanged) }

    /// Whether a connection is told of something in a database.
    func watch(_ database: UInt32, _ watched: Watched, _ isOn: Bool, by connection: ConnectionID) {
        worker.post(.watch(database, watched, isOn, by: connection))
    }

    /// Calls back on the databases' thread.
    func ask(_ question: @escaping @Sendable (HostedDatabases) -> Void) { worker.post(.ask(question)) }

    func tick() { worker.post(.tick) }

    /// Ends the thread once everything accepted is durable and the tree files are up to date. Not from an event loop.
    func finish() {
        let isDone = Semaphore()
        worker.post(.finish { isDone.signal() })
        isDone.wait()
        worker.stop()
        committer.stop()
        applier.stop()
        history.stop()
        preparer.stop()
    }

    private final class Address: Sendable {
        let worker = Mutex<Worker<Message>?>(nil)

        func post(_ message: Message) { worker.withLock { $0 }?.post(message) }
    }
}

/// Sizes and times that a database keeps to.
package struct DatabaseLimits: Sendable {
    /// Memory for nodes that are in use, per database, in bytes.
    package var residentBytesMax = 32 << 20
    /// Values of one turn, which becomes one row of the commit log, in bytes. A single request may have more.
    package var turnBytesMax = 256 << 10
    /// Values that one turn reads, in bytes; the one that goes beyond it is its last.
    package var turnReadBytesMax = 1 << 20
    /// How long a turn takes; the request that takes it beyond that is its last.
    package var turnTimeMax = Duration.milliseconds(2)
    /// Values that were read and wait for the log, per database, in bytes. With more, further requests wait.
    package var waitingReadBytesMax = 64 << 20
    /// What all databases have to say and the event loops have not passed on yet, in bytes. With more, further requests
    /// wait.
    package var backlogBytesMax = 64 << 20
    /// Listeners of one connection.
    package var listenersMax = 10_000
    /// Of these, listeners of queries at one place.
    package var queriesOfPlaceMax = 1000
    /// Children that the windows of the queries of one connection keep: those of limited queries.
    package var keptPlacesMax = 1 << 18
    /// What telling listeners of queries of a commit may cost before others have their turn, in bytes: those that are
    /// read, and as many for other work as take the same time. A millisecond is about a MiB.
    package var tellingStepCostMax = 2 << 20
    /// The same for all of a commit. Listeners that would cost more are ended.
    package var tellingCostMax = 512 << 20
    /// Changed rows in memory that make the applier start at once, in bytes.
    package var changedBytesSoft = 24 << 20
    /// The same while large requests wait, which are let in at the pace of the applier.
    package var changedBytesBulk = 8 << 20
    /// Changed rows and index entries in memory that are put aside for the applier at once, even if it is busy: with
    /// more, that would take longer than others should wait.
    package var changedRowsMax = 8192
    /// Changed rows in memory at which further requests wait for the applier, in bytes.
    package var changedBytesHard = 40 << 20
    /// Changed rows are written to the tree file at least this often, in ticks of 200 ms.
    package var applyIntervalTicks = 10
    /// What is read of the commit log for listeners that resume, in bytes; those that need more begin anew.
    package var resumeBytesMax = 64 << 20
    /// How long the commit log reaches back, in milliseconds.
    package var logWindowMilliseconds: Int64 = 24 * 3_600_000
    /// Size at which the commit log loses its oldest rows even within the window, in bytes.
    package var logBytesMax: Int64 = 4 << 30

    package init() {}
}

extension DatabaseThread.Message {
    /// For those who look for long steps.
    var name: StaticString {
        switch self {
        case .requests: "requests"
        case .committed: "committed"
        case .commitFailed: "commitFailed"
        case .commitsDropped: "commitsDropped"
        case .probed: "probed"
        case .pruned: "pruned"
        case .applied: "applied"
        case .wroteSome: "wroteSome"
        case .stored: "stored"
        case .prepared: "prepared"
        case .cleared: "cleared"
        case .history: "history"
        case .rulesChanged: "rulesChanged"
        case .swept: "swept"
        case .step: "step"
        case .delivered: "delivered"
        case .largeReadEnded: "largeReadEnded"
        case .released: "released"
        case .watch: "watch"
        case .ask: "ask"
        case .tick: "tick"
        case .openServed: "openServed"
        case .finish: "finish"
        }
    }
}
