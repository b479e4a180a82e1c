import HearthHTTP
import Testing

@Suite("A client of services", .timeLimit(.minutes(15)))
struct HTTPClientTests {
    /// A service that returns its request.
    private func service() throws -> HTTPServer {
        var router = Router()
        router.get("/rooms/{room}") { request in Response(text: "room \(request.parameter("room"))") }
        router.post("/rooms") { request in
            let token = try request.bearerToken()
            let body = String(decoding: request.body, as: UTF8.self)
            return Response(201, text: "\(token) \(request.contentType ?? "") \(body)")
        }
        return try HTTPServer(listen: "127.0.0.1:0", router: router)
    }

    private func text(_ answer: Response) -> String { String(decoding: answer.body, as: UTF8.self) }

    @Test("gets answers, whatever their status")
    func get() async throws {
        let (service, client) = (try service(), try HTTPClient())
        defer { service.stop() }
        let room = try await client.get("http://\(service.address)/rooms/a%20b")
        #expect(room.status == 200)
        #expect(text(room) == "room a b")
        #expect(try await client.get("http://\(service.address)/nothing").status == 404)
        #expect(try await client.get("http://\(service.address)/rooms").status == 405)
    }

    @Test("posts JSON with a token")
    func post() async throws {
        let (service, client) = (try service(), try HTTPClient())
        defer { service.stop() }
        let made = try await client.post("http://\(service.address)/rooms", json: Array(#"{"a":1}"#.utf8), bearer: "t1")
        #expect(made.status == 201)
        #expect(text(made) == #"t1 application/json {"a":1}"#)
        #expect(try await client.post("http://\(service.address)/rooms", json: []).status == 401)
    }

    @Test("says why there is no answer", arguments: ["http://127.0.0.1:1/", "ftp://x/", "no URL"])
    func nobody(url: String) async throws {
        let client = try HTTPClient()
        let error = await #expect(throws: HTTPClientError.self) { try await client.get(url) }
        #expect(error?.description.isEmpty == false)
    }

    @Test("gives up on a service that stays silent, and when the task is cancelled")
    func silent() async throws {
        var router = Router()
        let (asked, heard) = AsyncStream.makeStream(of: Void.self)
        let (never, gate) = AsyncStream.makeStream(of: Void.self)
        router.get("/") { _ in
            for await _ in never {}
            return Response()
        }
        router.get("/heard") { _ in
            heard.yield()
            for await _ in never {}
            return Response()
        }
        let service = try HTTPServer(listen: "127.0.0.1:0", router: router)
        defer { service.stop() }
        defer { gate.finish() }
        let url = "http://\(service.address)/"
        let hasty = try HTTPClient(timeout: .milliseconds(50))
        let error = await #expect(throws: HTTPClientError.self) { try await hasty.get(url) }
        #expect(error?.description == "timed out")
        let patient = try HTTPClient()
        let asking = Task { try await patient.get(url + "heard") }
        var questions = asked.makeAsyncIterator()
        await questions.next()
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
    }
}
