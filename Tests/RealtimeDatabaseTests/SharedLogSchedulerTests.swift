import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("A scheduler whose log is shared")
struct SharedLogSchedulerTests {
    @Test("applies what arrives only once it is known what became of its own records")
    func doubt() throws {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("mine", "1")
        let mine = bench.appended
        #expect(mine.count == 1)
        // Another node owns the log now, and its record has the same number.
        let theirs = SharedLogBench.record(1, "theirs", "2")
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(theirs)]))
        #expect(bench.stored.isEmpty)
        #expect(try bench.value("theirs") == "null")
        bench.handle(.commitFailed(.fenced(by: "n2")))
        bench.handle(.commitsDropped)
        bench.handle(.logRead(.success([])))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
        bench.handle(.tick(1))
        bench.handle(.probed(nil))
        #expect(bench.stored == [theirs])
        #expect(try bench.value("") == #"{"theirs":2}"#)
        // Until the node gets the log again.
        bench.set("mine", "3")
        #expect(bench.appended.isEmpty)
        bench.handle(.committed(through: 1))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("mine", "4")
        #expect(bench.appended.map(\.firstSequence) == [2])
        // No earlier than what came before it.
        #expect(bench.appended.map(\.time) == [5000])
    }

    @Test("its own records count if the log turns out to have them")
    func found() throws {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("mine", "1")
        let mine = bench.appended
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(mine[0])]))
        bench.handle(.commitFailed(.noQuorum))
        bench.handle(.commitsDropped)
        bench.handle(.logRead(.success(try mine[0].operations())))
        #expect(bench.replies == ["\(Reply.done)"])
        bench.handle(.tick(1))
        bench.handle(.probed(nil))
        #expect(bench.stored == mine)
        let sequence = bench.scheduler.database.sequence
        #expect(sequence == 1)
    }

    @Test("a node that cannot apply a record leaves the writes to others, and tries again more and more seldom")
    func unfit() throws {
        let store = MemoryRowStore(rows: [Row(key: [], value: .subtree(#"{"a":1}"#))])
        store.damagedKeys = [[]]
        var bench = SharedLogBench(store: store)
        let record = SharedLogBench.record(1, "a", "2")
        var (fitness, pauses): ([Bool], [Int]) = ([], [])
        func recoverAndProbe() {
            bench.handle(.commitsDropped)
            bench.handle(.logRead(.success([])))
            pauses.append(0)
            repeat {
                bench.pass(milliseconds: 100)
                bench.handle(.tick(1))
                fitness += bench.fitness
                pauses[pauses.count - 1] += 100
            } while !bench.isProbing
        }
        bench.handle(.arrived([.record(record)]))
        for attempt in 1...12 {
            recoverAndProbe()
            #expect(fitness == (attempt < 2 ? [] : [false]))
            if attempt < 12 { bench.handle(.probed(nil)) }
        }
        #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 }, "\(pauses)")
        #expect(pauses[0] < 1000 && 59_000...61_000 ~= pauses[11], "\(pauses)")
        // Its files were repaired.
        store.damagedKeys = []
        bench.handle(.probed(nil))
        #expect(bench.stored == [record])
        #expect(try bench.value("a") == "2")
        bench.handle(.tick(2))
        #expect(bench.fitness == [true])
    }

    @Test("an owner whose files fail gives the log up after some seconds, and may own it again once they do not")
    func failing() {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.recover(from: .storage(.full))
        var fitness: [Bool] = []
        for second in 1...4 {
            bench.pass(milliseconds: 1000)
            bench.handle(.tick(second))
            fitness += bench.fitness
            #expect(fitness == (second < 4 ? [] : [false]), "\(second)")
            bench.handle(.probed(.storage(.full)))
        }
        bench.handle(.tick(5))
        bench.handle(.probed(nil))
        bench.handle(.tick(6))
        #expect(bench.fitness == [true])
    }

    @Test("an owner that may have lost its lease decides no write until it knows, and reads as other nodes do")
    func uncertain() {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.handle(.committed(through: 1))
        bench.isCertain = false
        bench.create()
        bench.ask(.get("a"), by: DatabaseBench.reader)
        #expect(bench.replies == ["\(Reply.value("1"))"])
        bench.handle(.tick(1))
        #expect(bench.replies.isEmpty)
        // The lease was renewed.
        bench.isCertain = true
        bench.handle(.tick(2))
        #expect(bench.replies == ["\(Reply.failed(.stale("1")))"])
        // It was not.
        bench.isCertain = false
        bench.create()
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
        #expect(bench.appended.isEmpty)
    }

    @Test("an owner whose last append is under way decides nothing once it hears that another node owns the log")
    func lateNews() throws {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(SharedLogBench.record(2, "a", "null"))]))
        bench.create(by: DatabaseBench.reader)
        bench.handle(.committed(through: 1))
        #expect(bench.replies == ["\(Reply.done)"])
        // There is nothing at the place any more.
        #expect(try bench.value("a") == "null")
        bench.handle(.committed(through: 2))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
    }

    @Test("is never closed, however long nobody asks anything")
    func unused() {
        let bench = SharedLogBench()
        let mayClose = bench.scheduler.mayClose(at: 1 << 40)
        #expect(!mayClose)
    }

    @Test("is not needed at a node whose clients do not use it, a time after they were last expected to")
    func unneeded() {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        let isOwnNeeded = !bench.scheduler.isUnused(at: 100, milliseconds: 50)
        #expect(isOwnNeeded)
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        let isUnused = bench.scheduler.isUnused(at: 100, milliseconds: 50)
        #expect(isUnused)
        bench.scheduler.noteOwnUse(at: 100)
        let later = [149, 150].map { bench.scheduler.isUnused(at: $0, milliseconds: 50) }
        #expect(later == [false, true])
    }

    @Test("a node that loses the log ends the connections that rely on it for what is written when they end")
    func creditors() throws {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        let entry = (target: WriteTarget(path: "gone"), value: IncomingValue(json: "true"))
        bench.handle(
            .requests([Request(connection: DatabaseBench.writer, number: 1, operation: .onDisconnect([entry]))]))
        bench.handle(.committed(through: 1))
        bench.handle(.arrived([.ownership(.elsewhere(node: nil))]))
        #expect(bench.ended == [DatabaseBench.writer])
        #expect(bench.appended.isEmpty)
        // The next owner writes it.
        bench.handle(.requests([Request(connection: DatabaseBench.writer, number: 2, operation: .disconnect)]))
        #expect(bench.appended.isEmpty)
        bench.handle(.arrived([.ownership(.owner)]))
        #expect(bench.appended.count == 1)
        #expect(try bench.value("gone") == "true")
    }

    @Test("a node that becomes the owner writes nothing for users who have lost their accounts")
    func revoked() throws {
        var bench = SharedLogBench()
        bench.scheduler.isRevoked = { $0.uid == Array("ann".utf8) }
        var record = SharedLogBench.record(1, "a", "1")
        for (path, name) in [("gone/ann", "ann"), ("gone/bob", "bob")] as [(Path, String)] {
            record.append(
                owed: [Assignment(target: WriteTarget(path: path), value: "true")], of: UInt64(name.utf8.first!),
                by: try Principal(auth: Array(#"{"uid":"\#(name)"}"#.utf8)))
        }
        // They arrive with the news, and are not applied before it.
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(record), .ownership(.owner)]))
        #expect(try bench.value("gone") == #"{"bob":true}"#)
    }

    @Test("a node that becomes the owner makes what a connection that has ended could not register before, or drops it")
    func endedBefore() throws {
        let entry = (target: WriteTarget(path: "gone"), value: IncomingValue(json: "true"))
        for isForfeited in [false, true] {
            var bench = SharedLogBench(forwardsWrites: true)
            bench.handle(.arrived([.ownership(.elsewhere(node: nil))]))
            bench.ask(.onDisconnect([entry]))
            if isForfeited { bench.ask(.forfeit) }
            bench.ask(.disconnect)
            #expect(bench.appended.isEmpty)
            bench.handle(.arrived([.ownership(.owner)]))
            #expect(try bench.value("gone") == (isForfeited ? .null : "true"))
            #expect(bench.scheduler.database.creditors.isEmpty)
        }
    }

    @Test("a node that hands the log over ends what it has begun; what comes then waits until it is known who has it")
    func handingOver() throws {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        let entry = (target: WriteTarget(path: "gone"), value: IncomingValue(json: "true"))
        bench.handle(
            .requests([Request(connection: DatabaseBench.reader, number: 1, operation: .onDisconnect([entry]))]))
        bench.handle(.committed(through: 1))
        bench.set("a", "1")
        bench.handle(.arrived([.ownership(.handingOver)]))
        let isEarly = bench.isDrained
        #expect(!isEarly)
        bench.set("b", "2")
        bench.handle(.requests([Request(connection: DatabaseBench.reader, number: 2, operation: .disconnect)]))
        #expect(bench.appended.isEmpty)
        #expect(bench.replies.isEmpty)
        bench.handle(.committed(through: 2))
        #expect(bench.replies == ["\(Reply.done)"])
        let isDrained = bench.isDrained
        #expect(isDrained)
        // It stays here.
        bench.handle(.arrived([.ownership(.owner)]))
        #expect(bench.appended.map(\.firstSequence) == [3])
        #expect(try bench.value("") == #"{"a":1,"b":2,"gone":true}"#)
        #expect(bench.ended.isEmpty)
        bench.handle(.committed(through: bench.scheduler.database.sequence))
        // It goes, with nothing under way.
        bench.handle(
            .requests([Request(connection: DatabaseBench.writer, number: 9, operation: .onDisconnect([entry]))]))
        bench.handle(.committed(through: bench.scheduler.database.sequence))
        bench.handle(.arrived([.ownership(.handingOver)]))
        let isDrainedAgain = bench.isDrained
        #expect(isDrainedAgain)
        bench.set("c", "3")
        #expect(bench.replies.isEmpty)
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
        #expect(bench.ended == [DatabaseBench.writer])
        #expect(bench.appended.isEmpty)
    }

    @Test("a node that takes the log over makes requests of other nodes wait for that, but not for ever")
    func takingOver() throws {
        let other = ConnectionID(forwarded: .realtime, link: 0, serial: 1)
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.takingOver)]))
        bench.set("a", "1", by: other)
        #expect(bench.replies.isEmpty)
        bench.handle(.arrived([.record(SharedLogBench.record(1, "theirs", "2")), .ownership(.owner)]))
        #expect(bench.appended.map(\.firstSequence) == [2])
        #expect(try bench.value("") == #"{"a":1,"theirs":2}"#)
        // It loses the log at once, and gets it again, which takes long.
        bench.handle(.committed(through: 2))
        bench.handle(.arrived([.ownership(.elsewhere(node: nil)), .ownership(.takingOver)]))
        bench.set("b", "1", by: other)
        bench.handle(.tick(1))
        #expect(bench.replies.isEmpty)
        bench.pass(milliseconds: 5000)
        bench.handle(.tick(2))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"])
    }

    @Test("a node that begins to take the writes does none of them before one that it has turned away")
    func turningAway() throws {
        let other = ConnectionID(forwarded: .realtime, link: 0, serial: 1)
        let turnedAway = "\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"
        func request(_ number: Int64, of connection: ConnectionID = other) -> Event {
            let place = ("a" as Path).appending(Path([Key(Int32(number))]))
            let operation = Operation.set(place, CanonicalJSON(integer: number))
            return .requests([Request(connection: connection, number: number, operation: operation)])
        }
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        bench.handle(request(1))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"])
        bench.handle(.arrived([.ownership(.takingOver)]))
        bench.handle(request(2))
        bench.handle(.arrived([.ownership(.owner)]))
        #expect(bench.replies == [turnedAway])
        bench.handle(request(3))
        #expect(bench.replies == [turnedAway])
        // Those of others are done.
        bench.handle(request(7, of: ConnectionID(forwarded: .realtime, link: 0, serial: 2)))
        bench.handle(.committed(through: 1))
        #expect(bench.replies == ["\(Reply.done)"])
        for number in 1...3 as ClosedRange<Int64> {
            bench.handle(request(number))
            bench.handle(.committed(through: UInt64(1 + number)))
            #expect(bench.replies == ["\(Reply.done)"], "\(number)")
        }
        #expect(try bench.value("a") == #"{"1":1,"2":2,"3":3,"7":7}"#)
        // Of a connection that has ended, nothing comes again.
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
        bench.handle(request(8))
        bench.handle(.requests([Request(connection: other, number: 0, operation: .disconnect)]))
        bench.handle(.arrived([.ownership(.owner)]))
        bench.handle(request(9))
        bench.handle(.committed(through: 5))
        #expect(bench.replies == ["\(Reply.done)"])
    }

    /// A node that follows a log of the epoch 7, and has its first commit.
    private static func follower() -> SharedLogBench {
        var bench = SharedLogBench()
        bench.handle(
            .arrived([
                .began(epoch: 7), .ownership(.elsewhere(node: "n2")), .record(SharedLogBench.record(1, "a", "1")),
            ]))
        bench.handle(.committed(through: 1))
        return bench
    }

    @Test("a listener that was at a node with more commits waits for them, and is told what came after its own")
    func ahead() {
        let client = DatabaseBench.reader
        var bench = Self.follower()
        bench.resume(after: 2, by: client)
        bench.ask(.get("a"), by: client)
        bench.handle(.tick(1))
        #expect(bench.said.isEmpty)
        bench.handle(
            .arrived([.record(SharedLogBench.record(2, "b", "2")), .record(SharedLogBench.record(3, "c", "3"))]))
        bench.handle(.committed(through: 3))
        #expect(bench.said == ["missed c 3", "join 2", "1 listening at 3 recovered", "2 1"])
    }

    @Test("a listener that is ahead of the node does not wait for ever, nor do those of its connection after it")
    func aheadForTooLong() {
        let client = DatabaseBench.reader
        var bench = Self.follower()
        bench.resume(after: 9, by: client)
        bench.pass(milliseconds: 4000)
        bench.handle(.tick(1))
        #expect(bench.said.isEmpty)
        bench.pass(milliseconds: 1000)
        bench.handle(.tick(2))
        #expect(bench.said == [#"initial / {"a":1} to 2"#, "join 2", "1 listening at 1 anew"])
        bench.resume(after: 9, by: client)
        #expect(bench.said.last == "2 listening at 1 anew")
    }

    @Test("a listener waits for no commit that cannot come: of another history, or of a log whose writes are made here")
    func aheadOfNothing() {
        let client = DatabaseBench.reader
        var bench = Self.follower()
        bench.resume(after: 2, epoch: 8, by: client)
        #expect(bench.said.last == "1 listening at 1 anew")
        bench.resume(after: 2, by: DatabaseBench.writer)
        #expect(bench.said.isEmpty)
        bench.handle(.arrived([.ownership(.owner)]))
        #expect(bench.said.last == "2 listening at 1 anew")
    }

    @Test("a listener that is ahead of a node which stops waits no longer, and one whose client leaves is forgotten")
    func aheadAtTheEnd() {
        var bench = Self.follower()
        bench.resume(after: 2, by: DatabaseBench.reader)
        bench.ask(.disconnect, by: DatabaseBench.reader)
        bench.resume(after: 2, by: DatabaseBench.writer)
        #expect(bench.said.isEmpty)
        bench.handle(.settle)
        #expect(bench.said.last == "3 listening at 1 anew")
        bench.handle(.requests([Request(connection: DatabaseBench.writer, number: 4, operation: .disconnect)]))
        let isSettled = bench.scheduler.isSettled || bench.scheduler.waitingCount == 0
        #expect(isSettled)
    }
}
