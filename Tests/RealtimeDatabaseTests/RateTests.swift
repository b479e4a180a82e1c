import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("Limits of rates")
struct RateTests {
    private static let ann = principal("ann")
    private static let bob = principal("bob")

    private static func principal(_ uid: String) -> Principal {
        guard let principal = try? Principal(auth: Array(#"{"uid":"\#(uid)","token":{"org":"o"}}"#.utf8)) else {
            preconditionFailure("a literal")
        }
        return principal
    }

    private static func bench(_ settings: String, rules: String? = nil) throws -> DatabaseBench {
        let bench = DatabaseBench()
        let settings = try DatabaseSettings(parsing: Array("{\"settings\":{\(settings)}}".utf8))
        let program = try rules.map { try RulesProgram(parsing: Array($0.utf8)) } ?? .open
        bench.database.setRules(program.with(settings), now: 0)
        return bench
    }

    @Test("hold for all connections of a user together, and for each user; administrators are not limited")
    func users() throws {
        var bench = try Self.bench(#""a":{".limit":{"of":"write","by":"uid","rate":"2/s"}}"#)
        bench.process(.set("a/x", "1"), as: Self.ann)
        bench.process(.set("a/y", "1"), by: DatabaseBench.reader, as: Self.ann)
        bench.process(.set("a/z", "1"), as: Self.ann)
        bench.process(.set("a/z", "2"), by: DatabaseBench.reader, as: Self.ann)
        bench.process(.set("b", "1"), as: Self.ann)
        bench.process(.set("a/z", "3"), as: Self.bob)
        for _ in 0..<5 { bench.process(.set("a/w", "1"), as: .administrator) }
        let refused = Failure.rateExceeded(retryAfter: 500, #"Too many writes at "/a": try again in 500 ms"#)
        #expect(refused.denialReason == "rate")
        #expect(refused.retryAfter == 500)
        #expect(
            bench.commit().map { $0.drop { $0 != " " } } == [
                " done", " done", " \(refused)", " \(refused)", " done", " done", " done", " done", " done", " done",
                " done",
            ])
        #expect(try bench.database.rows.read("a/z") == "3")
        // Not a millisecond too early.
        bench.process(.set("a/z", "4"), as: Self.ann, at: 1499)
        bench.process(.set("a/z", "5"), as: Self.ann, at: 1500)
        #expect(bench.commit().map { $0.hasSuffix("done") } == [false, true])
    }

    @Test("go on when a database gets files")
    func takenOver() throws {
        let settings = #""r":{".limit":{"of":"read","by":"uid","rate":"1/m"}}"#
        var (unwritten, written) = (try Self.bench(settings), try Self.bench(settings))
        unwritten.process(.get("r"), as: Self.ann)
        written.database.takeSessions(of: unwritten.database)
        written.process(.get("r"), as: Self.ann)
        written.process(.get("r"), as: Self.bob)
        written.process(.get("r"), as: Self.ann, at: 61_000)
        let isRefused = written.commit().map { $0.contains("Too many reads") }
        #expect(isRefused == [true, false, false])
    }

    @Test("tell clients without the claim apart by address")
    func addresses() throws {
        var bench = try Self.bench(
            #""a":{".limit":{"of":"write","by":"uid","rate":"1/m"}},"b":{".limit":{"of":"write","by":"address","rate":"1/m"}}"#
        )
        for client: UInt64 in [1, 1, 2] { bench.process(.set("a", "1"), from: client) }
        bench.process(.set("a", "1"), as: Self.ann, from: 1)
        bench.process(.set("b", "1"), as: Self.ann, from: 1)
        bench.process(.set("b", "1"), as: Self.bob, from: 1)
        #expect(bench.commit().map { $0.hasSuffix("done") } == [true, false, true, true, true, false])
    }

    @Test("can be per claim, per key of the path, both, or for all together")
    func subjects() throws {
        var bench = try Self.bench(
            #"""
            "rooms":{"$room":{".limit":{"of":"write","by":["uid","$room"],"rate":"1/m"}}},
            "orgs":{".limit":{"of":"write","by":"auth.token.org","rate":"1/m"}},
            "all":{".limit":{"of":"write","rate":"1/m"}}
            """#)
        let longKey = String(repeating: "k", count: 300)
        let writes: [(String, Principal, Bool)] = [
            ("rooms/a/x", Self.ann, true), ("rooms/a", Self.ann, false), ("rooms/b", Self.ann, true),
            ("rooms/a", Self.bob, true), ("orgs/x", Self.ann, true), ("orgs/x", Self.bob, false),
            ("all", .nobody, true), ("all", Self.ann, false), ("rooms/\(longKey)", Self.ann, true),
            ("rooms/\(longKey)", Self.ann, false), ("rooms/\(longKey)x", Self.ann, true),
        ]
        for (path, principal, isDone) in writes {
            bench.process(.set(try Path(parsing: path), "1"), as: principal)
            #expect(bench.commit().map { $0.hasSuffix("done") } == [isDone], "\(path)")
        }
    }

    @Test("count each path of an update and each place in a value, all or nothing, and bytes")
    func costs() throws {
        var bench = try Self.bench(
            #"""
            "m":{".limit":{"of":"write","by":"uid","rate":"3/m"}},
            "r":{"$r":{".limit":{"of":"write","by":"uid","rate":"2/m"}}},
            "b":{".limit":{"of":"bytes","by":"uid","rate":"10/m"}}
            """#)
        bench.process(try .update("m", [("m/1", "1"), ("m/2", "1")]), as: Self.ann)
        bench.process(try .update("m", [("m/3", "1"), ("m/4", "1")]), as: Self.ann)
        bench.process(try .update("", [("m/3", "1"), ("b", #""12345678""#)]), as: Self.ann)
        bench.process(try .update("m", [("m/1", "1"), ("m/2", "1"), ("m/3", "1"), ("m/4", "1")]), as: Self.bob)
        bench.process(.set("r", #"{"a":1,"b":1}"#), as: Self.ann)
        bench.process(.set("r/a", "1"), as: Self.ann)
        bench.process(.set("b", "null"), as: Self.ann)
        bench.process(.set("", #"{"b":1}"#), as: Self.ann)
        bench.process(.set("b", #""123456789""#), as: Self.bob)
        let answers = bench.commit()
        #expect(
            answers.map { $0.hasSuffix("done") } == [true, false, true, false, true, false, true, false, false])
        #expect(answers[1].contains("retryAfter: Optional(20000)"))
        #expect(answers[3].contains("retryAfter: nil"))
        #expect(answers[3].contains("More than 3 writes at once"))
        #expect(answers[7].contains("Too many bytes"))
        #expect(try bench.database.rows.read("m") == #"{"1":1,"2":1,"3":1}"#)
    }

    @Test("are not used up by what rules deny, by transactions that are stale, and by refusals")
    func refusals() throws {
        var bench = try Self.bench(
            #""a":{".limit":{"of":"write","rate":"1/m"}},"r":{".limit":{"of":"read","rate":"1/m"}}"#,
            rules: #"{"rules":{".read":"auth != null",".write":"auth != null"}}"#)
        for _ in 0..<3 { bench.process(.set("a", "1")) }
        for _ in 0..<3 { bench.process(.get("r")) }
        bench.process(.set("a", "1", expecting: Array("other".utf8)), as: Self.ann)
        bench.process(.set("a", "1"), as: Self.ann)
        bench.process(.get("r"), as: Self.ann)
        for _ in 0..<9 { bench.process(.get("r"), as: Self.bob) }
        bench.process(.get("r"), as: Self.bob, at: 61_000)
        let answers = bench.commit()
        #expect(answers[7] == "8 done")
        #expect(answers[8] == "9 null")
        #expect(answers.last == "19 null")
        #expect(answers[9].contains("Too many reads"))
    }

    @Test("are not used up by what another setting refuses")
    func otherSettings() throws {
        let limit = #"".limit":{"of":"write","by":"uid","rate":"1/m"}"#
        let cases: [(settings: String, refused: Operation, allowed: Operation)] = [
            (
                #""users":{".unique":"name","$uid":{\#(limit)}}"#, .set("users/ann/name", #""taken""#),
                .set("users/ann/name", #""free""#)
            ),
            (
                #""users":{".unique":"name",\#(limit)}"#, try .update("users", [("users/ann/name", #""taken""#)]),
                try .update("users", [("users/ann/name", #""free""#)])
            ),
            (#""users":{".maxChildren":1,\#(limit)}"#, .set("users/ann", "1"), .set("users/eve", "1")),
            (
                #"".count":{"of":"users","into":"count"},"users":{\#(limit)}"#,
                try .update("", [("users/ann", "1"), ("count", "7")]),
                try .update("", [("users/ann", "1"), ("x", "7")])
            ),
            (#""users":{".queue":{},\#(limit)}"#, .set("users/state/j", "1"), .set("users/jobs/j", "1")),
        ]
        for (settings, refused, allowed) in cases {
            var bench = try Self.bench(settings)
            bench.process(.set("users/eve", #"{"name":"taken"}"#), as: .administrator)
            while bench.database.isBuildingIndex { try bench.database.buildIndex() }
            for operation in [refused, refused, allowed, allowed] { bench.process(operation, as: Self.ann) }
            let answers = bench.commit().dropFirst()
            #expect(answers.prefix(2).allSatisfy { !$0.hasSuffix("done") }, "\(settings): \(answers)")
            #expect(
                answers.map { $0.contains("rateExceeded") } == [false, false, false, true], "\(settings): \(answers)")
            #expect(answers.contains("4 done"), "\(settings): \(answers)")
        }
    }

    @Test("are not used up by the end of a job whose writes another setting refuses")
    func jobs() throws {
        var bench = try Self.bench(
            #""q":{".queue":{}},"users":{".unique":"name",".limit":{"of":"write","by":"uid","rate":"1/m"}}"#)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        bench.process(.set("users/eve/name", #""taken""#), .set("q/jobs/j", "1"), as: .administrator)
        bench.process(.job("q", .claim(count: 1, lease: nil, wait: .none)), as: Self.ann)
        let claim = try #require(Int64(bench.database.rows.read("q/state/j/claim").description))
        _ = bench.commit()
        for name: CanonicalJSON in [#""taken""#, #""free""#] {
            let write = (WriteTarget(path: "users/ann/name"), IncomingValue(json: name))
            bench.process(.job("q", .done(try Key(validating: "j"), claim: claim, [write])), as: Self.ann)
        }
        bench.process(.set("users/ann/name", #""other""#), as: Self.ann)
        let answers = bench.commit()
        #expect(answers[0].contains("notUnique"), "\(answers)")
        #expect(answers[1] == "5 done", "\(answers)")
        #expect(answers[2].contains("rateExceeded"), "\(answers)")
    }

    @Test("count on-disconnect writes when they are registered, and not again when they are made")
    func onDisconnect() throws {
        var bench = try Self.bench(#""a":{".limit":{"of":"write","by":"uid","rate":"2/m"}}"#)
        bench.process(.set("a/x", "1"), as: Self.ann)
        bench.process(.onDisconnect([(WriteTarget(path: "a/x"), IncomingValue(json: "0"))]), as: Self.ann)
        bench.process(.set("a/y", "1"), by: DatabaseBench.reader, as: Self.ann)
        bench.process(.disconnect, as: Self.ann)
        #expect(bench.commit().map { $0.hasSuffix("done") } == [true, true, false])
        #expect(try bench.database.rows.read("a") == #"{"x":0}"#)
    }

    @Test("count reads and listeners at a place, above it and below it, and on-disconnect writes")
    func reads() throws {
        let settings = ["read", "listen", "write"].map { #"{"of":"\#($0)","by":"uid","rate":"1/m"}"# }
        let query = try Query(index: .child("x"), limit: QueryLimit(.first, 1))
        let asked: [(Operation, Operation)] = [
            (.get("a/b"), .get("")), (.get("a", query: query), .get("a/b/c", query: query)),
            (.describe("a/b", ChildrenPage(limit: 1)), .get("a")),
            (.listen("a", known: nil), .listen("a/b", known: nil)),
            (.listen("", known: nil), .listenQuery("a/b", query, .tagged(1))),
            (.listenQuery("a", query, .tagged(1)), .listenQuery("a", query, .tagged(2))),
            (
                .onDisconnect([(WriteTarget(path: "a/b"), IncomingValue(json: "1"))]),
                .onDisconnect([(WriteTarget(path: "a/b/c"), IncomingValue(json: "1"))])
            ),
        ]
        for (first, second) in asked {
            var bench = try Self.bench(#""a":{"$x":{".limit":[\#(settings.joined(separator: ","))]}}"#)
            bench.process(first, as: Self.ann)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") }, "\(first)")
            bench.process(second, as: Self.ann)
            #expect(bench.commit().last?.contains("rateExceeded") == true, "\(second)")
            bench.process(.get("b"), .listen("b", known: nil), as: Self.ann)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") })
        }
    }

    @Test("count bytes that are read: of values that are answered, and that listeners begin with")
    func bytesRead() throws {
        let value: CanonicalJSON = #"{"x":{"n":1,"text":"0123456789012345678901234567890123456789"}}"#
        let limit = #""a":{".limit":{"of":"bytesRead","by":"uid","rate":"100/m"}}"#
        let everything = try Query(index: .child("n"), limit: QueryLimit(.first, 5))
        let hash = NodeHash.hash(value)
        let reads: [(first: Operation, second: Operation)] = [
            (.get("a"), .get("a")), (.get("a", query: everything), .get("a")), (.listen("a", known: nil), .get("a")),
            (.listenQuery("a", everything, .tagged(1)), .listen("a", known: nil)),
        ]
        for (first, second) in reads {
            var bench = try Self.bench(limit)
            bench.process(.set("a", value), as: .administrator)
            // Missing or already known values have no bytes.
            bench.process(
                .get("a/y"), .get("b"), .listen("a", known: KnownData(hash: hash)), .unlisten("a"), as: Self.ann)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") }, "\(first)")
            bench.process(first, as: Self.ann)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") }, "\(first)")
            bench.process(second, as: Self.ann)
            let refusal = bench.commit()
            #expect(refusal.count == 1, "\(first): \(refusal)")
            #expect(refusal.first?.contains("Too many bytes at") == true, "\(first): \(refusal)")
            bench.process(second, as: Self.bob)
            bench.process(second, as: .administrator)
            bench.process(second, as: Self.ann, at: 61_000)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") }, "\(second)")
        }
        // Each byte takes 600 ms.
        var bench = try Self.bench(limit)
        bench.process(.set("a", value), as: .administrator)
        bench.process(.get("a"), .get("a"), as: Self.ann)
        let retry = (2 * value.bytes.count - 100) * 600
        #expect(bench.commit().last?.contains("try again in \(retry) ms") == true)
        bench.process(.get("a"), as: Self.ann, at: 999 + Int64(retry))
        bench.process(.get("a"), as: Self.ann, at: 1000 + Int64(retry))
        #expect(bench.commit().map { $0.contains("rateExceeded") } == [true, false])
        bench.process(.describe("a", ChildrenPage(limit: 5)), as: Self.bob)
        #expect(bench.commit().last?.contains("More than 100 bytes at once are never allowed") == true)
    }

    @Test("count what listeners are told of changes, which they are told whatever they have used")
    func toldBytes() throws {
        let listeners: [Operation] = [
            .listen("a", known: nil), .listen("", known: nil), .listen("a/x/text", known: nil),
            .listenQuery("a", Query(index: .key), .tagged(1)),
        ]
        let text: CanonicalJSON = #""0123456789012345678901234567890123456789""#
        for listener in listeners {
            // Each byte takes 600 ms.
            var bench = try Self.bench(#""a":{".limit":{"of":"bytesRead","by":"uid","rate":"100/m"}}"#)
            bench.process(listener, as: Self.ann)
            bench.process(.listen("b", known: nil), as: Self.bob)
            _ = bench.commit()
            for _ in 0..<2 {
                bench.process(.set("a/x/text", "null"), .set("a/x/text", text), as: .administrator)
                let told = bench.commit().filter { $0.contains("0123456789") }
                #expect(told.count == 1, "\(listener): \(told)")
            }
            bench.process(.get("a/x"), as: Self.bob)
            #expect(!bench.commit().contains { $0.contains("rateExceeded") }, "\(listener)")
            bench.process(.get("a/x"), as: Self.ann)
            #expect(bench.commit().last?.contains("Too many bytes at") == true, "\(listener)")
            // However much it was, after two bursts all is well. Pushes elsewhere are not counted.
            for step in 0..<20 {
                bench.process(
                    .set("a/x/text", step.isMultiple(of: 2) ? "1" : text), .set("b", text), as: .administrator)
            }
            bench.process(.get("a/x"), as: Self.ann, at: 121_000)
            #expect(bench.commit().last?.contains("rateExceeded") == false, "\(listener)")
            bench.process(.unlisten("a"), .unlisten(""), .unlisten("a/x/text"), as: Self.ann)
            bench.database.checkInvariants(isThorough: true)
        }
    }

    @Test("have large values that are counted be assembled, and refuse what is more than may be read at once")
    func largeBytesRead() throws {
        var bench = try Self.bench(#""a":{".limit":{"of":"bytesRead","by":"uid","rate":"3000000/s"}}"#)
        let large = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 1 << 20))
        for key in ["1", "2", "3"] {
            bench.process(.set(try Path(parsing: "a/\(key)"), large), as: .administrator)
            _ = bench.commit()
            try bench.applyAll()
        }
        bench.process(.get("a"), .get("a/1"), as: Self.ann)
        bench.process(.get("a"), as: .administrator)
        let answers = bench.commit()
        #expect(answers[0].contains("More than 3000000 bytes at once are never allowed"))
        #expect(answers[1].utf8.count > 1 << 20)
        #expect(answers[2] == "stream /a" || answers[2].hasPrefix("stream"), "\(answers[2].prefix(100))")
    }

    @Test("are kept when other settings change, and start over when they change themselves")
    func reload() throws {
        let limit = #""a":{".limit":{"of":"write","rate":"1/m"}}"#
        var bench = try Self.bench(limit)
        func reload(_ text: String) throws {
            let settings = try DatabaseSettings(parsing: Array("{\"settings\":{\(text)}}".utf8))
            bench.database.setRules(RulesProgram.open.with(settings), now: 0)
        }
        bench.process(.set("a", "1"))
        try reload(limit + #","b":{".unique":"x"}"#)
        bench.process(.set("a", "2"))
        try reload(#""a":{".limit":{"of":"write","rate":"2/m"}}"#)
        bench.process(.set("a", "3"))
        #expect(bench.commit().map { $0.hasSuffix("done") } == [true, false, true])
    }
}
