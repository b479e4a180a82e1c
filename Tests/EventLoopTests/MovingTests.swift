import HearthEventLoop
import HearthSystem
import HearthTestSupport
import Testing

@Suite("A stream that moves")
struct MovingTests {
    /// Echoes its input; each `>` moves the connection to the other loop, in the middle of the input.
    private final class Wanderer: StreamHandler {
        let loops: [EventLoop]
        let closed: Channel<CloseReason>?

        init(_ loops: [EventLoop], _ closed: Channel<CloseReason>?) {
            self.loops = loops
            self.closed = closed
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            #expect(stream.loop.isCurrent)
            let (loops, closed) = (loops, closed)
            guard let mark = bytes.firstIndex(of: UInt8(ascii: ">")) else {
                return stream.send(copying: UnsafeRawBufferPointer(bytes))
            }
            stream.send(copying: UnsafeRawBufferPointer(rebasing: bytes[..<mark]))
            let rest = [UInt8](bytes[(mark + 1)...])
            let other = loops.first { $0 !== stream.loop } ?? stream.loop
            stream.move(to: other) { stream in
                let next = Wanderer(loops, closed)
                stream.handler = next
                var rest = rest
                rest.withUnsafeMutableBytes { if !$0.isEmpty { next.received($0, on: stream) } }
            }
        }

        func closed(_ stream: Stream, reason: CloseReason) { closed?.put(reason) }
    }

    private static func start(_ closed: Channel<CloseReason>? = nil, tls: TLSContext? = nil) throws -> TestServer {
        let group = Channel<EventLoopGroup>()
        var options = Listener.Options()
        options.tls = tls
        let server = try TestServer(loops: 2, options: options) { _ in
            Wanderer(group.waiting.first?.loops ?? [], closed)
        }
        group.put(server.group)
        return server
    }

    @Test("keeps its bytes in order, in both directions, and closes once")
    func order() throws {
        let closed = Channel<CloseReason>()
        let server = try Self.start(closed)
        let client = try server.connect()
        for round in 0..<200 {
            let text = String(repeating: "\(round)>", count: 1 + round % 7) + "."
            try client.send(text)
            let expected = text.replacing(">", with: "")
            #expect(try client.receiveText(expected.utf8.count) == expected)
        }
        #expect(server.listener.connectionCount == 1)
        client.endOutput()
        #expect(try client.receiveToEnd().isEmpty)
        #expect(try closed.next() == .peer)
        #expect(closed.waiting.isEmpty)
    }

    @Test("takes large amounts along that the peer has not taken")
    func staged() throws {
        let server = try Self.start()
        let client = try server.connect()
        let text = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000) + [UInt8(ascii: ">")]
        let sender = try NamedThread(name: "sender") { for _ in 0..<20 { try? client.send(text) } }
        #expect(try client.receive(exactly: 20 * 200_000).allSatisfy { $0 == UInt8(ascii: "x") })
        sender.join()
    }

    @Test("keeps its TLS session")
    func tls() throws {
        let certificate = TestCertificate()
        let context = try TLSContext.server(
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        let server = try Self.start(tls: context)
        let client = try TestTLSClient(port: server.port)
        try #require(client.shakeHands())
        for _ in 0..<20 {
            try client.send("ab>cd>e")
            var received = ""
            while received.utf8.count < 5 { received += try #require(try client.receive()) }
            #expect(received == "abcde")
        }
    }

    @Test("ends with a loop that has ended")
    func endedLoop() throws {
        let (here, gone) = (try EventLoopGroup(count: 1), try EventLoopGroup(count: 1))
        gone.stop()
        gone.join()
        let listener = try Listener(at: .loopback(port: 0), on: here) { _ in Wanderer(gone.loops, nil) }
        let client = try TestSocket(port: listener.address.port)
        try client.send("a>")
        #expect(client.errorAtEnd() == 0)
        here.stop()
        here.join()
        #expect(listener.connectionCount == 0)
    }
}
