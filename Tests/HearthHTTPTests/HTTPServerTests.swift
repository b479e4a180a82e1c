import HearthHTTP
import HearthTestSupport
import Testing

@Suite("An HTTP server of a service", .timeLimit(.minutes(15)))
struct HTTPServerTests {
    private static var echo: Router {
        var router = Router()
        router.post("/echo") { Response(body: $0.body) }
        return router
    }

    private func post(_ body: String, _ fields: String = "") -> String {
        "POST /echo HTTP/1.1\r\nHost: x\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test("answers the requests of a connection in their order")
    func order() async throws {
        let answers = await (try Service(Self.echo)).exchange(
            (1...20).map { post("body \($0)") }.joined() + post("last", "Connection: close\r\n") + post("never"))
        #expect(answers.map { String(decoding: $0.body, as: UTF8.self) } == (1...20).map { "body \($0)" } + ["last"])
    }

    @Test("takes bodies in chunks and with Expect, up to their limit")
    func bodies() async throws {
        let service = try Service(Self.echo, .init(bodyBytesMax: 10))
        let head = "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        let chunks = try await service.ask(head + "Transfer-Encoding: chunked\r\n\r\n4\r\nfive\r\n1\r\n!\r\n0\r\n\r\n")
        #expect(chunks.body == Array("five!".utf8))
        let expected = await service.exchange(head + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
        #expect(expected.last?.body == Array("hi".utf8))
        for body in [
            "Content-Length: 11\r\n\r\nhello world", "Transfer-Encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\n\r\n",
        ] {
            let answer = try await service.ask(head + body)
            #expect(answer.status == 413)
            #expect(answer.field("connection") == "close")
        }
    }

    @Test("sends answers that are larger than what a peer takes at once, and the next ones after them")
    func largeAnswers() async throws {
        let body = [UInt8](repeating: 120, count: 20_000_000)
        var router = Router()
        router.get("/large") { _ in Response(body: body) }
        let request = "GET /large HTTP/1.1\r\nHost: x\r\n"
        let answers = await (try Service(router)).exchange(request + "\r\n" + request + "Connection: close\r\n\r\n")
        #expect(answers.map(\.body.count) == [20_000_000, 20_000_000])
    }

    @Test("answers what it works on before it stops")
    func stopping() async throws {
        let (begun, gate) = (AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self))
        var router = Router()
        router.get("/slow") { _ in
            begun.continuation.yield()
            for await _ in gate.stream { break }
            return Response(text: "done")
        }
        let service = try Service(router)
        async let answer = service.ask("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
        for await _ in begun.stream { break }
        async let stopped: Void = service.stop()
        gate.continuation.yield()
        #expect(try await answer.body == Array("done".utf8))
        await stopped
    }

    @Test("ends connections that say nothing, and those that never end a request")
    func timeouts() async throws {
        let service = try Service(
            Self.echo, .init(requestTimeout: .milliseconds(50), idleTimeout: .milliseconds(50)))
        #expect(await service.exchange("").isEmpty)
        #expect(await service.exchange("POST /echo HTTP/1.1\r\n").isEmpty)
        // One that is sent at once is answered, unless the machine has other things to do meanwhile.
        try await eventually("an answer") { await service.exchange(post("hi")).map(\.status) == [200] }
    }

    @Test(
        "says where it cannot listen",
        arguments: [
            ("nowhere", "'nowhere' is not an address and a port, such as 127.0.0.1:8080"),
            ("127.0.0.1", "'127.0.0.1' is not an address and a port, such as 127.0.0.1:8080"),
            ("127.0.0.1:x", "'127.0.0.1:x' is not an address and a port, such as 127.0.0.1:8080"),
            ("example.com:80", "'example.com:80' is not an address and a port, such as 127.0.0.1:8080"),
            ("192.0.2.1:0", "listen on 192.0.2.1:0: Cannot assign requested address"),
        ])
    func mistakes(place: String, message: String) {
        let error = #expect(throws: HTTPServerError.self) { try HTTPServer(listen: place, router: Self.echo) }
        #expect(error?.description == message)
    }
}
