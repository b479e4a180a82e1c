import HearthBytes
import HearthEventLoop
import Glibc
import HearthServer
import HearthJSONValues
import HearthJSONWebTokens
import HearthJSONTree
import HearthTestSupport
import HearthTriggers
import Synchronization
import Testing
import HearthRealtimeSessions
import HearthSystem

@Suite("Triggers of a server") struct TriggerServerTests {
    private static let target = "/.settings/settings.json"

    /// Short pauses, for receivers of this machine.
    private static func configure(_ configuration: inout ServerConfiguration) {
        configuration.triggers.pauses.retries = [5, 20, 50]
        configuration.triggers.pauses.outage = 5
        configuration.triggers.pauses.outageMax = 50
    }

    private static func settings(_ trigger: String) -> String {
        #"{"settings":{"rooms":{"$room":{".trigger":\#(trigger)}}}}"#
    }

    /// Sets a trigger, and makes the child `a` with the value 5.
    private static func beginEvent(of server: RealtimeTestServer, _ trigger: String) throws -> RESTClient {
        let client = try server.connectREST()
        _ = try client.ask("PUT", target, RESTClient.owner, settings(trigger))
        _ = try client.ask("PUT", "/rooms/a.json", [], "5")
        return client
    }

    private static func field(_ name: String, _ post: EventReceiver.Post) -> String? {
        (try? JSONValue(parsing: post.body))?.object?[name]?.text
    }

    /// The value at a place after an event.
    private static func delta(_ post: EventReceiver.Post) -> Int64? {
        (try? JSONValue(parsing: post.body))?.object?["data"]?.object?["delta"]?.integer
    }

    @Test("post events in the order of each place, as CloudEvents, signed with both secrets")
    func delivery() async throws {
        let receiver = try EventReceiver()
        let server = try RealtimeTestServer(Self.configure)
        let client = try server.connectREST()
        let (old, new) = (Array(repeating: UInt8(1), count: 24), Array(repeating: UInt8(2), count: 32))
        let secrets = [new, old].map { "\"whsec_\(String(decoding: Base64.standard.encode($0), as: UTF8.self))\"" }
        let trigger = """
            {"name":"t","on":"written","url":"\(receiver.url)","secret":[\(secrets.joined(separator: ","))]}
            """
        #expect(try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(trigger)).status == 200)
        #expect(try client.ask("PUT", "/rooms/%C3%A9%20%25.json", [], #"{"n":1}"#).status == 200)
        #expect(try client.ask("PUT", "/rooms/%C3%A9%20%25/n.json", [], "2").status == 200)
        try await eventually("two events") { receiver.posts.count == 2 }
        let posts = receiver.posts
        let body = try #require(try JSONValue(parsing: posts[1].body).object)
        #expect(posts[1].contentType == "application/cloudevents+json; charset=utf-8")
        #expect(body["specversion"]?.text == "1.0")
        #expect(body["type"]?.text == "google.firebase.database.ref.v1.written")
        #expect(body["ref"]?.text == "rooms/é %")
        #expect(body["subject"]?.text == "refs/rooms/é %")
        #expect(body["instance"]?.text == "default")
        #expect(body["firebasedatabasehost"]?.text == "firebaseio.com")
        let source = "//firebasedatabase.googleapis.com/projects/_/locations/us-central1/instances/default"
        #expect(body["source"]?.text == source)
        #expect(body["location"]?.text == "us-central1")
        #expect(body["authtype"]?.text == "unauthenticated")
        #expect(body["id"]?.text == posts[1].id)
        #expect(posts[1].text.hasSuffix(#""data":{"n":1},"delta":{"n":2}}}"#), "\(posts[1].text)")
        for post in posts {
            let signed = Array("\(post.id).\(post.timestamp).".utf8) + post.body
            let signatures = [new, old].map { secret in
                let code = Base64.standard.encode(Cryptography.hmacSHA256(signed, key: secret))
                return "v1," + String(decoding: code, as: UTF8.self)
            }
            #expect(post.signature == signatures.joined(separator: " "))
        }
        #expect(Set(posts.map(\.id)).count == 2)
    }

    @Test("are not made by writes of administrators that ask for none (disableTriggers)")
    func disabled() async throws {
        let receiver = try EventReceiver()
        let server = try RealtimeTestServer(Self.configure)
        let client = try server.connectREST()
        let trigger = #"{"name":"t","on":"written","url":"\#(receiver.url)"}"#
        _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(trigger))
        let quiet = "?disableTriggers=true"
        #expect(try client.ask("PUT", "/rooms/a.json" + quiet, RESTClient.owner, "1").status == 200)
        #expect(try client.ask("PATCH", "/rooms.json" + quiet, RESTClient.owner, #"{"a":2,"b":1}"#).status == 200)
        #expect(try client.ask("POST", "/rooms.json" + quiet, RESTClient.owner, "1").status == 200)
        #expect(try client.ask("DELETE", "/rooms.json" + quiet, RESTClient.owner).status == 200)
        let refused = try client.ask("PUT", "/rooms/a.json" + quiet, [], "3")
        #expect(refused.status == 403)
        #expect(refused.text.contains("disableTriggers is for administrators"))
        // Reads have no triggers, so anybody may say that.
        #expect(try client.ask("GET", "/rooms/a.json" + quiet).text == "null")
        #expect(try client.ask("PUT", "/rooms/c.json?disableTriggers=false", [], "5").status == 200)
        try await eventually("one event, and none that waits") {
            let metrics = try client.ask("GET", "/metrics", RESTClient.owner).text
            return [("delivered_total", 1), ("waiting", 0)].allSatisfy { name, count in
                metrics.contains("hearth_trigger_events_\(name){database=\"default\",trigger=\"t\"} \(count)\n")
            }
        }
        #expect(receiver.posts.map { Self.field("ref", $0) } == ["rooms/c"])
    }

    @Test("are delivered though large ones at another place are refused, and those as well once they are taken")
    func refusedPlace() async throws {
        let takesAll = Mutex(false)
        let receiver = try EventReceiver { post in
            let isTaken = Self.field("ref", post) == "rooms/good" || takesAll.withLock { $0 }
            return isTaken ? 200 : 500
        }
        let server = try RealtimeTestServer(Self.configure)
        let client = try server.connectREST()
        let trigger = #"{"name":"t","on":"written","url":"\#(receiver.url)"}"#
        _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(trigger))
        // More than all events of a trigger that are in memory as a whole.
        let large = String(repeating: "x", count: 1_000_000)
        for number in 1...20 {
            #expect(try client.ask("PUT", "/rooms/bad.json", [], #"{"n":\#(number),"x":"\#(large)"}"#).status == 200)
        }
        for number in 1...3 { #expect(try client.ask("PUT", "/rooms/good.json", [], "\(number)").status == 200) }
        func posts(_ place: String) -> [EventReceiver.Post] {
            receiver.posts.filter { Self.field("ref", $0) == "rooms/\(place)" }
        }
        try await eventually("the events of the other place") { posts("good").count == 3 }
        #expect(posts("good").map(Self.delta) == [1, 2, 3])
        #expect(Set(posts("bad").map(\.id)).count == 1, "those after it wait")
        takesAll.withLock { $0 = true }
        try await eventually("all events") { Set(posts("bad").map(\.id)).count == 20 }
        var numbers: [Int64] = []
        for post in posts("bad") {
            let data = try JSONValue(parsing: post.body).object?["data"]?.object
            let number = try #require(data?["delta"]?.object?["n"]?.integer)
            if numbers.last != number { numbers.append(number) }
        }
        #expect(numbers == Array(1...20))
    }

    @Test("in binary mode have the attributes as headers")
    func binary() async throws {
        let receiver = try EventReceiver()
        let server = try RealtimeTestServer(Self.configure)
        let client = try server.connectREST()
        let trigger = #"{"name":"t","on":"created","url":"\#(receiver.url)","binary":true}"#
        _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(trigger))
        _ = try client.ask("PUT", "/rooms/a%20b.json", RESTClient.owner, "1")
        try await eventually("an event") { receiver.posts.count == 1 }
        let post = receiver.posts[0]
        #expect(post.ref == "rooms/a%20b")
        #expect(post.contentType == "application/json")
        #expect(post.signature.isEmpty)
        #expect(post.text.hasSuffix(#""data":null,"delta":1}"#))
    }

    /// The receiver refuses, hangs, and is away at times; the server stops and starts.
    @Test(
        "miss nothing and keep the order of each place, whatever the receiver does", arguments: 0..<3 as Range<UInt64>)
    func failures(seed: UInt64) async throws {
        let random = Mutex(SeededRandom(seed: seed))
        func number(_ range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
        let taken = Mutex<[String: [Int64]]>([:])
        let isHealthy = Mutex(false)
        let receiver = try EventReceiver { post in
            let outcome = isHealthy.withLock { $0 } ? 0 : random.withLock { Int.random(in: 0..<8, using: &$0) }
            let status: Int? =
                switch outcome {
                case 0...4: 200
                case 5: 500
                case 6: 302
                default: nil
                }
            // Events that it receives but does not answer come again.
            guard status == 200 || outcome == 7, let value = Self.delta(post), let ref = Self.field("ref", post) else {
                return status
            }
            taken.withLock { if $0[ref]?.last != value { $0[ref, default: []].append(value) } }
            return status
        }
        let folder = TemporaryFolder()
        let configure: (inout ServerConfiguration) -> Void = {
            Self.configure(&$0)
            $0.dataFolder = folder.path + "/data"
            $0.triggers.timeout = .milliseconds(200)
        }
        let trigger = #"{"name":"t","on":"written","url":"\#(receiver.url)","concurrency":4}"#
        var written: [String: [Int64]] = [:]
        for round in 0..<4 {
            let server = try RealtimeTestServer(configure)
            let client = try server.connectREST()
            if round == 0 { _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(trigger)) }
            for step in 0..<60 {
                let (place, value) = ("rooms/r\(number(0..<5))", Int64(round * 1000 + step + 1))
                #expect(try client.ask("PUT", "/\(place).json", [], "\(value)").status == 200)
                written[place, default: []].append(value)
                if number(0..<30) == 0 { try receiver.restart() }
            }
            if round == 2 { receiver.stop() }
        }
        try receiver.restart()
        isHealthy.withLock { $0 = true }
        do {
            // The receiver answers everything now, but on a busy machine not within so short a time.
            let server = try RealtimeTestServer {
                configure(&$0)
                $0.triggers.timeout = Patience.limit
            }
            let expected = written
            try await eventually("all events, seed \(seed)") {
                taken.withLock { taken in expected.allSatisfy { taken[$0]?.last == $1.last } }
            }
            withExtendedLifetime(server) {}
        }
        taken.withLock { taken in
            for (place, values) in written {
                // An event that was taken more than once may come again before the next one, and never after it.
                #expect(taken[place] == values, "seed \(seed) \(place)")
            }
        }
    }

    @Test("a receiver that is down slows no other trigger")
    func isolation() async throws {
        let hanging = try EventReceiver { _ in nil }
        let receiver = try EventReceiver()
        let server = try RealtimeTestServer {
            Self.configure(&$0)
        }
        let client = try server.connectREST()
        let triggers = """
            [{"name":"a","on":"created","url":"\(hanging.url)"},{"name":"b","on":"created","url":"\(receiver.url)"}]
            """
        _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings(triggers))
        for number in 0..<100 { _ = try client.ask("PUT", "/rooms/\(number).json", [], "1") }
        try await eventually("all events") { receiver.posts.count == 100 }
        #expect(hanging.posts.count <= 8)
    }

    @Test("events that fail for too long are listed, sent again and dropped by administrators")
    func administration() async throws {
        let isBroken = Mutex(true)
        let receiver = try EventReceiver { _ in isBroken.withLock { $0 } ? 500 : 200 }
        let server = try RealtimeTestServer(Self.configure)
        let rest = try server.connectREST()
        let trigger = #"{"name":"t","on":"created","url":"\#(receiver.url)","retry":"0s"}"#
        _ = try rest.ask("PUT", Self.target + "?ns=example", RESTClient.owner, Self.settings(trigger))
        for room in ["a", "b", "c"] { _ = try rest.ask("PUT", "/rooms/\(room).json?ns=example", [], "1") }
        let peer = try server.connect()
        _ = try peer.receiveMessage()
        try peer.send(1, "auth", #"{"cred":"owner"}"#)
        _ = try peer.receiveMessage()
        var number = 1
        func ask(_ body: String) throws -> JSONObject {
            number += 1
            try peer.send(number, "admin", body)
            let text = try #require(try peer.receiveMessage())
            let answer = try JSONValue(parsing: Array(text.utf8)).object?["d"]?.object?["b"]?.object
            return try #require(answer?["d"]?.object, "\(text)")
        }
        func list() throws -> (aside: [JSONObject], trigger: JSONObject) {
            let answer = try ask(#"{"c":"triggers","do":"list"}"#)
            return (
                answer["events"]?.array?.compactMap(\.object) ?? [],
                try #require(answer["triggers"]?.array?.first?.object)
            )
        }
        try await eventually("three events that are set aside") { try list().aside.count == 3 }
        let (aside, figures) = try list()
        #expect(Set(aside.map { $0["path"]?.text }) == ["/rooms/a", "/rooms/b", "/rooms/c"])
        #expect(aside.allSatisfy { $0["failure"]?.text == "HTTP status 500" })
        #expect(figures["aside"]?.integer == 3)
        #expect(figures["failures"]?.integer == 3)
        let metrics = try rest.ask("GET", "/metrics", RESTClient.owner).text
        #expect(metrics.contains(#"hearth_trigger_events_set_aside_total{database="example",trigger="t"} 3"#))
        for wish in ["list", "replay", "drop"] {
            for name in ["", "a/b", String(repeating: "n", count: 300)] {
                number += 1
                try peer.send(number, "admin", #"{"c":"triggers","do":"\#(wish)","name":"\#(name)"}"#)
                #expect(try peer.receiveMessage()?.contains(#""s":"invalid_argument""#) == true)
            }
        }
        for wish in ["replay", "drop"] {
            number += 1
            try peer.send(number, "admin", #"{"c":"triggers","do":"\#(wish)","name":"nope"}"#)
            #expect(try peer.receiveMessage()?.contains("there is no trigger 'nope'") == true)
        }
        let id = try #require(aside.first { $0["path"]?.text == "/rooms/b" }?["id"]?.text)
        #expect(try ask(#"{"c":"triggers","do":"drop","name":"t","id":"\#(id)"}"#)["count"]?.integer == 1)
        try await eventually("two that are left") { try list().aside.count == 2 }
        isBroken.withLock { $0 = false }
        let before = receiver.posts.count
        #expect(try ask(#"{"c":"triggers","do":"replay","name":"t"}"#)["count"]?.integer == 2)
        try await eventually("both events") { receiver.posts.count == before + 2 }
        try await eventually("nothing that is left") { try list().aside.isEmpty }
        #expect(Set(receiver.posts.suffix(2).map(\.id)).isDisjoint(with: [id]))
    }

    @Test(
        "are set aside at once when the receiver is gone (410), or they are too large for it (413)",
        arguments: [410, 413])
    func gone(status: Int) async throws {
        let receiver = try EventReceiver { _ in status }
        let server = try RealtimeTestServer(Self.configure)
        let client = try Self.beginEvent(of: server, #"{"name":"t","on":"created","url":"\#(receiver.url)"}"#)
        try await eventually("an event that is set aside") {
            let metrics = try client.ask("GET", "/metrics", RESTClient.owner).text
            return metrics.contains(#"hearth_trigger_events_set_aside_total{database="default",trigger="t"} 1"#)
        }
        #expect(receiver.posts.count == 1)
    }

    @Test("are tried again no earlier than the receiver asks for (Retry-After)")
    func retryAfter() async throws {
        let times = Mutex<[MonotonicTime]>([])
        let receiver = try EventReceiver(fields: "Retry-After: 1\r\n") { _ in
            times.withLock { times in
                times.append(.current)
                return times.count == 1 ? 503 : 200
            }
        }
        let server = try RealtimeTestServer(Self.configure)
        _ = try Self.beginEvent(of: server, #"{"name":"t","on":"created","url":"\#(receiver.url)"}"#)
        try await eventually("a second attempt") { receiver.posts.count == 2 }
        // The pause without it is 5 ms.
        let attempts = times.withLock { $0 }
        #expect(attempts[1] - attempts[0] >= .seconds(1))
    }

    @Test("start programs that fail again, and none where programs are not allowed")
    func failingCommands() async throws {
        let folder = TemporaryFolder()
        let script = folder.path + "/fail"
        TemporaryFolder.write(
            Array("#!/bin/sh\ncat >/dev/null\necho $HEARTH_EVENT_REF >>\(folder.path)/refs\nexit 3\n".utf8), to: script)
        chmod(script, 0o700)
        for isAllowed in [false, true] {
            let server = try RealtimeTestServer {
                Self.configure(&$0)
                if isAllowed { $0.triggers.commandFolder = folder.path }
            }
            let client = try Self.beginEvent(of: server, #"{"name":"t","on":"created","command":"fail"}"#)
            try await eventually("two attempts") {
                let metrics = try client.ask("GET", "/metrics", RESTClient.owner).text
                let name = #"hearth_trigger_attempts_failed_total{database="default",trigger="t"} "#
                guard let found = metrics.firstRange(of: name) else { return false }
                return Int(metrics[found.upperBound...].prefix { $0.isNumber }) ?? 0 >= 2
            }
            let refs = String(decoding: TemporaryFolder.contents(of: folder.path + "/refs"), as: UTF8.self)
            if isAllowed { #expect(refs.hasPrefix("rooms/a\nrooms/a\n")) } else { #expect(refs.isEmpty) }
        }
    }

    @Test("start programs of the folder that is named, which find the event at their input")
    func commands() async throws {
        let folder = TemporaryFolder()
        let script = folder.path + "/keep"
        TemporaryFolder.write(
            Array("#!/bin/sh\ncat > \(folder.path)/$HEARTH_TRIGGER-$HEARTH_EVENT_ID\n".utf8), to: script)
        chmod(script, 0o700)
        let server = try RealtimeTestServer {
            Self.configure(&$0)
            $0.triggers.commandFolder = folder.path
        }
        _ = try Self.beginEvent(of: server, #"{"name":"t","on":"created","command":"keep"}"#)
        func found() -> String? {
            guard let entries = opendir(folder.path) else { return nil }
            defer { closedir(entries) }
            while let entry = readdir(entries) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name.hasPrefix("t-") {
                    let text = String(decoding: TemporaryFolder.contents(of: folder.path + "/" + name), as: UTF8.self)
                    return text.hasSuffix("}}") ? text : nil
                }
            }
            return nil
        }
        try await eventually("the file of the program") { found() != nil }
        #expect(found()?.contains(#""ref":"rooms/a""#) == true)
        #expect(found()?.contains(#""delta":5"#) == true)
    }

    @Test("go to no address that is not public, unless its network is named")
    func networks() async throws {
        let receiver = try EventReceiver()
        let server = try RealtimeTestServer {
            Self.configure(&$0)
            $0.triggers.networks = NetworkList("192.0.2.0/24")!
        }
        let client = try server.connectREST()
        let urls = [
            receiver.url, "http://localhost:\(receiver.port)/", "http://[::ffff:127.0.0.1]:\(receiver.port)/",
            "https://127.0.0.1:\(receiver.port)/", "https://169.254.169.254/", "https://10.0.0.1/",
        ]
        let triggers = urls.enumerated().map { #"{"name":"t\#($0)","on":"created","url":"\#($1)","retry":"0s"}"# }
        _ = try client.ask("PUT", Self.target, RESTClient.owner, Self.settings("[\(triggers.joined(separator: ","))]"))
        _ = try client.ask("PUT", "/rooms/a.json", [], "5")
        try await eventually("all that are given up") {
            let metrics = try client.ask("GET", "/metrics", RESTClient.owner).text
            return urls.indices.allSatisfy { number in
                metrics.contains(#"hearth_trigger_events_set_aside_total{database="default",trigger="t\#(number)"} 1"#)
            }
        }
        #expect(receiver.posts.isEmpty)
    }

    @Test(
        "public addresses are told from others",
        arguments: [
            ("8.8.8.8", true), ("93.184.215.14", true), ("2606:4700::1", true), ("10.1.2.3", false),
            ("127.0.0.1", false),
            ("100.64.0.1", false), ("169.254.169.254", false), ("172.31.255.255", false), ("172.32.0.1", true),
            ("192.168.1.1", false), ("0.0.0.0", false), ("224.0.0.1", false), ("255.255.255.255", false),
            ("::1", false),
            ("::", false), ("fe80::1", false), ("fd00::1", false), ("::ffff:8.8.8.8", true), ("::ffff:10.0.0.1", false),
            ("64:ff9b::a00:1", false), ("2002:a00:1::1", false), ("2001:db8::1", false), ("2001::1", false),
        ])
    func addresses(text: String, isPublic: Bool) throws {
        let address = try #require(SocketAddress(numeric: text, port: 443))
        #expect(TriggerConfiguration().admits(address, isSecure: true) == isPublic)
        #expect(!TriggerConfiguration().admits(address, isSecure: false))
    }
}
