import EtcdMessages
import RealtimeDatabase
import TestSupport

@testable import ReplicatedLog

/// Nodes and an engine under faults, checked against what the engine has really taken. Deterministic: the same seed and
/// faults give the same run.
struct Simulation {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private enum Message {
        case tick(node: Int)
        case request(node: Int, incarnation: UInt64, Call, loses: Bool)
        case reply(node: Int, incarnation: UInt64, Answer)
        case watchTurn(node: Int)
        case changes(node: Int, incarnation: UInt64, serial: UInt64, [EtcdChange])
        case watchEnds(node: Int, incarnation: UInt64, serial: UInt64)
        case copy(node: Int, incarnation: UInt64, epoch: UInt64, from: UInt64)
        case start(node: Int)
        case rank(node: Int, incarnation: UInt64)
        case fault(Fault)
        case write
        case read

        /// The process that it is for: it waits while the node is paused.
        var process: (node: Int, incarnation: UInt64?)? {
            switch self {
            case .tick(let node): (node, nil)
            case .reply(let node, let incarnation, _), .changes(let node, let incarnation, _, _),
                .watchEnds(let node, let incarnation, _), .copy(let node, let incarnation, _, _),
                .rank(let node, let incarnation):
                (node, incarnation)
            case .request, .watchTurn, .start, .fault, .write, .read: nil
            }
        }
    }

    private enum Call {
        case transaction(EtcdTransaction, serial: UInt64)
        case grant(Int64, seconds: Int64)
        case keepAlive(Int64)
        case revoke(Int64)
    }

    private enum Answer {
        case transaction(serial: UInt64, Result<EtcdTransactionReply, EtcdError>)
        case granted(Int64, Result<Int64, EtcdError>)
        case renewed(Int64, Result<Int64, EtcdError>)
    }

    /// A machine, with or without a process.
    private struct Machine {
        var process: SimulatedNode?
        var files = SimulatedNode.Files()
        var clockOffset: Int64
        /// Parts of a million by which the clock is fast.
        var clockRate: Int64
        var pausedUntil: Int64 = 0
        var cutOffUntil: Int64 = 0
        var stalledUntil: Int64 = 0
        /// The changes of a watch come in order.
        var lastChange: Int64 = 0
        /// What happens to the next requests.
        var requestFaults: [Fault] = []
    }

    private var random: SeededRandom
    private var queue = MessageQueue<Message>()
    private var now: Int64 = 0
    private var engine = SimulatedEngine()
    private var machines: [Machine] = []
    private var outageUntil: Int64 = 0
    private var fullUntil: Int64 = 0
    private var leaseBonus: Int64 = 0
    private let checksReads: Bool

    // What is known to whoever sees everything.
    /// The operations that the engine has taken: that with the number n at n - 1.
    private var truth: [UInt64] = []
    private var lastTerm: Int64 = 0
    private var nextOperation: UInt64 = 1
    private var acknowledged: [UInt64: UInt64] = [:]
    private var lastAcknowledged: UInt64 = 0
    private var refused: Set<UInt64> = []

    // Figures.
    private(set) var faultCount = 0
    private(set) var ownerCount = 0
    private(set) var copyCount = 0
    private(set) var trimCount = 0
    private(set) var partedCount = 0
    private(set) var settledCount = 0
    private(set) var readCount = 0
    var acknowledgedCount: Int { acknowledged.count }
    var takenCount: Int { truth.count }

    /// - parameter checksReads: leases end at their time, so what an owner reads must be the newest.
    init(seed: UInt64, nodes: Int, faults: [Fault]) {
        random = SeededRandom(seed: seed ^ 0x5EED)
        checksReads = !faults.contains { $0.kind == .endLease }
        for node in 0..<nodes {
            machines.append(
                Machine(
                    clockOffset: .random(in: 0...1_000_000, using: &random),
                    clockRate: .random(in: -500...500, using: &random)))
            queue.add(.start(node: node), at: .random(in: 0...300, using: &random))
        }
        for fault in faults { queue.add(.fault(fault), at: fault.time) }
        queue.add(.write, at: 10)
        queue.add(.read, at: 15)
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
    private mutating func converge(from start: Int64) throws(Violation) {
        let acknowledgedBefore = lastAcknowledged
        var isWriting = true
        let limit = start + 90_000
        while let (time, message) = queue.next(upTo: limit) {
            now = time
            engine.endLeases(at: now)
            engine.isFull = now < fullUntil
            if case .write = message, !isWriting { continue }
            try handle(message)
            if isWriting, now > start + 20_000 { isWriting = lastAcknowledged <= acknowledgedBefore }
            if !isWriting, lastAcknowledged > acknowledgedBefore,
                machines.allSatisfy({
                    $0.files.last == truth.count && $0.process?.log.position.sequence == $0.files.last
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

    private mutating func handle(_ message: Message) throws(Violation) {
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
        case .copy(let node, let incarnation, let epoch, let from): try copy(node, incarnation, epoch, from)
        case .start(let node): try start(node)
        case .rank(let node, _): try tell(node, .rank(node))
        case .fault(let fault): try apply(fault)
        case .write:
            queue.add(.write, at: now + .random(in: 5...40, using: &random))
            try write()
        case .read:
            queue.add(.read, at: now + .random(in: 5...40, using: &random))
            try read()
        }
    }

    // MARK: Clients

    private mutating func write() throws(Violation) {
        guard
            let node = machines.indices.filter({ machines[$0].process?.log.isOwner == true }).randomElement(
                using: &random)
        else { return }
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            machines[node].process?.waiting.append(nextOperation)
            nextOperation += 1
        }
        if machines[node].pausedUntil <= now { try append(node) }
    }

    /// An owner that trusts its lease answers from what it has.
    private mutating func read() throws(Violation) {
        for (node, machine) in machines.enumerated() where machine.pausedUntil <= now {
            guard let process = machine.process, process.log.isOwner, process.lease.isValid(at: clock(node)) else {
                continue
            }
            readCount += 1
            if checksReads, machine.files.last < lastAcknowledged {
                throw violation(
                    "node \(node) answers from \(machine.files.last), though \(lastAcknowledged) is acknowledged")
            }
        }
    }

    // MARK: Nodes

    /// In milliseconds. Runs while the node is paused.
    private func clock(_ node: Int) -> Int64 {
        now + machines[node].clockOffset + now * machines[node].clockRate / 1_000_000
    }

    private mutating func start(_ node: Int) throws(Violation) {
        guard machines[node].process == nil else { return }
        let process = SimulatedNode(
            name: "n\(node)", incarnation: random.next(), files: machines[node].files)
        machines[node].process = process
        queue.add(.tick(node: node), at: now)
        queue.add(.watchTurn(node: node), at: now)
        try tell(node, .rank(node))
    }

    private mutating func end(_ node: Int, losesPower: Bool) {
        guard machines[node].process != nil else { return }
        machines[node].process = nil
        // Each process has its own.
        queue.removeAll { message in
            switch message {
            case .tick(node), .watchTurn(node): true
            default: false
            }
        }
        if losesPower {
            let count = machines[node].files.records.count
            let synced = machines[node].files.syncedCount
            let kept = Int.random(in: min(synced, count)...count, using: &random)
            machines[node].files.records.removeLast(count - kept)
        }
        machines[node].pausedUntil = 0
    }

    private mutating func tick(_ node: Int) throws(Violation) {
        let time = clock(node)
        guard var lease = machines[node].process?.lease else { return }
        let actions = lease.handle(.tick, at: time)
        machines[node].process?.lease = lease
        try carryOut(actions, at: node)
        if Int.random(in: 0..<6, using: &random) == 0 {
            machines[node].files.syncedCount = machines[node].files.records.count
            try tell(node, .kept(through: machines[node].files.last))
        }
        try tell(node, .tick)
        try append(node)
    }

    private mutating func carryOut(_ actions: [NodeLease.Action], at node: Int) throws(Violation) {
        for action in actions {
            switch action {
            case .grant(let lease, let seconds): send(.grant(lease, seconds: seconds), from: node)
            case .keepAlive(let lease): send(.keepAlive(lease), from: node)
            case .revoke(let lease): send(.revoke(lease), from: node)
            case .lease(let lease): try tell(node, .lease(lease))
            }
        }
    }

    private mutating func take(_ answer: Answer, at node: Int) throws(Violation) {
        guard var lease = machines[node].process?.lease else { return }
        let actions: [NodeLease.Action]
        switch answer {
        case .transaction(let serial, let result): return try tell(node, .replied(serial, result))
        case .granted(let number, let result): actions = lease.handle(.granted(number, result), at: clock(node))
        case .renewed(let number, let result): actions = lease.handle(.renewed(number, result), at: clock(node))
        }
        machines[node].process?.lease = lease
        try carryOut(actions, at: node)
    }

    /// Starts an append of all that waits, if none is under way.
    private mutating func append(_ node: Int) throws(Violation) {
        guard let process = machines[node].process, process.appending.isEmpty, !process.waiting.isEmpty,
            process.log.isOwner
        else { return }
        var records: [LogRecord] = []
        for operation in process.waiting {
            var body = (0..<8).map { UInt8(truncatingIfNeeded: operation >> ($0 * 8)) }
            if operation % 97 == 0 { body += Array(repeating: UInt8(truncatingIfNeeded: operation), count: 1500) }
            records.append(
                LogRecord(
                    firstSequence: machines[node].files.last + UInt64(records.count) + 1, count: 1, time: now,
                    body: body))
        }
        machines[node].process?.appending = process.waiting
        machines[node].process?.waiting = []
        try tell(node, .append(records))
    }

    private mutating func tell(_ node: Int, _ event: ReplicatedLog.Event) throws(Violation) {
        guard var log = machines[node].process?.log else { return }
        var records: [LogRecord] = []
        if case .append(let some) = event { records = some }
        let actions = log.handle(event, at: clock(node))
        machines[node].process?.log = log
        if !records.isEmpty { machines[node].process?.flying = records }
        for action in actions { try carryOut(action, at: node) }
        try append(node)
    }

    private mutating func carryOut(_ action: ReplicatedLog.Action, at node: Int) throws(Violation) {
        guard let process = machines[node].process else { return }
        switch action {
        case .call(let transaction, let serial): send(.transaction(transaction, serial: serial), from: node)
        case .watch(let watch, let serial): machines[node].process?.watch = (serial, watch.keys, watch.start)
        case .endWatch: machines[node].process?.watch = nil
        case .begin(let epoch):
            if machines[node].files.last > 0 { throw violation("node \(node) begins a history with files of another") }
            machines[node].files.epoch = epoch
        case .follow(let records): try store(records, at: node)
        case .own(let term):
            ownerCount += 1
            if machines[node].files.last != truth.count {
                throw violation("node \(node) owns the log with \(machines[node].files.last) of \(truth.count)")
            }
            machines[node].process?.term = term
        case .disown:
            machines[node].process?.term = nil
            // These were never sent.
            refused.formUnion(process.waiting)
            machines[node].process?.waiting = []
        case .appended(let sequence):
            try store(process.flying, at: node)
            if machines[node].files.last != sequence {
                throw violation("node \(node) has not appended up to \(sequence)")
            }
            for (operation, record) in zip(process.appending, process.flying) {
                try acknowledge(operation, record.firstSequence, at: node)
            }
            machines[node].process?.appending = []
            machines[node].process?.flying = []
        case .appendFailed:
            machines[node].process?.doubtful += process.appending
            machines[node].process?.appending = []
            machines[node].process?.flying = []
        case .settled(let sequence):
            settledCount += 1
            if machines[node].files.last != sequence { throw violation("node \(node) has not settled at \(sequence)") }
            let taken = Set(truth.prefix(Int(sequence)))
            for operation in process.doubtful where !taken.contains(operation) {
                if truth.contains(operation) { throw violation("\(operation) is refused, though the log has it") }
                refused.insert(operation)
            }
            machines[node].process?.doubtful = []
        case .copy(let epoch, let from):
            queue.add(
                .copy(node: node, incarnation: process.incarnation, epoch: epoch, from: from),
                at: now + .random(in: 20...800, using: &random))
        case .damaged(let reason): throw violation("node \(node): \(reason)")
        }
    }

    /// What a node stores must be the log.
    private mutating func store(_ records: [LogRecord], at node: Int) throws(Violation) {
        for record in records {
            let expected = machines[node].files.last + 1
            if record.firstSequence != expected {
                throw violation("node \(node) stores \(record.firstSequence) after \(expected - 1)")
            }
            guard expected <= truth.count, truth[Int(expected) - 1] == Self.operation(record) else {
                throw violation("node \(node) stores another record at \(expected) than the log has")
            }
            machines[node].files.records.append(record)
        }
    }

    private mutating func acknowledge(_ operation: UInt64, _ sequence: UInt64, at node: Int) throws(Violation) {
        if refused.contains(operation) { throw violation("\(operation) is acknowledged after it was refused") }
        if acknowledged.updateValue(sequence, forKey: operation) != nil {
            throw violation("\(operation) is acknowledged twice")
        }
        guard sequence <= truth.count, truth[Int(sequence) - 1] == operation else {
            throw violation("\(operation) is acknowledged at \(sequence), where the log does not have it")
        }
        lastAcknowledged = max(lastAcknowledged, sequence)
    }

    private mutating func copy(_ node: Int, _ incarnation: UInt64, _ epoch: UInt64, _ from: UInt64) throws(Violation) {
        let sources = machines.indices.filter {
            $0 != node && machines[$0].process != nil && machines[$0].files.epoch == epoch
                && machines[$0].files.last + 1 >= from
        }
        guard let source = sources.randomElement(using: &random) else {
            return queue.add(
                .copy(node: node, incarnation: incarnation, epoch: epoch, from: from), at: now + 500)
        }
        copyCount += 1
        machines[node].files = machines[source].files
        machines[node].files.syncedCount = machines[node].files.records.count
        try tell(node, .copied(LogPosition(epoch: epoch, sequence: machines[node].files.last)))
    }

    // MARK: The network and the engine

    private mutating func send(_ call: Call, from node: Int) {
        guard let incarnation = machines[node].process?.incarnation else { return }
        let request = Message.request(node: node, incarnation: incarnation, call, loses: false)
        let arrival = now + .random(in: 1...5, using: &random)
        // The node gives up.
        let patience = now + 1000
        func unanswered(_ error: EtcdError) -> Message {
            switch call {
            case .transaction(_, let serial):
                .reply(node: node, incarnation: incarnation, .transaction(serial: serial, .failure(error)))
            case .grant(let lease, _): .reply(node: node, incarnation: incarnation, .granted(lease, .failure(error)))
            case .keepAlive(let lease), .revoke(let lease):
                .reply(node: node, incarnation: incarnation, .renewed(lease, .failure(error)))
            }
        }
        queue.add(unanswered(.outcomeUnknown("no answer")), at: patience)
        if now < outageUntil || now < machines[node].cutOffUntil {
            // It may have been under way when the connection broke.
            if Bool.random(using: &random) { return }
            return queue.add(unanswered(.unavailable("refused")), at: arrival)
        }
        guard let fault = machines[node].requestFaults.popLast() else { return queue.add(request, at: arrival) }
        switch fault.kind {
        case .loseRequest: break
        case .loseReply:
            queue.add(.request(node: node, incarnation: incarnation, call, loses: true), at: arrival)
        case .delayRequest:
            queue.add(
                .request(node: node, incarnation: incarnation, call, loses: true), at: patience + fault.milliseconds)
        case .repeatRequest:
            queue.add(request, at: arrival)
            queue.add(
                .request(node: node, incarnation: incarnation, call, loses: true), at: arrival + fault.milliseconds)
        default:
            let errors: [EtcdError] = [.noLeader, .unavailable("refused"), .overloaded]
            queue.add(unanswered(errors[Int(fault.milliseconds) % errors.count]), at: arrival)
        }
    }

    private mutating func serve(_ call: Call, of node: Int, _ incarnation: UInt64, loses: Bool) throws(Violation) {
        let answer: Answer
        switch call {
        case .transaction(let transaction, let serial):
            let result = engine.apply(transaction)
            if case .success(let reply) = result, reply.hasSucceeded { try observe(transaction) }
            answer = .transaction(serial: serial, result)
        case .grant(let lease, let seconds):
            let isNew = engine.grant(lease, until: leaseEnd(seconds))
            answer = .granted(lease, isNew ? .success(seconds) : .failure(.leaseExists))
        case .keepAlive(let lease):
            let isAlive = engine.keepAlive(lease, until: leaseEnd(NodeLease.secondsDefault))
            answer = .renewed(lease, isAlive ? .success(NodeLease.secondsDefault) : .failure(.leaseNotFound))
        case .revoke(let lease):
            engine.end(lease)
            return
        }
        if loses || now < outageUntil || now < machines[node].cutOffUntil { return }
        queue.add(
            .reply(node: node, incarnation: incarnation, answer), at: now + .random(in: 1...5, using: &random))
    }

    /// etcd looks every half second for leases that have ended.
    private mutating func leaseEnd(_ seconds: Int64) -> Int64 {
        now + seconds * 1000 + .random(in: 0...500, using: &random) + leaseBonus
    }

    /// Notes what the log has really taken.
    private mutating func observe(_ transaction: EtcdTransaction) throws(Violation) {
        for case .put(let key, let value, _) in transaction.success {
            if key.starts(with: "/hearth/1/db/main/floor".utf8) { trimCount += 1 }
            guard key.starts(with: "/hearth/1/db/main/log/".utf8), let batch = LogBatch(value) else { continue }
            if batch.firstSequence != truth.count + 1 {
                throw violation("a batch begins at \(batch.firstSequence), after \(truth.count)")
            }
            if batch.id.term < lastTerm { throw violation("an earlier owner appends") }
            lastTerm = batch.id.term
            var parts: [UInt8] = []
            if case .parts = batch.content {
                partedCount += 1
                let range = LogKeys(database: "main").parts(of: batch.firstSequence, batch.id)
                let keys = engine.values.keys.filter(range.contains).sorted { $0.lexicographicallyPrecedes($1) }
                parts = keys.flatMap { engine.values[$0]?.value ?? [] }
            }
            guard let records = batch.records(parts: parts) else { throw violation("a damaged batch") }
            for record in records {
                let operation = Self.operation(record)
                if refused.contains(operation) { throw violation("\(operation) reaches the log after it was refused") }
                truth.append(operation)
            }
        }
    }

    private static func operation(_ record: LogRecord) -> UInt64 {
        record.body.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func watchTurn(_ node: Int) {
        guard let process = machines[node].process, let watch = process.watch, now >= machines[node].stalledUntil,
            now >= machines[node].cutOffUntil, now >= outageUntil
        else { return }
        let arrival = max(now + .random(in: 1...5, using: &random), machines[node].lastChange)
        machines[node].lastChange = arrival
        guard let changes = engine.changes(watch.keys, from: watch.next) else {
            machines[node].process?.watch = nil
            return queue.add(
                .watchEnds(node: node, incarnation: process.incarnation, serial: watch.serial), at: arrival)
        }
        guard let last = changes.last else { return }
        machines[node].process?.watch?.next = last.revision + 1
        queue.add(
            .changes(node: node, incarnation: process.incarnation, serial: watch.serial, changes), at: arrival)
    }

    // MARK: Faults

    private mutating func apply(_ fault: Fault) throws(Violation) {
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
        case .breakWatch:
            guard let process = machines[node].process, let watch = process.watch else { return }
            machines[node].process?.watch = nil
            queue.add(.watchEnds(node: node, incarnation: process.incarnation, serial: watch.serial), at: now + 1)
        case .stallWatch: machines[node].stalledUntil = end
        case .repeatWatch:
            guard let next = machines[node].process?.watch?.next else { return }
            machines[node].process?.watch?.next = max(next - fault.milliseconds % 10, engine.compacted, 1)
        case .compact: engine.compact()
        case .release:
            guard let incarnation = machines[node].process?.incarnation, machines[node].pausedUntil <= now else {
                return
            }
            try tell(node, .release)
            queue.add(.rank(node: node, incarnation: incarnation), at: end)
        }
    }

    private func violation(_ text: String) -> Violation { Violation(description: "at \(now) ms: \(text)") }
}

/// Messages in the order of their times; those of one time in the order in which they were added.
struct MessageQueue<Message> {
    private var heap: [(time: Int64, number: Int, message: Message)] = []
    private var count = 0

    mutating func add(_ message: Message, at time: Int64) {
        count += 1
        heap.append((time, count, message))
        var index = heap.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Nil if there is none before or at this time.
    mutating func next(upTo end: Int64) -> (time: Int64, message: Message)? {
        guard let first = heap.first, first.time <= end else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink(0)
        }
        return (first.time, first.message)
    }

    mutating func removeAll(where isUnwanted: (Message) -> Bool) {
        heap.removeAll { isUnwanted($0.message) }
        for index in heap.indices.reversed() { sink(index) }
    }

    private mutating func sink(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(child, least) {
                least = child
            }
            if least == index { return }
            heap.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (heap[left].time, heap[left].number) < (heap[right].time, heap[right].number)
    }
}
