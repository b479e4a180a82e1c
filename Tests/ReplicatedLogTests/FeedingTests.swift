import HearthEtcdMessages
import HearthRealtimeDatabase
import Testing
import HearthReplicatedLog

@Suite("A node that follows another one instead of the store") struct FeedingTests {
    /// A log at one node, in a store in which `owner` owns the log.
    private struct Node {
        var log: ReplicatedLog
        var time: Int64 = 0
        var calls: [(EtcdTransaction, UInt64)] = []
        /// Since the last look.
        var asked: [FeedRequest] = []
        var watched: [EtcdKeyRange] = []
        var followed: [UInt64] = []
        var passed: [(node: String, batch: [UInt8])] = []
        var ended: [String] = []

        init(_ name: String, incarnation: UInt64, rank: Int?, lease: Int64, _ engine: inout SimulatedEngine) {
            var options = ReplicatedLog.Options()
            options.isFed = true
            options.recentBytesMax = 500
            log = ReplicatedLog(
                database: "d", owner: OwnerRecord(node: name, incarnation: incarnation),
                position: LogPosition(epoch: nil, sequence: 0), foundingEpoch: incarnation, options: options)
            _ = engine.grant(lease, until: .max)
            tell(.rank(rank))
            tell(.lease(lease))
            run(&engine)
        }

        mutating func tell(_ event: ReplicatedLog.Event, after milliseconds: Int64 = 0) {
            time += milliseconds
            for action in log.handle(event, at: time) {
                switch action {
                case .call(let transaction, let serial): calls.append((transaction, serial))
                case .askForFeed(let request): asked.append(request)
                case .watch(let watch, _): watched.append(watch.keys)
                case .follow(let records): followed += records.map(\.lastSequence)
                case .pass(let batch, _, _, let nodes): passed += nodes.map { ($0, batch) }
                case .endFeeds(let nodes): ended += nodes
                default: break
                }
            }
        }

        /// Until there is nothing more to ask.
        mutating func run(_ engine: inout SimulatedEngine) {
            tell(.tick)
            while !calls.isEmpty {
                let (transaction, serial) = calls.removeFirst()
                tell(.replied(serial, engine.apply(transaction)))
                tell(.tick)
            }
        }

        /// Appends one record.
        mutating func append(_ engine: inout SimulatedEngine) {
            let sequence = log.position.sequence + 1
            tell(.append([LogRecord(firstSequence: sequence, count: 1, time: 0, body: [1, 2, 3])]))
            run(&engine)
        }
    }

    private var engine = SimulatedEngine()
    private var owner: Node
    private let keys = LogKeys(database: "d")

    init() {
        owner = Node("a", incarnation: 1, rank: 0, lease: 1, &engine)
        owner.run(&engine)
        owner.append(&engine)
    }

    /// A node that follows the owner.
    private mutating func follower(rank: Int? = 1) throws -> Node {
        var node = Node("b", incarnation: 2, rank: rank, lease: 2, &engine)
        let request = try #require(node.asked.last)
        owner.tell(.askedForFeed(by: "b", request))
        deliver(to: &node)
        return node
    }

    /// What the owner has passed on arrives.
    private mutating func deliver(to node: inout Node) {
        for (_, batch) in owner.passed { node.tell(.fed(batch, floor: 1, owner: "a")) }
        owner.passed = []
    }

    @Test("reads the log to its end, asks the owner for the rest, and watches only who that is")
    mutating func begins() throws {
        #expect(owner.log.isOwner)
        var node = try follower()
        #expect(node.followed == [1])
        let request = FeedRequest(epoch: owner.log.position.epoch ?? 0, sequence: 1, owner: "a", isCandidate: true)
        #expect(node.asked == [request])
        #expect(node.watched == [.key(keys.owner)])
        owner.append(&engine)
        owner.append(&engine)
        deliver(to: &node)
        #expect(node.followed == [1, 2, 3])
        // Nothing more was read, or asked for.
        #expect(node.calls.isEmpty && node.asked.count == 1)
    }

    @Test("watches nothing if it cannot own the log")
    mutating func visits() throws {
        let node = try follower(rank: nil)
        #expect(node.watched == [])
        #expect(node.asked.map(\.isCandidate) == [false])
    }

    @Test("gets what was appended while it asked, and knows what it gets twice")
    mutating func recent() throws {
        var node = Node("b", incarnation: 2, rank: 1, lease: 2, &engine)
        owner.append(&engine)
        owner.append(&engine)
        let request = try #require(node.asked.last)
        owner.tell(.askedForFeed(by: "b", request))
        let passed = owner.passed
        deliver(to: &node)
        #expect(node.followed == [1, 2, 3])
        for (_, batch) in passed { node.tell(.fed(batch, floor: 1, owner: "a")) }
        #expect(node.followed == [1, 2, 3])
    }

    @Test("is refused by a node that has forgotten what it lacks, has another history, or gives the log up")
    mutating func refused() throws {
        let epoch = try #require(owner.log.position.epoch)
        for _ in 0..<20 { owner.append(&engine) }
        owner.tell(.askedForFeed(by: "b", FeedRequest(epoch: epoch, sequence: 1)))
        owner.tell(.askedForFeed(by: "c", FeedRequest(epoch: epoch + 1, sequence: 21)))
        #expect(owner.ended == ["b", "c"])
        owner.tell(.lease(nil))
        owner.tell(.askedForFeed(by: "d", FeedRequest(epoch: epoch, sequence: 21)))
        #expect(owner.ended == ["b", "c", "d"])
        #expect(owner.log.followers.isEmpty)
        #expect(owner.passed.isEmpty)
    }

    @Test("reads the log again after a gap, and after the end of the feed")
    mutating func gaps() throws {
        var node = try follower()
        owner.append(&engine)
        owner.passed = []
        owner.append(&engine)
        deliver(to: &node)
        #expect(node.followed == [1])
        node.run(&engine)
        #expect(node.followed == [1, 2, 3])
        // It was asked for a moment ago, so the log is watched until the next time.
        #expect(node.asked.count == 1 && node.watched.last == keys.watched)
        node.tell(.tick, after: 1300)
        node.run(&engine)
        #expect(node.asked.count == 2 && node.watched.last == .key(keys.owner))
    }

    @Test("asks less and less often while nothing comes of it")
    mutating func pauses() throws {
        var node = Node("b", incarnation: 2, rank: 1, lease: 2, &engine)
        var times: [Int64] = []
        while node.time < 70_000 {
            let count = node.asked.count
            node.tell(.feedEnded)
            node.run(&engine)
            node.tell(.tick, after: 100)
            node.run(&engine)
            if node.asked.count > count { times.append(node.time) }
        }
        let pauses = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect((2000...2600).contains(pauses.first ?? 0) && pauses.last ?? 0 >= 16_000, "\(pauses)")
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $1 >= $0 + $0 / 2 }, "\(pauses)")
    }

    @Test("asks at once when another node owns the log")
    mutating func next() throws {
        var node = try follower()
        node.tell(.feedEnded)
        node.run(&engine)
        #expect(node.asked.count == 1 && node.watched.last == keys.watched)
        let next = OwnerRecord(node: "c", incarnation: 3)
        let revision = engine.revision
        _ = engine.apply(
            EtcdTransaction(then: [.put(key: keys.owner, value: next.bytes, lease: 2)], isRepeatable: true))
        guard case .watching(let serial) = node.log.following,
            let changes = engine.changes(keys.watched, from: revision + 1)
        else {
            Issue.record("not watching: \(node.log.following)")
            return
        }
        node.tell(.watched(serial, changes))
        node.run(&engine)
        #expect(node.asked.map(\.owner) == ["a", "c"])
    }

    @Test("gives a log back that it was given, though it cannot own it")
    mutating func given() throws {
        var node = try follower(rank: nil)
        let itself = OwnerRecord(node: "b", incarnation: 2)
        _ = engine.apply(
            EtcdTransaction(then: [.put(key: keys.owner, value: itself.bytes, lease: 2)], isRepeatable: true))
        node.tell(.fed([], floor: 1, owner: "b"))
        node.run(&engine)
        #expect(engine.values[keys.owner] == nil)
    }

    @Test("hears of another owner from the node it follows, if it watches nothing itself")
    mutating func ownerName() throws {
        var node = try follower(rank: nil)
        node.tell(.fed([], floor: 1, owner: "c"))
        #expect(node.log.ownerName == "c")
        node.tell(.fed([], floor: 1, owner: nil))
        #expect(node.log.ownerName == nil)
        #expect(node.asked.count == 1)
    }

    @Test(
        "does not wait for a node that says nothing for three seconds; one that passes on the log says so each second")
    mutating func silence() throws {
        var node = try follower()
        for _ in 0..<10 {
            owner.tell(.tick, after: 1000)
            deliver(to: &node)
            node.tell(.tick, after: 1000)
            node.run(&engine)
        }
        #expect(node.asked.count == 1)
        node.tell(.tick, after: 2900)
        #expect(node.watched.count == 1)
        node.tell(.tick, after: 200)
        node.run(&engine)
        #expect(node.watched.count == 2)
    }

    @Test("passes on what it gets, also while it reads the log, until it gives that up")
    mutating func chain() throws {
        var node = try follower()
        let epoch = try #require(owner.log.position.epoch)
        node.tell(.askedForFeed(by: "c", FeedRequest(epoch: epoch, sequence: 1)))
        owner.append(&engine)
        deliver(to: &node)
        #expect(node.passed.map(\.node) == ["c", "c"])
        #expect(node.passed.last.flatMap { LogBatch($0.batch) }?.firstSequence == 2)
        node.tell(.feedEnded)
        owner.append(&engine)
        node.run(&engine)
        #expect(node.passed.last.flatMap { LogBatch($0.batch) }?.firstSequence == 3)
        #expect(node.ended == [])
        // One that cannot own the log may watch nothing, so two of them could follow one another.
        node.tell(.rank(nil))
        #expect(node.ended == ["c"])
        node.tell(.askedForFeed(by: "c", FeedRequest(epoch: epoch, sequence: 3)))
        #expect(node.ended == ["c", "c"])
    }

    @Test("is passed on by a node that reads, but not told that all is well")
    mutating func reads() throws {
        var node = try follower()
        let epoch = try #require(owner.log.position.epoch)
        node.tell(.askedForFeed(by: "c", FeedRequest(epoch: epoch, sequence: 1)))
        node.tell(.feedEnded)
        let count = node.passed.count
        for _ in 0..<5 { node.tell(.tick, after: 1000) }
        #expect(node.passed.count == count)
    }

    @Test("finds batches of the last ten seconds only")
    mutating func forgotten() throws {
        let epoch = try #require(owner.log.position.epoch)
        owner.append(&engine)
        owner.append(&engine)
        owner.tell(.tick, after: 11_000)
        owner.tell(.askedForFeed(by: "b", FeedRequest(epoch: epoch, sequence: 2)))
        #expect(owner.ended == ["b"])
        owner.tell(.askedForFeed(by: "b", FeedRequest(epoch: epoch, sequence: 3)))
        #expect(owner.passed.map(\.node) == ["b"])
    }

    @Test("reads the log from the store if a batch is too large, or of another history")
    mutating func refusesBatches() throws {
        let record = LogRecord(firstSequence: 2, count: 1, time: 0, body: Array(repeating: 7, count: 3 << 20))
        for (epoch, isLarge) in [(owner.log.position.epoch ?? 0, true), (5, false)] {
            var node = try follower()
            let records = isLarge ? [record] : [LogRecord(firstSequence: 1, count: 1, time: 0, body: [1])]
            let (batch, _) = LogBatch.make(
                records, AppendID(term: 1, number: 1), epoch: epoch, partBytesMax: 8 << 20, compresses: true)
            node.tell(.fed(batch.bytes, floor: 1, owner: "a"))
            #expect(node.log.following != .fed(serial: 1) && node.followed == [1])
            #expect(node.calls.count == 1)
        }
    }
}
