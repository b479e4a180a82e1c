import HearthHTTP
import HearthTestSupport
import Testing

@Suite("A service over HTTP", .timeLimit(.minutes(15)))
struct RouterTests {
    private struct Odd: Error {}

    private static func server() throws -> Service {
        var router = Router()
        router.get("/") { _ in Response(text: "root") }
        router.get("/rooms/{room}") { Response(text: "room \($0.parameter("room"))") }
        router.get("/rooms/{room}/seats/{seat}") {
            Response(text: "\($0.parameter("room"))/\($0.parameter("seat")) \($0.query("as") ?? "-")")
        }
        router.get("/rooms/hall") { _ in Response(text: "never: the first route counts") }
        router.post("/rooms") { request in
            let fields = try request.form()
            return Response(201, text: fields.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "&"))
        }
        router.put("/rooms/{room}") { Response(text: "\($0.body.count) \($0.contentType ?? "none")") }
        router.delete("/rooms/{room}") { _ in throw HTTPError(403, "Rooms stay.") }
        router.get("/token") { Response(text: try $0.bearerToken()) }
        router.get("/odd") { _ in throw Odd() }
        router.get("/headers") { request in
            Response(
                headers: [
                    ("X-Seen", "\(request.header("X-Given") ?? "")"), ("Bad Name", "x"), ("X-Split", "a\r\nX-Evil: b"),
                ],
                body: [])
        }
        return try Service(router)
    }

    @Test(
        "finds the handler by method and path, and the words in the path",
        arguments: [
            ("GET", "/", 200, "root"), ("GET", "/rooms/hall", 200, "room hall"),
            ("GET", "/rooms/a%20b+c%2Fd", 200, "room a b+c/d"), ("GET", "/r%6Foms/x", 200, "room x"),
            ("GET", "/rooms/hall/seats/7?as=ann+lee%21", 200, "hall/7 ann lee!"),
            ("GET", "/rooms/hall/seats/7?as=%FF", 200, "hall/7 -"),
            ("GET", "/rooms/%zz%", 200, "room %zz%"), ("GET", "/rooms/%FF", 200, "room \u{FFFD}"),
            ("GET", "/rooms/", 404, "There is nothing at this path.\n"),
            ("GET", "/rooms/hall/", 404, "There is nothing at this path.\n"),
            ("GET", "//rooms/hall", 404, "There is nothing at this path.\n"),
            ("GET", "/rooms", 405, "This path takes POST.\n"),
            ("POST", "/rooms/hall", 405, "This path takes GET, PUT, DELETE, HEAD.\n"),
            ("BREW", "/token", 405, "This path takes GET, HEAD.\n"),
            ("DELETE", "/rooms/hall", 403, "Rooms stay.\n"), ("GET", "/odd", 500, "Something went wrong here.\n"),
            ("HEAD", "/rooms/hall", 200, ""),
        ])
    func routes(method: String, path: String, status: Int, text: String) async throws {
        let answer = try await Self.server().ask("\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(answer.status == status)
        // The answer to HEAD has the length of the body that it lacks.
        if method == "HEAD" { return #expect(answer.field("content-length") == "9") }
        #expect(String(decoding: answer.body, as: UTF8.self) == text)
        #expect(answer.field("allow") == (status == 405 ? text.dropFirst(16).dropLast(2).description : nil))
    }

    @Test("reads forms, and says why it cannot")
    func forms() async throws {
        let server = try Self.server()
        func post(_ body: String, _ type: String?) async throws -> (Int, String) {
            let answer = try await server.ask(
                "POST /rooms HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                    + (type.map { "Content-Type: \($0)\r\n" } ?? "")
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            return (answer.status, String(decoding: answer.body, as: UTF8.self))
        }
        let form = "application/x-www-form-urlencoded"
        #expect(try await post("a=1&b=x+y%26&a=2&c", form) == (201, "a=2&b=x y&&c="))
        #expect(try await post("a=%C3%BC", "Application/X-WWW-Form-Urlencoded; charset=utf-8") == (201, "a=ü"))
        #expect(try await post("", nil) == (201, ""))
        #expect(try await post("a=%FF", form) == (400, "The body is not UTF-8.\n"))
        #expect(
            try await post("{}", "application/json")
                == (415, "The body must be application/x-www-form-urlencoded, not application/json.\n"))
    }

    @Test("asks for a token, and takes its scheme in any case")
    func tokens() async throws {
        let server = try Self.server()
        for (field, status) in [
            ("", 401), ("Authorization: Basic x\r\n", 401), ("Authorization: bearer abc\r\n", 200),
            ("Authorization: BEARER a b\r\n", 401),
        ] {
            let answer = try await server.ask("GET /token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(field)\r\n")
            #expect(answer.status == status, "\(field)")
            #expect(answer.field("www-authenticate") == (status == 401 ? "Bearer" : nil))
        }
    }

    @Test("sends headers that cannot bring in others, and leaves out names that are invalid")
    func headers() async throws {
        let answer = try await Self.server().ask(
            "GET /headers HTTP/1.1\r\nHost: x\r\nConnection: close\r\nx-given: a\r\nX-Given: b\r\n\r\n")
        #expect(answer.field("x-seen") == "a, b")
        #expect(answer.field("x-split") == "a  X-Evil: b")
        #expect(answer.field("x-evil") == nil)
        #expect(answer.field("bad name") == nil)
    }

    @Test("gives failures the program's form, and tells the program of errors that no client sees")
    func failures() async throws {
        let told = AsyncStream.makeStream(of: String.self)
        var router = Router()
        router.get("/odd") { _ in throw Odd() }
        router.failed = { Response($0.status, json: Array(#"{"error":"\#($0.message)"}"#.utf8)) }
        router.logger = { error, request in told.continuation.yield("\(request.method) \(request.path): \(error)") }
        let server = try Service(router)
        let answers = await server.exchange(
            "GET /none HTTP/1.1\r\nHost: x\r\n\r\nGET /odd HTTP/1.1\r\nHost: x\r\n\r\nNONSENSE\r\n\r\n")
        #expect(answers.map(\.status) == [404, 500, 400])
        #expect(answers.allSatisfy { $0.field("content-type") == "application/json; charset=utf-8" })
        #expect(String(decoding: answers[1].body, as: UTF8.self) == #"{"error":"Something went wrong here."}"#)
        var iterator = told.stream.makeAsyncIterator()
        #expect(await iterator.next() == "GET /odd: Odd()")
    }
}
