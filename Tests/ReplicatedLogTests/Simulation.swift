import HearthEtcdMessages
import HearthRealtimeDatabase
import HearthTestSupport
import HearthReplicatedLog

/// Nodes and an engine under faults, checked against what the engine has really taken. Deterministic: the same seed and
/// faults give the same run.
struct Simulation {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    enum Message {
        case tick(node: Int)
        case request(node: Int, incarnation: UInt64, Call, loses: Bool)
        case reply(node: Int, incarnation: UInt64, Answer)
        case watchTurn(node: Int)
        case changes(node: Int, incarnation: UInt64, serial: UInt64, [EtcdChange])
        case watchEnds(node: Int, incarnation: UInt64, serial: UInt64)
        case copy(node: Int, incarnation: UInt64, epoch: UInt64, from: UInt64, because: LogMismatch)
        case rebuild
        case start(node: Int)
        case store(node: Int, incarnation: UInt64)
        case reach(node: Int, incarnation: UInt64)
        case drained(node: Int, incarnation: UInt64)
        case peer(node: Int, incarnation: UInt64, from: Int, PeerNews)
        case withdraw(request: Int64)
        case fault(Fault)
        case visit
        case drain
        case write
        case read

        /// The process that it is for: it waits while the node is paused.
        var process: (node: Int, incarnation: UInt64?)? {
            switch self {
            case .tick(let node): (node, nil)
            case .reply(let node, let incarnation, _), .changes(let node, let incarnation, _, _),
                .watchEnds(let node, let incarnation, _), .copy(let node, let incarnation, _, _, _),
                .store(let node, let incarnation), .reach(let node, let incarnation),
                .drained(let node, let incarnation), .peer(let node, let incarnation, _, _):
                (node, incarnation)
            case .request, .watchTurn, .start, .withdraw, .rebuild, .fault, .visit, .drain, .write, .read: nil
            }
        }
    }

    enum Call {
        case transaction(EtcdTransaction, serial: UInt64)
        case grant(Int64, seconds: Int64)
        case keepAlive(Int64)
        case revoke(Int64)
        case placement(PlacementCall, serial: Int)
    }

    enum Answer {
        case transaction(serial: UInt64, Result<EtcdTransactionReply, EtcdError>)
        case granted(Int64, Result<Int64, EtcdError>)
        case renewed(Int64, Result<Int64, EtcdError>)
        case placement(PlacementCall, serial: Int, Result<EtcdTransactionReply, EtcdError>)
    }

    /// A machine, with or without a process.
    struct Machine {
        var process: SimulatedNode?
        var files = SimulatedNode.Files()
        /// A copy that a restore has put there.
        var restored: SimulatedNode.Files?
        /// The members that the node goes by; it keeps the last ones that it has known.
        var placement = Placement()
        var clockOffset: Int64
        /// Parts of a million by which the clock is fast.
        var clockRate: Int64
        var pausedUntil: Int64 = 0
        var cutOffUntil: Int64 = 0
        var stalledUntil: Int64 = 0
        /// The changes of a watch come in order.
        var lastChange: Int64 = 0
        /// What the node says to another one arrives in order.
        var lastSaid: [Int: Int64] = [:]
        /// What happens to the next requests.
        var requestFaults: [Fault] = []
    }

    var random: SeededRandom
    var queue = MessageQueue<Message>()
    var now: Int64 = 0
    var engine = SimulatedEngine()
    var machines: [Machine] = []
    var outageUntil: Int64 = 0
    var fullUntil: Int64 = 0
    var leaseBonus: Int64 = 0
    let checksReads: Bool
    /// The database is held by three nodes.
    let isPlaced: Bool
    /// The last node never owns the log.
    let hasVisitor: Bool

    // The state from a global view.
    /// The operations that each history of the log has: that with the number n at n - 1.
    var histories: [UInt64: [UInt64]] = [:]
    /// The present one; 0 before the log begins.
    var epoch: UInt64 = 0
    var truth: [UInt64] { histories[epoch] ?? [] }
    /// Histories of which nothing is known after the engine was lost, as other files counted.
    var givenUp: Set<UInt64> = []
    /// The engine has lost the log, and it has not begun again.
    var isLost = false
    var lastTerm: Int64 = 0
    var nextOperation: UInt64 = 1
    var acknowledged: [UInt64: UInt64] = [:]
    var lastAcknowledged: UInt64 = 0
    var refused: Set<UInt64> = []

    // Figures.
    var faultCount = 0
    var ownerCount = 0
    var copyCount = 0
    var trimCount = 0
    var partedCount = 0
    var compressedCount = 0
    var settledCount = 0
    /// Batches that came from other nodes.
    var fedCount = 0
    var moveCount = 0
    var restoreCount = 0
    var rebuildCount = 0
    var replacedCount = 0
    var missedCount = 0
    var readCount = 0
    var removalCount = 0
    var memberCount = 0
    var visitCount = 0
    var drainCount = 0
    var acknowledgedCount: Int { acknowledged.count }
    /// In all histories.
    var takenCount = 0

    /// - parameter checksReads: leases end at their time, so what an owner reads must be the newest.
    /// - parameter isPlaced: the database is not held by all nodes, but by three.
    init(seed: UInt64, nodes: Int, faults: [Fault], isPlaced: Bool = false) {
        self.isPlaced = isPlaced
        random = SeededRandom(seed: seed ^ 0x5EED)
        checksReads = !faults.contains { $0.kind == .endLease }
        hasVisitor = !isPlaced && seed.isMultiple(of: 2)
        for node in 0..<nodes {
            machines.append(
                Machine(
                    clockOffset: .random(in: 0...1_000_000, using: &random),
                    clockRate: .random(in: -500...500, using: &random)))
            queue.add(.start(node: node), at: .random(in: 0...300, using: &random))
        }
        // The others have the format of an earlier version.
        if Bool.random(using: &random) { engine.beginFormat() }
        for fault in faults { queue.add(.fault(fault), at: fault.time) }
        queue.add(.write, at: 10)
        queue.add(.read, at: 15)
        guard isPlaced else { return }
        queue.add(.visit, at: 2000)
        queue.add(.drain, at: 3000)
    }

    /// Runs until all is well again after the last fault.
    mutating func run(until end: Int64) throws(Violation) {
        while let (time, message) = queue.next(upTo: end) {
            now = time
            engine.endLeases(at: now)
            engine.isFull = now < fullUntil
            try handle(message)
        }
        try converge(from: end)
    }

    /// Without faults, a write is acknowledged soon, and all nodes come to have the whole log.
    mutating func converge(from start: Int64) throws(Violation) {
        let acknowledgedBefore = lastAcknowledged
        var isWriting = true
        let limit = start + 90_000
        while let (time, message) = queue.next(upTo: limit) {
            now = time
            engine.endLeases(at: now)
            engine.isFull = now < fullUntil
            if case .write = message, !isWriting { continue }
            if case .visit = message { continue }
            if case .drain = message { continue }
            try handle(message)
            if isWriting, now > start + 20_000 { isWriting = lastAcknowledged <= acknowledgedBefore }
            if !isWriting, lastAcknowledged > acknowledgedBefore,
                isPlaced
                    ? isPlacedWell
                    : machines.allSatisfy({
                        $0.files.epoch == epoch && $0.files.last == truth.count
                            && $0.process?.log.position.sequence == $0.files.last
                    })
            {
                return
            }
        }
        throw Violation(
            description: "no convergence: acknowledged \(acknowledgedBefore) → \(lastAcknowledged) of \(truth.count); "
                + machines.map {
                    "\($0.files.last) \($0.process?.log.role as Any) \($0.process?.log.following as Any)"
                }.joined(separator: "; "))
    }

    mutating func handle(_ message: Message) throws(Violation) {
        if let (node, incarnation) = message.process {
            guard let process = machines[node].process, incarnation ?? process.incarnation == process.incarnation else {
                return
            }
            if machines[node].pausedUntil > now { return queue.add(message, at: machines[node].pausedUntil) }
        }
        switch message {
        case .tick(let node):
            queue.add(message, at: now + .random(in: 30...60, using: &random))
            try tick(node)
        case .request(let node, let incarnation, let call, let loses):
            try serve(call, of: node, incarnation, loses: loses)
        case .reply(let node, _, let answer): try take(answer, at: node)
        case .watchTurn(let node):
            queue.add(message, at: now + .random(in: 5...20, using: &random))
            watchTurn(node)
        case .changes(let node, _, let serial, let changes): try tell(node, .watched(serial, changes))
        case .watchEnds(let node, _, let serial): try tell(node, .watchEnded(serial))
        case .copy(let node, let incarnation, let epoch, let from, let mismatch):
            try copy(node, incarnation, epoch, from, mismatch)
        case .rebuild: rebuild()
        case .start(let node): try start(node)
        case .store(let node, _):
            try tell(node, .stores(true))
            try tell(node, .applies(true))
        case .reach(let node, _): try tell(node, .reached(true))
        case .drained(let node, _): try tell(node, .drained)
        case .peer(let node, _, let source, let news): try tell(news, from: source, to: node)
        case .withdraw(let request): _ = engine.apply(MoveRequest.remove(for: "main", createdAt: request))
        case .fault(let fault): try apply(fault)
        case .visit:
            queue.add(.visit, at: now + .random(in: 200...2000, using: &random))
            try visit(.random(in: 0..<machines.count, using: &random))
        case .drain:
            queue.add(.drain, at: now + .random(in: 2000...9000, using: &random))
            drain(.random(in: 0..<machines.count, using: &random))
        case .write:
            queue.add(.write, at: now + .random(in: 5...40, using: &random))
            try write()
        case .read:
            queue.add(.read, at: now + .random(in: 5...40, using: &random))
            try read()
        }
    }

    // MARK: Clients

    mutating func write() throws(Violation) {
        guard
            let node = machines.indices.filter({
                machines[$0].process?.log.isOwner == true && machines[$0].process?.draining == .no
            }).randomElement(using: &random)
        else { return }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            machines[node].process?.waiting.append(nextOperation)
            nextOperation += 1
        }
        if machines[node].pausedUntil <= now { try append(node) }
    }

    /// An owner that trusts its lease, and does not hand the log over, answers from its own state.
    mutating func read() throws(Violation) {
        for (node, machine) in machines.enumerated() where machine.pausedUntil <= now {
            guard let process = machine.process, process.log.isOwner, process.draining == .no,
                let (_, end) = process.lease.validity, clock(node) < end
            else {
                continue
            }
            readCount += 1
            // A restore does not wait for its owner.
            if checksReads, machine.files.epoch == epoch, machine.files.last < lastAcknowledged {
                throw violation(
                    "node \(node) answers from \(machine.files.last), though \(lastAcknowledged) is acknowledged")
            }
        }
    }

    // MARK: Faults

    mutating func apply(_ fault: Fault) throws(Violation) {
        faultCount += 1
        let node = fault.node
        let end = now + fault.milliseconds
        switch fault.kind {
        case .loseRequest, .loseReply, .delayRequest, .repeatRequest, .refuseRequest:
            machines[node].requestFaults.append(fault)
        case .pause: machines[node].pausedUntil = end
        case .kill, .powerCut:
            self.end(node, losesPower: fault.kind == .powerCut)
            queue.add(.start(node: node), at: end)
        case .cutOff: machines[node].cutOffUntil = end
        case .outage: outageUntil = end
        case .full: fullUntil = end
        case .endLease:
            guard let lease = engine.leases.keys.sorted().randomElement(using: &random) else { return }
            engine.end(lease)
        case .prolongLeases: leaseBonus = fault.milliseconds
        case .breakWatch: breakWatch(of: node)
        case .breakLinks: breakLinks(of: node)
        case .stallWatch: machines[node].stalledUntil = end
        case .repeatWatch:
            guard let next = machines[node].process?.watch?.next else { return }
            machines[node].process?.watch?.next = max(next - fault.milliseconds % 10, engine.compacted, 1)
        case .compact: engine.compact()
        case .move:
            let reply = engine.apply(MoveRequest.asked(node: "n\(node)").put(for: "main", lease: 0))
            guard case .success(let reply) = reply, reply.hasSucceeded else { return }
            queue.add(.withdraw(request: reply.revision), at: end + 1500)
        case .restore: restore(at: node)
        case .loseEngine:
            if epoch == 0 || isLost { return }
            engine = SimulatedEngine()
            isLost = true
            lastTerm = 0
            for index in machines.indices { breakWatch(of: index) }
            queue.add(.rebuild, at: end + 3000)
        case .fullDisk:
            guard let incarnation = machines[node].process?.incarnation, machines[node].pausedUntil <= now else {
                return
            }
            try tell(node, Bool.random(using: &random) ? .stores(false) : .applies(false))
            queue.add(.store(node: node, incarnation: incarnation), at: end)
        case .unreached:
            guard let incarnation = machines[node].process?.incarnation, machines[node].pausedUntil <= now else {
                return
            }
            try tell(node, .reached(false))
            queue.add(.reach(node: node, incarnation: incarnation), at: end)
        }
    }

    private mutating func breakWatch(of node: Int) {
        guard let process = machines[node].process, let watch = process.watch else { return }
        machines[node].process?.watch = nil
        queue.add(.watchEnds(node: node, incarnation: process.incarnation, serial: watch.serial), at: now + 1)
    }

    func violation(_ text: String) -> Violation { Violation(description: "at \(now) ms: \(text)") }
}
