import HearthEventLoop
import Glibc
import HearthSystem
import HearthTestSupport
import Testing

@Suite("A stream")
struct StreamTests {
    @Test("sends back what it receives, over every loop of a group")
    func echo() throws {
        let server = try TestServer(loops: 3) { _ in ScriptedHandler.echo() }
        for number in 0..<9 {
            let client = try server.connect()
            let message = "hello \(number)"
            try client.send(message)
            #expect(try client.receiveText(message.utf8.count) == message)
        }
    }

    @Test("carries more than any buffer holds, in order")
    func largeEcho() throws {
        let server = try TestServer { _ in ScriptedHandler.echo() }
        let client = try server.connect()
        let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        let sender = try NamedThread(name: "sender") { try? client.send(sent) }
        #expect(try client.receive(exactly: sent.count) == sent)
        sender.join()
    }

    @Test("sends all that was staged in a turn with one write")
    func oneWritePerTurn() throws {
        let (loopEnd, test) = try TestSocket.pair(SOCK_SEQPACKET)
        let loop = try TestLoop()
        let shared = [UInt8]("abcdefghij".utf8)
        try loop.run { loop in
            let stream = loop.adopt(loopEnd) { _ in ScriptedHandler() }!
            for index in 0..<10 { stream.send(shared: shared, index..<index + 1) }
            stream.send(copying: [1, 2, 3].span)
            stream.send(shared: shared, 0..<2)
            stream.send(copying: [4].span)
        }
        #expect(try test.receiveOnce() == shared + [1, 2, 3] + [UInt8]("ab".utf8) + [4])
    }

    @Test("that is held sends what was staged in several turns with one write, once it is released")
    func released() throws {
        let (loopEnd, test) = try TestSocket.pair(SOCK_SEQPACKET)
        let loop = try TestLoop()
        try loop.run { loop in
            let stream = loop.adopt(loopEnd) { _ in ScriptedHandler() }!
            stream.hold()
            stream.send(copying: [1].span)
            // In the next turn, before its timers fire.
            loop.execute {
                stream.send(copying: [2].span)
                stream.release()
                stream.send(copying: [3].span)
            }
        }
        #expect(try test.receiveOnce() == [1, 2, 3])
    }

    @Test("that is held sends now and then, and at once when much waits or when it is closed")
    func held() throws {
        let (loopEnd, test) = try TestSocket.pair(SOCK_SEQPACKET)
        let loop = try TestLoop()
        let stream = try loop.run { loop in
            let stream = loop.adopt(loopEnd) { _ in ScriptedHandler() }!
            stream.hold()
            return stream
        }
        for byte in 1...3 as ClosedRange<UInt8> {
            try loop.run { _ in stream.send(copying: [byte].span) }
            #expect(try test.receiveOnce() == [byte])
        }
        let much = [UInt8](repeating: 7, count: EventLoop.heldBytesMax(ofStreams: 1) + 1)
        let waiting = Channel<Int>()
        try loop.run { loop in
            stream.send(copying: much.span)
            loop.execute { waiting.put(stream.outboundBytes) }
        }
        #expect(try waiting.next() == 0)
        #expect(try test.receiveOnce() == much)
        try loop.run { _ in
            stream.send(copying: [9].span)
            stream.close()
        }
        #expect(try test.receiveOnce() == [9])
        #expect(try test.receiveOnce() == [])
    }

    @Test("that is held has less waiting if there are many")
    func manyHeld() {
        let few = EventLoop.heldBytesMax(ofStreams: 64)
        #expect(few == EventLoop.heldBytesMax(ofStreams: 0))
        #expect(few * 64 <= 16 << 20)
        let many = EventLoop.heldBytesMax(ofStreams: 100_000)
        #expect((1..<few).contains(many))
        #expect(many * 100_000 <= 16 << 20)
    }

    @Test("reports the peer's end and closes")
    func peerEnds() throws {
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in ScriptedHandler.echo(closed) }
        let client = try server.connect()
        try client.send("bye")
        client.endOutput()
        #expect(try client.receiveToEnd() == [UInt8]("bye".utf8))
        #expect(try closed.next() == .peer)
    }

    @Test("can still send after the peer's end")
    func halfClose() throws {
        let server = try TestServer { stream in
            ScriptedHandler {
                $0.onEnd = { stream in
                    stream.loop.schedule(after: .milliseconds(10)) {
                        stream.send(shared: [UInt8]("late".utf8))
                        stream.close()
                    }
                }
            }
        }
        let client = try server.connect()
        client.endOutput()
        #expect(try client.receiveToEnd() == [UInt8]("late".utf8))
    }

    @Test("reports a reset")
    func reset() throws {
        let opened = Channel<Void>()
        let closed = Channel<CloseReason>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onOpened = { _ in opened.put(()) }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        do {
            let client = try server.connect()
            try opened.next()
            client.resetOnClose()
        }
        #expect(try closed.next() == .reset)
    }

    @Test("calls nothing but closed after its handler aborted it")
    func abortWhileReceiving() throws {
        let events = Channel<String>()
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onReceived = { _, stream in
                    events.put("received")
                    stream.send(shared: [1])
                    stream.setTimeout(after: .milliseconds(1))
                    stream.abort()
                    stream.close()
                    stream.send(shared: [2])
                    stream.resumeReading()
                    stream.setTimeout(after: .milliseconds(1))
                    events.put("aborted \(stream.isOpen) \(stream.outboundBytes)")
                }
                $0.onTimeout = { _ in events.put("timed out") }
                $0.onClosed = { stream, reason in
                    stream.abort()
                    events.put("closed \(reason) \(stream.handler == nil)")
                }
            }
        }
        let client = try server.connect()
        // The reset can reach the client while it still sends; reading then meets no second error.
        let refused = client.sendToError([UInt8](repeating: 0, count: 1_000_000))
        #expect([ECONNRESET, EPIPE].contains(refused ?? client.errorAtEnd()))
        #expect(try events.next(3) == ["received", "aborted false 0", "closed local true"])
        #expect(events.waiting.isEmpty)
    }

    @Test("is not called for an event fetched before another handler aborted it")
    func abortOfOthersInOneTurn() throws {
        let loop = try TestLoop()
        let events = Channel<String>()
        let pairs = try (0..<10).map { _ in try TestSocket.pair(SOCK_STREAM) }
        let fresh = try TestSocket.pair(SOCK_STREAM)
        let opened = Channel<Void>()
        loop.loop.execute { [loop = loop.loop] in
            let all = Group()
            for pair in pairs {
                let stream = loop.adopt(pair.loopEnd) { _ in
                    ScriptedHandler {
                        $0.onOpened = { _ in opened.put(()) }
                        $0.onReceived = { _, stream in
                            events.put("received")
                            for other in all.streams where other !== stream { other.abort() }
                            // Takes a place that one of the others has left, at the latest in a later turn.
                            stream.loop.adopt(fresh.loopEnd) { _ in ScriptedHandler.echo() }
                        }
                        $0.onClosed = { _, _ in events.put("closed") }
                    }
                }
                all.streams.append(stream!)
            }
        }
        _ = try opened.next(pairs.count)
        let goOn = Channel<Void>()
        loop.loop.execute { try? goOn.next() }
        // All of these are in one batch of events, because the loop is kept from fetching them one by one.
        for pair in pairs { try pair.test.send([1]) }
        goOn.put(())
        #expect(try events.next(10) == ["received"] + [String](repeating: "closed", count: 9))
        try fresh.test.send("new")
        #expect(try fresh.test.receiveText(3) == "new")
        #expect(events.waiting.isEmpty)
    }

    private final class Group {
        var streams: [Stream] = []
    }

    @Test("can hand its bytes on to another handler")
    func changeOfHandler() throws {
        let server = try TestServer { _ in
            ScriptedHandler {
                $0.onReceived = { bytes, stream in
                    let next = ScriptedHandler.echo()
                    stream.handler = next
                    next.received(UnsafeMutableRawBufferPointer(rebasing: bytes[1...]), on: stream)
                }
            }
        }
        let client = try server.connect()
        try client.send("!one")
        #expect(try client.receiveText(3) == "one")
        try client.send("two")
        #expect(try client.receiveText(3) == "two")
    }

    @Test("that closes while the peer still sends lets it read everything")
    func closeWithUnreadInput() throws {
        let answer = [UInt8](repeating: 5, count: 2_000_000)
        let closed = Channel<CloseReason>()
        var options = Listener.Options()
        // A busy machine may take longer than usual for so many bytes.
        options.limits.closeTimeout = Patience.limit
        let server = try TestServer(options: options) { _ in
            ScriptedHandler {
                $0.onReceived = { _, stream in
                    stream.send(shared: answer)
                    stream.close()
                }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        let client = try server.connect()
        let sender = try NamedThread(name: "sender") {
            try? client.send([UInt8](repeating: 1, count: 5_000_000))
            client.endOutput()
        }
        #expect(try client.receiveToEnd() == answer)
        sender.join()
        #expect(try closed.next() == .local)
    }

    /// A server that sends so many bytes and closes.
    private func closingServer(
        _ count: Int, _ timeout: Duration, onClosed: @escaping @Sendable (CloseReason) -> Void = { _ in }
    ) throws -> TestServer {
        var options = Listener.Options()
        options.limits.hardLimit = 1 << 30
        options.limits.closeTimeout = timeout
        return try TestServer(options: options) { _ in
            ScriptedHandler {
                $0.onOpened = { stream in
                    stream.send(shared: [UInt8](repeating: 0, count: count))
                    stream.close()
                }
                $0.onClosed = { _, reason in onClosed(reason) }
            }
        }
    }

    @Test("that closes sends everything to a peer that reads slowly")
    func slowReader() throws {
        // On a busy machine, the peer may read nothing for longer than it is meant to.
        let isWhole = [2, 4, 8].contains { seconds in
            (try? readSlowly(closingServer(5_000_000, .seconds(seconds)), pause: UInt32(seconds) * 125_000)) ?? false
        }
        #expect(isWhole)
    }

    /// Whether the peer gets all of five million bytes.
    private func readSlowly(_ server: TestServer, pause: UInt32) throws -> Bool {
        let client = try server.connect(receiveBuffer: 65_536)
        var received = 0
        while received < 5_000_000 {
            // So slowly that the kernel has room for more only every few seconds.
            usleep(pause)
            received += try client.receive(exactly: 100_000).count
        }
        return try client.receiveToEnd().isEmpty
    }

    @Test("that closes gives up on a peer that does not read")
    func closeTimeout() throws {
        let closed = Channel<CloseReason>()
        let server = try closingServer(20_000_000, .milliseconds(20)) { closed.put($0) }
        let client = try server.connect(receiveBuffer: 4096)
        #expect(try closed.next() == .local)
        #expect(client.errorAtEnd() == ECONNRESET)
    }
}
