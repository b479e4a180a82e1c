import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

/// Who owns a log that two nodes want, in all orders of events.
@Suite("Ownership") struct OwnershipTests {
    /// Node 0 owns the log and has appended; node 1 follows it.
    private static func owned() -> TwoNodes {
        var world = TwoNodes()
        for _ in 0..<20 where !world.nodes[0].log.isOwner { if !world.take(.answer, at: 0) { world.tell(0, .tick) } }
        for _ in 0..<4 where world.nodes[1].call != nil { _ = world.take(.answer, at: 1) }
        _ = world.take(.append, at: 0)
        return world
    }

    /// Tries every order of steps; answers how many worlds there were, and the first violation.
    private static func explore(_ world: TwoNodes, depth: Int, _ path: [String], _ count: inout Int) -> String? {
        if let violation = world.violation { return "\(violation): \(path.joined(separator: ", "))" }
        count += 1
        guard depth > 0 else { return nil }
        for node in 0..<2 {
            for step in TwoNodes.Step.allCases {
                var next = world
                guard next.take(step, at: node) else { continue }
                if let found = explore(next, depth: depth - 1, path + ["\(step) \(node)"], &count) { return found }
            }
        }
        return nil
    }

    @Test("of a log takes calls that bring no records, and a reading that is given up brings none any more")
    func callsForRecords() throws {
        var world = TwoNodes()
        var kinds: [Bool] = []
        while !world.nodes[0].log.isOwner {
            let serial = try #require(world.nodes[0].call).1
            kinds.append(world.nodes[0].log.awaitsRecords(of: serial))
            #expect(!world.nodes[0].log.awaitsRecords(of: serial + 1))
            _ = world.take(.answer, at: 0)
            #expect(!world.nodes[0].log.awaitsRecords(of: serial))
            if world.nodes[0].call == nil { world.tell(0, .tick) }
        }
        #expect(kinds.contains(true) && kinds.contains(false))
        world.tell(0, .stores(false))
        #expect(!world.nodes[0].log.awaitsRecords(of: try #require(world.nodes[0].call).1), "the end of the term")
        _ = world.take(.answer, at: 0)
        #expect(world.nodes[0].log.awaitsRecords(of: try #require(world.nodes[0].call).1))
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

    /// Node 0 should hand the log over to node 1, and was told to finish its running writes.
    private static func draining() throws -> TwoNodes {
        var world = owned()
        for _ in 0..<5 where world.nodes[0].isAppending { _ = world.take(.answer, at: 0) }
        for _ in 0..<5 { if !world.take(.watch, at: 1) { _ = world.take(.answer, at: 1) } }
        try #require(world.nodes[1].stored == world.truth)
        try #require(world.truth.count == 1)
        world.tell(1, .kept(through: 1))
        world.ask(for: "n1")
        for _ in 0..<40 where world.nodes[0].draining == .no {
            for node in 0..<2 where !world.take(.answer, at: node) { world.tell(node, .tick) }
        }
        try #require(world.nodes[0].draining == .begun)
        try #require(world.nodes[0].log.isOwner)
        return world
    }

    /// Does what both nodes want done until something holds.
    private static func goOn(_ world: inout TwoNodes, until holds: (TwoNodes) -> Bool) {
        for _ in 0..<30 where !holds(world) {
            for node in 0..<2 where !world.take(.watch, at: node) && !world.take(.answer, at: node) {
                world.tell(node, .tick)
            }
        }
    }

    @Test("is never shared while the log is handed over, in whatever order things happen")
    func handOverInterleavings() throws {
        var count = 0
        let violation = Self.explore(try Self.draining(), depth: 5, [], &count)
        #expect(violation == nil, "\(violation ?? "")")
        // A record is on its way, and the request to hand over may come late.
        var handing = try Self.draining()
        expect(&handing, .drained, 0)
        let late = Self.explore(handing, depth: 5, [], &count)
        #expect(late == nil, "\(late ?? "")")
        #expect(count > 10_000)
    }

    @Test("passes to the node that was asked for, in one step, with everything that was appended")
    func moving() throws {
        var world = try Self.draining()
        // Writes begun earlier are appended.
        expect(&world, .append, 0)
        for _ in 0..<3 where world.nodes[0].isAppending { expect(&world, .answer, 0) }
        expect(&world, .drained, 0)
        // What the node asked before.
        for _ in 0..<3 where world.nodes[0].log.isOwner { expect(&world, .answer, 0) }
        #expect(!world.nodes[0].log.isOwner)
        #expect(world.nodes[0].log.ownerName == "n1")
        #expect(world.request == nil)
        Self.goOn(&world) { $0.nodes[1].log.isOwner }
        #expect(world.nodes[1].log.isOwner)
        #expect(world.nodes[1].stored == [1, 2])
        // It continues from there, and the first node follows.
        expect(&world, .append, 1)
        Self.goOn(&world) { $0.nodes[0].stored.count == 3 }
        #expect(world.nodes[0].stored == world.truth)
        #expect(world.truth == [1, 2, 3])
        #expect(world.violation == nil)
    }

    @Test("stays where it is if the other node ends before it has the log")
    func targetEnds() throws {
        var world = try Self.draining()
        expect(&world, .endLease, 1)
        expect(&world, .drained, 0)
        Self.goOn(&world) { $0.nodes[0].draining == .no }
        #expect(world.nodes[0].log.isOwner)
        expect(&world, .append, 0)
        Self.goOn(&world) { $0.request != .asked(node: "n1") && $0.truth.count == 2 }
        #expect(world.request == .refused("the node 'n1' does not run any more, or the move was withdrawn"))
        #expect(world.truth == [1, 2])
        #expect(world.violation == nil)
    }

    @Test("stays where it is if the answer to a move that was withdrawn in time is lost")
    func withdrawn() throws {
        var world = try Self.draining()
        expect(&world, .drained, 0)
        world.withdraw()
        expect(&world, .loseAnswer, 0)
        Self.goOn(&world) { $0.nodes[0].draining == .no }
        #expect(world.nodes[0].log.isOwner)
        expect(&world, .append, 0)
        Self.goOn(&world) { $0.truth.count == 2 }
        #expect(world.truth == [1, 2])
        #expect(!world.nodes[1].log.isOwner)
        #expect(world.violation == nil)
    }

    /// An attempt at one member is still on its way when another member says that nothing can be done.
    @Test(
        "stays unused by a node whose handover may still be carried out, even after a definite error",
        arguments: [EtcdError.noSpace, .denied("no permission"), .invalidRequest("no")])
    func handedOverLate(error: EtcdError) throws {
        var world = try Self.draining()
        expect(&world, .drained, 0)
        for _ in 0..<5 where world.nodes[0].call.map({ !Self.handsOver($0.0) }) ?? false { expect(&world, .answer, 0) }
        let (late, _) = try #require(world.nodes[0].call)
        #expect(Self.handsOver(late))
        for _ in 0..<10 {
            guard let (transaction, serial) = world.nodes[0].call, Self.handsOver(transaction) else { break }
            world.nodes[0].call = nil
            world.tell(0, .replied(serial, .failure(error)))
            if world.nodes[0].call == nil { world.tell(0, .tick) }
        }
        let mayUse = world.nodes[0].log.isOwner && world.nodes[0].draining == .no
        _ = world.apply(late)
        let owner = world.engine.values[LogKeys(database: "main").owner].flatMap { OwnerRecord($0.value) }
        #expect(!mayUse || owner?.node != "n1")
        Self.goOn(&world) { world in world.nodes.contains { $0.log.isOwner && $0.draining == .no } }
        #expect(world.violation == nil)
    }

    private static func handsOver(_ transaction: EtcdTransaction) -> Bool {
        transaction.success.contains(.delete(.key(LogKeys(database: "main").move)))
    }

    @Test(
        "stays where it is if the other node cannot take it, and the asker is told why",
        arguments: [
            ("n9", "the node 'n9' does not run"), ("n1", "the node 'n1' has 0 of 1 commits on disk"),
            ("n0", "the node 'n0' owns it"),
        ])
    func refusing(node: String, reason: String) {
        var world = Self.owned()
        Self.goOn(&world) { $0.nodes[1].stored.count == 1 && $0.nodes[0].stored.count == 1 }
        world.ask(for: node)
        Self.goOn(&world) { $0.request != .asked(node: node) }
        #expect(world.request == .refused(reason))
        #expect(world.nodes[0].draining == .no)
        world.withdraw()
        // The next request is taken up.
        world.ask(for: "n9")
        Self.goOn(&world) { $0.request != .asked(node: "n9") }
        #expect(world.request == .refused("the node 'n9' does not run"))
    }

    private func expect(
        _ world: inout TwoNodes, _ step: TwoNodes.Step, _ node: Int, _ location: SourceLocation = #_sourceLocation
    ) {
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

    @Test(
        """
        is given up by a node whose files take no records, that cannot apply them, or that no other node reaches, and not \
        claimed by it meanwhile
        """, arguments: [ReplicatedLog.Event.stores, ReplicatedLog.Event.applies, ReplicatedLog.Event.reached])
    func unfit(event: @Sendable (Bool) -> ReplicatedLog.Event) {
        var world = Self.owned()
        for _ in 0..<5 where world.nodes[0].acknowledged.isEmpty { expect(&world, .answer, 0) }
        world.tell(0, event(false))
        #expect(!world.nodes[0].log.isOwner)
        Self.goOn(&world) { $0.nodes[1].log.isOwner }
        #expect(world.nodes[1].log.isOwner)
        #expect(world.nodes[1].stored == world.truth)
        // Nobody is left who may claim it.
        world.tell(1, event(false))
        Self.goOn(&world) { $0.nodes.contains { $0.log.isOwner } }
        #expect(!world.nodes.contains { $0.log.isOwner })
        world.tell(0, event(true))
        Self.goOn(&world) { $0.nodes[0].log.isOwner }
        #expect(world.nodes[0].log.isOwner)
        #expect(world.violation == nil)
    }

    private static func statement(of node: Int, in world: TwoNodes) -> HeldFiles? {
        world.engine.values[LogKeys(database: "main").held(by: "n\(node)")].flatMap { HeldFiles($0.value) }
    }

    @Test(
        "is not given to a node because of its files, which it says to fail until they do not",
        arguments: [ReplicatedLog.Event.stores, ReplicatedLog.Event.applies])
    func failing(event: @Sendable (Bool) -> ReplicatedLog.Event) {
        var world = Self.owned()
        Self.goOn(&world) { $0.nodes[1].stored == [1] }
        world.tell(1, .kept(through: 1))
        let whole = HeldFiles.through(epoch: 1, sequence: 1)
        Self.goOn(&world) { Self.statement(of: 1, in: $0) == whole }
        #expect(Self.statement(of: 1, in: world) == whole)
        world.tell(1, event(false))
        Self.goOn(&world) { Self.statement(of: 1, in: $0) != whole }
        #expect(Self.statement(of: 1, in: world) == .failing)
        world.tell(1, event(true))
        Self.goOn(&world) { Self.statement(of: 1, in: $0) != .failing }
        #expect(Self.statement(of: 1, in: world) == whole)
    }

    @Test("is not given to a node on request while that says that its files fail")
    func movingToFailing() {
        var world = Self.owned()
        Self.goOn(&world) { $0.nodes[1].stored == [1] }
        world.tell(1, .kept(through: 1))
        world.tell(1, .stores(false))
        Self.goOn(&world) { Self.statement(of: 1, in: $0) == .failing }
        world.ask(for: "n1")
        Self.goOn(&world) { $0.request != .asked(node: "n1") || !$0.nodes[0].log.isOwner }
        #expect(world.request == .refused("the files of the node 'n1' fail"))
        #expect(world.nodes[0].log.isOwner)
        #expect(world.violation == nil)
    }

    @Test("and a node whose files fail now and then says so at once, and nothing else for some seconds")
    func failingNowAndThen() throws {
        var world = Self.owned()
        Self.goOn(&world) { $0.nodes[1].stored == [1] }
        world.tell(1, .kept(through: 1))
        world.tell(1, .stores(false))
        Self.goOn(&world) { Self.statement(of: 1, in: $0) == .failing }
        try #require(world.nodes[1].call == nil)
        // A statement is due every five seconds, and each event takes one.
        for isWell in [true, false, true] {
            world.tell(1, .stores(isWell))
            #expect(world.nodes[1].call == nil)
        }
        #expect(Self.statement(of: 1, in: world) == .failing)
        Self.goOn(&world) { Self.statement(of: 1, in: $0) != .failing }
        #expect(Self.statement(of: 1, in: world) == .through(epoch: 1, sequence: 1))
    }

    @Test("is to be moved, and an attempt to ask whose answer was lost is known again") func askingTwice() throws {
        var engine = SimulatedEngine()
        for lease in [8, 9] as [Int64] { _ = engine.grant(lease, until: .max) }
        func ask(lease: Int64) throws -> Int64? {
            let reply = try engine.apply(MoveRequest.asked(node: "n2").put(for: "main", lease: lease)).get()
            return MoveRequest.revision(reply, lease: lease)
        }
        let first = try #require(try ask(lease: 8))
        #expect(engine.values[LogKeys(database: "main").move]?.createRevision == first)
        #expect(try ask(lease: 8) == first)
        #expect(try ask(lease: 9) == nil)
        // The owner has refused it in the meantime.
        let refused = MoveRequest.refused("no").bytes
        _ = engine.apply(
            EtcdTransaction(
                then: [.put(key: LogKeys(database: "main").move, value: refused, lease: 8)], isRepeatable: true))
        #expect(try ask(lease: 8) == first)
    }

    @Test("by another process of the same name is waited for, and etcd is not asked again and again")
    func sameName() throws {
        var engine = SimulatedEngine()
        let keys = LogKeys(database: "d")
        // A machine that was cloned, or a process that was killed a moment ago.
        let other = LogTransactions(keys, owner: OwnerRecord(node: "a", incarnation: 1))
        _ = engine.grant(1, until: .max)
        let term = try engine.apply(other.claim(lease: 1)).get().revision
        let head = LogHead(epoch: 1, lastSequence: 0, lastTime: 0, lastAppend: AppendID(term: term, number: 0))
        _ = try engine.apply(other.establish(head, past: LogPast(), term: term)).get()

        var node = LoneLog("a", rank: 0, isRunning: false, &engine)
        for _ in 0..<100 {
            node.answer(&engine)
            node.tell(.tick, after: 10)
        }
        #expect(node.made.count < 5, "\(node.made.count) calls in a second")
        #expect(!node.made.contains { $0.success == [.delete(.key(keys.owner))] })
        #expect(!node.log.isTakingOver)

        engine.end(1)
        guard case .watching(let serial) = node.log.following else {
            Issue.record("it does not watch")
            return
        }
        node.tell(.watched(serial, [.delete(key: keys.owner, revision: engine.revision)]))
        node.run(&engine)
        #expect(node.log.isOwner)
    }
}
