import HearthEtcdGateway
import HearthEtcdMessages
import HearthReplicatedLog
import HearthSystem
import Synchronization

/// The lease of a node, the name that it holds with it, and the other nodes that run. Used by one thread, which
/// waits for etcd.
struct NodeRegistration {
    private let name: String
    private let store: NodeStore
    private let record: NodeRecord
    private let client: EtcdClient
    private let news: @Sendable (ClusterNews) -> Void
    private let validity: LeaseValidity
    private var lease: NodeLease
    /// The lease that etcd has granted and that has not ended.
    private var granted: Int64?
    /// The name is registered with the lease.
    private var isRegistered = false
    private var nodes: [String: NodeRecord?] = [:]
    /// See ``UnreachedNodes``: those of this node, and those that were stated with the present lease.
    var unreached = UnreachedNodes()
    private var statedUnreached = UnreachedNodes()
    /// The other nodes do not reach this one.
    private(set) var isCutOff = false
    /// The members of the cluster as etcd had them at the last look.
    private(set) var document = ReadDocument.unread
    private var nextLook = MonotonicTime(nanoseconds: .min)
    private var lastLook = MonotonicTime(nanoseconds: .min)
    private var nextAttempt = MonotonicTime(nanoseconds: .min)
    private var nextStatement = MonotonicTime(nanoseconds: .min)
    private var failures = 0
    /// Whether the lease was reported as begun; nil before anything was.
    private var isTold: Bool?
    private let begun = MonotonicTime.current
    private var isNamed = false
    /// See ``Confirmations``; 0 for nothing.
    var confirmed: UInt64 = 0
    private var toldConfirmed: UInt64 = 0
    /// Databases whose files are being copied, and the last operations that the log need not keep for them. While the
    /// log of one is closed, it says nothing itself.
    var copied: [String: UInt64] = [:]
    /// Whether the files of a database are still being copied.
    var isCopied: (String) -> Bool = { _ in true }
    /// As they were stated with the present lease.
    private var statedCopied: [String: UInt64] = [:]

    private static let callDuration = Duration.seconds(1)
    /// A node that cannot reach home when it starts is not ready, and says so. Of another etcd cluster it reports this.
    private static let beginning = Duration.seconds(5)
    private static let lookInterval = Duration.seconds(2)
    private static let lookIntervalMin = Duration.milliseconds(250)
    /// A process that was killed keeps the name for as long as its lease lasts.
    private static let attemptInterval = Duration.milliseconds(200)
    private static let failuresUnremarked = 50

    init(
        _ name: String, _ record: NodeRecord, _ store: NodeStore, news: @escaping @Sendable (ClusterNews) -> Void
    ) {
        self.name = name
        self.store = store
        self.record = record
        self.news = news
        validity = store.validity
        client = store.makeClient()
        lease = NodeLease(seed: record.incarnation)
    }

    private var now: Int64 { MonotonicTime.currentWithSleep.milliseconds }

    /// Does due work.
    ///
    /// - returns: the lease that keys can be tied to, and the nodes that run; nil for records of unknown versions.
    mutating func run() -> (lease: Int64?, nodes: [String: NodeRecord?]) {
        handle(.tick)
        if let granted, !isRegistered, MonotonicTime.current >= nextAttempt { register(granted) }
        // A slow call must not keep the lease from being renewed after it.
        handle(.tick)
        if isRegistered, confirmed > 0, confirmed != toldConfirmed, let granted { confirm(granted) }
        handle(.tick)
        if isRegistered, unreached != statedUnreached, let granted { state(unreached, granted) }
        handle(.tick)
        if isRegistered, copied != statedCopied, MonotonicTime.current >= nextStatement, let granted {
            stateCopied(granted)
        }
        handle(.tick)
        if isRegistered, MonotonicTime.current >= nextLook { look() }
        if isTold == nil, !isRegistered, store.isHome || MonotonicTime.current - begun < Self.beginning {
            return (nil, nodes)
        }
        if isTold != isRegistered {
            isTold = isRegistered
            news(
                isRegistered
                    ? .leaseBegan(store: store.name, isHome: store.isHome)
                    : .leaseEnded(store: store.name, isHome: store.isHome))
        }
        return (isRegistered ? granted : nil, nodes)
    }

    /// Looks at the nodes that run with the next turn: one of them seems to have ended.
    mutating func lookSoon() { nextLook = min(nextLook, lastLook + Self.lookIntervalMin) }

    /// Ends the lease, and with it everything that the node has.
    mutating func end() { handle(.release) }

    private mutating func handle(_ event: NodeLease.Event) {
        let actions = lease.handle(event, at: now)
        validity.set(lease.validity)
        for action in actions {
            switch action {
            case .grant(let lease, let seconds):
                handle(.granted(lease, call(EtcdGrantLease(lease, seconds: seconds))))
            case .keepAlive(let lease): handle(.renewed(lease, call(EtcdKeepLeaseAlive(lease))))
            case .revoke(let lease): _ = call(EtcdRevokeLease(lease))
            case .lease(let lease):
                granted = lease
                // It may have lost everything.
                (isRegistered, isNamed) = (false, false)
                if isCutOff {
                    isCutOff = false
                    news(.cutOff(false, store: store.name))
                }
                toldConfirmed = 0
                statedUnreached = UnreachedNodes()
                statedCopied = [:]
                nodes = [:]
            }
        }
    }

    private func call<Call: EtcdCall>(_ call: Call) -> Result<Call.Reply, EtcdError> {
        Result { () throws(EtcdError) in try client.call(call, within: Self.callDuration) }
    }

    private mutating func register(_ lease: Int64) {
        nextAttempt = .current + Self.attemptInterval
        guard case .agreed = store.identities.withLock({ $0.state }), isNamed || takesName() && keeps(lease) else {
            return
        }
        guard case .success(let reply) = call(record.registration(of: name, lease: lease)), keeps(lease) else { return }
        let other = reply.values(0).first
        // An attempt whose answer was lost may have been successful.
        if reply.hasSucceeded || other?.lease == lease {
            // Before this node can begin a log.
            guard case .success(let reply) = call(FormatOverview.request), keeps(lease) else { return }
            if let beginning = FormatOverview(reply).beginning {
                // Another node may have registered meanwhile.
                guard case .success(let begun) = call(beginning), begun.hasSucceeded, keeps(lease) else { return }
            }
            failures = 0
            isRegistered = true
            nextLook = .current
            return
        }
        failures += 1
        if failures == Self.failuresUnremarked {
            news(
                .nameTaken(
                    address: other.flatMap { NodeRecord($0.value) }?.address ?? "?", store: store.name,
                    isHome: store.isHome))
        }
    }

    /// Renews the lease if it is time: a slow call must not keep it from being renewed. False if it has ended.
    private mutating func keeps(_ lease: Int64) -> Bool {
        handle(.tick)
        return granted == lease
    }

    /// Whether the etcd cluster is the one of this name. Nodes that mistake one for another would begin logs again.
    private mutating func takesName() -> Bool {
        guard case .success(let reply) = call(StoreDirectory.name(store.name)) else { return false }
        let present = reply.hasSucceeded ? store.name : StoreDirectory.presentName(reply)
        if present != store.name {
            failures += 1
            if failures == 1 { news(.otherStore(expected: store.name, found: present ?? StoreDirectory.home)) }
            nextAttempt = .current + Self.lookInterval
            return false
        }
        isNamed = true
        return true
    }

    private mutating func confirm(_ lease: Int64) {
        let sequence = confirmed
        if case .success = call(Confirmations.put(sequence, of: name, lease: lease)) { toldConfirmed = sequence }
    }

    private mutating func state(_ new: UnreachedNodes, _ lease: Int64) {
        if case .success = call(new.statement(of: name, lease: lease)) { statedUnreached = new }
    }

    private mutating func stateCopied(_ lease: Int64) {
        let end = MonotonicTime.current + Self.callDuration
        statedCopied = statedCopied.filter { copied[$0.key] != nil }
        let owner = OwnerRecord(node: name, incarnation: record.incarnation)
        for (database, sequence) in copied.filter({ statedCopied[$0.key] != $0.value }) {
            let transactions = LogTransactions(LogKeys(database: database), owner: owner)
            // It was noted before the calls for others.
            guard isCopied(database) else { continue }
            // A copy begins when nothing is stated, or that there are no files. Anything else is said by an open log.
            for stated in [nil, HeldFiles.nothing] {
                let statement = transactions.keepForCopy(sequence, after: stated, lease: lease)
                guard case .success(let reply) = call(statement), keeps(lease) else {
                    nextStatement = .current + Self.callDuration
                    return
                }
                if reply.hasSucceeded { break }
            }
            statedCopied[database] = sequence
            // Other work of this thread is waited for.
            if MonotonicTime.current >= end { return }
        }
    }

    private mutating func look() {
        lastLook = .current
        nextLook = lastLook + Self.lookInterval
        let question = EtcdTransaction(
            then: [
                .range(EtcdRange(NodeRecord.folder)), .range(EtcdRange(UnreachedNodes.folder)),
                .range(EtcdRange(.key(ClusterMembers.key))),
            ], isRepeatable: true)
        guard case .success(let reply) = call(question) else { return }
        nodes = Dictionary(
            reply.values(0).map { (NodeRecord.name(of: $0.key), NodeRecord($0.value)) },
            uniquingKeysWith: { first, _ in first })
        document = .read(reply.values(2).first)
        let statements = UnreachedNodes.statements(in: reply.values(1))
        let isNow = UnreachedNodes.cutOff(Set(nodes.keys), statements).contains(name)
        if isNow != isCutOff { news(.cutOff(isNow, store: store.name)) }
        isCutOff = isNow
    }
}
