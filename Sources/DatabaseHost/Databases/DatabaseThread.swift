package import HearthClusterNode
package import HearthDatabaseScheduler
package import HearthDelivery
package import HearthEventLoop
package import HearthRealtimeDatabase
import HearthSecurityRules
package import HearthServerLog
import Synchronization
package import HearthSystem
package import HearthTreeStorage
package import HearthTriggers
import HearthStorageErrors

/// The thread that owns all databases. Event loops hand it requests in batches; it hands them deliveries. While it is
/// at rest, loops may answer gets themselves (``answerAtOnce(_:of:if:)``).
///
/// A turn is everything that is in the mailbox: the requests of one database become one turn of it. The committer and
/// the applier have threads of their own and report back through the same mailbox, so the database never waits for the
/// disk.
package final class DatabaseThread: Sendable {
    private let worker: Worker<HostedDatabases.Message>
    private let lock: DatabaseLock
    private let backlog: DeliveryBacklog
    private let answers: AnswerBacklog
    private let committer: Committer
    private let applier: Applier
    private let copier: DatabaseCopier
    private let history: HistoryReader
    /// Answers questions about the past.
    package let keeper: HistoryKeeper
    /// Held by the thread: they hold the loops, which hold this.
    private weak let readers: SnapshotReaders?
    private let preparer: Preparer
    private let opener: Opener
    /// The memory that databases keep for connections.
    package let keptMemory: KeptMemory
    /// A loop may answer gets itself. In a cluster, the owner of a log may have to hold its answers back.
    package let answersAtOnce: Bool
    /// Sends the events of all databases.
    package let triggers: TriggerSender

    /// - parameter freeBytesMin: room on the disk that large reads of the past leave.
    /// - parameter after: calls back after so many milliseconds, on any thread.
    /// - parameter deliver: called on this thread with the outputs for each loop.
    package init(
        folder: DataFolder, directory: DatabaseDirectory, limits: DatabaseLimits, freeBytesMin: Int64,
        rules: RulesInForce,
        denials: DenialLog, explainsDenials: Bool, loops: Int, log: Log, readers: SnapshotReaders, readiness: Readiness,
        metrics: ServerMetrics, outbound: OutboundMemory, isRevoked: @escaping @Sendable (Principal) -> Bool,
        cluster: ClusterNode?, clusterCommitted: @escaping @Sendable () -> Void = {},
        triggers configuration: TriggerConfiguration = .init(),
        endConnection: @escaping @Sendable (ConnectionID) -> Void,
        abandon: @escaping @Sendable (ConnectionID) -> Void, abandonAll: @escaping @Sendable (UInt32) -> Void,
        after: @escaping @Sendable (_ milliseconds: Int, @escaping @Sendable () -> Void) -> Void,
        deliver: @escaping @Sendable (_ loop: Int, LoopDelivery) -> Void
    ) throws(SystemError) {
        // The committer and the applier exist before the thread they report to.
        let address = Address()
        let backlog = DeliveryBacklog(bytesMax: limits.backlogBytesMax)
        self.backlog = backlog
        let answers = AnswerBacklog(bytesMax: limits.answerBytesMax)
        self.answers = answers
        keptMemory = limits.keptMemory
        let report: @Sendable (DatabaseNews) -> Void = { address.post(.news($0)) }
        let committer = try Committer { report(.event($0, $1)) }
        let applier = try Applier(readers: readers, metrics: metrics, report: report)
        let history = try HistoryReader(bytesMax: limits.resumeBytesMax, report: report)
        let keeper = try HistoryKeeper(folder, rules, log, bytesMax: limits.pastBytesMax, freeBytesMin: freeBytesMin)
        self.keeper = keeper
        let copier = try DatabaseCopier(
            folder, cluster, applier, keeper, log, readiness, report: report)
        self.copier = copier
        self.readers = readers
        self.committer = committer
        self.applier = applier
        self.history = history
        let preparer = try Preparer(report: report)
        self.preparer = preparer
        let opener = try Opener(folder, log, report: report)
        self.opener = opener
        let triggers = TriggerSender(configuration, log: log) { report(.event($0, .sent($1))) }
        self.triggers = triggers
        let host = DatabaseHost(
            limits: limits, rules: rules, denials: denials, explainsDenials: explainsDenials, loops: loops, log: log,
            stepTimes: log.stepTimes(of: "database"), partTimes: log.stepTimes(of: "database-part"),
            committer: committer, cluster: cluster, applier: applier, copier: copier, history: history, keeper: keeper,
            preparer: preparer, opener: opener, triggers: triggers, readers: readers, readiness: readiness,
            metrics: metrics, backlog: backlog, answers: answers, outbound: outbound, isRevoked: isRevoked,
            clusterCommitted: clusterCommitted, report: report,
            wake: { milliseconds, database in after(milliseconds) { report(.event(database, .woken)) } },
            deliver: { loop, delivery in
                backlog.add(delivery.backlogBytes)
                deliver(loop, delivery)
            }, endConnection: endConnection, abandon: abandon, abandonAll: abandonAll)
        let lock = DatabaseLock()
        self.lock = lock
        answersAtOnce = cluster == nil
        worker = try Worker(name: "database", priority: .prompt) {
            let state = HostedDatabases(folder: folder, directory: directory, host: host)
            lock.begin(state)
            return { messages in lock.hold { state.run(messages) } }
        }
        address.worker.withLock { $0 = worker }
    }

    /// The stream of a value of the past to a connection, which begins it as that of another large read. Nil when the
    /// thread has ended.
    package func stream(
        _ rows: PastRows, to connection: ConnectionID, number: Int64 = 0, client: UInt64, uid: [UInt8]
    ) -> SnapshotStream? {
        guard let readers else { return nil }
        let stream = readers.makeStream(
            SnapshotRead(to: connection, number: number, at: rows.path, client: client, uid: uid))
        readers.start(stream, on: rows)
        return stream
    }

    /// False once the thread has ended: the requests will not be processed.
    @discardableResult
    package func post(_ database: UInt32, _ requests: [Request]) -> Bool { worker.post(.requests(database, requests)) }

    /// Answers gets on the calling loop's thread, if the databases' thread has done all that was posted.
    ///
    /// - parameter mayAnswer: whether the loop has passed on all that databases have said. Asked while they can say
    ///   nothing more.
    /// - returns: the answers. Gets without one are to be posted.
    package func answerAtOnce(_ reads: [PlainRead], of database: UInt32, if mayAnswer: () -> Bool) -> PlainAnswers {
        guard worker.isAtRest else { return PlainAnswers(leaving: reads.indices) }
        return lock.useIfFree { mayAnswer() ? $0.answerAtOnce(reads, of: database) : nil }
            ?? PlainAnswers(leaving: reads.indices)
    }

    /// Tells a database the outcomes of requests that were sent to other nodes.
    package func post(_ database: UInt32, _ news: [ForwardingNews]) {
        worker.post(.news(.event(database, .forwarding(news))))
    }

    /// Waits until the databases that are served from the start are open, or it is known why they cannot be. Not from
    /// an event loop.
    package func openServed() {
        let isDone = Semaphore()
        worker.post(.openServed { isDone.signal() })
        isDone.wait()
    }

    /// Bytes that databases have said and loops have not passed on.
    package var backlogBytes: Int { backlog.byteCount }

    /// Bytes of answers that other nodes do not have yet.
    package var answerBytes: Int { answers.byteCount }

    /// A loop has passed on so many bytes of a delivery.
    package func delivered(_ bytes: Int) {
        if backlog.remove(bytes) { worker.post(.delivered) }
    }

    /// So many bytes of answers wait for a link to another node.
    package func queued(_ bytes: Int, for link: Int) { answers.add(bytes, to: link) }

    /// The other node has so many of these bytes, or will not get them.
    package func passedOn(_ bytes: Int, over link: Int) {
        if answers.remove(bytes, from: link) { worker.post(.delivered) }
    }

    /// A user of a database has stopped using it; work posted earlier for it comes first.
    package func release(_ database: UInt32) { worker.post(.released(database)) }

    /// Databases use the rules that are in force now, for all requests that are posted later.
    package func rulesChanged() { worker.post(.rulesChanged) }

    /// Follows the log of a database of the cluster from now on, whether or not there are files of it.
    package func follow(_ database: UInt32) { worker.post(.follow(database)) }

    /// Opens the databases that this node holds by now.
    package func placementChanged() { worker.post(.placementChanged) }

    /// Whether a connection is told of something in a database.
    package func watch(_ database: UInt32, _ watched: Watched, _ isOn: Bool, by connection: ConnectionID) {
        worker.post(.watch(database, watched, isOn, by: connection))
    }

    /// Calls back on the databases' thread. Once that has ended, returns false and does not call back.
    @discardableResult
    package func ask(_ question: @escaping @Sendable (HostedDatabases) -> Void) -> Bool {
        worker.post(.ask(question))
    }

    package func tick() { worker.post(.tick) }

    /// Ends the thread once everything accepted is durable and the tree files are up to date. Not from an event loop.
    package func finish() {
        // Outcomes of events so far are still recorded.
        triggers.stop()
        let isDone = Semaphore()
        worker.post(.finish { isDone.signal() })
        isDone.wait()
        worker.stop()
        copier.stop()
        committer.stop()
        applier.stop()
        history.stop()
        keeper.stop()
        preparer.stop()
        opener.stop()
    }

    private final class Address: Sendable {
        let worker = Mutex<Worker<HostedDatabases.Message>?>(nil)

        func post(_ message: HostedDatabases.Message) { worker.withLock { $0 }?.post(message) }
    }
}
