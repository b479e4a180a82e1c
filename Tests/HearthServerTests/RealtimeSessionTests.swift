import HearthJSONTree
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage
import HearthStorageErrors

@testable import HearthDelivery
@testable import HearthServer
@testable import HearthRealtimeDatabase
@testable import HearthRealtimeSessions

@Suite("A realtime session")
struct RealtimeSessionTests {
    /// More than is assembled in memory.
    private static let large = String(repeating: "x", count: Database.assembledBytesMax + 1)

    private func connect(to server: RealtimeTestServer) throws -> RealtimePeer {
        let peer = try server.connect()
        #expect(try peer.receiveMessage()?.hasPrefix(#"{"t":"c","d":{"t":"h","#) == true)
        return peer
    }

    private func request(_ number: Int, _ action: String, _ body: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#
    }

    private func ok(_ number: Int, _ data: String = #""""#) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":\#(data)}}}"#
    }

    @Test("several large reads in a row are answered one after the other, and everything else in its place")
    func largeReads() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        let value = #"{"a":"\#(Self.large)"}"#
        try peer.send(request(1, "p", #"{"p":"big","d":\#(value)}"#))
        try peer.send(request(2, "g", #"{"p":"big","q":{}}"#))
        try peer.send(request(3, "q", #"{"p":"big","h":""}"#))
        try peer.send(request(4, "p", #"{"p":"big/b","d":1}"#))
        try peer.send(request(5, "g", #"{"p":"big","q":{}}"#))
        try peer.send(request(6, "p", #"{"p":"big","d":null}"#))
        try peer.send(request(7, "g", #"{"p":"big","q":{}}"#))
        let expected = [
            ok(1), ok(2, value), #"{"t":"d","d":{"a":"d","b":{"p":"big","d":\#(value)}}}"#, ok(3, "{}"),
            #"{"t":"d","d":{"a":"d","b":{"p":"big/b","d":1}}}"#, ok(4), ok(5, #"{"a":"\#(Self.large)","b":1}"#),
            #"{"t":"d","d":{"a":"d","b":{"p":"big","d":null}}}"#, ok(6), ok(7, "null"),
        ]
        for message in expected {
            let received = try peer.receiveMessage() ?? "the end"
            #expect(received.count == message.count, "\(received.prefix(80))")
            #expect(received == message, "\(received.prefix(80))")
        }
    }

    @Test("a client that has a large value already is not sent it again, whichever way it computes hashes")
    func largeHashes() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        // JavaScript clients mistake the number for 2^53, Apple clients take the children in another order.
        let value = #"{"a":{".priority":2,".value":9007199254740991},"b":{".priority":1,".value":"\#(Self.large)"}}"#
        let json = CanonicalJSON(trusted: Array(value.utf8))
        try peer.send(request(1, "p", #"{"p":"big","d":\#(value)}"#))
        #expect(try peer.receiveMessage() == ok(1))
        for (index, variant) in NodeHash.Variant.allCases.enumerated() {
            let hash = String(decoding: NodeHash.hash(json, variant: variant), as: UTF8.self)
            let other = try connect(to: server)
            try other.send(request(index, "q", #"{"p":"big","h":"\#(hash)"}"#))
            #expect(try other.receiveMessage()?.prefix(200) == ok(index, "{}")[...])
            try peer.send(request(index, "p", #"{"p":"big/n\#(index)","d":null}"#))
            #expect(try peer.receiveMessage() == ok(index))
            #expect(try other.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"big/n\#(index)","d":null}}}"#)
            try other.send(request(9, "q", #"{"p":"/","h":"\#(hash)"}"#))
            #expect(try other.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"","d":{"big":\#(value)}}}}"#)
            #expect(try other.receiveMessage() == ok(9, "{}"))
        }
    }

    @Test("a query that has to look at many children is answered in its place, and others do not wait for it")
    func scans() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let (peer, other) = (try connect(to: server), try connect(to: server))
        let children = (0..<5000).map { #""k\#($0)":{"n":\#($0 * 7919 % 5000)}"# }
        try peer.send(request(1, "p", #"{"p":"many","d":{\#(children.joined(separator: ","))}}"#))
        #expect(try peer.receiveMessage() == ok(1))
        let query = #"{"i":"n","l":2,"vf":"r"}"#
        try peer.send(request(2, "q", #"{"p":"many","q":\#(query),"t":1,"h":""}"#))
        try peer.send(request(3, "p", #"{"p":"many/new","d":{"n":9000}}"#))
        try peer.send(request(4, "g", #"{"p":"many","q":\#(query)}"#))
        try peer.send(request(5, "p", #"{"p":"many/new","d":null}"#))
        try peer.send(request(6, "g", #"{"p":"many","q":{"i":"n","sp":4997,"ep":4998}}"#))
        try other.send(request(1, "p", #"{"p":"other","d":1}"#))
        #expect(try other.receiveMessage() == ok(1))
        func child(_ number: Int) throws -> String {
            let key = try #require((0..<5000).first { $0 * 7919 % 5000 == number })
            return #""k\#(key)":{"n":\#(number)}"#
        }
        func object(_ numbers: Int...) throws -> String {
            "{\(try numbers.map(child).sorted().joined(separator: ","))}"
        }
        func push(_ action: String, _ path: String, _ data: String) -> String {
            #"{"t":"d","d":{"a":"\#(action)","b":{"p":"\#(path)","d":\#(data),"t":1}}}"#
        }
        let gone = try child(4998).split(separator: "\"")[0]
        let entered = #"{"\#(gone)":null,"new":{"n":9000}}"#
        let (with, without) = (try child(4999), try child(4998))
        let expected = [
            push("d", "many", try object(4998, 4999)), ok(2, #"{"w":["no_index"]}"#), push("m", "many", entered), ok(3),
            ok(4, "{\(with),\"new\":{\"n\":9000}}"), push("m", "many", #"{"new":null,\#(without)}"#), ok(5),
            ok(6, try object(4997, 4998)),
        ]
        for message in expected { #expect(try peer.receiveMessage() == message) }
    }

    @Test("a large read that failed before its turn is answered in its place")
    func failedRead() throws {
        func stream(_ number: Int64) -> SnapshotStream {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
            return SnapshotStream(
                SnapshotRead(
                    id: 1, connection: connection, number: number, path: .root, purpose: .get, sequence: 0),
                SnapshotLimits())
        }
        var reads = LargeReads<SnapshotStream, [UInt8]>()
        let (first, second) = (stream(1), stream(2))
        reads.append(first)
        reads.hold([1, 2], bytes: 20)
        reads.append(second)
        reads.hold([3], bytes: 30)
        reads.fail(second, .busy("x"))
        #expect(reads.current === first)
        #expect(reads.failure == nil)
        #expect(reads.heldBytes == 50)
        #expect(reads.endFirst() == [1, 2])
        #expect(reads.current === second)
        #expect(reads.failure == .busy("x"))
        #expect(reads.heldBytes == 30)
        #expect(reads.endFirst() == [3])
        #expect(reads.isEmpty)
        #expect(reads.heldBytes == 0)
        #expect(reads.endFirst().isEmpty)
    }

    @Test("a client that only receives stays connected, a silent one is closed")
    func timeout() throws {
        // Between two messages the machine may have other things to do, but not for so long each time.
        var limit = Duration.seconds(4)
        while try !closesOnlySilentOnes(after: limit) {
            limit *= 2
            try #require(limit < .seconds(100), "a client was closed that was not silent")
        }
    }

    /// False if a connection ended too early.
    private func closesOnlySilentOnes(after limit: Duration) throws -> Bool {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.connectionLimits.realtimeTimeout = limit
        }
        let (listener, writer) = (try server.connect(), try server.connect())
        /// Whether an answer came, which must be the right one.
        func asks(_ peer: RealtimePeer, _ text: String, _ answer: String) throws -> Bool {
            guard (try? peer.send(text)) != nil, let received = try peer.receiveMessage() else { return false }
            #expect(received == answer)
            return true
        }
        for peer in [listener, writer] { if try peer.receiveMessage() == nil { return false } }
        guard try asks(listener, request(1, "q", #"{"p":"n","h":""}"#), ok(1, "{}")) else { return false }
        let start = ContinuousClock.now
        var number = 0
        while ContinuousClock.now - start < limit * 1.5 {
            number += 1
            guard try asks(writer, request(number, "p", #"{"p":"n","d":\#(number)}"#), ok(number)) else { return false }
            guard let told = try listener.receiveMessage() else { return false }
            #expect(told == #"{"t":"d","d":{"a":"d","b":{"p":"n","d":\#(number)}}}"#)
        }
        guard try asks(listener, request(2, "s", #"{"c":{}}"#), ok(2)) else { return false }
        #expect(try listener.receive() == .end)
        #expect(try writer.receive() == .end)
        return true
    }

    @Test("a client that takes nothing is closed, although it is told of changes")
    func stalled() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.connectionLimits.realtimeTimeout = .seconds(10)
        }
        let (watcher, writer) = (try server.connect(), try server.connect())
        _ = try (watcher.receiveMessage(), writer.receiveMessage())
        // Its system has room for some kilobytes, that of the server for much more.
        let stalled = try server.connect(receiveBuffer: 4096)
        _ = try stalled.receiveMessage()
        try stalled.send(request(1, "o", #"{"p":"presence","d":false}"#))
        try stalled.send(request(2, "q", #"{"p":"n","h":""}"#))
        for number in 1...2 { #expect(try stalled.receiveMessage() == ok(number, number == 1 ? #""""# : "{}")) }
        let text = String(repeating: "x", count: 100_000)
        try writer.send(request(1, "p", #"{"p":"n","d":"\#(text)"}"#))
        #expect(try writer.receiveMessage() == ok(1))
        var number = 1
        try blockUntil("the end of the session", within: .seconds(100)) {
            number += 1
            try writer.send(request(number, "p", #"{"p":"n","d":\#(number)}"#))
            #expect(try writer.receiveMessage() == ok(number))
            try watcher.send(request(number, "g", #"{"p":"presence"}"#))
            return try watcher.receiveMessage() == ok(number, "false")
        }
    }

    @Test("a client's close frame is answered with its own code")
    func close() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        try peer.sendClose(1001, reason: "bye")
        #expect(try peer.receive() == .close(1001, reason: ""))
        #expect(try peer.receive() == .end)
    }

    @Test("the server says goodbye to its clients when it ends")
    func shutdown() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        try peer.send(request(1, "p", #"{"p":"n","d":1}"#))
        #expect(try peer.receiveMessage() == ok(1))
        try server.beginToStop()
        #expect(try peer.receive() == .close(1001, reason: "the server is shutting down"))
        #expect(try peer.receive() == .end)
    }

    @Test("ending a query that nobody listens to leaves the listeners of the same place alone")
    func unlistenQuery() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        for (number, (action, body)) in [
            ("q", #"{"p":"a","h":""}"#), ("q", #"{"p":"a","q":{"i":".key","l":2,"vf":"l"},"t":2,"h":""}"#),
            ("n", #"{"p":"a","q":{"l":2},"t":1}"#), ("nev", #"{"t":2}"#),
        ].enumerated() {
            try peer.send(request(number, action, body))
            #expect(try peer.receiveMessage() == ok(number, action == "q" ? "{}" : #""""#))
        }
        try peer.send(request(8, "p", #"{"p":"a/b","d":1}"#))
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":1}}}"#)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":1,"t":2}}}"#)
        #expect(try peer.receiveMessage() == ok(8))
        // Ending without a tag ends the whole place, regardless of the query.
        try peer.send(request(9, "n", #"{"p":"a","q":{"l":2}}"#))
        #expect(try peer.receiveMessage() == ok(9))
        try peer.send(request(10, "p", #"{"p":"a","d":null}"#))
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a","d":null,"t":2}}}"#)
        #expect(try peer.receiveMessage() == ok(10))
    }

    @Test("a listener of a query needs a tag, so that its pushes can be told from others")
    func untaggedQuery() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        try peer.send(request(1, "q", #"{"p":"a","q":{"i":".key","l":2,"vf":"l"},"h":""}"#))
        #expect(
            try peer.receiveMessage()
                == #"{"t":"d","d":{"r":1,"b":{"s":"invalid_argument","d":"a listener of a query needs a tag \"t\""}}}"#)
    }

    @Test(
        "a client that comes back ends the session it lost before anything else, however quick it is",
        arguments: [false, true])
    func lostSession(isQuick: Bool) throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let lost = try server.connect()
        let hello = try #require(try lost.receiveMessage())
        let name = try #require(hello.firstMatch(of: /"s":"([^"]+)"/)?.1)
        try lost.send(request(1, "o", #"{"p":"on","d":false}"#))
        #expect(try lost.receiveMessage() == ok(1))
        let get = request(1, "g", #"{"p":"on","q":{}}"#)
        let next = try server.connect("/.ws?v=5&ns=example&ls=\(name)", early: isQuick ? [get] : [])
        _ = try next.receiveMessage()
        if !isQuick { try next.send(get) }
        #expect(try next.receiveMessage() == ok(1, "false"))
        #expect(try lost.receive() == .close(1000, reason: "the client is back on another connection"))
        #expect(try lost.receive() == .end)
    }

    @Test(
        "a client that comes back ends the session whose last message is still being parsed",
        arguments: [false, true])
    func lostSessionInParsing(hasEnded: Bool) throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.loops = 1
        }
        let lost = try server.connect()
        let hello = try #require(try lost.receiveMessage())
        let name = try #require(hello.firstMatch(of: /"s":"([^"]+)"/)?.1)
        try lost.send(request(1, "o", #"{"p":"on","d":false}"#))
        #expect(try lost.receiveMessage() == ok(1))
        let gate = Semaphore()
        server.server.services.parser.post { gate.wait() }
        defer { gate.signal() }
        let text = String(repeating: "x", count: 100_000)
        try lost.send(request(2, "p", #"{"p":"large","d":"\#(text)"}"#))
        let memory = server.server.services.requestMemory
        try blockUntil("the message") { memory.bytesUsed > text.utf8.count }
        if hasEnded {
            lost.reset()
            try blockUntil("the end of the session") { server.sessionCount == 0 }
        }
        let next = try server.connect("/.ws?v=5&ns=example&ls=\(name)")
        _ = try next.receiveMessage()
        try next.send(request(1, "g", #"{"p":"on"}"#))
        #expect(try next.receiveMessage() == ok(1, "false"))
        try next.send(request(2, "p", #"{"p":"on","d":true}"#))
        #expect(try next.receiveMessage() == ok(2))
        gate.signal()
        // Parsed after the dropped message.
        try next.send(request(3, "p", #"{"p":"other","d":"\#(text)"}"#))
        try next.send(request(4, "g", #"{"p":"/","q":{}}"#))
        #expect(try next.receiveMessage() == ok(3))
        let isDropped = try next.receiveMessage() == ok(4, #"{"on":true,"other":"\#(text)"}"#)
        #expect(isDropped)
    }

    @Test("a client that says goodbye has ended, although its transport stays open")
    func goodbye() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let leaving = try connect(to: server)
        let watcher = try connect(to: server)
        try watcher.send(request(1, "q", #"{"p":"on","h":""}"#))
        #expect(try watcher.receiveMessage() == ok(1, "{}"))
        try leaving.send(request(1, "o", #"{"p":"on","d":false}"#))
        #expect(try leaving.receiveMessage() == ok(1))
        try leaving.sendClose(1000)
        #expect(try watcher.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"on","d":false}}}"#)
    }

    @Test("no more of an unknown action comes back than 64 bytes")
    func unknownAction() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try connect(to: server)
        try peer.send(request(1, String(repeating: "é", count: 1000), "{}"))
        let name = String(repeating: "é", count: 32)
        #expect(
            try peer.receiveMessage()
                == #"{"t":"d","d":{"r":1,"b":{"s":"error","d":"unknown action \"\#(name)\""}}}"#)
    }
}
