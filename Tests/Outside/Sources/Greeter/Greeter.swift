import HearthHTTP

/// A service with one route, until it is asked to end.
@main
struct Greeter {
    static func main() async throws {
        var router = Router()
        router.get("/hello/{name}") { Response(text: "Hello \($0.parameter("name"))!") }
        let server = try HTTPServer(listen: "127.0.0.1:0", router: router)
        print(server.address)
        await server.untilSignal()
        server.stop()
    }
}
