import HearthDatabaseScheduler
import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog
import HearthStorageErrors
import HearthSystem

/// Has one log decide (``ReplicatedLog``), and carries out its actions, except for calls of etcd. One thread at a time.
struct LogDecider {
    /// A call that the log waits for.
    struct Call: Sendable {
        var transaction: EtcdTransaction
        var serial: UInt64
    }

    let database: String
    let node: String
    let progress: LogProgress
    let watcher: LogWatcher
    let start: LogStart
    let news: @Sendable (ClusterNews) -> Void
    let report: @Sendable ([Arrival]) -> Void
    let needsCopy: @Sendable (CopyNeed) -> Void
    let reachesNodes: Bool
    let feed: @Sendable (FeedAction) -> Void
    private var log: ReplicatedLog
    private var notLocatedSince: MonotonicTime?
    private var announced = Ownership.elsewhere(node: nil)
    /// Why the log cannot be followed, as operators were told; they were told nothing yet at first.
    private var problem: String??

    /// - parameters:
    ///   - report: gets the log's results, in order.
    ///   - needsCopy: told that the files cannot follow the log, and what they need.
    ///   - reachesNodes: whether a copy of another node's files can be had.
    ///   - feed: carries out what concerns other nodes that follow this one, or that it follows.
    init(
        _ log: ReplicatedLog, database: String, node: String, _ progress: LogProgress, _ watcher: LogWatcher,
        _ start: LogStart, news: @escaping @Sendable (ClusterNews) -> Void,
        report: @escaping @Sendable ([Arrival]) -> Void, needsCopy: @escaping @Sendable (CopyNeed) -> Void,
        reachesNodes: Bool, feed: @escaping @Sendable (FeedAction) -> Void
    ) {
        self.log = log
        (self.database, self.node, self.progress) = (database, node, progress)
        (self.watcher, self.start, self.news) = (watcher, start, news)
        (self.report, self.needsCopy, self.reachesNodes, self.feed) = (report, needsCopy, reachesNodes, feed)
    }

    /// Answers the calls that are due now: their replies are events. At most one reply is awaited.
    mutating func handle(_ event: ReplicatedLog.Event) -> [Call] {
        var calls: [Call] = []
        for action in log.handle(event, at: MonotonicTime.currentWithSleep.milliseconds) { carryOut(action, &calls) }
        if log.isTakingOver {
            announce(.takingOver)
        } else if !log.isOwner {
            announce(.elsewhere(node: log.ownerName == node ? nil : log.ownerName))
        }
        return calls
    }

    /// Whether a call brings records of others, and its answer is still awaited.
    func awaitsRecords(of call: Call) -> Bool { log.awaitsRecords(of: call.serial) }

    private mutating func announce(_ ownership: Ownership) {
        guard ownership != announced else { return }
        announced = ownership
        report([.ownership(ownership)])
    }

    /// It is not known which etcd cluster has the log.
    mutating func notLocated(_ failure: LogPlace.Failure) {
        let since = notLocatedSince ?? .current
        notLocatedSince = since
        switch failure {
        // As with a log whose place is known.
        case .unreachable: break
        case .notYet(let reason): if MonotonicTime.current - since > Self.locatingPatience { tell(reason) }
        case .never(let reason):
            start.note(.stuck(reason))
            tell(reason)
        }
    }

    private static let locatingPatience = Duration.seconds(5)

    private mutating func tell(_ reason: String?) {
        guard problem != .some(reason) else { return }
        problem = .some(reason)
        news(reason.map { .cannotFollow(database: database, reason: $0) } ?? .follows(database: database))
    }

    private mutating func carryOut(_ action: ReplicatedLog.Action, _ calls: inout [Call]) {
        switch action {
        case .call(let transaction, let serial): calls.append(Call(transaction: transaction, serial: serial))
        case .watch(let watch, let serial):
            watcher.begin(watch, serial: serial)
            caughtUp()
        case .endWatch: watcher.end()
        case .askForFeed(let request):
            feed(.follow(request))
            caughtUp()
        case .endFeed: feed(.unfollow)
        case .pass(let batch, let floor, let owner, let nodes):
            feed(.pass(batch, floor: floor, owner: owner, to: nodes))
        case .endFeeds(let nodes): feed(.end(nodes))
        case .begin(let epoch):
            progress.begin(epoch: epoch)
            report([.began(epoch: epoch)])
        case .follow(let records):
            progress.arrived(records)
            report(records.map(Arrival.record))
        case .own:
            tell(nil)
            start.note(.following)
            report([.caughtUp])
            if announced != .owner { progress.own(under: log.lease) }
            announce(.owner)
        case .drain: announce(.handingOver)
        case .disown(let owner):
            // Before another node can own it.
            progress.disown()
            announce(.elsewhere(node: owner))
        case .appended: progress.decide(.success(()))
        case .appendFailed(let failure): progress.decide(.failure(CommitFailure(failure)))
        case .settled: progress.settle()
        case .copy(let epoch, let floor, let mismatch):
            if let need = CopyNeed(mismatch, epoch: epoch, floor: floor), reachesNodes || mismatch != .behind {
                return needsCopy(need)
            }
            let reason = Self.cannotFollow(database, log.position, mismatch, from: floor)
            start.note(.stuck(reason))
            tell(reason)
        case .lost:
            tell(Self.lost)
            start.note(.lost)
        case .damaged(let reason): tell(reason)
        }
    }

    private mutating func caughtUp() {
        tell(nil)
        // Before the log has begun, the files may have to be told of its history.
        guard log.hasBegun else { return }
        start.note(.following)
        report([.caughtUp])
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
}

extension CommitFailure {
    init(_ failure: ReplicatedLog.AppendFailure) {
        self =
            switch failure {
            case .fenced(let owner): .fenced(by: owner)
            case .noQuorum: .noQuorum
            case .refused(.noSpace): .storage(.etcdFull)
            case .refused(let error): .storage(.inputOutput(error.description))
            }
    }
}
