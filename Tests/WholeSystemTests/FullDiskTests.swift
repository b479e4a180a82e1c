import HearthServerSupport
import HearthJSONTree
import HearthTestSupport
import Testing
import HearthClientSession
import HearthConnection

/// A server whose files may not grow any more, which is how a full disk looks to it.
@Suite("A server whose disk is full", .timeLimit(.minutes(15)))
struct FullDiskTests {
    @Test("refuses writes, answers reads, says why it is not ready, and recovers by itself")
    func fullDisk() async throws {
        let folder = TemporaryFolder()
        let clients = try TestLoop()
        let server = try await ServerProcess(folder.path)
        let client = try await Connection.open(server.url(), on: clients.loop, options: .persistent)
        try await client.set(place("a"), to: json("1"))
        #expect(try httpGet("/readyz", from: server.address).hasSuffix("\r\n\r\nready\n"))

        try server.process.limitFiles(to: 1)
        await #expect {
            try await client.set(place("a"), to: json("2"))
        } throws: {
            if case .refused(status: "unavailable", _)? = $0 as? ConnectionError { true } else { false }
        }
        let answer = try httpGet("/readyz", from: server.address)
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.contains("\r\n\r\nnot ready: the database 'default' refuses writes: "))
        #expect(try httpGet("/healthz", from: server.address).hasSuffix("\r\n\r\nok\n"))
        #expect(try await client.get(path("a")).description == "1")

        try server.process.limitFiles(to: nil)
        // The server tries again a few times in a second.
        try await eventually("readiness") {
            try !httpGet("/readyz", from: server.address).hasPrefix("HTTP/1.1 503 ")
        }
        try await client.set(place("a"), to: json("3"))
        #expect(try await client.get(path("a")).description == "3")
    }
}
