import HearthEventLoop
import Glibc
import HearthSystem
import HearthTestSupport
import Testing

@Suite("Back-pressure")
struct BackpressureTests {
    private static func limits(low: Int, high: Int, hard: Int) -> StreamLimits {
        var limits = StreamLimits()
        limits.lowWater = low
        limits.highWater = high
        limits.hardLimit = hard
        return limits
    }

    @Test("a paused stream takes nothing, and everything once resumed")
    func pause() throws {
        let received = Channel<Int>()
        let streams = Channel<Stream>()
        let server = try TestServer { stream in
            ScriptedHandler {
                $0.onOpened = { stream in
                    stream.pauseReading()
                    streams.put(stream)
                }
                $0.onReceived = { bytes, _ in received.put(bytes.count) }
            }
        }
        let client = try server.connect()
        let stream = try streams.next()
        // Non-blocking writes until no more fits, which shows that the peer does not read.
        _ = fcntl(client.descriptor, F_SETFL, fcntl(client.descriptor, F_GETFL) | O_NONBLOCK)
        let block = [UInt8](repeating: 1, count: 65_536)
        var sent = 0
        while true {
            let count = send(client.descriptor, block, block.count, Int32(MSG_NOSIGNAL))
            if count < 0 { break }
            sent += count
        }
        #expect(received.waiting.isEmpty)
        stream.loop.execute { stream.resumeReading() }
        var seen = 0
        while seen < sent { seen += try received.next() }
        #expect(seen == sent)
    }

    @Test("a stream that pauses at bytes whose sender is gone already is closed at once")
    func pauseAtReset() throws {
        let streams = Channel<Stream>()
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onOpened = { streams.put($0) }
                $0.onReceived = { _, stream in stream.pauseReading() }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let gate = Semaphore()
        do {
            let client = try server.connect()
            // The loop then learns of the bytes and of the reset by one event.
            try streams.next().loop.execute { gate.wait() }
            try client.send([1])
            client.resetOnClose()
        }
        gate.signal()
        #expect(try closed.next() == .reset)
    }

    @Test("a stream whose peer does not read stops reading, tells when it can go on, and loses nothing")
    func waterMarks() throws {
        let drained = Channel<Int>()
        let limits = Self.limits(low: 1000, high: 20_000, hard: 1 << 30)
        var options = Listener.Options()
        options.limits = limits
        let server = try TestServer(options: options) { _ in
            ScriptedHandler {
                $0.onReceived = { bytes, stream in
                    // The answer is far larger than the request.
                    for byte in bytes { stream.send(shared: [UInt8](repeating: byte, count: 10_000)) }
                }
                $0.onDrained = { stream in drained.put(stream.outboundBytes) }
            }
        }
        let client = try server.connect(receiveBuffer: 4096)
        let requests = [UInt8](0...255) + [UInt8](0...255)
        for request in requests { try client.send([request]) }
        let answers = try client.receive(exactly: requests.count * 10_000)
        #expect(answers == requests.flatMap { [UInt8](repeating: $0, count: 10_000) })
        #expect(try drained.next() <= limits.lowWater)
    }

    @Test("a slow consumer is closed, and the others get everything")
    func slowConsumer() throws {
        let streams = Channel<Stream>()
        let closed = Channel<CloseReason>()
        var options = Listener.Options()
        options.limits = Self.limits(low: 1 << 16, high: 1 << 18, hard: 1 << 20)
        let server = try TestServer(options: options) { _ in
            ScriptedHandler {
                $0.onOpened = { stream in streams.put(stream) }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let slow = try server.connect(receiveBuffer: 4096)
        let quick = try server.connect()
        let both = try streams.next(2)
        let frame = [UInt8](repeating: 9, count: 100_000)
        // The quick one is awaited after each frame, so only the slow one falls behind.
        var count = 0
        while closed.waiting.isEmpty, count < 1000 {
            both[0].loop.execute { for stream in both { stream.send(shared: frame) } }
            #expect(try quick.receive(exactly: frame.count) == frame)
            count += 1
        }
        #expect(try closed.next() == .slowConsumer)
        #expect(slow.errorAtEnd() == ECONNRESET)
        #expect(closed.waiting.isEmpty)
    }

    @Test("a stream that is not connected yet is bounded too")
    func boundedBeforeOpen() throws {
        let closed = Channel<CloseReason>()
        let loop = try TestLoop()
        let (loopEnd, test) = try TestSocket.pair(SOCK_STREAM)
        try loop.run { loop in
            let stream = loop.adopt(loopEnd, limits: Self.limits(low: 1, high: 2, hard: 10)) { _ in
                ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } }
            }
            stream?.send(shared: [UInt8](repeating: 0, count: 11))
        }
        #expect(try closed.next() == .slowConsumer)
        #expect(test.errorAtEnd() == ECONNRESET || test.errorAtEnd() == 0)
    }

    @Test("one stream that sends without end does not keep others waiting")
    func fairness() throws {
        let server = try TestServer { _ in ScriptedHandler.echo() }
        let firehose = try server.connect()
        let stop = Channel<Void>()
        let flood = try NamedThread(name: "flood") {
            let block = [UInt8](repeating: 0, count: 1 << 20)
            while stop.waiting.isEmpty, (try? firehose.send(block)) != nil {}
        }
        let drain = try NamedThread(name: "drain") {
            while let part = try? firehose.receiveOnce(), !part.isEmpty {}
        }
        let other = try server.connect()
        for number in 0..<50 {
            try other.send("ping \(number % 10)")
            #expect(try other.receiveText(6) == "ping \(number % 10)")
        }
        stop.put(())
        flood.join()
        firehose.endOutput()
        drain.join()
    }
}
