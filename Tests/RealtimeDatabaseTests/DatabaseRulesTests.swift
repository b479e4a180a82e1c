import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import Testing
import HearthStorageErrors

@testable import HearthRealtimeDatabase

@Suite("a database with rules")
struct DatabaseRulesTests {
    private static let reader = DatabaseBench.reader

    /// Rooms that their members may read, and write into under their own name; what is written there has a text.
    private static let rules = """
        {"rules": {
          "rooms": {"$room": {
            ".read": "data.child('members').child(auth.uid).exists()",
            "$message": {
              ".write": "newData.child('by').val() === auth.uid",
              ".validate": "newData.child('text').isString()",
            },
          }},
          "counter": {".read": true, ".write": true, ".validate": "newData.isNumber() && newData.val() >= 0"},
          "private": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}},
        }}
        """

    private static func user(_ uid: String) throws -> Principal {
        try Principal(auth: Array(#"{"uid":"\#(uid)"}"#.utf8))
    }

    private static func bench(_ tree: CanonicalJSON = .null, explains: Bool = false) throws -> DatabaseBench {
        var bench = DatabaseBench()
        bench.process(.set(.root, tree), as: .administrator)
        _ = bench.commit()
        bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)), explains: explains, now: 0)
        return bench
    }

    @Test("lets through what they allow, and nothing else, and tells nobody of what it refused")
    func writing() throws {
        var bench = try Self.bench()
        bench.process(.listen("", known: []), by: Self.reader, as: .administrator)
        let a = try Self.user("a")
        bench.process(.set("rooms/r/m", #"{"by":"a","text":"hi"}"#), as: a)
        bench.process(.set("rooms/r/n", #"{"by":"b","text":"hi"}"#), as: a)
        bench.process(.set("rooms/r/o", #"{"by":"a","text":1}"#), as: a)
        bench.process(.set("rooms/r/p", #"{"by":"a","text":"hi"}"#))
        let answers = bench.commit()
        #expect(
            answers.filter { !$0.hasPrefix("initial") && !$0.hasPrefix("join") } == [
                "2 listening", "push rooms/r/m {\"by\":\"a\",\"text\":\"hi\"} to 1", "3 done", "4 Permission denied",
                "5 Permission denied", "6 Permission denied",
            ])
        #expect(try bench.database.rows.read("rooms/r") == #"{"m":{"by":"a","text":"hi"}}"#)
        #expect(bench.database.takeDenials().map(\.isWrite) == [true, true, true])
    }

    @Test("judges an update as a whole")
    func updating() throws {
        var bench = try Self.bench()
        let a = try Self.user("a")
        let good = try WriteTarget(parsing: "private/a/x")
        let bad = try WriteTarget(parsing: "private/b/x")
        let one = IncomingValue(json: "1")
        bench.process(.update(base: .root, [(good, one), (bad, one)]), as: a)
        bench.process(.update(base: .root, [(good, one)]), as: a)
        #expect(bench.commit() == ["2 Permission denied", "3 done"])
        #expect(try bench.database.rows.read("private") == #"{"a":{"x":1}}"#)
    }

    @Test("sees server values as they are stored")
    func serverValues() throws {
        var bench = try Self.bench(#"{"counter":1}"#)
        let decrement = IncomingValue(json: #"{".sv":{"increment":-1}}"#, hasServerValues: true)
        let counter = WriteTarget(path: "counter")
        bench.process(.set(counter, decrement), .set(counter, decrement))
        #expect(bench.commit() == ["2 done", "3 Permission denied"])
        #expect(try bench.database.rows.read("counter") == "0")
    }

    @Test("does not tell strangers what is there")
    func reading() throws {
        var bench = try Self.bench(#"{"private":{"a":{"x":1}}}"#)
        let query = try Query(index: .key, limit: QueryLimit(.first, 1))
        bench.process(
            .get("private/a"), .get("private"), .get("private/a", query: query), .listen("private/a", known: nil),
            .listenQuery("private/a", query, .tagged(1)), as: try Self.user("b"))
        #expect(bench.commit() == (2...6).map { "\($0) Permission denied" })
        bench.process(.get("private/a"), as: try Self.user("a"))
        #expect(bench.commit() == [#"7 {"x":1}"#])
        // A precondition over HTTP would answer with the value that is there.
        let http = ConnectionID(loop: 0, kind: .http, serial: 9)
        bench.process(.set("counter", "2", expecting: Array("x".utf8)), by: http, as: try Self.user("b"))
        #expect(bench.commit() == ["8 stale(null)"])
    }

    @Test("tells strangers nothing by preconditions, priorities and missing indexes")
    func oracles() throws {
        var bench = try Self.bench(#"{"private":{"a":{"pin":"1"}}}"#)
        let b = try Self.user("b")
        for hash in ["", String(decoding: NodeHash.hash("\"1\""), as: UTF8.self), "x"] {
            bench.process(.set("private/a/pin", "2", expecting: Array(hash.utf8)), as: b)
            #expect(bench.commit().last?.hasSuffix(" Permission denied") == true)
        }
        for path in ["private/a", "private/c"] as [Path] {
            bench.process(.setPriority(path, "1"), try .update(path, [(".priority", "1")]), as: b)
            #expect(bench.commit().allSatisfy { $0.hasSuffix(" Permission denied") })
        }
        let query = try Query(index: .value, start: QueryBound("1"))
        bench.process(.get("private/a", query: query, needsIndex: true), as: b)
        #expect(bench.commit().last?.hasSuffix(" Permission denied") == true)
        // A client that may read gets the changed value, whatever the rules decide about its old guess.
        let guess: CanonicalJSON = "-1"
        bench.process(.set("counter", guess, expecting: Array("x".utf8)), as: b)
        #expect(bench.commit().last?.hasSuffix("stale(null)") == true)
    }

    @Test("ends listeners that a commit had allowed which was lost, and tells them")
    func lostCommit() throws {
        var bench = try Self.bench(#"{"rooms":{"r":{"members":{}, "x":1}}}"#)
        bench.process(.set("rooms/r/members/a", "true"), as: .administrator)
        bench.process(.listen("rooms/r", known: nil), by: Self.reader, as: try Self.user("a"))
        let sequence = bench.database.durableSequence
        let kept = try bench.log.filter { $0.lastSequence <= sequence }.flatMap { try $0.operations() }
        try bench.database.refuse(because: .full, storeSequence: 0, replaying: kept)
        #expect(bench.takeReady().contains { $0.hasPrefix("revoke /rooms/r") || $0.hasSuffix("Permission denied") })
        #expect(bench.database.listeners.sessions.isEmpty)
    }

    @Test("ends a listener with the change that forbids it, which it does not hear of")
    func revocationByData() throws {
        let tree: CanonicalJSON = #"{"rooms":{"r":{"members":{"a":true,"b":true},"n":{"text":"old"}}}}"#
        var bench = try Self.bench(tree)
        bench.process(.listen("rooms/r", known: nil), by: Self.reader, as: try Self.user("a"))
        let query = try Query(index: .key, limit: QueryLimit(.last, 1))
        bench.process(.listenQuery("rooms/r", query, .tagged(4)), by: Self.reader, as: try Self.user("a"))
        _ = bench.commit()
        #expect(!bench.database.listeners.dependencies.isEmpty)
        bench.process(.set("rooms/r/members/b", "null"), as: .administrator)
        #expect(bench.commit().last == "4 done")
        bench.process(.set("rooms/r/members/a", "null"), as: .administrator)
        let told = bench.commit()
        #expect(told.count == 5)
        #expect(told.last == "5 done")
        #expect(told.filter { $0.hasPrefix("revoke") } == ["revoke /rooms/r of 2", "revoke /rooms/r of 2"])
        #expect(!told.contains { $0.hasPrefix("push") })
        #expect(bench.database.listeners.dependencies.isEmpty)
        #expect(bench.database.listeners.sessions.values.allSatisfy { $0.isEmpty })
        bench.process(.set("rooms/r/n/text", "\"new\""), as: .administrator)
        #expect(bench.commit() == ["6 done"])
    }

    @Test("ends listeners of a connection that becomes somebody else, and keeps those that are allowed still")
    func revocationByPrincipal() throws {
        var bench = try Self.bench()
        let a = try Self.user("a")
        bench.process(.listen("private/a", known: []), .listen("counter", known: []), by: Self.reader, as: a)
        _ = bench.commit()
        bench.process(.become(.done), by: Self.reader, as: try Self.user("b"))
        #expect(bench.commit() == ["4 done", "leave 2", "revoke /private/a of 2"])
        bench.process(.set("counter", "1"), as: a)
        #expect(bench.commit() == ["push counter 1 to 1", "5 done"])
    }

    @Test("asks before the log is read for a listener that resumes, and again when that is done")
    func resuming() throws {
        var bench = try Self.bench(#"{"rooms":{"r":{"members":{"a":true,"b":true}}}}"#)
        bench.process(.set("rooms/r/m", "1"), .set("rooms/r/m", "2"), as: .administrator)
        #expect(bench.commit().last == "3 done")
        let since = Since.position(Position(epoch: 0, sequence: 1, time: 1000))
        for (uid, mayRead) in [("a", true), ("b", true), ("c", false)] {
            let request = Request(
                connection: Self.reader, number: 1, principal: try Self.user(uid),
                operation: .listen("rooms/r", known: nil, since: since))
            #expect((bench.database.historyNeeded(for: request, now: 0) != nil) == mayRead, "\(uid)")
        }
        bench.database.keepsRecords = true
        let found = MissedChanges.Found(MissedChanges(after: 1), "rooms/r", time: 1000)
        for record in bench.log { try found.changes.take(record) }
        let listen = Operation.listen("rooms/r", known: nil, since: since, missed: found)
        bench.process(.set("rooms/r/members/b", "null"), as: .administrator)
        for uid in ["b", "c"] { bench.process(listen, by: Self.reader, as: try Self.user(uid)) }
        #expect(bench.commit() == ["4 done", "5 Permission denied", "6 Permission denied"])
        #expect(bench.database.listeners.sessions.isEmpty)
        #expect(bench.database.listeners.dependencies.isEmpty)
        // A listener that was shut out for a while gets the present value.
        bench.process(.set("rooms/r/members/b", "true"), as: .administrator)
        bench.process(listen, by: Self.reader, as: try Self.user("b"))
        #expect(
            bench.commit() == [
                "7 done", "missed rooms/r/m 2, rooms/r/members/b true", "join 2", "8 listening at 5 recovered",
            ])
        bench.process(.set("rooms/r", #"{"m":3}"#), as: .administrator)
        #expect(bench.commit() == ["leave 2", "revoke /rooms/r of 2", "9 done"])
    }

    @Test("ends listeners that new rules forbid")
    func revocationByRules() throws {
        var bench = try Self.bench()
        bench.process(.listen("counter", known: []), by: Self.reader)
        _ = bench.commit()
        bench.database.setRules(try RulesProgram(parsing: Array(#"{"rules":{}}"#.utf8)), now: 1)
        #expect(bench.takeReady() == ["leave 2", "revoke /counter of 2"])
        bench.database.setRules(nil, now: 2)
        bench.process(.get("counter"))
        #expect(bench.commit() == ["3 null"])
    }

    @Test("asks again when a connection ends, and drops what has become forbidden")
    func onDisconnect() throws {
        var bench = try Self.bench()
        func owe(_ path: String, _ value: CanonicalJSON) throws -> Operation {
            .onDisconnect([(try WriteTarget(parsing: path), IncomingValue(json: value))])
        }
        bench.process(try owe("private/a/on", "false"), try owe("private/b/on", "false"), as: try Self.user("a"))
        bench.process(try owe("counter", "7"), as: try Self.user("a"))
        #expect(bench.commit() == ["2 done", "3 Permission denied", "4 done"])
        let closed = #"{"rules":{"counter":{".write":true}}}"#
        bench.database.setRules(try RulesProgram(parsing: Array(closed.utf8)), now: 1)
        // Also by another process, which knows only the stored data of the connection.
        try bench.applyAll()
        bench.process(.disconnect, as: .nobody)
        _ = bench.commit()
        #expect(try bench.database.rows.read(.root) == #"{"counter":7}"#)
    }

    @Test("ends the listeners of a connection in one order, whatever names they have")
    func revocationOrder() throws {
        for _ in 0..<3 {
            var bench = try Self.bench(#"{"rooms":{"r":{"members":{"a":true},"n":1}}}"#)
            let query = try Query(index: .key, limit: QueryLimit(.last, 1))
            let forms = (1...20).shuffled().map { ListenerForm.events(tag: $0, .child) }
            for form in forms {
                bench.process(.listenQuery("rooms/r", query, form), by: Self.reader, as: try Self.user("a"))
            }
            bench.process(.listen("rooms/r", known: nil), by: Self.reader, as: try Self.user("a"))
            _ = bench.commit()
            let set = Operation.set("rooms/r/members/a", "null")
            var names: [String] = []
            let request = Request(
                connection: Self.reader, number: 100, principal: .administrator, operation: set, client: 0)
            let record = try #require(bench.database.process([request], now: 1000))
            bench.database.committed(through: record.lastSequence)
            for case .revoked(_, _, let listener, _) in bench.database.takeReady() { names.append("\(listener)") }
            #expect(names == ["plain"] + (1...20).map { "events(tag: \($0))" })
            #expect(bench.database.listeners.dependencies.isEmpty)
        }
    }

    @Test("says why, if it is to")
    func explaining() throws {
        var bench = try Self.bench(explains: true)
        bench.process(.set("private/a", "1"), as: try Self.user("b"))
        let why =
            #"rules:10:65: .write of /private/$uid, asked for /private/a, is false ($uid === auth.uid, $uid = "a", auth.uid = "b")"#
        #expect(bench.commit() == ["2 Permission denied (\(why))"])
        #expect(bench.database.takeDenials().first?.reason == why)
    }
}
