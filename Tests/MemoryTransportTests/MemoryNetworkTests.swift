import HearthClientTransport
import HearthMemoryTransport
import Synchronization
import Testing

@Suite("A network in memory")
struct MemoryNetworkTests {
    /// What happened, in order.
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])

        func add(_ line: String) { lines.withLock { $0.append(line) } }

        var all: [String] { lines.withLock { $0 } }
    }

    /// One end of a connection, which records its events.
    private final class End: ClientStreamHandler {
        private let name: String
        private let log: Log
        private let onBytes: (any ClientStream, String) -> Void

        /// Data sent as soon as the connection exists.
        private let greeting: String?

        init(
            _ name: String, _ log: Log, greeting: String? = nil,
            onBytes: @escaping (any ClientStream, String) -> Void = { _, _ in }
        ) {
            self.name = name
            self.log = log
            self.greeting = greeting
            self.onBytes = onBytes
        }

        func opened(_ stream: any ClientStream) {
            log.add("\(name) opened")
            if let greeting { stream.send(Array(greeting.utf8)) }
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
            let text = String(decoding: bytes, as: UTF8.self)
            log.add("\(name) \(text)")
            onBytes(stream, text)
        }

        func receivedEnd(on stream: any ClientStream) {
            log.add("\(name) end")
            stream.close(.peer)
        }

        func timedOut(_ stream: any ClientStream) {
            log.add("\(name) timed out")
            stream.close(.failed("timed out"))
        }

        func closed(_ stream: any ClientStream, because end: ClientStreamEnd) { log.add("\(name) closed: \(end)") }
    }

    private let network = MemoryNetwork()
    private let log = Log()
    private let endpoint = ClientEndpoint(host: "server", port: 1)

    /// A server that answers each text with the same in upper case.
    private func listen() {
        network.listen(at: "server", port: 1) { [log] _ in
            End("server", log) { stream, text in stream.send(Array(text.uppercased().utf8)) }
        }
    }

    /// Connects, and does something with the client's end at once.
    private func connect(
        _ loop: any ClientLoop, _ act: @escaping @Sendable (any ClientStream) -> Void = { _ in }
    ) {
        loop.execute { [log, endpoint] in act(loop.connect(to: endpoint, handler: End("client", log))) }
    }

    @Test("carries bytes both ways, in order; what is sent early waits for the connection")
    func bytes() async {
        listen()
        connect(network.startLoop(name: "a")) { stream in
            stream.send(Array("one".utf8))
            stream.send(Array("two".utf8))
        }
        await network.settle()
        #expect(
            log.all == [
                "server opened", "client opened", "server one", "server two", "client ONE", "client TWO",
            ])
    }

    @Test("an end is told after what was sent before it, and once to each side")
    func ends() async {
        listen()
        connect(network.startLoop(name: "a")) { stream in
            stream.send(Array("x".utf8))
            stream.close()
        }
        await network.settle()
        // It was closed before it was there.
        #expect(log.all == ["client closed: local"])
        connect(network.startLoop(name: "b")) { stream in
            stream.send(Array("x".utf8))
            stream.setTimeout(after: .seconds(1))
        }
        await network.settle()
        network.breakConnections()
        await network.settle()
        let broken = #"closed: failed("connection reset")"#
        #expect(
            log.all.dropFirst() == [
                "server opened", "client opened", "server x", "client X", "client \(broken)", "server \(broken)",
            ])
    }

    @Test("what was sent before the connection was there comes before what is sent when it is")
    func early() async {
        listen()
        let loop = network.startLoop(name: "a")
        loop.execute { [log, endpoint] in
            loop.connect(to: endpoint, handler: End("client", log, greeting: "two")).send(Array("one".utf8))
        }
        await network.settle()
        #expect(log.all.filter { $0.hasPrefix("server") } == ["server opened", "server one", "server two"])
    }

    @Test("a server that refuses a connection ends it for the client")
    func refusedByServer() async {
        network.listen(at: "server", port: 1) { [log] stream in
            stream.abort()
            return End("server", log)
        }
        connect(network.startLoop(name: "a")) { $0.send(Array("x".utf8)) }
        await network.settle()
        #expect(log.all.contains { $0.hasPrefix("client closed") })
        #expect(!log.all.contains("client opened"))
    }

    @Test("nobody listens")
    func refused() async {
        connect(network.startLoop(name: "a"))
        await network.settle()
        #expect(log.all == [#"client closed: failed("connect to server:1: Connection refused")"#])
    }

    @Test("a reader that pauses takes nothing until it reads again")
    func pauses() async {
        listen()
        let loop = network.startLoop(name: "a")
        let streams = AsyncStream.makeStream(of: Held.self)
        connect(loop) { stream in
            stream.send(Array("x".utf8))
            stream.pauseReading()
            streams.continuation.yield(Held(stream: stream))
        }
        await network.settle()
        #expect(log.all == ["server opened", "client opened", "server x"])
        #expect(network.unreadBytes == 1)
        for await held in streams.stream.prefix(1) { loop.execute { held.stream.resumeReading() } }
        await network.settle()
        #expect(log.all.last == "client X")
        #expect(network.unreadBytes == 0)
    }

    private struct Held: @unchecked Sendable {
        // Safe because: it is only used in the network's order.
        let stream: any ClientStream
    }

    @Test("time moves only when it is told to; what is due happens at its moment, in order")
    func time() async {
        let loop = network.startLoop(name: "a")
        loop.execute { [log] in
            loop.callLater(after: .seconds(3)) { log.add("3: \(loop.time)") }
            loop.callLater(after: .seconds(1)) {
                log.add("1: \(loop.time)")
                loop.callLater(after: .seconds(1)) { log.add("2: \(loop.time)") }
            }
            loop.callLater(after: .seconds(2)) { log.add("never") }.cancel()
        }
        await network.settle()
        #expect(log.all.isEmpty)
        await network.advance(by: .seconds(2.5))
        #expect(log.all == ["1: 1.0 seconds", "2: 2.0 seconds"])
        #expect(loop.time == .seconds(2.5))
        await network.advance(by: .seconds(1))
        #expect(log.all.last == "3: 3.0 seconds")
    }

    @Test("time moves on by itself over short delays, if that is asked for")
    func skipped() async {
        let network = MemoryNetwork(skippingDelaysUpTo: .seconds(1))
        let loop = network.startLoop(name: "a")
        loop.execute { [log] in
            loop.callLater(after: .seconds(2)) { log.add("long") }
            loop.callLater(after: .seconds(1)) { log.add("short") }
        }
        await network.settle()
        #expect(log.all == ["short"])
        await network.advance(by: .seconds(1))
        #expect(log.all == ["short", "long"])
    }

    @Test("a loop that is shut down tells its handlers, ends, and takes no more work")
    func shutDown() async {
        listen()
        let loop = network.startLoop(name: "a")
        connect(loop)
        await network.settle()
        loop.shutDown(grace: .seconds(1))
        await network.settle()
        #expect(
            log.all == [
                "server opened", "client opened", "server end", "client closed: shutdown", "server closed: peer",
            ])
        #expect(!loop.execute {})
    }

    @Test("the same causes have the same effects in the same order, with many connections", arguments: 0..<5)
    func deterministic(_: Int) async {
        func run() async -> [String] {
            let (network, log) = (MemoryNetwork(), Log())
            network.listen(at: "server", port: 1) { _ in
                End("server", log) { stream, text in
                    stream.send(Array(text.utf8))
                    stream.setTimeout(after: .milliseconds(text.utf8.count))
                }
            }
            let loops = (0..<4).map { network.startLoop(name: "\($0)") }
            loops[0].execute {
                for number in 0..<40 {
                    let stream = loops[number % 4].connect(
                        to: ClientEndpoint(host: "server", port: 1), handler: End("client \(number)", log))
                    stream.send(Array(String(repeating: "x", count: 1 + number * 7 % 13).utf8))
                }
            }
            await network.advance(by: .seconds(1))
            return log.all
        }
        let first = await run()
        #expect(first.count == 40 * 8)
        #expect(await run() == first)
    }
}
