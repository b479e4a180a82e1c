import HearthEventLoop
import HearthHTTP
import HearthTestSupport
import Testing

/// A server on a free port, and a loop for its clients. Both end with the test.
final class Service: Sendable {
    private let server: HTTPServer
    private let loop: EventLoop
    private let port: UInt16

    init(_ router: Router, _ options: HTTPServer.Options = .init()) throws {
        server = try HTTPServer(listen: "localhost:0", options: options, router: router)
        port = try #require(server.address.split(separator: ":").last.flatMap { UInt16($0) })
        loop = try EventLoop(name: "client")
        try loop.start()
    }

    deinit {
        server.stop()
        loop.shutDown(grace: .zero)
        loop.join()
    }

    /// Stops the server, which blocks a thread for that long.
    func stop() async {
        let server = server
        await Task.detached { server.stop() }.value
    }

    /// The answers to bytes that are sent as they are, until the server ends the connection.
    func exchange(_ request: String) async -> [RawExchange.Answer] {
        await RawExchange.run(request, on: loop, port: port)
    }

    /// The one answer to a request.
    func ask(_ request: String) async throws -> RawExchange.Answer {
        let answers = await exchange(request)
        #expect(answers.count == 1)
        return try #require(answers.first)
    }
}
