import HearthDatabaseScheduler
import HearthEtcdGateway
import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthStorageErrors
import Synchronization
import HearthSystem

/// Carries out what ``ReplicatedLog`` decides for one database: a thread that decides, one that calls etcd, and
/// one that watches it.
final class LogKeeper: Sendable {
    private struct Call: Sendable {
        var transaction: EtcdTransaction
        var serial: UInt64
    }

    private final class Address: Sendable {
        let worker = Mutex<Worker<ReplicatedLog.Event>?>(nil)

        func post(_ event: ReplicatedLog.Event) { worker.withLock { $0 }?.post(event) }
    }

    private let worker: Worker<ReplicatedLog.Event>
    private let caller: Worker<Call>
    private let watcher: LogWatcher
    private let progress: LogProgress
    /// How far the node has come since it opened the database.
    let start: LogStart

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
        let address = Address()
        self.progress = progress
        let start = LogStart()
        self.start = start
        let watcher = try LogWatcher(cluster, preferredMember: preferredMember, progress) { address.post($0) }
        let caller = try Worker<Call>(name: "etcd") {
            let client = EtcdClient(cluster, preferredMember: preferredMember)
            return { calls in
                for call in calls {
                    progress.awaitRoom()
                    do throws(EtcdError) {
                        let reply = try client.call(call.transaction, within: Self.callDuration)
                        address.post(.replied(call.serial, .success(reply)))
                    } catch {
                        address.post(.replied(call.serial, .failure(error)))
                    }
                }
            }
        }
        self.watcher = watcher
        self.caller = caller
        worker = try Worker(name: "log") {
            var log = log
            var announced = Ownership.elsewhere(node: nil)
            func announce(_ ownership: Ownership) {
                guard ownership != announced else { return }
                announced = ownership
                report([.ownership(ownership)])
            }
            /// Why the log cannot be followed, as operators were told; they were told nothing yet at first.
            var problem: String??
            func tell(_ reason: String?) {
                guard problem != .some(reason) else { return }
                problem = .some(reason)
                news(reason.map { .cannotFollow(database: database, reason: $0) } ?? .follows(database: database))
            }
            func carryOut(_ action: ReplicatedLog.Action) {
                switch action {
                case .call(let transaction, let serial): caller.post(Call(transaction: transaction, serial: serial))
                case .watch(let watch, let serial):
                    watcher.begin(watch, serial: serial)
                    tell(nil)
                    // Before the log has begun, the files may have to be told of its history.
                    if log.hasBegun { start.note(.following) }
                case .endWatch: watcher.end()
                case .begin(let epoch):
                    progress.begin(epoch: epoch)
                    report([.began(epoch: epoch)])
                case .follow(let records):
                    progress.arrived(records)
                    report(records.map(Arrival.record))
                case .own:
                    tell(nil)
                    start.note(.following)
                    if announced != .owner { progress.own(under: log.lease) }
                    announce(.owner)
                case .drain: announce(.handingOver)
                case .disown(let owner):
                    // Before another node can own it.
                    progress.disown()
                    announce(.elsewhere(node: owner))
                case .appended: progress.decide(nil)
                case .appendFailed(let failure): progress.decide(CommitFailure(failure))
                case .settled: progress.settle()
                case .copy(let epoch, let floor, let mismatch):
                    if let need = CopyNeed(mismatch, epoch: epoch, floor: floor), reachesNodes || mismatch != .behind {
                        return needsCopy(need)
                    }
                    let reason = Self.cannotFollow(database, log.position, mismatch, from: floor)
                    start.note(.stuck(reason))
                    tell(reason)
                case .lost:
                    start.note(.lost)
                    tell(Self.lost)
                case .damaged(let reason): tell(reason)
                }
            }
            return { events in
                for event in events {
                    for action in log.handle(event, at: MonotonicTime.currentWithSleep.milliseconds) {
                        carryOut(action)
                    }
                    if log.isTakingOver {
                        announce(.takingOver)
                    } else if !log.isOwner {
                        announce(.elsewhere(node: log.ownerName == node ? nil : log.ownerName))
                    }
                }
            }
        }
        address.worker.withLock { $0 = worker }
        post(.tick)
    }

    private static let lost = """
        etcd has no log of it, though nodes have files of one: if etcd was lost for good, 'hearth cluster rebuild' begins \
        the log again with what they have
        """

    private static func cannotFollow(
        _ database: String, _ position: LogPosition, _ mismatch: LogMismatch, from floor: UInt64
    ) -> String {
        switch mismatch {
        case .behind, .continued, .replaced:
            "its files end at \(position.sequence), and etcd has the commits from \(floor) on: stop this node and another "
                + "one, and copy \(database).log and \(database).tree from there, or let nodes reach each other with "
                + "--peer-listen"
        case .foreign:
            "its files are of another history than the cluster's: move the data folder away and keep it, and start the node "
                + "on an empty one; what only these files have, 'hearth backup' and 'hearth cluster restore' can put back"
        case .ahead:
            "its files end at \(position.sequence), beyond the end of the cluster's log: etcd has lost commits"
        }
    }

    /// Whether the node's own file takes records.
    var storesRecords: Bool { progress.storesRecords }

    /// False once the keeper was told to stop.
    @discardableResult
    func post(_ event: ReplicatedLog.Event) -> Bool { worker.post(event) }

    /// Waits for the end of the threads. Later work is not accepted.
    func stop() {
        watcher.stop()
        caller.stop()
        worker.stop()
    }
}

/// Whether a log has caught up since it was opened. Any thread.
final class LogStart: Sendable {
    enum State: Hashable, Sendable {
        case pending
        case following
        /// etcd does not have the log: the node waits for an operator.
        case lost
        /// It cannot, for this reason.
        case stuck(String)
    }

    private let current = Mutex(State.pending)

    var state: State { current.withLock { $0 } }

    func note(_ state: State) { current.withLock { if $0 == .pending { $0 = state } } }
}

extension CommitFailure {
    init(_ failure: ReplicatedLog.AppendFailure) {
        self =
            switch failure {
            case .fenced(let owner): .fenced(by: owner)
            case .noQuorum: .noQuorum
            case .refused(.noSpace): .storage(.full)
            case .refused(let error): .storage(.inputOutput(error.description))
            }
    }
}
