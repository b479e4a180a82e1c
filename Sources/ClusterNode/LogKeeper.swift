import HearthDatabaseScheduler
import HearthEtcdGateway
import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog
import Synchronization
import HearthSystem

/// Carries out what ``ReplicatedLog`` decides for one database: a thread that decides, one that calls etcd, and one
/// that watches it. Appends are decided and made on the thread that waits for them, so that no thread has to wake
/// another one for them.
final class LogKeeper: Sendable {
    private final class Shared: Sendable {
        let decider = Mutex<LogDecider?>(nil)
        let caller = Mutex<Worker<LogDecider.Call>?>(nil)
        let worker = Mutex<Worker<ReplicatedLog.Event>?>(nil)

        /// Answers the calls that are due.
        func decide(_ event: ReplicatedLog.Event) -> [LogDecider.Call] {
            decider.withLock { $0?.handle(event) ?? [] }
        }

        /// The same, and has the calls made.
        func handle(_ event: ReplicatedLog.Event) { make(decide(event)) }

        func make(_ calls: [LogDecider.Call]) {
            if calls.isEmpty { return }
            caller.withLock { caller in for call in calls { caller?.post(call) } }
        }

        @discardableResult
        func post(_ event: ReplicatedLog.Event) -> Bool { worker.withLock { $0 }?.post(event) ?? false }

        var isOpen: Bool { decider.withLock { $0 != nil } }

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
    /// Of the thread that appends.
    private let client: Mutex<EtcdClient>
    /// How far the node has come since it opened the database.
    let start = LogStart()

    /// How long members are tried in turn, before the decision is made again.
    private static let callDuration = Duration.seconds(3)

    /// - parameter report: gets the log's results, in order.
    /// - parameter needsCopy: told that the files cannot follow the log, and what they need.
    /// - parameter reachesNodes: whether a copy of another node's files can be had.
    init(
        _ log: ReplicatedLog, database: String, node: String, _ cluster: EtcdCluster, preferredMember: Int,
        _ progress: LogProgress, news: @escaping @Sendable (ClusterNews) -> Void,
        report: @escaping @Sendable ([Arrival]) -> Void, needsCopy: @escaping @Sendable (CopyNeed) -> Void,
        reachesNodes: Bool
    ) throws(SystemError) {
        self.progress = progress
        client = Mutex(EtcdClient(cluster, preferredMember: preferredMember))
        let shared = shared
        let watcher = try LogWatcher(cluster, preferredMember: preferredMember, progress) { shared.post($0) }
        self.watcher = watcher
        shared.decider.withLock { [start] in
            $0 = LogDecider(
                log, database: database, node: node, progress, watcher, start, news: news, report: report,
                needsCopy: needsCopy, reachesNodes: reachesNodes)
        }
        caller = try Worker(name: "etcd") {
            let client = EtcdClient(cluster, preferredMember: preferredMember)
            return { calls in
                for call in calls {
                    progress.awaitRoom()
                    shared.handle(Self.make(call, with: client))
                }
            }
        }
        worker = try Worker(name: "log") { { events in for event in events { shared.handle(event) } } }
        shared.caller.withLock { $0 = caller }
        shared.worker.withLock { $0 = worker }
        post(.tick)
    }

    private static func make(_ call: LogDecider.Call, with client: EtcdClient) -> ReplicatedLog.Event {
        do throws(EtcdError) {
            return .replied(call.serial, .success(try client.call(call.transaction, within: callDuration)))
        } catch {
            return .replied(call.serial, .failure(error))
        }
    }

    /// Whether the node owns the log, as far as it knows.
    var isOwner: Bool { progress.isOwner }

    /// Whether the node's own file takes records.
    var storesRecords: Bool { progress.storesRecords }

    /// False once the keeper was told to stop.
    @discardableResult
    func post(_ event: ReplicatedLog.Event) -> Bool { shared.post(event) }

    /// Appends records, and waits for the outcome. One thread calls this.
    func append(_ records: [LogRecord]) throws(CommitFailure) {
        try progress.append(records) {
            guard shared.isOpen else { return false }
            var calls = shared.decide(.append(records))
            client.withLock { client in
                // Another call may be under way: then its thread makes this one as well.
                while !calls.isEmpty, !progress.hasOutcome {
                    let replies = calls.map { Self.make($0, with: client) }
                    calls = replies.flatMap { shared.decide($0) }
                }
            }
            shared.make(calls)
            return true
        }
    }

    /// Waits for the end of the threads. Later work is not accepted.
    func stop() {
        watcher.stop()
        caller.stop()
        worker.stop()
        shared.close()
    }
}
