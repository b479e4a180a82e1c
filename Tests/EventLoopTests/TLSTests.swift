import CHearthLinux
import CHearthOpenSSL
import HearthEventLoop
import HearthSystem
import Glibc
import HearthTestSupport
import Testing

@Suite("TLS")
struct TLSTests {
    /// A server over TLS, and clients of our own that trust its certificate.
    private final class Harness {
        let certificate: TestCertificate
        let context: TLSContext
        let server: TestServer
        let client: TestLoop

        init(
            names: String = "DNS:localhost,IP:127.0.0.1",
            makeHandler: @escaping @Sendable (Stream) -> any StreamHandler = { _ in ScriptedHandler.echo() }
        ) throws {
            certificate = TestCertificate(names: names)
            context = try TLSContext.server(
                certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
            var options = Listener.Options()
            options.tls = context
            server = try TestServer(options: options, makeHandler: makeHandler)
            client = try TestLoop()
        }

        func trusting() throws -> TLSContext { try .client(trusting: .file(certificate.certificateFile)) }

        /// Connects, sends `message`, and gives the first bytes that come back, or the reason why none did.
        func exchange(
            host: String = "localhost", _ context: TLSContext, _ message: String = "hello"
        ) throws -> Result<String, CloseReason> {
            let outcome = Channel<Result<String, CloseReason>>()
            let port = server.port
            try client.run { loop in
                let handler = ScriptedHandler {
                    $0.onReceived = { bytes, stream in
                        outcome.put(.success(String(decoding: bytes, as: UTF8.self)))
                        stream.close()
                    }
                    $0.onClosed = { _, reason in outcome.put(.failure(reason)) }
                }
                let stream = loop.connect(host: host, port: port, tls: context, handler: handler)
                stream.send(copying: [UInt8](message.utf8).span)
            }
            return try outcome.next()
        }
    }

    @Test("carries bytes between our client and our server", arguments: ["localhost", "127.0.0.1"])
    func echo(host: String) throws {
        let harness = try Harness()
        #expect(try harness.exchange(host: host, harness.trusting()) == .success("hello"))
    }

    @Test("carries more than any buffer holds, in order")
    func largeEcho() throws {
        let harness = try Harness()
        let received = Channel<[UInt8]>()
        let sent = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 8) }
        let (port, context) = (harness.server.port, try harness.trusting())
        try harness.client.run { loop in
            let stream = loop.connect(
                host: "localhost", port: port, tls: context, handler: ScriptedHandler.collecting(received))
            // Small and large pieces, by copy and by reference.
            var start = 0
            var size = 1
            while start < sent.count {
                let end = min(start + size, sent.count)
                if size % 2 == 0 {
                    stream.send(shared: sent, start..<end)
                } else {
                    sent[start..<end].withUnsafeBytes { stream.send(copying: $0) }
                }
                start = end
                size = size * 3 % 70_001
            }
        }
        var back: [UInt8] = []
        while back.count < sent.count { back += try received.next() }
        #expect(back == sent)
    }

    @Test("is spoken in versions 1.2 and 1.3 alone", arguments: [TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION])
    func versions(version: Int32) throws {
        let harness = try Harness()
        let client = try TestTLSClient(port: harness.server.port, version: version)
        let isExpected = version >= TLS1_2_VERSION
        #expect(client.shakeHands() == isExpected)
        if !isExpected { return }
        try client.send("hello")
        #expect(try client.receive() == "hello")
    }

    @Test(
        "gives no session tickets, so that past connections stay secret", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func tickets(version: Int32) throws {
        let harness = try Harness()
        let client = try TestTLSClient(port: harness.server.port, version: version)
        #expect(client.shakeHands())
        // Those of TLS 1.3 come before the first data.
        try client.send("hello")
        #expect(try client.receive() == "hello")
        #expect(!client.hasTicket)
    }

    @Test(
        "agrees on HTTP/1.1, and on nothing else",
        arguments: [([], ""), (["http/1.1"], "http/1.1"), (["h2", "http/1.1"], "http/1.1"), (["h2"], nil)])
    func alpn(offered: [String], chosen: String?) throws {
        let harness = try Harness()
        let client = try TestTLSClient(port: harness.server.port, protocols: offered)
        #expect(client.shakeHands() == (chosen != nil))
        if let chosen { #expect(client.chosenProtocol == chosen) }
    }

    @Test(
        "does not try for ever to send to a peer that has said its end and is gone",
        arguments: [
            TLS1_2_VERSION, TLS1_3_VERSION,
        ])
    func goneAfterEnd(version: Int32) throws {
        let (arrived, mayGoOn, closed) = (Channel<String>(), Channel<Bool>(), Channel<CloseReason>())
        let harness = try Harness { _ in
            ScriptedHandler {
                $0.onReceived = { bytes, stream in
                    arrived.put(String(decoding: bytes, as: UTF8.self))
                    guard (try? mayGoOn.next()) == true else { return }
                    stream.send(shared: [UInt8]("answer".utf8))
                }
                $0.onClosed = { _, reason in closed.put(reason) }
            }
        }
        var client: TestTLSClient? = try TestTLSClient(port: harness.server.port, version: version)
        #expect(client?.shakeHands() == true)
        // While the server is busy with this, the end comes together with the bytes before it.
        try client?.send("first")
        #expect(try arrived.next() == "first")
        try client?.send("second")
        client?.sendEnd()
        mayGoOn.put(false)
        #expect(try arrived.next() == "second")
        client?.resetAtEnd()
        client = nil
        mayGoOn.put(true)
        _ = try closed.next()
        let other = try TestTLSClient(port: harness.server.port, version: version)
        #expect(other.shakeHands())
    }

    @Test("announces the end of a connection", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func closeNotify(version: Int32) throws {
        let harness = try Harness { _ in
            ScriptedHandler {
                $0.onReceived = { _, stream in
                    stream.send(shared: [UInt8]("bye".utf8))
                    stream.close()
                }
            }
        }
        let client = try TestTLSClient(port: harness.server.port, version: version)
        #expect(client.shakeHands())
        try client.send("x")
        #expect(try client.receive() == "bye")
        #expect(try client.receive() == nil)
    }

    @Test("lets in those who have a certificate of the client authorities, and nobody else")
    func clientCertificates() throws {
        let server = TestCertificate()
        let own = TestCertificate()
        let stranger = TestCertificate()
        var options = Listener.Options()
        options.tls = try TLSContext.server(
            certificateFile: server.certificateFile, keyFile: server.keyFile, clientAuthorities: own.certificateFile)
        let listener = try TestServer(options: options) { _ in ScriptedHandler.echo() }
        func exchange(_ certificate: TestCertificate?) throws -> [UInt8] {
            let context = try TLSContext.client(
                trusting: .file(server.certificateFile),
                certificate: certificate.map { .init(certificateFile: $0.certificateFile, keyFile: $0.keyFile) })
            let connection = try WaitingConnection(host: "127.0.0.1", port: listener.port, timeout: Patience.limit)
            try connection.startTLS(context, serverName: "localhost")
            try connection.send(Array("hello".utf8))
            return try connection.receive()
        }
        #expect(try exchange(own) == Array("hello".utf8))
        // With TLS 1.3 a client learns only after the handshake that it was refused: by an alert, or by a failed send.
        for certificate in [nil, stranger] {
            #expect(throws: WaitingConnection.Failure.self) { try exchange(certificate) }
        }
    }

    @Test("ends with a server that does not choose the protocol which is needed, or knows of no choice")
    func otherProtocol() throws {
        let certificate = TestCertificate()
        var options = Listener.Options()
        options.tls = try TLSContext.server(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        let listener = try TestServer(options: options) { _ in ScriptedHandler.echo() }
        let (descriptor, port) = try LoopbackSocket.listen(backlog: 1)
        defer { close(descriptor) }
        let server = try NamedThread(name: "tls") {
            // The client may be gone before the handshake ends.
            linux_block_broken_pipe_signal()
            let peer = accept(descriptor, nil, nil)
            let context = SSL_CTX_new(TLS_server_method())
            SSL_CTX_use_certificate_file(context, certificate.certificateFile, SSL_FILETYPE_PEM)
            SSL_CTX_use_PrivateKey_file(context, certificate.keyFile, SSL_FILETYPE_PEM)
            let ssl = SSL_new(context)
            SSL_set_fd(ssl, peer)
            SSL_accept(ssl)
            SSL_free(ssl)
            SSL_CTX_free(context)
            close(peer)
        }
        defer {
            shutdown(descriptor, Int32(SHUT_RDWR))
            server.join()
        }
        for (port, reason) in [(listener.port, "alert no application protocol"), (port, "does not choose 'h2'")] {
            let context = try TLSContext.client(trusting: .file(certificate.certificateFile))
            let connection = try WaitingConnection(host: "127.0.0.1", port: port, timeout: Patience.limit)
            #expect {
                try connection.startTLS(context, serverName: "localhost", offering: .http2)
            } throws: {
                "\($0)".contains(reason)
            }
        }
    }

    @Test("refuses a server with another name", arguments: ["localhost", "127.0.0.1"])
    func wrongName(host: String) throws {
        let harness = try Harness(names: "DNS:other.test,IP:127.0.0.2")
        let outcome = try harness.exchange(host: host, harness.trusting())
        guard case .failure(.tls(let text)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.contains("mismatch"))
    }

    @Test("refuses a server that nobody vouches for")
    func untrusted() throws {
        let harness = try Harness()
        let outcome = try harness.exchange(TLSContext.client())
        guard case .failure(.tls(let text)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(text.contains("verify the certificate"))
    }

    @Test("uses a new certificate for new connections after a reload, and the old one if the new is unusable")
    func reload() throws {
        let harness = try Harness()
        let old = try harness.trusting()
        #expect(try harness.exchange(old) == .success("hello"))

        harness.certificate.replace()
        let new = try harness.trusting()
        #expect(try harness.exchange(old) == .success("hello"))
        try harness.context.reload()
        #expect(try harness.exchange(new) == .success("hello"))
        if case .success = try harness.exchange(old) { Issue.record("the old certificate is still in use") }

        unlink(harness.certificate.keyFile)
        let error = #expect(throws: TLSError.self) { try harness.context.reload() }
        #expect(error?.description == "cannot read \(harness.certificate.keyFile): No such file or directory")
        #expect(try harness.exchange(new) == .success("hello"))
    }

    @Test("refuses files that are missing or do not belong together")
    func badFiles() throws {
        let first = TestCertificate()
        let second = TestCertificate()
        let folder = TemporaryFolder()
        let (plain, locked) = (folder.path + "/plain", folder.path + "/locked")
        TemporaryFolder.write(Array("hello".utf8), to: plain)
        TemporaryFolder.write(
            Array("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n".utf8), to: locked
        )
        let (certificateFile, keyFile) = (first.certificateFile, first.keyFile)
        for (certificate, key, problem) in [
            ("/nowhere", keyFile, "cannot read /nowhere: No such file or directory"),
            (certificateFile, "/nowhere", "cannot read /nowhere: No such file or directory"),
            (
                certificateFile, second.keyFile,
                "the private key \(second.keyFile) does not belong to the certificate \(certificateFile)"
            ),
            (
                keyFile, certificateFile,
                "\(keyFile) holds a private key, not a certificate: are the two files interchanged?"
            ),
            (
                certificateFile, certificateFile,
                "\(certificateFile) holds a certificate, not a private key: are the two files interchanged?"
            ),
            (
                plain, keyFile,
                "\(plain) is not a certificate in PEM form, which begins with '-----BEGIN CERTIFICATE-----'"
            ),
            (
                certificateFile, plain,
                "\(plain) is not a private key in PEM form, which begins with '-----BEGIN PRIVATE KEY-----'"
            ),
            (certificateFile, locked, "the private key \(locked) is encrypted: a key without a password is needed"),
        ] {
            let error = #expect(throws: TLSError.self) {
                try TLSContext.server(certificateFile: certificate, keyFile: key)
            }
            #expect(error?.description == problem)
        }
        let error = #expect(throws: TLSError.self) { try TLSContext.client(trusting: .file("/nowhere")) }
        #expect(error?.description == "cannot read /nowhere: No such file or directory")
    }

    @Test("gives up on a peer that does not shake hands, from either side")
    func handshakeTimeout() throws {
        let certificate = TestCertificate()
        var options = Listener.Options()
        options.limits.openTimeout = .milliseconds(20)
        options.tls = try .server(certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        let closed = Channel<CloseReason>()
        let handler: @Sendable () -> ScriptedHandler = {
            ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } }
        }
        let server = try TestServer(options: options) { _ in handler() }
        let silentClient = try server.connect()
        #expect(try closed.next() == .timedOut)
        _ = silentClient

        let silentServer = try TestServer { _ in ScriptedHandler() }
        let client = try TestLoop()
        let context = try TLSContext.client()
        let (port, limits) = (silentServer.port, options.limits)
        try client.run { loop in
            loop.connect(host: "localhost", port: port, tls: context, limits: limits, handler: handler())
        }
        #expect(try closed.next() == .timedOut)
    }

    @Test("survives peers that speak something else or leave in the middle")
    func garbage() throws {
        let closed = Channel<CloseReason>()
        let harness = try Harness { _ in ScriptedHandler { $0.onClosed = { _, reason in closed.put(reason) } } }
        let plain = try harness.server.connect()
        try plain.send("GET / HTTP/1.1\r\n\r\n")
        guard case .tls = try closed.next() else {
            Issue.record("another reason")
            return
        }
        let hasty = try harness.server.connect()
        try hasty.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
        hasty.endOutput()
        _ = try closed.next()
        let client = try TestTLSClient(port: harness.server.port)
        #expect(client.shakeHands())
    }
}
