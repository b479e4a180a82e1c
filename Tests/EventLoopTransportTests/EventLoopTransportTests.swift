import HearthClientTransport
import HearthEventLoop
import HearthEventLoopTransport
import HearthTestSupport
import Testing

@Suite("The event loop as a client's transport")
struct EventLoopTransportTests {
    /// A server on loopback that sends back what comes, and ends after `bye`.
    private final class Server {
        let group: EventLoopGroup
        let listener: Listener

        /// - parameters:
        ///   - certificate: speaks TLS with it, if it is given.
        ///   - isSilent: sends nothing back.
        ///   - host: an address of this machine.
        init(_ certificate: TestCertificate? = nil, isSilent: Bool = false, host: String = "127.0.0.1") throws {
            group = try EventLoopGroup(count: 1, name: "server")
            var options = Listener.Options()
            options.tls = try certificate.map {
                try TLSContext.server(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
            }
            let address = try #require(SocketAddress(numeric: host, port: 0))
            listener = try Listener(at: address, on: group, options: options) { _ in Echo(isSilent: isSilent) }
        }

        deinit {
            group.stop()
            group.join()
        }

        func endpoint(_ host: String = "127.0.0.1") -> ClientEndpoint {
            ClientEndpoint(host: host, port: listener.address.port)
        }
    }

    private final class Echo: StreamHandler {
        private let isSilent: Bool

        init(isSilent: Bool) { self.isSilent = isSilent }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: HearthEventLoop.Stream) {
            if isSilent { return }
            let isEnd = bytes.elementsEqual("bye".utf8)
            stream.send(copying: UnsafeRawBufferPointer(bytes))
            if isEnd { stream.close() }
        }

        func closed(_ stream: HearthEventLoop.Stream, reason: CloseReason) {}
    }

    /// A client's loop, and what the handlers of its streams are told, one line each.
    private final class Client {
        let loop: any ClientLoop
        let lines = Channel<String>()

        init() throws { loop = try EventLoopTransport().startLoop(name: "client") }

        deinit { loop.shutDown(grace: .zero) }

        /// Connects, and does something with the stream at once, or as soon as it is open.
        func connect(
            _ endpoint: ClientEndpoint, opened: @escaping @Sendable (any ClientStream) -> Void = { _ in },
            atOnce: @escaping @Sendable (any ClientStream) -> Void = { _ in }
        ) {
            let handler = Handler(lines, opened)
            loop.execute { [loop] in atOnce(loop.connect(to: endpoint, handler: handler)) }
        }
    }

    private final class Handler: ClientStreamHandler, Sendable {
        private let lines: Channel<String>
        private let onOpened: @Sendable (any ClientStream) -> Void

        init(_ lines: Channel<String>, _ opened: @escaping @Sendable (any ClientStream) -> Void) {
            self.lines = lines
            onOpened = opened
        }

        func opened(_ stream: any ClientStream) {
            lines.put("opened")
            onOpened(stream)
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: any ClientStream) {
            lines.put(String(decoding: bytes, as: UTF8.self))
        }

        func shutdownRequested(_ stream: any ClientStream) {
            lines.put("shutdown requested")
            stream.close(.shutdown)
        }

        func closed(_ stream: any ClientStream, because end: ClientStreamEnd) { lines.put("closed: \(end)") }
    }

    private static func send(_ text: String) -> @Sendable (any ClientStream) -> Void {
        { $0.send(Array(text.utf8)) }
    }

    @Test("carries bytes both ways; what is sent early waits for the connection, and the peer's end is told")
    func bytes() throws {
        let (server, client) = (try Server(), try Client())
        client.connect(server.endpoint(), atOnce: Self.send("bye"))
        #expect(try client.lines.next(3) == ["opened", "bye", "closed: peer"])
    }

    @Test("sends what was given to it before it closes, and reports the reason it was given")
    func closing() throws {
        let (server, client) = (try Server(), try Client())
        client.connect(server.endpoint()) { stream in
            stream.send(Array("last".utf8))
            stream.close(.failed("enough"))
            stream.send(Array("too late".utf8))
        }
        #expect(try client.lines.next(2) == ["opened", #"closed: failed("enough")"#])
        client.connect(server.endpoint()) { $0.abort() }
        #expect(try client.lines.next(2) == ["opened", "closed: local"])
    }

    @Test("takes nothing while it is paused")
    func pausing() throws {
        let (server, client) = (try Server(), try Client())
        let (lines, loop) = (client.lines, client.loop)
        client.connect(server.endpoint()) { stream in
            stream.pauseReading()
            stream.send(Array("answer".utf8))
            loop.callLater(after: .milliseconds(50)) {
                lines.put("goes on")
                stream.resumeReading()
            }
        }
        #expect(try lines.next(3) == ["opened", "goes on", "answer"])
    }

    @Test("says why it cannot connect, and never that it is open")
    func refusing() throws {
        let client = try Client()
        let server = try Server()
        var plain = server.endpoint()
        plain.usesTLS = true
        client.connect(plain)
        #expect(try client.lines.next().hasPrefix("closed: failed"))
        // This server has ended. No other test uses its address: another listener would get its port there.
        let host = "127.0.7.3"
        var closed = try Server(host: host).endpoint(host)
        client.connect(closed)
        let refusal = try client.lines.next()
        #expect(refusal.contains("refused"), "\(refusal)")
        // A name server may take long to answer, or may not answer at all.
        closed.host = "no-such-host.invalid"
        closed.openTimeout = Patience.limit
        client.connect(closed)
        let failure = try client.lines.next()
        #expect(failure.contains("no-such-host.invalid"), "\(failure)")
    }

    @Test("ends when it is not open in time, or a deadline passes")
    func timeouts() throws {
        let (server, client) = (try Server(isSilent: true), try Client())
        var endpoint = server.endpoint()
        client.connect(endpoint) { $0.setTimeout(after: .milliseconds(20)) }
        #expect(try client.lines.next(2) == ["opened", #"closed: failed("timed out")"#])
        // The server does not answer the beginning of TLS.
        endpoint.usesTLS = true
        endpoint.openTimeout = .milliseconds(50)
        client.connect(endpoint)
        #expect(try client.lines.next() == #"closed: failed("timed out")"#)
    }

    @Test("trusts the authorities it is given, for the names in the certificate")
    func authorities() throws {
        let (own, other) = (TestCertificate(names: "DNS:localhost"), TestCertificate())
        let (server, client) = (try Server(own), try Client())
        func outcome(_ host: String, _ file: String?) throws -> String {
            var endpoint = server.endpoint(host)
            endpoint.usesTLS = true
            endpoint.authorities = try file.map { try EventLoopTransport().authorities(in: $0) }
            client.connect(endpoint, atOnce: Self.send("bye"))
            return try client.lines.next()
        }
        #expect(try outcome("localhost", own.certificateFile) == "opened")
        #expect(try client.lines.next(2) == ["bye", "closed: peer"])
        for (host, file) in [
            ("127.0.0.1", own.certificateFile), ("localhost", other.certificateFile), ("localhost", nil),
        ] {
            let end = try outcome(host, file)
            #expect(end.hasPrefix("closed: failed"), "\(host): \(end)")
            #expect(end.contains("certificate"), "\(host): \(end)")
        }
        let error = #expect(throws: ClientTransportError.self) {
            try EventLoopTransport().authorities(in: "/no/such.pem")
        }
        #expect(error?.description.contains("/no/such.pem") == true)
    }

    private final class OtherAuthorities: ClientAuthorities {}

    @Test("refuses the authorities of another transport")
    func foreignAuthorities() throws {
        let client = try Client()
        client.connect(
            ClientEndpoint(host: "127.0.0.1", port: 1, usesTLS: true, authorities: OtherAuthorities()))
        #expect(try client.lines.next() == #"closed: failed("the authorities are another transport\'s")"#)
    }

    @Test("runs work in order, timers when they are due, and none that was taken back")
    func work() throws {
        let client = try Client()
        let (lines, loop) = (client.lines, client.loop)
        loop.execute {
            let start = loop.time
            loop.callLater(after: .milliseconds(1)) { lines.put("taken back") }.cancel()
            loop.callLater(after: .milliseconds(20)) {
                lines.put(loop.time - start >= .milliseconds(20) ? "due" : "early")
            }
            loop.execute { lines.put("posted") }
            lines.put("running")
        }
        #expect(try lines.next(3) == ["running", "posted", "due"])
    }

    @Test("asks its streams to close when it is to end, and then runs nothing more")
    func shutdown() throws {
        let (server, client) = (try Server(), try Client())
        client.connect(server.endpoint())
        #expect(try client.lines.next() == "opened")
        client.loop.shutDown(grace: .seconds(5))
        #expect(try client.lines.next(2) == ["shutdown requested", "closed: shutdown"])
        while client.loop.execute({}) {}
    }
}
