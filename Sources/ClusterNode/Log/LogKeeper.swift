import HearthDatabaseScheduler
import HearthEtcdGateway
import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog
import Synchronization
package import HearthStorageErrors
import HearthSystem
import HearthTreeStorage

/// Carries out what ``ReplicatedLog`` decides for one database: a thread that decides, one that calls etcd, and one
/// that watches it. Appends are decided and made on the thread that waits for them, so that no thread has to wake
/// another one for them.
package final class LogKeeper: Sendable {
    private final class Shared: Sendable {
        let decider = Mutex<LogDecider?>(nil)
        let caller = Mutex<Worker<LogDecider.Call>?>(nil)
        let worker = Mutex<Worker<ReplicatedLog.Event>?>(nil)

        /// Answers the calls that are due; nil once the log is closed.
        func decide(_ event: ReplicatedLog.Event) -> [LogDecider.Call]? { decider.withLock { $0?.handle(event) } }

        /// The same, and has the calls made.
        func handle(_ event: ReplicatedLog.Event) { make(decide(event) ?? []) }

        func awaitsRecords(of call: LogDecider.Call) -> Bool {
            decider.withLock { $0?.awaitsRecords(of: call) ?? false }
        }

        func notLocated(_ failure: LogPlace.Failure) { decider.withLock { $0?.notLocated(failure) } }

        func make(_ calls: [LogDecider.Call]) {
            if calls.isEmpty { return }
            caller.withLock { caller in for call in calls { caller?.post(call) } }
        }

        @discardableResult
        func post(_ event: ReplicatedLog.Event) -> Bool { worker.withLock { $0 }?.post(event) ?? false }

        func close() {
            decider.withLock { $0 = nil }
            caller.withLock { $0 = nil }
            worker.withLock { $0 = nil }
        }
    }

    private let shared = Shared()
    private let worker: Worker<ReplicatedLog.Event>
    private let caller: Worker<LogDecider.Call>
    private let watcher: LogWatcher
    private let progress: LogProgress
    private let place: LogPlace
    /// The node's own log on the disk.
    let disk: LogSync
    private let feed: @Sendable (FeedAction) -> Void
    /// Of the thread that appends, once it does.
    private let client = Mutex<EtcdClient?>(nil)
    /// How far the node has come since it opened the database.
    let start = LogStart()

    /// How long members are tried in turn, before the decision is made again.
    private static let callDuration = Duration.seconds(3)

    /// - parameter report: gets the log's results, in order.
    /// - parameter needsCopy: told that the files cannot follow the log, and what they need.
    /// - parameter reachesNodes: whether a copy of another node's files can be had.
    /// - parameter feed: carries out what concerns other nodes that follow this one, or that it follows.
    init(
        _ log: ReplicatedLog, database: String, node: String, _ place: LogPlace, _ progress: LogProgress,
        _ disk: LogSync,
        news: @escaping @Sendable (ClusterNews) -> Void,
        report: @escaping @Sendable ([Arrival]) -> Void, needsCopy: @escaping @Sendable (CopyNeed) -> Void,
        reachesNodes: Bool, feed: @escaping @Sendable (FeedAction) -> Void
    ) throws(SystemError) {
        self.feed = feed
        (self.progress, self.disk, self.place) = (progress, disk, place)
        let shared = shared
        let watcher = try LogWatcher(place, progress) { shared.post($0) }
        self.watcher = watcher
        shared.decider.withLock { [start] in
            $0 = LogDecider(
                log, database: database, node: node, progress, watcher, start, news: news, report: report,
                needsCopy: needsCopy, reachesNodes: reachesNodes, feed: feed)
        }
        caller = try Worker(name: "etcd") {
            var client: EtcdClient?
            return { calls in
                for call in calls {
                    // Others have to be made even if there is never room: by one of them the node gives the log up.
                    progress.awaitRoom { shared.awaitsRecords(of: call) }
                    do throws(LogPlace.Failure) {
                        let (store, open) = try place.store(&client)
                        shared.handle(Self.make(call, with: open, progress, store.validity))
                    } catch {
                        shared.notLocated(error)
                        shared.handle(.replied(call.serial, .failure(.unavailable("it is not known where the log is"))))
                    }
                }
            }
        }
        worker = try Worker(name: "log") { { events in for event in events { shared.handle(event) } } }
        shared.caller.withLock { $0 = caller }
        shared.worker.withLock { $0 = worker }
        post(.tick)
        disk.report { shared.post(.kept(through: $0)) }
        if disk.failure != nil { giveUp() }
    }

    /// Waits for the reply. When its lease ends, the owner gives the log up: its calls have the time until then, as a
    /// later answer changes nothing.
    static func make(
        _ call: LogDecider.Call, with client: EtcdClient, _ progress: LogProgress, _ validity: LeaseValidity
    ) -> ReplicatedLog.Event {
        var duration = callDuration
        if progress.isOwner { duration = min(duration, validity.remaining ?? .zero) }
        do throws(EtcdError) {
            guard duration > .zero else { throw .unavailable("the lease of this node has ended") }
            return .replied(call.serial, .success(try client.call(call.transaction, within: duration)))
        } catch {
            return .replied(call.serial, .failure(error))
        }
    }

    /// Whether the node owns the log, as far as it knows.
    var isOwner: Bool { progress.isOwner }

    /// Whether no node but this one can own the log at this moment: its lease has not ended by its own clock. A node
    /// that has just woken up may not know yet that it has lost the log.
    ///
    /// - parameter count: how often ``Ownership/owner`` has arrived.
    package func isOwned(toldTimes count: Int) -> Bool {
        progress.ownLease(toldTimes: count).map { place.known?.validity.isValid($0) ?? false } ?? false
    }

    /// Whether the node's own file takes records.
    var storesRecords: Bool { progress.storesRecords }

    /// False once the keeper was told to stop.
    @discardableResult
    func post(_ event: ReplicatedLog.Event) -> Bool { shared.post(event) }

    /// Another node says something of a feed. A node with too much that its file does not have reads etcd, which waits.
    ///
    /// - returns: false once the log is closed.
    @discardableResult
    func take(_ news: FeedNews, from node: String) -> Bool {
        switch news {
        case .asked(let request): post(.askedForFeed(by: node, request))
        case .unfollowed: post(.unfollowed(by: node))
        case .fed(let batch, let floor, let owner):
            post(progress.hasRoom ? .fed(batch, floor: floor, owner: owner) : .feedEnded)
        case .ended: post(.feedEnded)
        }
    }

    /// Appends records, and waits for the outcome. One thread calls this.
    func append(_ records: [LogRecord]) throws(CommitFailure) {
        try progress.append(records) {
            var calls = shared.decide(.append(records))
            client.withLock { client in
                // An owner has found the log. Another call may be under way: then its thread makes this one as well.
                while let due = calls, !due.isEmpty, !progress.hasOutcome, let store = place.known {
                    let open = client ?? store.makeClient()
                    client = open
                    let replies = due.map { Self.make($0, with: open, progress, store.validity) }
                    calls = replies.reduce([]) { calls, reply in
                        shared.decide(reply).flatMap { due in calls.map { $0 + due } }
                    }
                }
            }
            guard let calls else { return false }
            shared.make(calls)
            return true
        }
    }

    // MARK: The disk

    /// Waits until the disk has the log up to an operation. Called before the tree file takes it, which would be ahead
    /// of the log after a loss of power.
    package func sync(through sequence: UInt64) throws(StorageError) {
        if disk.has(sequence) { return }
        try syncNow()
        // Etcd has it, and the file could not take it.
        guard disk.has(sequence) else { throw .inputOutput("the log does not have operation \(sequence) yet") }
    }

    /// Has the disk take what it lacks.
    func syncIfBehind() { if disk.isBehind { try? syncNow() } }

    private func syncNow() throws(StorageError) {
        do throws(StorageError) { try disk.sync() } catch {
            if disk.failure != nil { giveUp() }
            throw error
        }
    }

    /// The file takes no records.
    func giveUp() { if progress.note(storesRecords: false) { post(.stores(false)) } }

    /// Waits for the end of the threads. Later work is not accepted.
    func stop() {
        watcher.stop()
        caller.stop()
        worker.stop()
        shared.close()
        feed(.close)
        disk.close()
    }
}
