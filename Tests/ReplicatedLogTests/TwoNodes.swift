import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthReplicatedLog

/// Two nodes that both want to own one log, and an engine. A value, so that every order of events can be tried.
struct TwoNodes {
    /// The possible next events.
    enum Step: CaseIterable {
        /// The call that is under way reaches the engine, and its answer the node.
        case answer
        /// It reaches the engine, and the answer is lost.
        case loseAnswer
        /// The node gives up waiting for the answer. The call may still reach the engine, later.
        case giveUp
        /// A call that was given up reaches the engine now.
        case late
        /// The engine ends the node's lease, and does not tell.
        case endLease
        /// The node notices that it has no lease, and gets another one.
        case renewLease
        case append
        /// Somebody asks that this node own the log.
        case ask
        /// The request is withdrawn.
        case withdraw
        /// The node has begun nothing since it was told to hand the log over.
        case drained
        /// The watch tells all that has changed.
        case watch
    }

    struct Node {
        var log: ReplicatedLog
        var lease: Int64
        var call: (EtcdTransaction, UInt64)?
        var late: [EtcdTransaction] = []
        var watch: (serial: UInt64, keys: EtcdKeyRange, next: Int64)?
        var stored: [UInt8] = []
        var isAppending = false
        /// Of the append that is under way.
        var records: [UInt8] = []
        var acknowledged: [(place: Int, mark: UInt8)] = []
        /// Of appends that have failed, until the node says whether the log has them.
        var failed: [UInt8] = []
        /// Those that the log has not, as the node has said.
        var lost: [UInt8] = []
        var draining = Draining.no
    }

    enum Draining { case no, begun, done }

    var engine = SimulatedEngine()
    var nodes: [Node]
    var time: Int64 = 0
    var nextLease: Int64 = 10
    /// Each append has a mark of its own.
    var nextMark: UInt8 = 1
    var truth: [UInt8] = []
    /// The violated properties.
    var violation: String?

    init() {
        var options = ReplicatedLog.Options()
        options.handOverMilliseconds = 5000
        nodes = (0..<2).map { index in
            Node(
                log: ReplicatedLog(
                    database: "main", owner: OwnerRecord(node: "n\(index)", incarnation: UInt64(index) + 1),
                    position: LogPosition(epoch: nil, sequence: 0), foundingEpoch: UInt64(index) + 1,
                    options: options),
                lease: Int64(index) + 1)
        }
        for index in nodes.indices {
            takeLease(nodes[index].lease, at: index)
            tell(index, .rank(0))
        }
    }

    /// The node gets a lease, and registers with it.
    private mutating func takeLease(_ lease: Int64, at index: Int) {
        nodes[index].lease = lease
        _ = engine.grant(lease, until: .max)
        let record = NodeRecord(incarnation: UInt64(index) + 1, address: "")
        let key = NodeRecord.key(of: "n\(index)")
        _ = engine.apply(EtcdTransaction(then: [.put(key: key, value: record.bytes, lease: lease)], isRepeatable: true))
        tell(index, .lease(lease))
    }

    /// The request to move the log, as the engine has it.
    var request: MoveRequest? { engine.values[LogKeys(database: "main").move].flatMap { MoveRequest($0.value) } }

    mutating func ask(for node: String) {
        _ = engine.apply(MoveRequest.asked(node: node).put(for: "main", lease: 0))
    }

    mutating func withdraw() {
        guard let value = engine.values[LogKeys(database: "main").move] else { return }
        _ = engine.apply(MoveRequest.remove(for: "main", createdAt: value.createRevision))
    }

    mutating func tell(_ index: Int, _ event: ReplicatedLog.Event) {
        // Far enough for every retry to be due, and not so far that an append is given up.
        time += 1000
        let actions = nodes[index].log.handle(event, at: time)
        for action in actions {
            switch action {
            case .call(let transaction, let serial): nodes[index].call = (transaction, serial)
            case .watch(let watch, let serial): nodes[index].watch = (serial, watch.keys, watch.start)
            case .endWatch: nodes[index].watch = nil
            case .follow(let records): store(records.compactMap(\.body.first), at: index)
            case .own:
                if nodes[index].stored != truth { violation = "an owner does not have the whole log" }
                nodes[index].draining = .no
            case .drain: nodes[index].draining = .begun
            case .disown: nodes[index].draining = .no
            case .appended:
                for mark in nodes[index].records {
                    nodes[index].acknowledged.append((nodes[index].stored.count, mark))
                    store([mark], at: index)
                }
                nodes[index].isAppending = false
            case .appendFailed:
                nodes[index].isAppending = false
                nodes[index].failed += nodes[index].records
                nodes[index].records = []
            case .settled:
                nodes[index].lost += nodes[index].failed.filter { !truth.contains($0) }
                nodes[index].failed = []
            case .copy, .lost, .damaged: violation = "\(action)"
            // These nodes follow the engine.
            case .begin, .askForFeed, .endFeed, .pass, .endFeeds: break
            }
        }
    }

    private mutating func store(_ marks: [UInt8], at index: Int) {
        nodes[index].stored += marks
        if !truth.starts(with: nodes[index].stored) {
            violation = "node \(index) stores what the log does not have"
        }
        for (place, mark) in nodes[index].acknowledged where truth[place] != mark {
            violation = "an acknowledged record is not in the log"
        }
    }

    mutating func apply(_ transaction: EtcdTransaction) -> Result<EtcdTransactionReply, EtcdError> {
        let result = engine.apply(transaction)
        guard case .success(let reply) = result, reply.hasSucceeded else { return result }
        for case .put(let key, let value, _) in transaction.success where LogKeys(database: "main").isBatch(key) {
            guard let batch = LogBatch(value), let records = batch.records() else { continue }
            if batch.firstSequence != truth.count + 1 { violation = "a gap or an overlap" }
            truth += records.compactMap(\.body.first)
            if nodes.contains(where: { !$0.lost.allSatisfy { !truth.contains($0) } }) {
                violation = "the log has a record after its node has said that it has not"
            }
        }
        return result
    }

    /// Answers false if the step is not possible.
    mutating func take(_ step: Step, at index: Int) -> Bool {
        switch step {
        case .answer:
            guard let (transaction, serial) = nodes[index].call else {
                return false
            }
            nodes[index].call = nil
            let result = apply(transaction)
            tell(index, .replied(serial, result))
        case .loseAnswer, .giveUp:
            guard let (transaction, serial) = nodes[index].call else { return false }
            nodes[index].call = nil
            if step == .loseAnswer { _ = apply(transaction) } else { nodes[index].late.append(transaction) }
            tell(index, .replied(serial, .failure(.outcomeUnknown(""))))
            if nodes[index].call == nil { tell(index, .tick) }
        case .late:
            guard !nodes[index].late.isEmpty else { return false }
            _ = apply(nodes[index].late.removeFirst())
        case .endLease:
            guard engine.leases[nodes[index].lease] != nil else { return false }
            engine.end(nodes[index].lease)
        case .renewLease:
            tell(index, .lease(nil))
            takeLease(nextLease, at: index)
            nextLease += 1
        case .append:
            guard nodes[index].log.isOwner, !nodes[index].isAppending, nodes[index].draining != .done else {
                return false
            }
            nodes[index].isAppending = true
            nodes[index].records = [nextMark]
            let first = UInt64(nodes[index].stored.count) + 1
            tell(index, .append([LogRecord(firstSequence: first, count: 1, time: 0, body: [nextMark])]))
            nextMark += 1
        case .ask:
            guard request == nil else { return false }
            ask(for: "n\(index)")
        case .withdraw:
            guard request == .asked(node: "n\(index)") else { return false }
            withdraw()
        case .drained:
            guard nodes[index].draining == .begun, !nodes[index].isAppending else { return false }
            nodes[index].draining = .done
            tell(index, .drained)
        case .watch:
            guard let watch = nodes[index].watch,
                let changes = engine.changes(watch.keys, from: watch.next), let last = changes.last
            else { return false }
            nodes[index].watch?.next = last.revision + 1
            tell(index, .watched(watch.serial, changes))
        }
        return true
    }
}
