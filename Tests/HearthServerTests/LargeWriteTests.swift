import HearthJSONTree
import Synchronization
import HearthSystem
import HearthTestSupport
import Testing

@testable import HearthServer

@Suite("A large write") struct LargeWriteTests {
    /// So many small children, in no order.
    private static func children(_ count: Int, seed: UInt64) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        let keys = (0..<count).map { 1_000_000 + $0 }.shuffled(using: &random)
        return Array("{\(keys.map { #""k\#($0)":\#($0)"# }.joined(separator: ","))}".utf8)
    }

    @Test("lets small ones of other connections go on", arguments: ["PUT", "PATCH"])
    func beside(method: String) throws {
        // A small write waits only for a part of the large one's time, not for most of it. The machine may have other
        // things to do, but not each time.
        try blockUntil("small waits") { try longestWait(beside: method) < 1.0 / 3 }
    }

    /// The longest time that a small write takes beside a large one, as a part of the large one's time.
    private func longestWait(beside method: String) throws -> Double {
        let server = try RealtimeTestServer()
        #expect(try server.connectREST().ask("PUT", "/large.json?print=silent", [], #"{"other":1}"#).status == 204)
        let body = Self.children(200_000, seed: 1)
        let port = server.port
        let isDone = Atomic(false)
        let duration = Mutex(Duration.zero)
        let writer = try NamedThread(name: "large write") {
            let start = ContinuousClock.now
            let status = try? RESTClient(port: port).ask(method, "/large.json?print=silent", [], body: body).status
            duration.withLock { $0 = ContinuousClock.now - start }
            #expect(status == 204)
            isDone.store(true, ordering: .releasing)
        }
        let small = try server.connectREST()
        var longest = Duration.zero
        var number = 0
        while !isDone.load(ordering: .acquiring) {
            let start = ContinuousClock.now
            #expect(try small.ask("PUT", "/small/\(number % 10).json?print=silent", [], "\(number)").status == 204)
            longest = max(longest, ContinuousClock.now - start)
            number += 1
        }
        writer.join()
        let total = duration.withLock { $0 }
        let stayed = try small.ask("GET", "/large/other.json").text
        #expect(stayed == (method == "PUT" ? "null" : "1"))
        return longest / total
    }

    @Test("of children leaves the others, and tells listeners of their part")
    func children() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let listener = try server.connect()
        let before = #"{"k1000001":{"a":1},"k1000002":{"b":2},"other":3}"#
        #expect(try client.ask("PUT", "/a.json?ns=example&print=silent", [], before).status == 204)
        _ = try listener.receive()
        try listener.send([#"{"t":"d","d":{"r":1,"a":"q","b":{"p":"a/k1000001","h":""}}}"#])
        for _ in 0..<2 { _ = try listener.receive() }
        var text = String(decoding: Self.children(20_000, seed: 6), as: UTF8.self)
        text.replace(#""k1000002":1000002"#, with: #""k1000002":null"#)
        #expect(try client.ask("PATCH", "/a.json?ns=example&print=silent", [], text).status == 204)
        let told = try listener.receive()
        #expect(told == .text(#"{"t":"d","d":{"a":"d","b":{"p":"a/k1000001","d":1000001}}}"#))
        var expected = try CanonicalJSON.parse(Array(text.utf8)).value
        expected = expected.setting("3", at: "other")
        let read = try client.ask("GET", "/a.json?ns=example").body
        #expect(try CanonicalJSON.parse(read).value == expected)
    }

    /// Places that are not children of one, below a place.
    private static func scattered(_ count: Int, at place: String = "") -> [UInt8] {
        let members = (0..<count).map { #""\#(place)n\#(1_000_000 + $0)/x":{".sv":{"increment":\#($0)}}"# }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    @Test("of very many places is refused, unless an administrator makes it")
    func scattered() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let refused = try client.ask("PATCH", "/a.json?ns=example", [], body: Self.scattered(50_001))
        #expect(refused.status == 400)
        #expect(refused.text.contains("this write increments more than 50000 values"))
        #expect(try client.ask("GET", "/a.json?ns=example").text == "null")
        for _ in 0..<2 {
            let body = Self.scattered(3_000)
            #expect(try client.ask("PATCH", "/a.json?ns=example&print=silent", [], body: body).status == 204)
        }
        #expect(try client.ask("GET", "/a/n1002999/x.json?ns=example").text == "5998")
        let administrator = ["Authorization: Bearer owner"]
        let allowed = try client.ask(
            "PATCH", "/a.json?ns=example&print=silent", administrator, body: Self.scattered(50_001))
        #expect(allowed.status == 204)
        #expect(try client.ask("GET", "/a/n1050000/x.json?ns=example").text == "50000")

        let peer = try server.connect()
        _ = try peer.receive()
        let text = String(decoding: Self.scattered(50_001, at: "b/"), as: UTF8.self)
        try peer.send(Self.chunks(#"{"t":"d","d":{"r":1,"a":"m","b":{"p":"/","d":\#(text)}}}"#))
        guard case .text(let answer) = try peer.receive() else {
            Issue.record("no answer")
            return
        }
        #expect(answer.contains(#""s":"too_big""#))
        #expect(try client.ask("GET", "/b.json?ns=example").text == "null")
    }

    private static func put(_ number: Int, _ path: String, _ value: String) -> [String] {
        chunks(#"{"t":"d","d":{"r":\#(number),"a":"p","b":{"p":"\#(path)","d":\#(value)}}}"#)
    }

    /// A message as clients cut it.
    private static func chunks(_ message: String) -> [String] {
        let text = Array(message.utf8)
        if text.count <= 16384 { return [message] }
        let starts = stride(from: 0, to: text.count, by: 16384)
        return ["\(Array(starts).count)"]
            + starts.map { String(decoding: text[$0..<min($0 + 16384, text.count)], as: UTF8.self) }
    }

    private static func done(_ number: Int) -> RealtimePeer.Incoming {
        .text(#"{"t":"d","d":{"r":\#(number),"b":{"s":"ok","d":""}}}"#)
    }

    @Test("of a realtime client is parsed beside its loop, and what the client sends after it waits")
    func parsedBesideLoop() throws {
        let server = try RealtimeTestServer { $0.loops = 1 }
        let value = String(decoding: Self.children(10_000, seed: 4), as: UTF8.self)
        let goOn = Semaphore()
        server.server.services.parser.post { goOn.wait() }
        let (writer, other) = (try server.connect(), try server.connect())
        for peer in [writer, other] { _ = try peer.receive() }
        try writer.send(Self.put(1, "large", value) + Self.put(2, "large/k1000007", "true"))
        try other.send(Self.put(1, "small", "1"))
        #expect(try other.receive() == Self.done(1))
        #expect(try server.connectREST().ask("GET", "/large.json?ns=example&shallow=true").text == "null")
        goOn.signal()
        #expect(try writer.receive() == Self.done(1))
        #expect(try writer.receive() == Self.done(2))
        #expect(try server.connectREST().ask("GET", "/large/k1000007.json?ns=example").text == "true")
    }

    @Test("of a realtime client is done although the client left before it was parsed")
    func leftBehind() throws {
        let server = try RealtimeTestServer { $0.loops = 1 }
        let value = String(decoding: Self.children(10_000, seed: 5), as: UTF8.self)
        let goOn = Semaphore()
        server.server.services.parser.post { goOn.wait() }
        let writer = try server.connect()
        _ = try writer.receive()
        try writer.send(
            [#"{"t":"d","d":{"r":1,"a":"o","b":{"p":"left","d":"after it"}}}"#] + Self.put(2, "large", value))
        writer.hangUp()
        let reader = try server.connectREST()
        #expect(try reader.ask("GET", "/left.json?ns=example").text == "null")
        goOn.signal()
        try blockUntil("the write") { try reader.ask("GET", "/left.json?ns=example").text != "null" }
        #expect(try reader.ask("GET", "/large/k1000007.json?ns=example").text == "1000007")
    }

    @Test("is there as it was sent, is changed by what comes after it, and is there after a restart")
    func order() throws {
        let server = try RealtimeTestServer()
        let client = try server.connectREST()
        let first = Self.children(50_000, seed: 2)
        let second = Self.children(40_000, seed: 3)
        // One after the other on one connection: the answers come in order.
        let requests: [(String, String, [UInt8])] = [
            ("PUT", "/a/b.json", first), ("PUT", "/a/b/k1000007/x.json", Array("1".utf8)),
            ("PUT", "/a/c.json", second), ("PATCH", "/a.json", Array(#"{"b/k1000008":null,"c/k1000009":true}"#.utf8)),
            ("PUT", "/a/b/.priority.json", Array("5".utf8)),
        ]
        for (method, place, body) in requests {
            try client.send(RESTClient.request(method, "\(place)?print=silent", body: body))
        }
        for _ in requests { #expect(try client.receive().status == 204) }
        var expected = CanonicalJSON.null
            .setting(try CanonicalJSON.parse(first).value, at: "a/b").setting("1", at: "a/b/k1000007/x")
            .setting(try CanonicalJSON.parse(second).value, at: "a/c").setting(.null, at: "a/b/k1000008")
            .setting("true", at: "a/c/k1000009")
        expected = try #require(expected.settingPriority("5", at: "a/b"))
        for _ in 0..<2 {
            let read = try client.ask("GET", "/.json?format=export").body
            #expect(try CanonicalJSON.parse(read).value == expected)
        }
        #expect(try client.ask("GET", "/a/b/k1000011.json").text == "1000011")
        #expect(try client.ask("PUT", "/a.json?print=silent", [], "null").status == 204)
        #expect(try client.ask("GET", "/.json").text == "null")
    }
}
