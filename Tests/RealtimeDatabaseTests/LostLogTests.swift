import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("A scheduler that loses its log to another node")
struct LostLogTests {
    @Test("a node that loses the log sends the next owner the writes that did not reach the log")
    func lostWrites() throws {
        let (writer, other) = (DatabaseBench.writer, ConnectionID(forwarded: .realtime, link: 0, serial: 1))
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.set("b", "2", by: other)
        bench.ask(.get("a"))
        bench.ask(.get("a"), by: DatabaseBench.reader)
        bench.recover(from: .fenced(by: "n2"))
        // The write of the other node is turned away, and the read follows no write of its connection.
        let turnedAway = "\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"
        #expect(bench.replies == [turnedAway, "\(Reply.value("null"))"])
        bench.set("c", "3")
        #expect(bench.said.isEmpty)
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(SharedLogBench.record(1, "theirs", "2"))]))
        bench.handle(.tick(1))
        #expect(bench.said.isEmpty)
        bench.handle(.probed(nil))
        #expect(bench.sent.map(\.request.number) == [1])
        let first = try #require(bench.sent.first, "the first write is forwarded")
        bench.handle(.forwarding([.answered(writer, number: first.number, .done, sequence: 1)]))
        #expect(bench.sent.map(\.request.number) == [5])
        bench.handle(.committed(through: 1))
        #expect(bench.replies == ["\(Reply.done)", "\(Reply.value("null"))"])
        #expect(bench.appended.isEmpty)
    }

    @Test("what is owed to a connection, or listens, stays in order with its lost writes, which are refused")
    func lostOtherRequests() throws {
        let entry = (target: WriteTarget(path: "status"), value: IncomingValue(json: #""offline""#))
        let refused = "\(Reply.failed(.unavailable(.ownedElsewhere(node: "n2"))))"
        for operation in [Operation.onDisconnect([entry]), .listen("a", known: nil, since: .nothing)] {
            var bench = SharedLogBench(forwardsWrites: true)
            bench.handle(.arrived([.ownership(.owner)]))
            bench.set("a", "1")
            bench.ask(operation)
            bench.recover(from: .fenced(by: "n2"))
            #expect(bench.replies.first == refused, "\(operation)")
            bench.handle(.arrived([.ownership(.elsewhere(node: "n2"))]))
            bench.handle(.tick(1))
            bench.handle(.probed(nil))
            #expect(bench.sent.isEmpty, "\(operation)")
        }
    }

    @Test("a node that has lost the log, and whose file takes no records, refuses writes after five seconds")
    func lostWithFullDisk() {
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.recover(from: .fenced(by: nil))
        bench.handle(.arrived([.ownership(.elsewhere(node: nil))]))
        bench.handle(.tick(1))
        bench.handle(.probed(.storage(.full)))
        #expect(bench.replies.isEmpty)
        bench.pass(milliseconds: 5000)
        bench.handle(.tick(2))
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"])
        bench.set("a", "1")
        #expect(bench.replies.count == 1)
    }

    @Test("an answer to an earlier request, which a lost turn would have sent, is sent all the same")
    func answersToOthers() {
        var bench = SharedLogBench()
        bench.handle(.arrived([.ownership(.owner)]))
        let stale = Operation.set(
            WriteTarget(path: "a"), IncomingValue(json: "1"), expecting: Array("another".utf8))
        let answer = "\(Reply.failed(.stale(.null)))"
        bench.ask(stale)
        #expect(bench.replies == [answer])
        // The second client waits for its turn until it makes another request.
        bench.ask(stale, by: DatabaseBench.reader)
        #expect(bench.replies.isEmpty)
        bench.set("b", "1", by: DatabaseBench.reader)
        #expect(bench.replies.isEmpty)
        bench.recover(from: .storage(.full))
        #expect(bench.replies == [answer, "\(Reply.failed(.unavailable(.full)))"])
    }

    @Test("a full disk of the owner refuses writes at once, also when the owner is to give the log up")
    func fullDisk() {
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.recover(from: .storage(.full))
        let refused = "\(Reply.failed(.unavailable(.full)))"
        #expect(bench.replies == [refused])
        bench.handle(.arrived([.ownership(.elsewhere(node: nil))]))
        bench.set("b", "1")
        #expect(bench.replies == [refused])
    }

    @Test(
        "requests wait for five seconds while it is not known what the log has, and are refused when the process ends")
    func unreadable() {
        for endsEarly in [false, true] {
            var bench = SharedLogBench(forwardsWrites: true)
            bench.handle(.arrived([.ownership(.owner)]))
            bench.set("a", "1")
            bench.recover(from: .fenced(by: nil), reading: .failure(.noQuorum))
            bench.ask(.get("a"), by: DatabaseBench.reader)
            bench.handle(.tick(1))
            bench.handle(.logRead(.failure(.noQuorum)))
            #expect(bench.replies.isEmpty)
            if endsEarly {
                bench.handle(.settle)
            } else {
                bench.pass(milliseconds: 5000)
                bench.handle(.tick(2))
                bench.handle(.logRead(.failure(.noQuorum)))
            }
            #expect(bench.replies == ["\(Reply.failed(.unavailable(.noQuorum)))"])
        }
    }

    @Test("writes that wait for the next owner are refused when the process ends")
    func lostAtEnd() {
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1")
        bench.recover(from: .fenced(by: nil))
        #expect(bench.replies.isEmpty)
        bench.handle(.settle)
        #expect(bench.replies == ["\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"])
        let isSettled = bench.scheduler.isSettled
        #expect(isSettled)
    }

    @Test("a node that has lost the log while its disk was full writes nothing of its own accord when there is room")
    func owedWrites() throws {
        let entry = (target: WriteTarget(path: "status"), value: IncomingValue(json: #""offline""#))
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.ask(.onDisconnect([entry]))
        let owed = try #require(bench.appended.first, "it is written down")
        bench.handle(.committed(through: 1))
        bench.set("a", "1", by: DatabaseBench.reader)
        bench.recover(from: .storage(.full), reading: .success(try owed.operations()))
        let theirs = SharedLogBench.record(2, "status", #""offline""#)
        bench.handle(.arrived([.ownership(.elsewhere(node: "n2")), .record(theirs)]))
        bench.ask(.disconnect)
        bench.handle(.tick(1))
        bench.handle(.probed(nil))
        #expect(bench.appended.isEmpty)
        #expect(bench.stored == [theirs])
    }

    @Test("writes of other nodes' clients that were lost come again before later ones are made")
    func lostWritesOfOthers() throws {
        let other = ConnectionID(forwarded: .realtime, link: 0, serial: 1)
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1", by: other)
        bench.recover(from: .fenced(by: nil))
        let turnedAway = "\(Reply.failed(.unavailable(.ownedElsewhere(node: nil))))"
        #expect(bench.replies == [turnedAway])
        bench.set("b", "2", by: other)
        bench.handle(.arrived([.ownership(.elsewhere(node: nil)), .ownership(.takingOver), .ownership(.owner)]))
        bench.handle(.tick(1))
        bench.handle(.probed(nil))
        #expect(bench.replies == [turnedAway])
        #expect(bench.appended.isEmpty)
    }

    @Test("a node that gives a database up tells which requests of other nodes it has not done, and which it may have")
    func givingUp() {
        let (begun, waiting) = (
            ConnectionID(forwarded: .realtime, link: 0, serial: 1),
            ConnectionID(forwarded: .realtime, link: 0, serial: 2)
        )
        var bench = SharedLogBench(forwardsWrites: true)
        bench.handle(.arrived([.ownership(.owner)]))
        bench.set("a", "1", by: begun)
        bench.set("a", "2")
        #expect(bench.appended.count == 1)
        bench.isCertain = false
        for connection in [begun, waiting, waiting] { bench.set("b", "1", by: connection) }
        bench.set("b", "2")
        let (notDone, unknown) = bench.scheduler.giveUpForwarded()
        #expect(notDone.map(\.connection) == [waiting, waiting])
        #expect(notDone.map(\.number) == [4, 5])
        #expect(unknown == [begun])
    }
}
