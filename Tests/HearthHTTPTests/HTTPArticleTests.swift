import HearthAdmin
import HearthClient
import HearthHTTP
import HearthTestSupport
import Testing

@Suite("The article about HTTP")
struct HTTPArticleTests {
    /// Compiled and not run.
    private func example(_ database: Database, _ verifier: IDTokenVerifier) async throws {
        var router = Router()
        router.get("/rooms/{room}") { request in
            let room = database.reference(withPath: "rooms").child(request.parameter("room"))
            let seats = try await room.getData()["seats"].int
            guard let seats else { throw HTTPError(404, "There is no such room.") }
            return Response(text: "\(seats) seats\n")
        }
        router.post("/rooms") { request in
            let user = try await verifier.verifyIDToken(try request.bearerToken())
            let fields = try request.form()
            guard let title = fields["title"] else { throw HTTPError(400, "The title is missing.") }
            let room = database.reference(withPath: "rooms").childByAutoId()
            try await room.setValue(["title": title, "by": user.uid])
            return Response(201, text: "\(room.key ?? "")\n")
        }
        let server = try HTTPServer(listen: "127.0.0.1:8080", router: router)
        print("ready on \(server.address)")
        await server.untilSignal()
        server.stop()
    }

    private func asking() async throws {
        let http = try HTTPClient()
        let answer = try await http.get("https://weather.example.com/today.json")
        guard answer.status == 200 else { throw HTTPError(502, "The weather is not known.") }
    }

    @Test("shows code that compiles")
    func examples() {
        func joined(_ text: some StringProtocol) -> String {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined()
        }
        let project = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
        let source = joined(String(decoding: TemporaryFolder.contents(of: #filePath), as: UTF8.self))
        let article = String(
            decoding: TemporaryFolder.contents(of: "\(project)/Sources/HearthHTTP/Documentation.docc/HearthHTTP.md"),
            as: UTF8.self)
        let blocks = article.matches(of: #/```swift\n((?s:.*?))```/#)
        #expect(blocks.count == 2)
        for block in blocks {
            let isThere = source.contains(joined(block.1))
            #expect(isThere, "\(block.1)")
        }
    }
}
