import HearthEventLoop
import HearthHTTPCodec
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthTreeStorage

@testable import HearthServer
@testable import HearthAccountEndpoints
@testable import HearthHTTPConnections
@testable import HearthRealtimeSessions

@Suite("What comes in takes memory as it comes") struct IncomingBodyTests {
    private static func put(_ target: String, length: Int, _ fields: String...) -> String {
        let lines = ["PUT \(target) HTTP/1.1", "Host: localhost", "Content-Length: \(length)"] + fields
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    @Test("clients that announce large bodies and send little of them stop nobody")
    func announcedBodies() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.requestBytesTotalMax = 1 << 30
            $0.connectionLimits.receivePatience = .seconds(600)
        }
        let idle = try (0..<8).map { _ in
            let client = try server.connectREST()
            try client.send(Self.put("/x.json", length: 256 << 20) + String(repeating: " ", count: 70_000))
            return client
        }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        for (number, size) in [2000, 100_000, 4 << 20].enumerated() {
            try peer.send(number, "p", #"{"p":"a","d":"\#(String(repeating: "x", count: size))"}"#)
            #expect(try peer.receiveMessage() == RealtimePeer.response(number))
        }
        let text = "\"\(String(repeating: "x", count: 1 << 20))\""
        #expect(try server.connectREST().ask("PUT", "/b.json?print=silent", [], text).status == 204)
        // Those that were announced are still waited for.
        #expect(idle.allSatisfy { !$0.hasInput })
        #expect(server.server.services.requestMemory.bytesUsed >= 8 * 70_000)
        #expect(server.server.services.requestMemory.bytesUsed < 8 * 1_000_000)
    }

    @Test(
        "memory for a body grows with what has come, to no more than its length",
        arguments: 1...3 as ClosedRange<UInt64>)
    func growth(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (memory, client) = (RequestMemory(bytesMax: 64 << 20), Client.unlimited())
        let length = Int.random(in: 1...3_000_000, using: &random)
        let text = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        do {
            var body = IncomingBody(length: length)
            var sent = 0
            while sent < length {
                let count = min(Int.random(in: 1...100_000, using: &random), length - sent)
                let outcome = text[sent..<sent + count].withUnsafeBytes { body.append($0, memory, for: client) }
                #expect(outcome == .taken)
                sent += count
                try #require(memory.bytesUsed <= max(2 * sent, 4096), "seed \(seed) at \(sent)")
                try #require(memory.bytesUsed <= max(sent + BodyBytes.pieceBytes, 4096), "seed \(seed) at \(sent)")
                try #require(body.bytes.room <= memory.bytesUsed + 4096, "seed \(seed) at \(sent)")
            }
            #expect(body.bytes.count == length)
            #expect(memory.bytesUsed <= length)
            #expect(body.bytes.take() == text)
        }
        #expect(memory.bytesUsed == 0)
    }

    // MARK: Shares

    @Test("a client may have as much as it leaves free, and large claims leave a reserve to small ones")
    func shares() {
        let memory = RequestMemory(bytesMax: 8 << 20)
        let clients = Clients(behind: TrustedProxies(), exemptsLoopback: false)
        let each = (1...12).map { clients.client(at: SocketAddress(numeric: "192.0.2.\($0)", port: 1)) }
        func fill(_ client: Client, by step: Int) -> (claims: [MemoryClaim], bytes: Int) {
            var claims: [MemoryClaim] = []
            while let claim = memory.claim(step, for: client) { claims.append(claim) }
            return (claims, claims.count * step)
        }
        let step = 128 << 10
        let large = each.map { fill($0, by: step) }
        // 7 MiB for large claims: half of them, then half of the rest, and so on.
        #expect(large[0].bytes == 7 << 19)
        #expect(large[1].bytes == 14 * step)
        #expect(large.reduce(0) { $0 + $1.bytes } <= 7 << 20)
        // When no large write is admitted any more, all clients can still make small ones.
        let small = each.prefix(5).map { fill($0, by: 8 << 10) }
        #expect(small.map(\.bytes) == [512, 256, 128, 64, 32].map { $0 << 10 })
        #expect(memory.bytesUsed <= 8 << 20)
        withExtendedLifetime((large, small)) {}
    }

    @Test("many small requests of a connection count together", arguments: 1...3 as ClosedRange<UInt64>)
    func smallRequests(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let (memory, client) = (RequestMemory(bytesMax: 64 << 20), Client.unlimited())
        var requests = SmallRequests()
        var count = 0
        for step in 0..<2000 {
            if count == 0 || Int.random(in: 0..<5, using: &random) > 0 {
                let isTaken = requests.add(Int.random(in: 0..<1024, using: &random), memory, for: client)
                #expect(isTaken)
                count += 1
            } else {
                let answers = Int.random(in: 1...count, using: &random)
                requests.answered(answers, of: count)
                count -= answers
            }
            // 256 to 1280 bytes each.
            try #require(memory.bytesUsed >= count * 256 - (16 << 10), "seed \(seed) step \(step)")
            try #require(memory.bytesUsed <= 2000 * 1280 + (32 << 10), "seed \(seed) step \(step)")
        }
        requests.answered(count, of: count)
        #expect(memory.bytesUsed == 0)
        let full = RequestMemory(bytesMax: 32 << 10)
        var taken = 0
        while taken < 2000, requests.add(1000, full, for: client) { taken += 1 }
        #expect(taken < 20)
    }

    @Test("what few clients upload leaves room for those of other addresses")
    func uploads() throws {
        let server = try RealtimeTestServer {
            $0.durability = .memory
            $0.requestBytesTotalMax = 16 << 20
            $0.connectionLimits.receivePatience = .seconds(600)
        }
        // One address takes all that it gets.
        var greedy: [RESTClient] = []
        for _ in 0..<16 {
            let client = try server.connectREST()
            try client.send(Self.put("/x.json", length: 2 << 20) + String(repeating: " ", count: 2_000_000))
            greedy.append(client)
        }
        var other = try server.connectREST(from: 2)
        let text = "\"\(String(repeating: "x", count: 1 << 20))\""
        while greedy.allSatisfy({ !$0.hasInput }) {
            #expect(try other.ask("PUT", "/a.json?print=silent", [], text).status == 204)
        }
        #expect(try greedy.first { $0.hasInput }?.receive().status == 503)
        other = try server.connectREST(from: 2)
        #expect(try other.ask("PUT", "/a.json?print=silent", [], text).status == 204)
        // Small requests find room at the greedy address, too.
        #expect(
            try server.connectREST().ask("PUT", "/a.json", [], "\"\(text.prefix(60_000).dropFirst())\"").status == 200)
    }

    // MARK: Before the body

    @Test("what the head of a request rules out is refused before its body comes")
    func beforeTheBody() throws {
        let folder = TemporaryFolder()
        TemporaryFolder.write(Array(#"{"rules":{".read":true,".write":true}}"#.utf8), to: folder.path + "/rules.json")
        let server = try RealtimeTestServer {
            $0.isDevelopment = false
            $0.adminAddress = .loopback(port: 0)
            $0.rulesFile = folder.path + "/rules.json"
            $0.identity = IdentityConfiguration()
        }
        let table: [(target: String, status: Int)] = [
            ("/nowhere", 404), ("/healthz", 405), ("/a$.json", 400), ("/x.json?auth=forged", 401),
            ("/x.json?ns=a.b", 403), ("/.settings/rules.json", 404), ("/v1/accounts:signUp?key=k", 413),
        ]
        for (target, status) in table {
            for expects in [[], ["Expect: 100-continue"]] {
                let client = try server.connectREST()
                let fields = expects + ["Content-Type: application/json"]
                try client.send(Self.put(target, length: 100 << 20, fields.joined(separator: "\r\n")))
                #expect(try client.receive().status == status, "\(target)")
                #expect(client.receivesEnd(), "\(target)")
            }
        }
        let admin = try server.connectAdminREST()
        try admin.send(Self.put("/.settings/rules.json", length: 1 << 20))
        #expect(try admin.receive().status == 401)
        let account = try server.connectREST()
        try account.send("POST /v1/accounts:signUp?key=k HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n")
        #expect(try account.receive().status == 413)
        // Requests that can succeed are made.
        let client = try server.connectREST()
        try client.send(Self.put("/x.json", length: 3, "Expect: 100-continue"))
        #expect(try String(decoding: client.receiveSome(), as: UTF8.self).hasPrefix("HTTP/1.1 100 "))
        try client.send("123")
        #expect(try client.receive().text == "123")
    }

    // MARK: Pace

    @Test("a message that comes too slowly ends its connection, however it comes")
    func slowMessages() throws {
        let server = try RealtimeTestServer {
            $0.connectionLimits.receivePatience = .milliseconds(300)
            $0.connectionLimits.receiveRateMin = 1 << 30
            $0.connectionLimits.polledRateMin = 1 << 30
        }
        // A part of a frame, and some of the chunks of a message.
        let part = try server.connect()
        _ = try part.receiveMessage()
        try part.send(String(repeating: " ", count: 100_000), upTo: 20_000)
        #expect(try part.receive() == .close(1008, reason: "the message comes too slowly"))
        let chunks = try server.connect()
        _ = try chunks.receiveMessage()
        try chunks.send(["3", String(repeating: " ", count: 16_384)])
        #expect(try chunks.receive() == .close(1008, reason: "the message comes too slowly"))
        // Some of the segments of a message, over requests that are complete.
        let polls = try PollingPeer(server)
        let segments = polls.segments(of: [String(repeating: " ", count: 20_000)]).dropLast()
        for (serial, segment) in segments.enumerated() {
            let poll = try server.connectREST()
            try poll.send(RESTClient.request("GET", polls.target(serial: 100 + serial, [segment])))
        }
        // A segment that arrives after this poll, on another connection, has it answered with nothing.
        var calls: [PollingPeer.Call] = []
        for serial in 200...(200 + segments.count) where calls != [.close(after: nil)] {
            calls = PollingPeer.calls(try server.connectREST().ask("GET", polls.target(serial: serial)).text)
        }
        #expect(calls == [.close(after: nil)])
        // Bytes that drip in buy no time.
        let drops = try server.connect()
        _ = try drops.receiveMessage()
        try drops.send(String(repeating: " ", count: 10_000_000), upTo: 20_000)
        while !drops.hasInput, drops.drips() {}
        #expect(try drops.receive() == .close(1008, reason: "the message comes too slowly"))
        let body = try server.connectREST()
        try body.send(Self.put("/x.json", length: 100 << 20))
        while !body.hasInput, body.sends(" ") {}
        #expect(try body.receive().status == 408)
    }
}
