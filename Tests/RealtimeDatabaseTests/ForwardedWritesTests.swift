import HearthJSONTree
import HearthStorageErrors
import HearthTestSupport
import Testing
@testable import HearthRealtimeDatabase

@Suite("Writes that another node makes")
struct ForwardedWritesTests {
    private static let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)

    private static func set(_ number: Int64, of connection: ConnectionID = connection) -> Request {
        let value = IncomingValue(json: CanonicalJSON(trusted: Array("\(number)".utf8)))
        return Request(connection: connection, number: number, operation: .set(WriteTarget(path: "a"), value))
    }

    private static func owe(_ connection: ConnectionID = connection) -> Request {
        let value = IncomingValue(json: CanonicalJSON(trusted: Array("1".utf8)))
        return Request(
            connection: connection, number: 100, operation: .onDisconnect([(WriteTarget(path: "a"), value)]))
    }

    private static let end = Request(connection: connection, number: 0, operation: .disconnect)

    private static func writes(of node: String?) -> ForwardedWrites {
        var writes = ForwardedWrites()
        writes.ownership(false, node: node)
        return writes
    }

    private static func sent(_ work: ForwardedWrites.Work) -> [Int64] {
        work.toSend.flatMap { $0.requests.map(\.request.number) }
    }

    private static let turnedAway = Reply.failed(.unavailable(.ownedElsewhere(node: nil)))

    @Test("an answer waits until this node has applied what it depends on")
    func readingOwnWrites() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        writes.take(.answered(Self.connection, number: number, .done, sequence: 7), now: 0)
        #expect(writes.takeWork(applied: 6, now: 0).isEmpty)
        #expect(writes.holds(Self.connection))
        let work = writes.takeWork(applied: 7, now: 0)
        #expect(work.answers.map(\.request.number) == [1])
        #expect(work.released == [Self.connection])
        #expect(writes.isEmpty)
    }

    /// A claim for jobs that a node has not answered, and its number there.
    private static func claimSent() -> (ForwardedWrites, number: Int64) {
        var writes = Self.writes(of: "n1")
        let claim = Operation.job("q", .claim(count: 1, lease: nil, wait: .milliseconds(1000)))
        writes.add(Request(connection: connection, number: 1, operation: claim), now: 0)
        let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        return (writes, number)
    }

    @Test("a worker that has gone is not answered, or it would wait here for a job")
    func endedClaim() throws {
        var (writes, number) = Self.claimSent()
        writes.add(Self.end, now: 0)
        writes.take(.answered(Self.connection, number: number, .value(#"{"count":0}"#), sequence: 0), now: 0)
        let work = writes.takeWork(applied: 0, now: 0)
        #expect(work.answers.isEmpty)
        #expect(work.released == [Self.connection])
        #expect(work.toSend.flatMap { $0.requests.map(\.request.number) } == [0])
        #expect(writes.isEmpty)
    }

    @Test("nobody waits for the answer of a worker that has gone")
    func endedClaimUnanswered() throws {
        var (writes, number) = Self.claimSent()
        writes.add(Self.end, now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 0)) == [0])
        #expect(writes.isUnused)
        writes.checkInvariants()
        writes.take(.answered(Self.connection, number: number, .value(#"{"count":0}"#), sequence: 0), now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
    }

    @Test("a worker that has gone gets no job of this node when it becomes the owner")
    func returnedClaim() throws {
        var writes = Self.writes(of: nil)
        let claim = Operation.job("q", .claim(count: 1, lease: nil, wait: .milliseconds(1000)))
        writes.add(Self.set(1), now: 0)
        writes.add(Request(connection: Self.connection, number: 2, operation: claim), now: 0)
        writes.add(Self.end, now: 0)
        writes.ownership(true, node: nil)
        #expect(writes.takeWork(applied: 0, now: 0).returned.map(\.number) == [1, Self.end.number])
    }

    @Test("what a node turns away goes to the next owner, before what came later on the connection")
    func order() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        writes.add(Self.set(2), now: 0)
        let sent = writes.takeWork(applied: 0, now: 0).toSend[0].requests
        writes.take(.answered(Self.connection, number: sent[0].number, Self.turnedAway, sequence: 0), now: 0)
        writes.ownership(false, node: "n2")
        writes.add(Self.set(3), now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty, "the first node has not answered the second request")
        writes.take(.answered(Self.connection, number: sent[1].number, Self.turnedAway, sequence: 0), now: 0)
        let work = writes.takeWork(applied: 0, now: 0)
        #expect(work.toSend.map(\.node) == ["n1", "n2"])
        // The first node forgets the connection.
        #expect(Self.sent(work) == [0, 1, 2, 3])
    }

    @Test("a node that takes the writes no more forgets a connection that goes on with another")
    func forgetting() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        writes.take(.answered(Self.connection, number: number, .done, sequence: 0), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.ownership(false, node: "n2")
        writes.add(Self.set(2), now: 0)
        var work = writes.takeWork(applied: 0, now: 0)
        #expect(work.toSend.map(\.node) == ["n1", "n2"])
        #expect(work.toSend.map { $0.requests.map(\.request.number) } == [[Self.end.number], [2]])
        writes.add(Self.set(3), now: 0)
        work = writes.takeWork(applied: 0, now: 0)
        #expect(work.toSend.map(\.node) == ["n2"])
        writes.checkInvariants()
    }

    @Test("nothing is left of a connection that has ended when this node is too slow to apply what it was answered")
    func overdueAnswers() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        writes.add(Self.set(2), now: 0)
        for request in writes.takeWork(applied: 0, now: 0).toSend[0].requests {
            writes.take(.answered(Self.connection, number: request.number, .done, sequence: 7), now: 0)
        }
        writes.add(Self.end, now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.tick(now: ForwardedWrites.answerPatience)
        let work = writes.takeWork(applied: 0, now: ForwardedWrites.answerPatience)
        #expect(work.ended == [Self.connection])
        #expect(writes.isUnused)
    }

    @Test("a node hears that writes are forfeited before it hears of the end that makes them, however long both wait")
    func forfeiting() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.owe(), now: 0)
        let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        writes.take(.answered(Self.connection, number: number, .done, sequence: 0), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        // There is no room for more.
        let large = IncomingValue(
            json: CanonicalJSON(trusted: [0x22] + Array(repeating: 0x61, count: ForwardedWrites.sentBytesMax) + [0x22]))
        let other = ConnectionID(loop: 0, kind: .realtime, serial: 2)
        writes.add(
            Request(connection: other, number: 1, operation: .set(WriteTarget(path: "a"), large)), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.add(Self.set(1, of: other), now: 0)
        writes.add(Request(connection: Self.connection, number: 2, operation: .forfeit), now: 0)
        writes.add(Self.end, now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
        writes.tick(now: ForwardedWrites.patience)
        let work = writes.takeWork(applied: 0, now: ForwardedWrites.patience)
        #expect(work.toSend.map(\.node) == ["n1", "n1"])
        #expect(Self.sent(work) == [2, Self.end.number])
    }

    @Test("an owner that turns requests away is asked again soon, and less often the longer that lasts")
    func pauses() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        var (now, times): (Int64, [Int64]) = (0, [])
        for _ in 0..<7 {
            guard let request = writes.takeWork(applied: 0, now: now).toSend.first?.requests.first else { break }
            times.append(now)
            writes.take(.answered(Self.connection, number: request.number, Self.turnedAway, sequence: 0), now: now)
            #expect(writes.takeWork(applied: 0, now: now).isEmpty)
            now = writes.nextAttempt ?? .max
            #expect(writes.takeWork(applied: 0, now: now - 1).isEmpty)
        }
        #expect(times == [0, 10, 30, 70, 150, 310, 470])
        #expect(!writes.takeWork(applied: 0, now: now).isEmpty)
        #expect(writes.nextAttempt == nil)
    }

    @Test("a node that becomes the owner does itself what was not sent")
    func takingOver() {
        var writes = Self.writes(of: nil)
        writes.add(Self.set(1), now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
        writes.ownership(true, node: nil)
        #expect(writes.takeWork(applied: 0, now: 0).returned.map(\.number) == [1])
        #expect(writes.isEmpty)
    }

    @Test("connections with requests of unknown outcome end without an answer when a link is lost")
    func losing() {
        let other = ConnectionID(loop: 0, kind: .http, serial: 2)
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.ownership(false, node: nil)
        writes.add(Self.set(2, of: other), now: 0)
        writes.take(.lost(node: "n1"), now: 0)
        writes.add(Self.set(3), now: 0)
        let work = writes.takeWork(applied: 0, now: 0)
        #expect(work.ended == [Self.connection])
        #expect(work.answers.isEmpty)
        #expect(writes.holds(other), "it was not sent")
        #expect(!writes.holds(Self.connection), "what it still asks is not done")
    }

    @Test("a connection that is owed writes ends when another node takes over, and when the link is lost")
    func owing() {
        for news in [nil, ForwardingNews.lost(node: "n1"), .ended(Self.connection, node: "n1")] {
            var writes = Self.writes(of: "n1")
            writes.add(Self.owe(), now: 0)
            let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
            writes.take(.answered(Self.connection, number: number, .done, sequence: 0), now: 0)
            #expect(writes.takeWork(applied: 0, now: 0).answers.count == 1)
            if let news { writes.take(news, now: 0) } else { writes.ownership(false, node: "n2") }
            #expect(writes.takeWork(applied: 0, now: 0).ended == [Self.connection])
        }
    }

    @Test("the end of a connection is told to the node that knows it, once that has answered its requests")
    func ending() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.end, now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty, "no node knows it")
        writes.add(Self.owe(), now: 0)
        writes.add(Self.set(1), now: 0)
        writes.add(Self.end, now: 0)
        let requests = writes.takeWork(applied: 0, now: 0).toSend[0].requests
        #expect(requests.map(\.request.number) == [100, 1])
        // The node would forget the connection, and its answers would not come.
        writes.take(.answered(Self.connection, number: requests[0].number, .done, sequence: 0), now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 0)) == [])
        writes.tick(now: ForwardedWrites.patience)
        #expect(Self.sent(writes.takeWork(applied: 0, now: ForwardedWrites.patience)) == [])
        writes.take(.answered(Self.connection, number: requests[1].number, .done, sequence: 0), now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: ForwardedWrites.patience)) == [0])
        #expect(writes.isUnused)
        writes.checkInvariants()
    }

    @Test("the node that has made the last write hears of the end, also if another one owns the log by then")
    func endingAfterMove() {
        for isTurnedAway in [false, true] {
            var writes = Self.writes(of: "n1")
            writes.add(Self.set(1), now: 0)
            var number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
            writes.add(Self.end, now: 0)
            writes.ownership(false, node: "n2")
            #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
            let reply = isTurnedAway ? Self.turnedAway : .done
            writes.take(.answered(Self.connection, number: number, reply, sequence: 0), now: 0)
            var work = writes.takeWork(applied: 0, now: 0)
            if isTurnedAway {
                #expect(work.toSend.map(\.node) == ["n1", "n2"])
                #expect(Self.sent(work) == [0, 1])
                number = work.toSend[1].requests[0].number
                writes.take(.answered(Self.connection, number: number, .done, sequence: 0), now: 0)
                work = writes.takeWork(applied: 0, now: 0)
            }
            #expect(work.toSend.map(\.node) == [isTurnedAway ? "n2" : "n1"])
            #expect(Self.sent(work) == [0])
            #expect(writes.isUnused)
        }
    }

    @Test("nothing is left of a connection that has ended when the link to the node with its requests is lost")
    func endingWithLink() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.owe(), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.add(Self.end, now: 0)
        writes.take(.lost(node: "n1"), now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).toSend.isEmpty)
        #expect(writes.isUnused)
        writes.checkInvariants()
    }

    @Test("a node that lost the log hears of the end of a connection that it owed writes")
    func endingWithoutOwed() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.owe(), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.add(Self.end, now: 0)
        writes.ownership(false, node: "n2")
        let work = writes.takeWork(applied: 0, now: 0)
        #expect(work.toSend.map(\.node) == ["n1"])
        #expect(Self.sent(work) == [0])
        #expect(writes.isUnused)
    }

    @Test("nodes hear of the ends of all connections that they know when their database is given up")
    func endingAll() {
        let other = ConnectionID(loop: 0, kind: .realtime, serial: 2)
        var writes = Self.writes(of: "n1")
        writes.add(Self.owe(), now: 0)
        _ = writes.takeWork(applied: 0, now: 0)
        writes.ownership(false, node: nil)
        writes.add(Self.set(1, of: other), now: 0)
        let ends = writes.endAll()
        #expect(ends.map(\.node) == ["n1"])
        #expect(ends.flatMap { $0.requests.map(\.request.connection) } == [Self.connection], "the other is not known")
        // Late answers are not taken for those of another database's object.
        let last = ends[0].requests[0].number
        writes = ForwardedWrites(after: last)
        writes.ownership(false, node: "n1")
        writes.add(Self.set(2), now: 0)
        #expect(writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number > last)
    }

    @Test("a request that no node takes is refused after ten seconds")
    func patience() {
        var writes = Self.writes(of: nil)
        writes.add(Self.set(1), now: 0)
        writes.tick(now: ForwardedWrites.patience - 1)
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
        writes.tick(now: ForwardedWrites.patience)
        let work = writes.takeWork(applied: 0, now: 0)
        guard case .failed(.unavailable(.ownedElsewhere(node: nil)))? = work.answers.first?.reply else {
            Issue.record("not refused: \(work.answers)")
            return
        }
        #expect(writes.isEmpty)
    }

    @Test("a request is not refused before earlier ones are answered")
    func patienceInOrder() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        let number = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        writes.ownership(false, node: nil)
        writes.add(Self.set(2), now: 0)
        writes.tick(now: ForwardedWrites.patience)
        #expect(writes.takeWork(applied: 0, now: 0).answers.isEmpty)
        writes.take(.answered(Self.connection, number: number, .done, sequence: 1), now: 0)
        writes.tick(now: ForwardedWrites.patience)
        #expect(writes.takeWork(applied: 0, now: 0).answers.isEmpty, "this node has not applied the write")
        #expect(writes.takeWork(applied: 1, now: 0).answers.map(\.request.number) == [1])
        writes.tick(now: ForwardedWrites.patience)
        #expect(writes.takeWork(applied: 1, now: 0).answers.map(\.request.number) == [2])
    }

    @Test("only so many bytes are with another node at a time")
    func window() {
        var writes = Self.writes(of: "n1")
        let value = CanonicalJSON(trusted: Array("\"\(String(repeating: "x", count: 6 << 20))\"".utf8))
        for number in 1...4 as ClosedRange<Int64> {
            let set = Operation.set(WriteTarget(path: "a"), IncomingValue(json: value))
            writes.add(Request(connection: Self.connection, number: number, operation: set), now: 0)
        }
        let first = writes.takeWork(applied: 0, now: 0)
        #expect(Self.sent(first) == [1, 2])
        writes.take(
            .answered(Self.connection, number: first.toSend[0].requests[0].number, .done, sequence: 0), now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 0)) == [3])
    }

    private static func set(_ number: Int64, bytes: Int, of serial: UInt64) -> Request {
        let value = CanonicalJSON(trusted: Array("\"\(String(repeating: "x", count: bytes))\"".utf8))
        return Request(
            connection: ConnectionID(loop: 0, kind: .realtime, serial: serial), number: number,
            operation: .set(WriteTarget(path: "a"), IncomingValue(json: value)))
    }

    @Test("a large write gets its turn, however many small ones there are")
    func roomForLarge() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(2, bytes: 1, of: 2), now: 0)
        let first = writes.takeWork(applied: 0, now: 0)
        #expect(Self.sent(first) == [2])
        writes.add(Self.set(3, bytes: ForwardedWrites.sentBytesMax, of: 3), now: 0)
        writes.add(Self.set(4, bytes: 1, of: 4), now: 0)
        writes.add(Self.set(5, bytes: 1, of: 2), now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 0)) == [])
        func answer(_ request: ForwardedRequest) -> [ForwardedRequest] {
            writes.take(
                .answered(request.request.connection, number: request.number, .done, sequence: 0), now: 0)
            writes.checkInvariants()
            return writes.takeWork(applied: 0, now: 0).toSend.flatMap(\.requests)
        }
        let second = answer(first.toSend[0].requests[0])
        #expect(second.map(\.request.number) == [3])
        #expect(answer(second[0]).map(\.request.number) == [4, 5])
    }

    @Test("a write that has no room waits for those before it only: the next is sent when it is refused")
    func refusedLarge() {
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1, bytes: 1, of: 2), now: 0)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 0)) == [1])
        writes.add(Self.set(2, bytes: ForwardedWrites.sentBytesMax, of: 3), now: 0)
        writes.add(Self.set(3, bytes: 1, of: 4), now: 1)
        #expect(Self.sent(writes.takeWork(applied: 0, now: 1)) == [])
        writes.tick(now: ForwardedWrites.patience)
        let work = writes.takeWork(applied: 0, now: ForwardedWrites.patience)
        #expect(work.answers.map(\.request.number) == [2])
        #expect(Self.sent(work) == [3])
    }

    @Test("requests that a node has kept since another one took over are given up after some seconds", arguments: 0...3)
    func leftBehind(number: Int) {
        let patience = ForwardedWrites.leftBehindPatience
        var writes = Self.writes(of: "n1")
        writes.add(Self.set(1), now: 0)
        let sent = writes.takeWork(applied: 0, now: 0).toSend[0].requests[0].number
        // Nobody takes the writes for a while.
        writes.ownership(false, node: nil)
        for time in [0, 10 * patience] { writes.tick(now: time) }
        #expect(writes.takeWork(applied: 0, now: 0).isEmpty)
        let start = 10 * patience
        writes.ownership(number == 0, node: [nil, "n2", "n2", "n1"][number])
        writes.tick(now: start)
        writes.tick(now: start + patience - 1)
        #expect(writes.takeWork(applied: 0, now: start).isEmpty)
        if number == 2 {
            writes.take(.answered(Self.connection, number: sent, Self.turnedAway, sequence: 0), now: start)
            #expect(Self.sent(writes.takeWork(applied: 0, now: start)) == [0, 1])
        }
        writes.tick(now: start + patience)
        // Answered or not, the last two are with the node that takes the writes.
        let isOver = number < 2
        #expect(writes.takeWork(applied: 0, now: start).ended == (isOver ? [Self.connection] : []))
        #expect(writes.isEmpty == isOver)
        writes.checkInvariants()
    }

    @Test("connections end whose requests a node has given up, as it follows the log no more")
    func givenUp() {
        for node in ["n1", "n2"] {
            var writes = Self.writes(of: "n1")
            writes.add(Self.set(1), now: 0)
            _ = writes.takeWork(applied: 0, now: 0)
            writes.take(.ended(Self.connection, node: node), now: 0)
            #expect(writes.takeWork(applied: 0, now: 0).ended == (node == "n1" ? [Self.connection] : []))
        }
    }

    @Test("requests that were turned away are turned away until the first one that comes again")
    func turningAwayAgain() {
        func precedes(_ number: Int64, _ requests: inout TurnedAwayRequests) -> Bool {
            requests.precede(Request(connection: Self.connection, number: number, operation: .relay(.done)))
        }
        var requests = TurnedAwayRequests()
        requests.add(Request(connection: Self.connection, number: 5, operation: .relay(.done)))
        // The second one is run again because its turn was lost.
        #expect([6, 6, 5, 6, 7].map { precedes($0, &requests) } == [true, true, false, false, false])
        // The first one was given up.
        requests.add(Request(connection: Self.connection, number: 8, operation: .relay(.done)))
        #expect([9, 9, 9, 10].map { precedes($0, &requests) } == [true, true, false, false])
    }
}
