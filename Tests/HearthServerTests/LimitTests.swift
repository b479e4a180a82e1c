import HearthDatabaseScheduler
import HearthEventLoop
import HearthJSONTree
import HearthSystem
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthDelivery
@testable import HearthDatabaseHost
@testable import HearthServer
@testable import HearthRealtimeDatabase
@testable import HearthRealtimeSessions

@Suite("The limits of a server") struct LimitTests {
    private func connect(to server: RealtimeTestServer, _ name: String = "example") throws -> RealtimePeer {
        let peer = try server.connect("/.ws?v=5&ns=\(name)")
        #expect(try peer.receiveMessage()?.hasPrefix(#"{"t":"c","d":{"t":"h","#) == true)
        return peer
    }

    private func request(_ number: Int, _ action: String, _ body: String) -> String {
        #"{"t":"d","d":{"r":\#(number),"a":"\#(action)","b":\#(body)}}"#
    }

    private func response(_ number: Int, _ status: String = "ok", _ data: String = #""""#) -> String {
        #"{"t":"d","d":{"r":\#(number),"b":{"s":"\#(status)","d":\#(data)}}}"#
    }

    // MARK: Requests in flight

    @Test("requests count for their bytes until they are answered", arguments: 1...4 as ClosedRange<UInt64>)
    func requestsInFlight(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var requests = RequestsInFlight(countMax: 100, bytesMax: 1000, anonymousBytesMax: 1000)
        var model: [Int] = []
        for step in 0..<3000 {
            if !requests.isFull, Bool.random(using: &random) {
                let bytes = [0, 0, 1, 30, 1500].randomElement(using: &random)!
                requests.add(bytes: bytes, reads: false)
                model.append(bytes)
            } else if !model.isEmpty {
                let count = Int.random(in: 1...min(model.count, 20), using: &random)
                requests.answered(count, bytes: 0)
                model.removeFirst(count)
            }
            let bytes = model.reduce(0, +)
            try #require(requests.count == model.count && requests.bytes == bytes, "seed \(seed) step \(step)")
            try #require(requests.isFull == (model.count >= 100 || bytes >= 1000), "seed \(seed) step \(step)")
            try #require(requests.hasRoom == (model.count <= 50 && bytes <= 500), "seed \(seed) step \(step)")
        }
    }

    // With the least, every turn and every delivery has to wait for the one before.
    @Test(
        "many large values asked for at once come in order, as fast as the client takes them",
        arguments: [1, 64 << 20])
    func manyReads(backlogBytesMax: Int) throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.connectionLimits.outboundBytesMax = 2 << 20
            $0.connectionLimits.requestBytesMax = 2 << 20
            $0.databaseLimits.turnReadBytesMax = backlogBytesMax
            $0.databaseLimits.waitingReadBytesMax = backlogBytesMax
            $0.databaseLimits.backlogBytesMax = backlogBytesMax
        }
        let peer = try connect(to: server)
        let value = "\"\(String(repeating: "x", count: 600_000))\""
        try peer.send(request(0, "p", #"{"p":"big","d":\#(value)}"#))
        #expect(try peer.receiveMessage() == response(0))
        // Far more than may wait for a client, in requests that one read takes from the socket.
        try peer.send(
            (1...40).flatMap { number in
                [
                    request(number, "g", #"{"p":"big"}"#),
                    request(number + 100, "p", #"{"p":"n","d":\#(number)}"#),
                ]
            })
        for number in 1...40 {
            let received = try peer.receiveMessage() ?? "the end"
            let isRight = received == response(number, "ok", value)
            try #require(isRight, "\(number): \(received.prefix(80))")
            #expect(try peer.receiveMessage() == response(number + 100))
        }
    }

    @Test("requests of all connections together have a limit, beyond which large ones are refused")
    func requestMemory() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.requestBytesTotalMax = 50_000
        }
        let text = String(repeating: "x", count: 60_000)
        let peer = try connect(to: server)
        try peer.send(request(1, "p", #"{"p":"a","d":"\#(text)"}"#))
        try peer.send(request(2, "p", #"{"p":"b","d":"small"}"#))
        let reason = "the server has as much to write as it can hold: try again later"
        #expect(try peer.receiveMessage() == response(1, "unavailable", "\"\(reason)\""))
        #expect(try peer.receiveMessage() == response(2))
        // The places of an update take memory too.
        let places = (0..<600).map { #""place\#($0)/x":1"# }.joined(separator: ",")
        try peer.send(request(3, "m", #"{"p":"","d":{\#(places)}}"#))
        #expect(try peer.receiveMessage() == response(3, "unavailable", "\"\(reason)\""))
        let client = try server.connectREST()
        let refused = try client.ask("PUT", "/a.json", [], "\"\(text)\(text)\"")
        // It could never be taken.
        #expect(refused.status == 413)
        #expect(client.receivesEnd())
        #expect(try server.connectREST().ask("GET", "/.json?ns=example").text == #"{"b":"small"}"#)
        // A message that does not come whole is large when 64 KiB of it are there.
        try peer.send(["9"] + (0..<5).map { _ in String(text.prefix(16384)) })
        #expect(try peer.receive() == .close(1013, reason: "the server has no room for large messages"))
    }

    @Test("small requests of a connection that are not answered count together")
    func smallRequests() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.requestBytesTotalMax = 50_000
        }
        let text = String(repeating: "x", count: 900)
        let peer = try connect(to: server)
        try peer.send((1...300).map { request($0, "p", #"{"p":"a","d":"\#(text)"}"#) })
        let reason = "the server has as much to write as it can hold: try again later"
        var refused = 0
        for number in 1...300 {
            let answer = try peer.receiveMessage()
            if answer == response(number) { continue }
            #expect(answer == response(number, "unavailable", "\"\(reason)\""))
            refused += 1
        }
        #expect(refused > 0)
        // Answered ones do not count.
        for number in 301...330 {
            try peer.send(request(number, "p", #"{"p":"a","d":"\#(text)"}"#))
            #expect(try peer.receiveMessage() == response(number))
        }
    }

    @Test("a connection in nobody's name asks for few large values at a time, and for as many small ones as others")
    func anonymousReads() {
        var requests = RequestsInFlight(countMax: 1000, bytesMax: 32 << 20, anonymousBytesMax: 4 << 20)
        func fill() -> Int {
            while !requests.isFull { requests.add(bytes: 0, reads: true) }
            return requests.count
        }
        // Nothing is known of the answers.
        #expect(fill() == 4)
        for _ in 0..<20 {
            requests.answered(requests.count, bytes: requests.count * 100)
            #expect(requests.hasRoom)
            _ = fill()
        }
        #expect(requests.count == 32)
        // Answers to other requests say nothing.
        requests.answered(32, bytes: 32 << 20)
        requests.add(bytes: 0, reads: false)
        requests.answered(1, bytes: 10)
        #expect(fill() == 4)
        requests.isAnonymous = false
        #expect(fill() == 32)
    }

    /// A place with a large value, which is not in one row.
    private func putLarge(on peer: RealtimePeer) throws -> String {
        let members = (0..<900).map { #""k\#($0)":"\#(String(repeating: "x", count: 1000))""# }
        let value = "{\(members.sorted().joined(separator: ","))}"
        try peer.send(request(1, "p", #"{"p":"big","d":\#(value)}"#))
        #expect(try peer.receiveMessage() == response(1))
        return value
    }

    @Test("what waits for all clients together has a limit, beyond which those with the most are disconnected")
    func outboundMemory() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.outboundBytesTotalMax = 8 << 20
        }
        let memory = server.server.outbound
        let honest = try connect(to: server)
        let value = try putLarge(on: honest)
        // Each asks for much in little time, and takes nothing.
        let greedy = try (0..<12).map { _ in try connect(to: server) }
        for peer in greedy {
            try peer.send((1...31).map { request($0, "g", #"{"p":"big"}"#) })
            // In a turn of its own, so that the answers are others.
            try honest.send(request(2, "p", #"{"p":"n","d":\#(memory.bytesUsed)}"#))
            #expect(try honest.receiveMessage() == response(2))
        }
        // The end of a turn decides what is sent: some turns later, everything is sent.
        var number = 2
        func turn() throws {
            number += 1
            try honest.send(request(number, "g", #"{"p":"n"}"#))
            #expect(try honest.receiveMessage() != nil)
        }
        try blockUntil("room") {
            try turn()
            return memory.bytesUsed <= 8 << 20
        }
        // Somebody had to go, and that was not the one who takes what comes.
        let ended = try greedy.filter { peer in
            var count = 0
            while count < 31, let answer = try peer.receiveMessage() {
                #expect(answer.count > 900_000)
                count += 1
            }
            return count < 31
        }
        #expect((1..<greedy.count).contains(ended.count))
        number += 1
        try honest.send(request(number, "g", #"{"p":"big"}"#))
        #expect(try honest.receiveMessage() == response(number, "ok", value))
        try blockUntil("that nothing waits any more") {
            try turn()
            return memory.bytesUsed == 0
        }
    }

    @Test("what is pushed to very many who do not take it counts once")
    func sharedPushes() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.outboundBytesTotalMax = 6 << 20
        }
        let writer = try connect(to: server)
        let listeners = try (0..<20).map { _ in try connect(to: server) }
        for peer in listeners {
            try peer.send(request(1, "q", #"{"p":"big","h":""}"#))
            #expect(try peer.receiveMessage() == response(1, "ok", "{}"))
        }
        // More than the kernel takes for one of them: 60 MB for all.
        for number in 1...4 {
            let text = String(repeating: "\(number)", count: 1_000_000)
            try writer.send(request(number, "p", #"{"p":"big","d":"\#(text)"}"#))
            #expect(try writer.receiveMessage() == response(number))
        }
        #expect(!server.server.outbound.isExceeded)
        for peer in listeners {
            for _ in 1...4 { #expect(try (peer.receiveMessage() ?? "").count > 1_000_000) }
        }
    }

    @Test("small messages that wait for a client count as well")
    func smallPushes() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let memory = server.server.outbound
        let writer = try connect(to: server)
        let listener = try server.connect(receiveBuffer: 4096)
        _ = try listener.receiveMessage()
        for (peer, path) in [(listener, "small"), (writer, "other")] {
            try peer.send(request(1, "q", #"{"p":"\#(path)","h":""}"#))
            #expect(try peer.receiveMessage() == response(1, "ok", "{}"))
        }
        // More than the kernel takes. Between what others hear at the same time, the messages are so small that the
        // listener has copies of them.
        let (text, other) = (String(repeating: "x", count: 1500), String(repeating: "y", count: 15_000))
        var (number, pushes) = (1, 0)
        while pushes < 10_000, memory.bytesUsed < 1 << 20 {
            var requests: [String] = []
            for _ in 1...50 {
                requests.append(request(number + 1, "p", #"{"p":"small","d":"\#(text)\#(number)"}"#))
                requests.append(request(number + 2, "p", #"{"p":"other","d":"\#(other)\#(number)"}"#))
                number += 2
            }
            try writer.send(requests)
            pushes += 50
            while try writer.receiveMessage() != response(number) {}
        }
        #expect(memory.bytesUsed >= 1 << 20, "after \(pushes) messages")
        for _ in 1...pushes { #expect(try listener.receiveMessage()?.contains(text) == true) }
        try blockUntil("that nothing waits any more") {
            number += 1
            try writer.send(request(number, "g", #"{"p":"small"}"#))
            #expect(try writer.receiveMessage() != nil)
            return memory.bytesUsed == 0
        }
    }

    @Test("those go first for whom most waits, of all loops, and no more than have to")
    func slowConnections() {
        func id(_ serial: UInt64) -> ConnectionID {
            ConnectionID(loop: Int(serial) % 2, kind: .realtime, serial: serial)
        }
        let lists = [
            [SlowConnection(id: id(1), bytes: 10), SlowConnection(id: id(2), bytes: 300)],
            [SlowConnection(id: id(3), bytes: 200)],
        ]
        #expect(SlowConnection.choose(lists, freeing: 250) == [id(2)])
        #expect(SlowConnection.choose(lists, freeing: 301) == [id(2), id(3)])
        #expect(SlowConnection.choose(lists, freeing: 1000) == [id(1), id(2), id(3)])
    }

    @Test("many queries at one place share what a commit tells them, and their client gets all of it")
    func manyQueries() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.databaseLimits.tellingStepCostMax = 1 << 20
        }
        let (reader, writer) = (try connect(to: server), try connect(to: server))
        for tag in 1...50 {
            try reader.send(
                request(tag, "q", #"{"p":"big","q":{"i":".key","l":\#(1000 + tag),"vf":"l"},"t":\#(tag),"h":""}"#))
            #expect(try reader.receiveMessage() == response(tag, "ok", "{}"))
        }
        // 45 MB in messages, of which the kernel takes a part.
        let value = try putLarge(on: writer)
        #expect(server.server.outbound.bytesUsed < 8 * value.utf8.count)
        for tag in 1...50 {
            let push = try reader.receiveMessage()
            let isRight = push == #"{"t":"d","d":{"a":"d","b":{"p":"big","d":\#(value),"t":\#(tag)}}}"#
            try #require(isRight, "\(tag): \(push?.prefix(80) ?? "the end")")
        }
    }

    @Test("requests get a quarter of the memory, within reason")
    func requestMemorySize() {
        #expect(RequestMemory.bytesMax(of: .max) == 1 << 30)
        #expect(RequestMemory.bytesMax(of: 16 << 30) == 1 << 30)
        #expect(RequestMemory.bytesMax(of: 1 << 30) == 256 << 20)
        #expect(RequestMemory.bytesMax(of: 1) == 16 << 20)
    }

    @Test("memory for requests is free again when nobody needs it")
    func claims() throws {
        let memory = RequestMemory(bytesMax: 1000)
        let client = Client.unlimited()
        var claim = memory.claim(400, for: client)
        #expect(claim != nil)
        #expect(memory.claim(101, for: client) == nil)
        #expect(memory.bytesUsed == 400)
        #expect(claim?.resize(to: 501) == false)
        #expect(claim?.resize(to: 500) == true)
        #expect(memory.bytesUsed == 500)
        #expect(claim?.resize(to: 100) == true)
        #expect(memory.bytesUsed == 100)
        claim = nil
        #expect(memory.bytesUsed == 0)
        // A request keeps its claim until the log has it.
        let database = Database(index: 0, store: EmptyRowStore(), sequence: 0)
        do {
            let write = Operation.set(WriteTarget(path: "a"), IncomingValue(json: "1"))
            let nobody = ConnectionID(loop: 0, kind: .http, serial: 0)
            let request = Request(
                connection: nobody, number: 0, operation: write, claim: memory.claim(500, for: client))
            _ = database.process([request], now: 0)
        }
        #expect(memory.bytesUsed == 500)
        #expect(database.takeReady().isEmpty)
        database.committed(through: 1)
        #expect(database.takeReady().count == 1)
        #expect(memory.bytesUsed == 0)
    }

    @Test("a backlog tells once when it has room again")
    func backlog() {
        let backlog = DeliveryBacklog(bytesMax: 100)
        backlog.add(60)
        #expect(!backlog.isFull)
        #expect(!backlog.remove(10))
        backlog.add(100)
        #expect(backlog.isFull)
        #expect(!backlog.remove(50))
        #expect(backlog.isFull)
        #expect(backlog.remove(1))
        #expect(!backlog.isFull)
        #expect(!backlog.remove(99))
    }

    // MARK: Large reads

    /// 20 MB in many rows: more than waits in sockets.
    private static let large: String = {
        let text = String(repeating: "x", count: 50_000)
        return "{\((0..<400).map { "\"k\($0)\":\"\(text)\"" }.joined(separator: ","))}"
    }()

    @Test("what is larger than SDKs may write is refused, and the connection continues (Protocol.md 9)")
    func sizes() throws {
        let server = try RealtimeTestServer { $0.durability = .memory }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        let megabyte = String(repeating: "x", count: 1 << 20)
        let text = String(repeating: megabyte, count: 10)
        func path(depth: Int) -> String { (0..<depth).map { "k\($0)" }.joined(separator: "/") }
        let table: [(path: String, value: String, isTaken: Bool)] = [
            ("s", "\"\(text)x\"", false),
            (String(repeating: "k", count: 768), "1", true), (String(repeating: "k", count: 769), "1", false),
            // Bytes count, not characters.
            (String(repeating: "é", count: 384), "1", true), (String(repeating: "é", count: 385), "1", false),
            ("o", #"{"\#(String(repeating: "k", count: 769))":1}"#, false),
            (path(depth: 32), "1", true), (path(depth: 33), "1", false), (path(depth: 32), #"{"a":1}"#, false),
            ("m", #"{"a":"\#(text)","b":"\#(String(repeating: megabyte, count: 6))"}"#, true),
        ]
        for (number, row) in table.enumerated() {
            try peer.send(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"\#(row.path)","d":\#(row.value)}}}"#)
            let answer = try peer.receiveMessage() ?? "the end"
            let status = row.isTaken ? "ok" : "invalid_argument"
            #expect(
                answer.hasPrefix(#"{"t":"d","d":{"r":\#(number),"b":{"s":"\#(status)","d":"#), "\(answer.prefix(200))")
        }
    }

    @Test("as many snapshots are open as may be, and more large reads are refused")
    func openSnapshots() throws {
        let server = try RealtimeTestServer { $0.snapshotLimits.openMax = 1 }
        let client = try server.connectREST()
        try client.ask("PUT", "/x.json?print=silent", [], Self.large)
        let slow = try server.connectREST(receiveBuffer: 4096)
        try slow.send(RESTClient.request("GET", "/x.json"))
        // It has begun, and cannot end before it is read.
        #expect(try !slow.receiveSome().isEmpty)
        let refused = try client.ask("GET", "/x.json")
        #expect(refused.status == 503)
        #expect(refused.text.contains("1 large reads are under way, as many as may be: try again later"))
        #expect(try client.ask("GET", "/y.json").text == "null")
        while try !slow.receiveSome().suffix(5).elementsEqual("0\r\n\r\n".utf8) {}
        // The snapshot is closed when its thread is done with it, without a notification.
        try blockUntil("the end of the large read") { try client.ask("GET", "/x.json").status != 503 }
    }

    @Test("a client that takes too little of a large value is closed and hears why")
    func slowReader() throws {
        let server = try RealtimeTestServer {
            // No client is as fast as this.
            $0.snapshotLimits.rateMin = 1 << 40
            $0.snapshotLimits.patience = .zero
            $0.snapshotLimits.openMax = 1
        }
        let client = try server.connectREST()
        try client.ask("PUT", "/x.json?print=silent&ns=example", [], Self.large)
        let peer = try connect(to: server)
        try peer.send(request(1, "g", #"{"p":"x"}"#))
        var last = try peer.receive()
        // The snapshot is closed when the server has lost its patience.
        try blockUntil("the end of the large read") {
            try client.ask("GET", "/x.json?shallow=true&ns=example").status != 503
        }
        while case .text = last { last = try peer.receive() }
        let reason = "a large read was given up: the client took less than 1099511627776 bytes per second of it"
        #expect(last == .close(1013, reason: reason))
    }

    @Test("patience is used up by waiting and earned by what is taken")
    func patience() {
        var limits = SnapshotLimits()
        limits.patience = .seconds(2)
        limits.rateMin = 1 << 40
        let connection = ConnectionID(loop: 0, kind: .realtime, serial: 1)
        let read = SnapshotRead(id: 1, connection: connection, number: 1, path: .root, purpose: .get, sequence: 0)
        let stream = SnapshotStream(read, limits)
        stream.begin(.message(head: [], tail: []))
        for _ in 0..<SnapshotStream.piecesMax + 1 { #expect(stream.waitForGrant(after: 1 << 20)) }
        // Each piece comes well within two seconds of the one before, but not all of them within two seconds.
        let start = ContinuousClock.now
        let peer = try? NamedThread(name: "peer") {
            for _ in 0..<100 {
                _ = Semaphore().wait(atMost: .milliseconds(100))
                stream.grant()
            }
        }
        var pieces = 0
        while stream.waitForGrant(after: 1 << 20) { pieces += 1 }
        #expect(pieces < 100)
        #expect(ContinuousClock.now - start >= limits.patience)
        peer?.join()
    }

    // MARK: Databases

    @Test("databases that are only read from take no place, and have no files")
    func readingLeavesNothing() throws {
        // The name before the last one may still be in use: its end is noticed in the turn that answers for the last.
        let server = try RealtimeTestServer { $0.databaseNames.unwrittenMax = 3 }
        let client = try server.connectREST()
        for index in 0..<20 {
            #expect(try client.ask("GET", "/x.json?ns=none\(index)").text == "null")
        }
        for index in 0..<5 {
            let peer = try connect(to: server, "none\(index)")
            try peer.send(request(1, "q", #"{"p":"x","h":""}"#))
            #expect(try peer.receiveMessage() == response(1, "ok", "{}"))
            peer.hangUp()
            // The name is forgotten when the server has noticed.
            while try client.ask("GET", "/.inspect/databases.json", RESTClient.owner).text != #"[{"name":"default"}]"# {
            }
        }
    }

    @Test("who listens to a database without files hears of the first write")
    func firstWrite() throws {
        let server = try RealtimeTestServer()
        let peer = try connect(to: server, "new")
        try peer.send(request(1, "q", #"{"p":"a/b","h":""}"#))
        #expect(try peer.receiveMessage() == response(1, "ok", "{}"))
        try server.connectREST().ask("PUT", "/a.json?ns=new", [], #"{"b":5}"#)
        #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":5}}}"#)
        try peer.send(request(2, "n", #"{"p":"a/b"}"#))
        #expect(try peer.receiveMessage() == response(2))
        peer.hangUp()
        #expect(
            try server.connectREST().ask("GET", "/.inspect/databases.json", RESTClient.owner).text
                == #"[{"name":"default"},{"name":"new"}]"#)
        #expect(try server.connectREST().ask("GET", "/a/b.json?ns=new").text == "5")
    }

    @Test("the number of a database goes to another one when it is not used")
    func directory() throws {
        var limits = DatabaseNameLimits()
        limits.unwrittenMax = 2
        limits.creation = .byEverybody
        let directory = DatabaseDirectory(defaultName: "default", limits: limits)
        let client = Client.unlimited()
        func use(_ name: String) throws -> DatabaseDirectory.Use {
            try directory.use(name, by: client, mayCreate: false)
        }
        #expect(try use("").index == 0)
        #expect(try !use("default").mustEnd)
        let (a, b) = (try use("a"), try use("b"))
        #expect(try use("a").index == a.index)
        #expect(throws: DatabaseDirectory.LookUpError.tooMany) { try use("c") }
        #expect(!directory.endUse(of: a.index))
        #expect(directory.endUse(of: a.index))
        #expect(try use("c").index == a.index)
        #expect(directory.name(of: a.index) == "c")
        directory.keep(b.index)
        #expect(!directory.endUse(of: b.index))
        #expect(directory.name(of: b.index) == "b")
        #expect(try use("b").index == b.index)
        #expect(directory.names.sorted() == ["b", "c", "default"])
        // Databases with files take no place of those without.
        #expect(try use("a").mustEnd)
        #expect(throws: DatabaseDirectory.LookUpError.tooMany) { try use("d") }
    }

    @Test("names that a client brings up leave room for those of others, and for databases that exist")
    func names() throws {
        var limits = DatabaseNameLimits()
        limits.creation = .byEverybody
        limits.unwrittenMax = 10
        limits.unwrittenPerClientMax = 3
        let directory = DatabaseDirectory(defaultName: "default", limits: limits) { $0.hasPrefix("old") }
        let clients = Clients(behind: TrustedProxies(), exemptsLoopback: true)
        func client(_ number: Int) -> Client {
            clients.client(at: SocketAddress(numeric: "192.0.2.\(number)", port: 1))
        }
        let (ann, bob) = (client(1), client(2))
        let uses = try (0..<3).map { try directory.use("a\($0)", by: ann, mayCreate: false) }
        #expect(throws: DatabaseDirectory.LookUpError.tooMany) { try directory.use("a3", by: ann, mayCreate: false) }
        // Names that others brought up cost nothing, nor do databases that exist.
        #expect(try directory.use("a0", by: bob, mayCreate: false).index == uses[0].index)
        #expect(try !directory.use("old", by: ann, mayCreate: false).mustEnd)
        #expect(try directory.use("b", by: bob, mayCreate: false).mustEnd)
        #expect(directory.endUse(of: uses[1].index))
        _ = try directory.use("a3", by: ann, mayCreate: false)
        // Everybody's names are used up, and what exists is still served.
        for number in 3...9 { _ = try? directory.use("c\(number)", by: client(number), mayCreate: false) }
        #expect(throws: DatabaseDirectory.LookUpError.tooMany) {
            try directory.use("d", by: client(20), mayCreate: false)
        }
        #expect(try !directory.use("old2", by: client(20), mayCreate: false).mustEnd)
    }

    @Test("where new databases are not for all, those that exist are served and others are unknown")
    func unknownNames() throws {
        var limits = DatabaseNameLimits()
        limits.names = ["named"]
        let directory = DatabaseDirectory(defaultName: "default", limits: limits) { $0 == "old" }
        let client = Client.unlimited()
        for name in ["", "default", "named", "old"] {
            try directory.check(name, mayCreate: false)
            #expect(try !directory.use(name, by: client, mayCreate: false).mustEnd)
        }
        #expect(throws: DatabaseDirectory.LookUpError.unknown) { try directory.check("new", mayCreate: false) }
        #expect(throws: DatabaseDirectory.LookUpError.unknown) {
            try directory.use("new", by: client, mayCreate: false)
        }
        // An administrator's session is no way in for others.
        _ = try directory.use("new", by: client, mayCreate: true)
        #expect(throws: DatabaseDirectory.LookUpError.unknown) {
            try directory.use("new", by: client, mayCreate: false)
        }
        #expect(["default", "named"].allSatisfy(directory.isOpenToAll))
        #expect(!directory.isOpenToAll("new"))
    }
}
