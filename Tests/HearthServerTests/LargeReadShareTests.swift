import HearthDelivery
import HearthEventLoop
import HearthHTTPConnections
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthDatabaseHost
@testable import HearthServer
@testable import HearthRealtimeDatabase

@Suite("Large reads are shared out") struct LargeReadShareTests {
    /// 8 MB in many rows: more than waits in sockets.
    private static let large: String = {
        let text = String(repeating: "x", count: 50_000)
        return "{\((0..<160).map { "\"k\($0)\":\"\(text)\"" }.joined(separator: ","))}"
    }()

    @Test("a client that asks for many large values and reads none of them holds nobody up")
    func unreadValues() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.snapshotLimits.openMax = 8
            $0.snapshotLimits.threadsMax = 4
        }
        let writer = try server.connectREST()
        try writer.ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let greedy = try server.connect(receiveBuffer: 64 << 10)
        _ = try greedy.receiveMessage()
        try greedy.send((1...8).map { #"{"t":"d","d":{"r":\#($0),"a":"g","b":{"p":"x"}}}"# })
        // The first has begun.
        #expect(try greedy.receive() != .end)
        for _ in 0..<3 {
            #expect(
                try server.connectREST(from: 2).ask("GET", "/x.json?ns=example").body.count == Self.large.utf8.count)
            #expect(try writer.ask("GET", "/x.json?ns=example").body.count == Self.large.utf8.count)
        }
        // It gets all of them when it reads, and in order. The rest of the first comes in single frames.
        var numbers: [Int] = []
        while numbers.count < 8 {
            let message = try #require(try greedy.receiveMessage())
            guard message.hasPrefix(#"{"t":"d","d":{"r":"#) else { continue }
            numbers.append(try #require(Int(message.dropFirst(18).prefix { $0.isNumber })))
        }
        #expect(numbers == Array(1...8))
    }

    @Test("an event stream whose first value is on its way ends when its database is replaced by a copy")
    func streamOfAbandonedDatabase() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        try server.connectREST().ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let stream = try EventStreamClient("/x.json?ns=example", of: server, receiveBuffer: 4096)
        // As a node of a cluster does that copies the database from another one.
        for database in 0..<UInt32(2) { server.server.connectionLoops.abandonAll(using: database, reason: "") }
        #expect(stream.connection.isReset())
    }

    @Test("a client whose connections all leave large values unread leaves threads to others")
    func unreadValuesOfManyConnections() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.snapshotLimits.openMax = 8
            $0.snapshotLimits.threadsMax = 2
            // Their reads do not end because they take nothing.
            $0.snapshotLimits.patience = .seconds(3600)
            // Nor do they at the end.
            $0.stopGrace = .seconds(5)
        }
        try server.connectREST().ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let greedy = try (0..<3).map { _ in try server.connect(receiveBuffer: 64 << 10) }
        for (index, peer) in greedy.enumerated() {
            _ = try peer.receiveMessage()
            try peer.send(1, "g", #"{"p":"x"}"#)
            // It has begun.
            if index == 0 { #expect(try peer.receive() != .end) }
        }
        for _ in 0..<3 {
            #expect(
                try server.connectREST(from: 2).ask("GET", "/x.json?ns=example").body.count == Self.large.utf8.count)
        }
    }

    @Test("what a connection asks after large reads is done in order, whatever had to wait")
    func order() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        try server.connectREST().ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let peer = try server.connect(receiveBuffer: 64 << 10)
        _ = try peer.receiveMessage()
        var requests: [String] = []
        for number in 0..<5 {
            requests.append(#"{"t":"d","d":{"r":\#(4 * number),"a":"g","b":{"p":"x"}}}"#)
            requests.append(#"{"t":"d","d":{"r":\#(4 * number + 1),"a":"p","b":{"p":"n","d":\#(number)}}}"#)
            requests.append(#"{"t":"d","d":{"r":\#(4 * number + 2),"a":"g","b":{"p":"n"}}}"#)
            requests.append(#"{"t":"d","d":{"r":\#(4 * number + 3),"a":"q","b":{"p":"l\#(number)","h":""}}}"#)
        }
        try peer.send(requests)
        for number in 0..<5 {
            let value = try #require(try peer.receiveMessage())
            #expect(value.hasPrefix(#"{"t":"d","d":{"r":\#(4 * number),"b":{"s":"ok","d":{"k0":"#))
            #expect(try peer.receiveMessage() == RealtimePeer.response(4 * number + 1))
            #expect(try peer.receiveMessage() == RealtimePeer.response(4 * number + 2, "ok", "\(number)"))
            #expect(try peer.receiveMessage() == RealtimePeer.response(4 * number + 3, "ok", "{}"))
        }
    }

    @Test("writes after a large read that had to wait are made when their connection ends")
    func disconnect() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            // The end of the connection waits for what the client does not take.
            $0.stopGrace = .seconds(5)
        }
        let other = try server.connectREST()
        try other.ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let peer = try server.connect(receiveBuffer: 64 << 10)
        _ = try peer.receiveMessage()
        try peer.send(
            (1...3).map { #"{"t":"d","d":{"r":\#($0),"a":"g","b":{"p":"x"}}}"# }
                + [#"{"t":"d","d":{"r":4,"a":"p","b":{"p":"n","d":"written"}}}"#])
        #expect(try peer.receive() != .end)
        #expect(try other.ask("GET", "/n.json?ns=example").text == "null")
        peer.hangUp()
        try blockUntil("the write") { try other.ask("GET", "/n.json?ns=example").text != "null" }
        #expect(try other.ask("GET", "/n.json?ns=example").text == #""written""#)
    }

    // MARK: Shares

    @Test("one key has half of the places, and there is always one for another")
    func shares() {
        var shares = Shares<Int>(of: 16)
        func fill(_ key: Int) -> Int {
            var count = 0
            while shares.mayTake(key) {
                shares.take(key)
                count += 1
            }
            return count
        }
        #expect((0..<6).map(fill) == [8, 4, 2, 1, 1, 0])
        #expect(shares.isFull)
        #expect(!shares.mayTake(9))
        shares.give(0)
        #expect(!shares.mayTake(0))
        #expect(shares.mayTake(9))
        for _ in 0..<7 { shares.give(0) }
        #expect(fill(0) == 4)
        var single = Shares<Int>(of: 1)
        #expect(single.mayTake(1))
        single.take(1)
        #expect(!single.mayTake(2))
    }

    @Test("keys take turns, however much waits for one of them")
    func turns() {
        var queue = FairQueue<String, Int>()
        for number in 0..<5 { queue.append(number, for: "a") }
        for number in 10..<12 { queue.append(number, for: "b") }
        queue.append(20, for: "c")
        #expect(queue.takeFirst { $0 != "a" }?.element == 10)
        var taken: [Int] = []
        while let next = queue.takeFirst(where: { _ in true }) { taken.append(next.element) }
        #expect(taken == [0, 20, 11, 1, 2, 3, 4])
        for number in 0..<4 { queue.append(number, for: number < 2 ? "a" : "b") }
        #expect(queue.removeAll { $0 != 1 } == [0, 2, 3])
        #expect(queue.takeFirst { _ in true }?.element == 1)
        #expect(queue.isEmpty)
        #expect(queue.takeFirst { _ in true } == nil)
    }

    @Test("open snapshots are shared out by client and by user")
    func openSnapshots() throws {
        let opened = OpenSnapshots(of: 8)
        func place(_ client: UInt64, _ uid: String) -> OpenSnapshots.Place? {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
            let read = SnapshotRead(
                id: 1, connection: connection, number: 1, path: .root, purpose: .get, sequence: 0, client: client,
                uid: Array(uid.utf8))
            return try? opened.place(for: read)
        }
        // One user from many addresses.
        var places = (1...8).compactMap { place(UInt64($0), "eve") }
        #expect(places.count == 4)
        #expect(place(1, "ann") != nil)
        #expect(place(9, "eve") == nil)
        places = []
        // Many users at one address.
        places = (1...8).compactMap { place(7, "user\($0)") }
        #expect(places.count == 4)
        #expect(place(8, "ann") != nil)
        places = []
        #expect(place(1, "eve") != nil)
    }
}
