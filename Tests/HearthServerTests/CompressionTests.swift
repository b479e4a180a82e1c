import HearthSystem
import Testing
import HearthWebSocketCodec
import HearthServerCodecs

@testable import HearthServer
@testable import HearthRealtimeSessions

@Suite("Compression of realtime connections")
struct CompressionTests {
    @Test("a client that offers it gets the same messages in fewer bytes, beside one that does not")
    func sharesMessages() throws {
        let server = try RealtimeTestServer { $0.compresses = true }
        let compressed = try server.connect(offersCompression: true)
        let plain = try server.connect()
        #expect(compressed.response.contains("permessage-deflate"))
        #expect(!plain.response.contains("permessage-deflate"))
        for peer in [compressed, plain] {
            _ = try peer.receiveMessage()
            try peer.send(#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"/a","h":""}}}"#)
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"r":1,"b":{"s":"ok","d":{}}}}"#)
        }
        // Larger than a frame, so that a count and several chunks go out.
        let text = String(repeating: "the same again, ", count: 3000)
        let before = (compressed.bytesReceived, plain.bytesReceived)
        try plain.send(#"{"t":"d","d":{"r":2,"a":"p","b":{"p":"/a/b","d":"short"}}}"#)
        let writer = try server.connect()
        _ = try writer.receiveMessage()
        for peer in [compressed, plain] {
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/b","d":"short"}}}"#)
        }
        #expect(try plain.receiveMessage() == #"{"t":"d","d":{"r":2,"b":{"s":"ok","d":""}}}"#)
        let message = #"{"t":"d","d":{"r":3,"a":"p","b":{"p":"/a/c","d":"\#(text)"}}}"#
        let half = message.count / 4
        try writer.send("4")
        for start in 0..<4 {
            let end = start == 3 ? message.count : (start + 1) * half
            try writer.send(String(message.dropFirst(start * half).prefix(end - start * half)))
        }
        for peer in [compressed, plain] {
            #expect(try peer.receiveMessage() == #"{"t":"d","d":{"a":"d","b":{"p":"a/c","d":"\#(text)"}}}"#)
        }
        #expect(plain.bytesReceived - before.1 > 48_000)
        #expect(compressed.bytesReceived - before.0 < 4_000)
    }

    @Test("a message that expands a hundredfold beyond a megabyte ends its connection")
    func bomb() throws {
        let server = try RealtimeTestServer { $0.compresses = true }
        let deflater = Deflater(.init(noContextTakeover: true))
        var payload: [UInt8] = []
        #expect(deflater.compress(Array(repeating: UInt8(ascii: " "), count: 16 << 20).span.bytes, to: &payload))
        let peer = try server.connect(offersCompression: true)
        _ = try peer.receiveMessage()
        try peer.sendCompressed(payload)
        #expect(try peer.receive() == .close(1009, reason: "compressed message expands too much"))
        // Text that compresses well is no such message.
        let honest = try server.connect(offersCompression: true)
        _ = try honest.receiveMessage()
        let text = (0..<100_000).map { "the value of number \($0), " }.joined()
        payload = []
        #expect(
            deflater.compress(
                Array(#"{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":"\#(text)"}}}"#.utf8).span.bytes, to: &payload))
        try honest.sendCompressed(payload)
        #expect(try honest.receiveMessage() == RealtimePeer.response(1))
    }

    @Test(
        "connections whose messages expand a lot are read more slowly, each and all of a loop, and others are not",
        arguments: [1, 2])
    func expansion(connections: Int) throws {
        let server = try RealtimeTestServer {
            $0.compresses = true
            $0.loops = 1
            $0.connectionLimits.expandedBytesPerConnection = connections == 1 ? 2 << 20 : 1 << 30
            $0.connectionLimits.expandedBytesPerLoop = connections == 1 ? 1 << 30 : 2 << 20
        }
        let deflater = Deflater(.init(noContextTakeover: true))
        var payload: [UInt8] = []
        let text = String(repeating: "x", count: 1_000_000)
        let request = #"{"t":"d","d":{"r":1,"a":"p","b":{"p":"a","d":"\#(text)"}}}"#
        #expect(deflater.compress(Array(request.utf8).span.bytes, to: &payload))
        let greedy = try (0..<connections).map { _ in try server.connect(offersCompression: true) }
        let peer = try server.connect()
        for peer in greedy + [peer] { _ = try peer.receiveMessage() }
        // 8 MB from 8 KB: two seconds' worth is read at once, the rest as time passes.
        let start = ContinuousClock.now
        for number in 0..<8 { try greedy[number % connections].sendCompressed(payload) }
        try peer.send(1, "p", #"{"p":"b","d":1}"#)
        #expect(try peer.receiveMessage() == RealtimePeer.response(1))
        for number in 0..<8 { #expect(try greedy[number % connections].receiveMessage() == RealtimePeer.response(1)) }
        // Each connection may use the loop's allowance in advance once.
        #expect(ContinuousClock.now - start >= .seconds(3 - connections))
    }

    @Test("an allowance comes back with time, up to that of a second")
    func budget() {
        let start = MonotonicTime(nanoseconds: 1_000_000_000)
        var budget = ExpansionBudget(bytesPerSecond: 1000, now: start)
        #expect(budget.use(1000, now: start) == .zero)
        #expect(budget.use(500, now: start) == .milliseconds(500))
        #expect(budget.use(0, now: start + .milliseconds(500)) == .zero)
        #expect(budget.use(1001, now: start + .seconds(100)) == .milliseconds(1))
    }

    @Test("is not agreed to by a server that was not told to")
    func isOff() throws {
        let peer = try RealtimeTestServer().connect(offersCompression: true)
        #expect(!peer.response.contains("Sec-WebSocket-Extensions"))
    }
}
