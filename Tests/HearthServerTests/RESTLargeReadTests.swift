import HearthHTTPCodec
import HearthJSONTree
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthDelivery
@testable import HearthServer

@Suite("Large values over REST") struct RESTLargeReadTests {
    /// A value of some megabytes that is spread over many rows: lists with and without holes, other keys, priorities,
    /// packed nodes.
    private struct LargeValue {
        private var random: RandomTrees
        private(set) var text = ""

        init(seed: UInt64, bytes: Int) {
            random = RandomTrees(seed: seed)
            text = "{"
            var index = 0
            while text.utf8.count < bytes {
                if index > 0 { text += "," }
                text += "\"part \(index)\":"
                append(depth: 3)
                index += 1
            }
            text += "}"
        }

        private mutating func append(depth: Int) {
            if depth == 0 || random.chance(1, in: 5) { return appendLeaf() }
            let count = Int.random(in: 1...12, using: &random.random)
            let (first, step) = random.pick([(0, 1), (0, 2), (1, 1), (0, 3), (-1, 1)])
            let hasTextKeys = random.chance(1, in: 3)
            text += "{"
            if random.chance(1, in: 4) { text += "\".priority\":\(random.pick(["1", "\"p\"", "-2.5"]))," }
            for index in 0..<count {
                if index > 0 { text += "," }
                text += hasTextKeys ? "\"k\(index)\":" : "\"\(first + index * step)\":"
                append(depth: depth - 1)
            }
            text += "}"
        }

        private mutating func appendLeaf() {
            let priority = random.chance(1, in: 8) ? "{\".priority\":7,\".value\":" : ""
            let length = random.pick([0, 3, 40, 300, 300, 1200, 5000])
            text += priority + "\"\(String(repeating: "é\\\"", count: length / 4))\"" + (priority.isEmpty ? "" : "}")
        }
    }

    @Test("large values are shown in every form as small ones are", arguments: [1, 2] as [UInt64])
    func forms(seed: UInt64) throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let body = Array(LargeValue(seed: seed, bytes: 1_300_000).text.utf8)
        let value = try CanonicalJSON.parse(body).value
        let written = try client.ask("PUT", "/big/x.json", [], body: body)
        #expect(written.body == JSONOutput.echo.text(value), "seed \(seed)")

        func read(_ query: String, _ fields: [String] = []) throws -> RESTClient.Answer {
            try client.ask("GET", "/big/x.json?\(query)", fields)
        }
        let plain = try read("")
        #expect(plain.head.isChunked)
        #expect(plain.body == JSONOutput.plain.text(value), "seed \(seed)")
        #expect(try read("format=export").body == value.bytes, "seed \(seed)")
        let pretty = JSONLayout(isPretty: true).text(JSONOutput.plain.text(value))
        #expect(try read("print=pretty").body == pretty, "seed \(seed)")
        #expect(try read("callback=f").body == Array("f(".utf8) + plain.body + Array(")".utf8), "seed \(seed)")
        #expect(try client.ask("GET", "/.json?format=export").text == "{\"big\":{\"x\":\(value)}}", "seed \(seed)")

        let shallow = JSONOutput.shallow.text(value)
        #expect(try read("shallow=true").body == shallow, "seed \(seed)")
        #expect(try client.ask("GET", "/big.json?shallow=true").text == #"{"x":true}"#, "seed \(seed)")
        let range = ShallowRange(after: try Key(validating: "part 1"), limit: 3)
        #expect(try read("shallow=true&limitToFirst=3&startAfter=part+1").body == range.text(of: value))
        let first = ShallowRange(limit: 1).text(of: value)
        #expect(try read("shallow=true&limitToFirst=1&print=pretty").body == JSONLayout(isPretty: true).text(first))
        #expect(try read("shallow=true&startAfter=z").text == "null")

        let tag = String(decoding: NodeHash.hash(value), as: UTF8.self)
        let tagged = try read("", ["X-Firebase-ETag: true"])
        #expect(tagged.field("etag") == tag, "seed \(seed)")
        #expect(tagged.body == plain.body, "seed \(seed)")
    }

    @Test("of a large value nothing is sent that was not asked for")
    func withoutBody() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let body = Array(LargeValue(seed: 5, bytes: 1_200_000).text.utf8)
        let put = try client.ask("PUT", "/x.json?print=silent", ["X-Firebase-ETag: true"], body: body)
        let tag = try #require(put.field("etag"))
        try client.ask("PUT", "/x/.priority.json", [], "\"p\"")
        #expect(try client.ask("GET", "/x/.priority.json").text == "\"p\"")
        try client.ask("DELETE", "/x/.priority.json")
        #expect(try client.ask("GET", "/x/.priority.json").text == "null")

        for fields in [[], ["X-Firebase-ETag: true"]] {
            let head = try client.ask("HEAD", "/x.json", fields)
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.field("etag") == (fields.isEmpty ? nil : tag))
            let silent = try client.ask("GET", "/x.json?print=silent", fields)
            #expect(silent.status == 204)
            #expect(silent.field("etag") == (fields.isEmpty ? nil : tag))
        }
        let unchanged = try client.ask("GET", "/x.json", ["If-None-Match: \(tag)"])
        #expect(unchanged.status == 304)
        #expect(unchanged.body.isEmpty)
        let stale = try client.ask("PUT", "/x.json", ["If-Match: null_etag"], "1")
        #expect(stale.status == 412)
        #expect(stale.field("etag") == tag)
        #expect(stale.body == JSONOutput.plain.text(try CanonicalJSON.parse(body).value))
        #expect(try client.ask("PUT", "/x.json", ["If-Match: \(tag)"], "1").text == "1")
    }

    @Test("a value of 20 MB goes in and comes out, and others are served meanwhile")
    func twentyMegabytes() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let long = String(repeating: "0123456789abcdef", count: 600_000)
        let body = Array("{\"a\":\"\(long)\",\"b\":[\"\(long)\",5],\"c\":true}".utf8)
        try client.send(RESTClient.request("PUT", "/x.json", body: body))
        let other = try server.connectREST()
        #expect(try other.ask("GET", "/y.json").text == "null")
        #expect(try client.receive().body == body)
        try client.send(RESTClient.request("GET", "/x.json") + RESTClient.request("GET", "/x/b/1.json"))
        #expect(try other.ask("GET", "/x/c.json").text == "true")
        #expect(try client.receive().body == body)
        #expect(try client.receive().text == "5")

        let old = try server.connectREST()
        try old.send("GET /x.json HTTP/1.0\r\n\r\n")
        let answer = try old.receive()
        #expect(!answer.head.isChunked)
        #expect(answer.body == body)
    }

    @Test("clients that leave in the middle of a large answer hold nobody up")
    func leaving() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let text =
            "{\"a\":\"\(String(repeating: "x", count: 3 << 20))\",\"b\":\"\(String(repeating: "y", count: 3 << 20))\"}"
        try client.ask("PUT", "/x.json?print=silent", [], text)
        for _ in 0..<20 {
            let leaving = try server.connectREST(receiveBuffer: 4096)
            try leaving.send(RESTClient.request("GET", "/x.json"))
            #expect(try !leaving.receiveSome().isEmpty)
        }
        // Some do not even wait for the beginning.
        for _ in 0..<20 { try server.connectREST().send(RESTClient.request("GET", "/x.json")) }
        #expect(try client.ask("GET", "/x.json").text == text)
    }

    @Test("a read that waits longer than it may is refused (rest.md 6)")
    func timeout() throws {
        let server = try RealtimeTestServer { $0.snapshotLimits.threadsMax = 1 }
        let client = try server.connectREST()
        // Many more rows than are read ahead of a peer.
        let part = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        let members = (0..<30).map { "\"a\($0)\":\(part)" }.joined(separator: ",")
        try client.ask("PUT", "/x.json?print=silent", [], "{\(members)}")
        // The only thread waits for a peer that takes nothing.
        let stuck = try server.connectREST(receiveBuffer: 4096)
        try stuck.send(RESTClient.request("GET", "/x.json"))
        #expect(try stuck.receiveSome().starts(with: "HTTP/1.1 200 OK".utf8))
        for fields in [[], ["Accept: text/event-stream"]] {
            let late = try server.connectREST()
            let answer = try late.ask("GET", "/x.json?timeout=100ms", fields)
            #expect(answer.status == 400)
            #expect(answer.text == "{\n  \"error\" : \"the data could not be read within the timeout\"\n}\n")
            #expect(late.receivesEnd())
        }
        #expect(try client.ask("GET", "/y.json?timeout=3min").text == "null")
    }
}
