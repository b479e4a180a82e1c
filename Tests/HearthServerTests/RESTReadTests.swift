import HearthHTTPCodec
import HearthJSONTree
import HearthRealtimeDatabase
import HearthTestSupport
import Testing

@testable import HearthDelivery
@testable import HearthREST

@Suite("REST reads") struct RESTReadTests {
    @Test(
        "a GET that takes events becomes a listener (rest.md 1)",
        arguments: [
            ("GET /a/b.json", "text/event-stream", true),
            ("GET /a/b.json", "application/json, Text/Event-Stream;q=0.5", true),
            ("GET /a/b.json?print=silent&shallow=true&format=export&timeout=1s", "text/event-stream", true),
            ("POST /a/b.json?x-http-method-override=GET", "text/event-stream", true),
            ("GET /a/b.json", "*/*", false), ("GET /a/b.json", "text/event-streams", false),
            ("HEAD /a/b.json", "text/event-stream", false), ("DELETE /a/b.json", "text/event-stream", false),
        ])
    func listening(line: String, types: String, listens: Bool) throws {
        let exchange = try RESTRequests.exchange(line, ["Accept: \(types)"])
        #expect(exchange.listens == listens)
        if case .listen(let path, known: nil, since: nil, missed: nil) = exchange.operation {
            #expect(listens)
            #expect(path == "a/b")
        }
        let filtered = try RESTRequests.exchange("GET /a.json?orderBy=%22$key%22&limitToLast=2", ["Accept: \(types)"])
        guard case .listenQuery("a", let query, .eventStream, known: nil, text: _, _) = filtered.operation else {
            #expect(types == "*/*" || types == "text/event-streams")
            return
        }
        #expect(query == (try Query(index: .key, limit: QueryLimit(.last, 2))))
    }

    @Test(
        "what a shallow read shows is a range of keys where that will do (rest.md 2)",
        arguments: [
            ("", nil, nil, false), ("limitToFirst=3", nil, 3, false), ("startAfter=x", "x", nil, false),
            ("orderBy=%22$key%22", nil, nil, false), ("orderBy=%22$key%22&limitToFirst=3", nil, 3, false),
            ("orderBy=%22$key%22&limitToFirst=3&startAfter=%22x%22", "x", 3, false),
            ("orderBy=%22$key%22&limitToLast=3", nil, nil, true),
            ("orderBy=%22$key%22&startAt=%22x%22", nil, nil, true),
            ("orderBy=%22$priority%22&limitToFirst=3", nil, nil, true), ("orderBy=%22a%22&equalTo=1", nil, nil, true),
        ] as [(String, String?, Int?, Bool)])
    func shallow(query: String, after: String?, limit: Int?, isQuery: Bool) throws {
        let exchange = try RESTRequests.exchange("GET /a.json?shallow=true&\(query)")
        #expect(exchange.range == ShallowRange(after: try after.map { try Key(validating: $0) }, limit: limit))
        guard case .get("a", let asked, needsIndex: true) = exchange.operation else {
            Issue.record("\(exchange.operation)")
            return
        }
        #expect((asked != nil) == isQuery)
    }
}
