import HearthEventLoop
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthServer
@testable import HearthAccountEndpoints

@Suite("Pages of accounts over TLS")
struct TransportSecurityTests {
    /// Sends a request and keeps the answer.
    private final class Exchange: StreamHandler, Sendable {
        private let request: [UInt8]
        private let bytes = Mutex<[UInt8]>([])
        private let ended = Semaphore()

        init(_ request: String) { self.request = Array(request.utf8) }

        func opened(_ stream: Stream) { stream.send(shared: request) }

        func received(_ new: UnsafeMutableRawBufferPointer, on stream: Stream) {
            bytes.withLock { $0.append(contentsOf: new) }
        }

        func receivedEnd(on stream: Stream) { stream.close() }

        func closed(_ stream: Stream, reason: CloseReason) { ended.signal() }

        var answer: String {
            ended.wait()
            return bytes.withLock { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test("browsers are told to use nothing else, but not by a developer's machine", arguments: [true, false])
    func strictTransport(isDevelopment: Bool) throws {
        let certificate = TestCertificate()
        let (server, folder) = try AccessTests.server {
            $0.isDevelopment = isDevelopment
            $0.identity = IdentityConfiguration()
            $0.tls = .init(certificate: certificate.certificateFile, key: certificate.keyFile)
        }
        defer { withExtendedLifetime(folder) {} }
        let loop = try EventLoop(name: "test")
        try loop.start()
        defer {
            loop.shutDown(grace: .seconds(1))
            loop.join()
        }
        func get(_ target: String) throws -> String {
            let tls = try TLSContext.client(trusting: .file(certificate.certificateFile))
            let exchange = Exchange("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let port = server.port
            loop.execute {
                loop.connect(host: "localhost", port: port, tls: tls, limits: StreamLimits(), handler: exchange)
            }
            return exchange.answer
        }
        let page = try get("/auth/action?mode=resetPassword&oobCode=x")
        #expect(page.contains("text/html"), "\(page)")
        #expect(page.contains("Strict-Transport-Security: max-age=31536000\r\n") != isDevelopment, "\(page)")
        #expect(try !get("/a.json").contains("Strict-Transport-Security"))
    }
}
