import HearthEventLoop
import HearthSystem
import Synchronization

/// A local server, with or without TLS, that answers each request with the same bytes.
package final class AnsweringPeer: Sendable {
    package let certificate: TestCertificate
    private let group: EventLoopGroup
    private let listener: Listener
    private let noted = Noted()

    private final class Noted: Sendable {
        let requests = Mutex<[String]>([])
    }

    private final class Handler: StreamHandler {
        private let greeting: [UInt8]
        private let answer: [UInt8]
        private let closes: Bool
        private let noted: Noted
        private var answersLeft: Int

        init(_ greeting: [UInt8], _ answer: [UInt8], answersMax: Int, closes: Bool, _ noted: Noted) {
            (self.greeting, self.answer, self.closes, self.noted) = (greeting, answer, closes, noted)
            answersLeft = answersMax
        }

        func opened(_ stream: Stream) {
            if !greeting.isEmpty { stream.send(shared: greeting) }
        }

        func received(_ bytes: UnsafeMutableRawBufferPointer, on stream: Stream) {
            noted.requests.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
            if answer.isEmpty || answersLeft == 0 { return }
            answersLeft -= 1
            stream.send(shared: answer)
            if closes { stream.close() }
        }

        func closed(_ stream: Stream, reason: CloseReason) {}
    }

    /// - parameter greeting: sent before anything is received.
    /// - parameter answer: nothing for a server that is silent.
    /// - parameter answersMax: of each connection.
    /// - parameter names: those of the certificate.
    /// - parameter closes: the connection ends with the answer.
    package init(
        greeting: String = "", _ answer: String, answersMax: Int = .max, usesTLS: Bool = false,
        names: String = "DNS:localhost,IP:127.0.0.1", closes: Bool = true
    ) throws {
        certificate = TestCertificate(names: names)
        group = try EventLoopGroup(count: 1, name: "peer")
        var options = Listener.Options()
        if usesTLS {
            options.tls = try TLSContext.server(
                certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        }
        let (greeting, answer) = (Array(greeting.utf8), Array(answer.utf8))
        listener = try Listener(at: .loopback(port: 0), on: group, options: options) { [noted] _ in
            Handler(greeting, answer, answersMax: answersMax, closes: closes, noted)
        }
    }

    deinit {
        group.stop()
        group.join()
    }

    package var port: UInt16 { listener.address.port }

    /// What it has received, piece by piece.
    package var requests: [String] { noted.requests.withLock { $0 } }
    package var firstRequest: String? { requests.first }
}
