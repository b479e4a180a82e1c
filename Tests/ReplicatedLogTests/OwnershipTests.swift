import EtcdMessages
import RealtimeDatabase
import Testing

@testable import ReplicatedLog

/// Two nodes that both want to own one log, and an engine. Everything is a value, so all orders of events are tried.
@Suite("Ownership") struct OwnershipTests {
    /// What can happen next.
    private enum Step: CaseIterable {
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
        /// The watch tells all that has changed.
        case watch
    }

    private struct Node {
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
    }

    private struct World {
        var engine = SimulatedEngine()
        var nodes: [Node]
        var time: Int64 = 0
        var nextLease: Int64 = 10
        /// Each append has a mark of its own.
        var nextMark: UInt8 = 1
        var truth: [UInt8] = []
        /// Whatever was violated.
        var violation: String?

        init() {
            nodes = (0..<2).map { index in
                Node(
                    log: ReplicatedLog(
                        database: "main", owner: OwnerRecord(node: "n\(index)", incarnation: UInt64(index) + 1),
                        position: LogPosition(epoch: nil, sequence: 0), foundingEpoch: UInt64(index) + 1),
                    lease: Int64(index) + 1)
            }
            for index in nodes.indices {
                _ = engine.grant(nodes[index].lease, until: .max)
                tell(index, .lease(nodes[index].lease))
                tell(index, .rank(0))
            }
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
                case .copy, .damaged: violation = "\(action)"
                case .begin, .disown: break
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
            for case .put(_, let value, _) in transaction.success {
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
                nodes[index].lease = nextLease
                nextLease += 1
                _ = engine.grant(nodes[index].lease, until: .max)
                tell(index, .lease(nil))
                tell(index, .lease(nodes[index].lease))
            case .append:
                guard nodes[index].log.isOwner, !nodes[index].isAppending else { return false }
                nodes[index].isAppending = true
                nodes[index].records = [nextMark]
                let first = UInt64(nodes[index].stored.count) + 1
                tell(index, .append([LogRecord(firstSequence: first, count: 1, time: 0, body: [nextMark])]))
                nextMark += 1
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

    /// Node 0 owns the log and has appended; node 1 follows it.
    private static func owned() -> World {
        var world = World()
        for _ in 0..<20 where !world.nodes[0].log.isOwner { if !world.take(.answer, at: 0) { world.tell(0, .tick) } }
        for _ in 0..<4 where world.nodes[1].call != nil { _ = world.take(.answer, at: 1) }
        _ = world.take(.append, at: 0)
        return world
    }

    /// Tries every order of steps; answers how many worlds there were, and the first violation.
    private static func explore(_ world: World, depth: Int, _ path: [String], _ count: inout Int) -> String? {
        if let violation = world.violation { return "\(violation): \(path.joined(separator: ", "))" }
        count += 1
        guard depth > 0 else { return nil }
        for node in 0..<2 {
            for step in Step.allCases {
                var next = world
                guard next.take(step, at: node) else { continue }
                if let found = explore(next, depth: depth - 1, path + ["\(step) \(node)"], &count) { return found }
            }
        }
        return nil
    }

    @Test("is never shared, in whatever order things happen")
    func interleavings() {
        let world = Self.owned()
        #expect(world.nodes[0].log.isOwner)
        var count = 0
        let violation = Self.explore(world, depth: 5, [], &count)
        #expect(violation == nil, "\(violation ?? "")")
        #expect(count > 5000)
    }

    private func expect(_ world: inout World, _ step: Step, _ node: Int, _ location: SourceLocation = #_sourceLocation)
    {
        let isPossible = world.take(step, at: node)
        #expect(isPossible, "\(step)", sourceLocation: location)
    }

    @Test("a node that gives up an append ends its own term before it says that the log has it not")
    func settling() {
        var world = Self.owned()
        // What the node asks first as an owner.
        expect(&world, .answer, 0)
        // The request is still on its way when the node loses its lease, which the engine keeps.
        expect(&world, .giveUp, 0)
        expect(&world, .renewLease, 0)
        for _ in 0..<10 where world.nodes[0].lost.isEmpty { if !world.take(.answer, at: 0) { world.tell(0, .tick) } }
        #expect(world.nodes[0].lost.count == 1)
        expect(&world, .late, 0)
        #expect(world.violation == nil, "\(world.violation ?? "")")
        #expect(world.truth.isEmpty)
    }

    @Test("passes to the other node when the lease ends, with everything that was appended")
    func takeOver() {
        var world = Self.owned()
        for _ in 0..<5 where world.nodes[0].acknowledged.isEmpty { expect(&world, .answer, 0) }
        #expect(world.nodes[0].acknowledged.count == 1)
        expect(&world, .endLease, 0)
        for _ in 0..<30 where !world.nodes[1].log.isOwner {
            if !world.take(.watch, at: 1), !world.take(.answer, at: 1) { world.tell(1, .tick) }
        }
        #expect(world.nodes[1].log.isOwner)
        #expect(world.nodes[1].stored == world.truth)
        // The old owner has not noticed yet. It can append nothing.
        #expect(world.nodes[0].log.isOwner)
        expect(&world, .append, 0)
        for _ in 0..<5 where world.nodes[0].log.isOwner { expect(&world, .answer, 0) }
        #expect(!world.nodes[0].log.isOwner)
        #expect(world.nodes[0].acknowledged.count == 1)
        #expect(world.violation == nil)
    }
}
