import HearthServerSupport
import Glibc
import HearthClient
import HearthSystem
import HearthTestSupport
import Testing

/// What clients see of a server that the system ends, as a service manager does: by SIGTERM to its process.
@Suite("A server process that gets SIGTERM", .timeLimit(.minutes(15)))
struct TerminationTests {
    private let folder = TemporaryFolder()

    private func serve(usesTLS: Bool) async throws -> ServerProcess {
        if !usesTLS { return try await ServerProcess(folder.path + "/data") }
        let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
        TemporaryFolder.write(Array(FixedCertificate.certificate.utf8), to: certificate)
        TemporaryFolder.write(Array(FixedCertificate.key.utf8), to: key)
        return try await ServerProcess(folder.path + "/data", "--tls-cert", certificate, "--tls-key", key)
    }

    @Test("answers all that a busy keep-alive connection has asked, says that it ends, and ends cleanly and soon")
    func busyTLSConnection() async throws {
        let server = try await serve(usesTLS: true)
        let process = server.process
        let port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
        let host = server.address
        let start = MonotonicTime.current
        let acknowledged = try await onThread { () throws -> Int in
            let client = try TestTLSClient(port: port)
            try #require(client.shakeHands())
            var (acknowledged, number, isLast) = (0, 0, false)
            while !isLast {
                number += 1
                if number == 20 { process.signal(SIGTERM) }
                let body = "\(number)"
                try client.send(
                    "PUT /count.json HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                var answer = ""
                while !Self.isWhole(answer) {
                    // The end must not come before the answer.
                    answer += try #require(try client.receive(), "after \(acknowledged)")
                }
                isLast = answer.lowercased().contains("\r\nconnection: close\r\n")
                if answer.hasPrefix("HTTP/1.1 200 ") { acknowledged = number }
                #expect(acknowledged == number || isLast && answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
            }
            // `close_notify`, and no reset.
            #expect(try client.receive() == nil)
            return acknowledged
        }
        #expect(acknowledged >= 19)
        #expect(try await process.outcome().code == 0)
        // Not as long as it would take if anything waited for a client that never rests.
        #expect(MonotonicTime.current - start < .seconds(300))
        let next = try await serve(usesTLS: false)
        #expect(try http("GET", "/count.json", at: next.address).hasSuffix("\r\n\r\n\(acknowledged)"))
    }

    @Test("ends idle connections at once", arguments: [false, true])
    func idleConnection(usesTLS: Bool) async throws {
        let server = try await serve(usesTLS: usesTLS)
        let process = server.process
        var options = DatabaseOptions.patient
        if usesTLS { options.certificateAuthorityFile = folder.path + "/certificate.pem" }
        let database = try Database(url: (usesTLS ? "wss://" : "ws://") + server.address, options: options)
        try await database.reference(withPath: "a").setValue(1)
        process.signal(SIGTERM)
        #expect(try await process.outcome().code == 0)
        database.goOffline()
    }

    @Test("that drains says that it is not ready, takes all requests, and stops after the second signal")
    func draining() async throws {
        let server = try await ServerProcess(folder.path + "/data", "--drain-seconds", "3600")
        let (process, address) = (server.process, server.address)
        #expect(try httpGet("/readyz", from: address).hasPrefix("HTTP/1.1 200 "))
        process.signal(SIGTERM)
        try await eventually("the server is not ready") {
            try httpGet("/readyz", from: address).hasPrefix("HTTP/1.1 503 ")
        }
        #expect(try http("PUT", "/a.json", [], "1", at: address).hasPrefix("HTTP/1.1 200 "))
        #expect(try httpGet("/healthz", from: address).hasPrefix("HTTP/1.1 200 "))
        let database = try Database(url: "ws://" + address, options: .patient)
        #expect(try await database.reference(withPath: "a").getData().value == 1)
        process.signal(SIGTERM)
        #expect(try await process.outcome().code == 0)
        database.goOffline()
    }

    @Test("that drains stops when the time is over")
    func drained() async throws {
        let server = try await ServerProcess(folder.path + "/data", "--drain-seconds", "1")
        server.process.signal(SIGTERM)
        #expect(try await server.process.outcome().code == 0)
    }

    /// Whether a response without chunks is complete.
    private static func isWhole(_ answer: String) -> Bool {
        guard let end = answer.firstRange(of: "\r\n\r\n") else { return false }
        let length = answer.lowercased().firstMatch(of: /content-length: ([0-9]+)/).flatMap { Int($0.1) }
        return answer[end.upperBound...].utf8.count >= length ?? 0
    }
}
