import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeText
import Testing
import HearthStorageErrors
import HearthRealtimeDatabase

@Suite("a database")
struct DatabaseTests {
    private static let reader = DatabaseBench.reader

    private typealias Bench = DatabaseBench

    @Test("pushes come before the reply, and neither before the log has the write")
    func order() {
        var bench = Bench()
        bench.process(.listen("a", known: nil), by: Self.reader)
        #expect(bench.takeReady() == ["initial /a null to 2", "join 2", "1 listening"])
        bench.process(.set("a/b", "1"), .get("a"), .listen("a/b", known: nil))
        bench.process(.get("a/b"), .relay(.failed(.refused(status: StaticText("no"), "no"))))
        #expect(bench.takeReady().isEmpty)
        #expect(
            bench.commit() == [
                "push a/b 1 to 1", "2 done", #"3 {"b":1}"#, "initial /a/b 1 to 0", "join 0", "4 listening", "5 1",
                "6 \(Failure.refused(status: StaticText("no"), "no"))",
            ])
    }

    @Test("a turn is told as a whole, and turns in their order")
    func turnsAreWhole() {
        var bench = Bench()
        bench.process(.set("a", "1"), .set("b", "2"))
        bench.process(.set("c", "3"))
        bench.database.committed(through: 1)
        #expect(bench.takeReady().isEmpty)
        bench.database.committed(through: 2)
        #expect(bench.takeReady() == ["1 done", "2 done"])
        #expect(bench.commit() == ["3 done"])
    }

    @Test("a listener that holds the current data is not sent it")
    func hashes() {
        var bench = Bench()
        bench.process(.listen("a", known: []), .set("a", "5"))
        bench.process(
            .listen("a", known: KnownData(hash: NodeHash.hash("5"))),
            .listen("a", known: KnownData(hash: NodeHash.hash("6"))), by: Self.reader)
        #expect(
            bench.commit() == [
                "join 0", "1 listening", "push a 5 to 1", "2 done", "join 2", "3 listening", "initial /a 5 to 2",
                "4 listening",
            ])
    }

    @Test("what a client says it has is not believed where data for an ended listener may be on its way to it")
    func staleHashes() throws {
        var bench = Bench()
        bench.process(.listen("a/b", known: []), by: Self.reader)
        // Sent, but the client has not seen it when it ends the listener and begins another one.
        bench.process(.set("a/b/c", "1"))
        bench.process(.unlisten("a/b"), by: Self.reader)
        bench.process(.set("a/b", "null"))
        bench.process(.listen("a/b", known: []), by: Self.reader)
        #expect(
            bench.commit() == [
                "join 2", "1 listening", "push a/b/c 1 to 1", "2 done", "leave 2", "3 done", "4 done",
                "initial /a/b null to 2", "join 2", "5 listening",
            ])
        // It has been told, and data next to the place was never in doubt.
        bench.process(.listen("a/b", known: []), .listen("a/d", known: []), by: Self.reader)
        #expect(bench.commit() == ["6 listening", "join 2", "7 listening"])
        // Above, below, and to a query there; not on another connection.
        bench.process(.unlisten("a/b"), .listen("", known: []), .unlisten(""), by: Self.reader)
        _ = bench.commit()
        bench.process(.listen("a/b/c", known: []), by: Self.reader)
        #expect(bench.commit() == ["initial /a/b/c null to 2", "join 2", "11 listening"])
        let query = try Query(index: .key, limit: QueryLimit(.last, 1))
        bench.process(.listenQuery("a", query, .tagged(1), known: []), by: Self.reader)
        #expect(bench.commit() == ["initial tagged(1) a null", "join 2", "12 listening"])
        bench.process(
            .listenQuery("a", query, .tagged(1), known: []), .listen("a", known: []), by: DatabaseBench.writer)
        #expect(bench.commit() == ["join 0", "13 listening", "join 0", "14 listening"])
    }

    @Test("nor is a position believed there")
    func stalePositions() throws {
        var bench = Bench()
        bench.database.keepsRecords = true
        func since(_ sequence: UInt64) -> Since { .position(Position(epoch: 0, sequence: sequence, time: 1000)) }
        bench.process(.set("a/b/c", "1"), .set("a/b/c", "2"))
        bench.process(.listen("a/b", known: [], since: .nothing), by: Self.reader)
        bench.process(.set("a/b/d", "3"))
        _ = bench.commit()
        // A push of the third change on its way to a client that has the first would hide the second from it.
        bench.process(.unlisten("a/b"), .listen("a/b/c", known: [], since: since(1)), by: Self.reader)
        #expect(
            bench.commit() == ["leave 2", "5 done", "initial /a/b/c 2 to 2", "join 2", "6 listening at 3 anew"])
        bench.process(
            .listen("a/b", known: [], since: since(1)), .listen("a/x", known: [], since: since(1)), by: Self.reader)
        #expect(
            bench.commit() == [
                #"initial /a/b {"c":2,"d":3} to 2"#, "leave 2", "join 2", "7 listening at 3 anew", "missed nothing",
                "join 2", "8 listening at 3 recovered",
            ])
        // It has been told.
        bench.process(.listen("a/b", known: [], since: since(3)), by: Self.reader)
        #expect(bench.commit() == ["missed nothing", "9 listening at 3 recovered"])
    }

    @Test("positions outlive a failure of the log, whatever the store has", arguments: [0, 1, 2] as [UInt64])
    func positionsAfterAFailure(stored: UInt64) throws {
        var bench = Bench()
        for time in [5, 6] as [Int64] {
            bench.process(.set("a", CanonicalJSON(integer: time)), at: time)
            _ = bench.commit()
            if bench.database.sequence <= stored { try bench.applyAll() }
        }
        let kept = bench.log
        // It does not happen.
        bench.process(.set("a", "7"), at: 7)
        try bench.database.refuse(
            because: .full, storeSequence: stored,
            replaying: kept.flatMap { try $0.operations() }.filter { $0.sequence > stored })
        _ = bench.takeReady()
        let cases: [(UInt64, Int64, Bool)] = [(2, 6, true), (2, 7, false), (3, 7, false), (1, 6, false)]
        for (sequence, time, isKnown) in cases {
            let since = Since.position(Position(epoch: 0, sequence: sequence, time: time))
            let reader = ConnectionID(loop: 0, kind: .realtime, serial: 10 * sequence + UInt64(time))
            bench.process(.listen("a", known: nil, since: since), by: reader)
            let last = try #require(bench.commit().last)
            #expect(last.hasSuffix(isKnown ? "at 2 recovered" : "at 2 anew"), "\(sequence) \(time): \(last)")
        }
    }

    @Test("a listener that waits for its turn resumes, although the log gets what it missed in the meantime")
    func waitingListener() throws {
        var bench = Bench()
        bench.process(.set("a", "1"))
        let listen = Operation.listen("a", known: nil, since: .position(Position(epoch: 0, sequence: 0, time: 1000)))
        let request = Request(connection: Self.reader, number: 2, principal: .nobody, operation: listen)
        #expect(bench.database.historyNeeded(for: request, now: 0) == nil)
        #expect(bench.commit() == ["1 done"])
        bench.process(listen, by: Self.reader)
        #expect(bench.commit() == ["missed a 1", "join 2", "2 listening at 1 recovered"])
    }

    @Test("a listener that asks for positions and starts over is sent what differs")
    func knownData() throws {
        var bench = Bench()
        bench.process(.set("a", "1"))
        let (same, other) = (KnownData(hash: NodeHash.hash("1")), KnownData(hash: NodeHash.hash("2")))
        let elsewhere = Since.position(Position(epoch: 1, sequence: 1, time: 1000))
        bench.process(.listen("a", known: same, since: elsewhere), .listen("a", known: other, since: elsewhere))
        #expect(
            bench.commit() == [
                "1 done", "join 0", "2 listening at 1 anew", "initial /a 1 to 0", "3 listening at 1 anew",
            ])
    }

    @Test("what a client says it has of a query is not believed under a tag that it used before")
    func staleTags() throws {
        var bench = Bench()
        let (first, last) = (
            try Query(index: .key, limit: QueryLimit(.first, 1)), try Query(index: .key, limit: QueryLimit(.last, 1))
        )
        bench.process(.listenQuery("a", first, .tagged(1), known: []), by: Self.reader)
        bench.process(.set("a/b", "1"))
        bench.process(.unlistenQuery(.tagged(1)), by: Self.reader)
        bench.process(.set("a", "null"))
        bench.process(.listenQuery("a", first, .tagged(1), known: []), by: Self.reader)
        #expect(
            bench.commit() == [
                "join 2", "1 listening", "push tagged(1) a/b 1", "2 done", "leave 2", "3 done", "4 done",
                "initial tagged(1) a null", "join 2", "5 listening",
            ])
        bench.process(
            .listenQuery("a", first, .tagged(1), known: []), .listenQuery("a", last, .tagged(1), known: []),
            .listenQuery("a", last, .tagged(2), known: []), by: Self.reader)
        #expect(
            bench.commit() == [
                "initial tagged(1) a null", "6 listening", "initial tagged(1) a null", "leave 2", "join 2",
                "7 listening", "join 2", "8 listening",
            ])
    }

    @Test("a client that tells the hashes of parts is sent the parts that differ, if they can be merged")
    func parts() throws {
        let (old, posts) = (CanonicalJSON(#"{"a":1,"b":2,"c":3}"#), ["a", "b", "c"] as [Path])
        func known(_ hash: [UInt8] = Array("other".utf8)) -> KnownData {
            KnownData(hash: hash, parts: .init(hashes: CompoundHash.hashes(of: old, posts: posts), posts: posts))
        }
        var bench = Bench()
        bench.process(.set("p", #"{"a":1,"b":{"x":true},"d":4}"#))
        _ = bench.commit()
        bench.process(.listen("p", known: known()), by: Self.reader)
        let ranges = #"parts /p ["/a"…"/b" null, "/b"…"/c" {"b":{"x":true}}, "/c"… {"d":4}]"#
        #expect(bench.commit() == [ranges, "join 2", "2 listening"])
        bench.process(.listenQuery("p", .everything, .tagged(3), known: known()), by: Self.reader)
        #expect(bench.commit() == [ranges + " tag 3", "join 2", "3 listening"])
        // No part differs: the hash knows more. Priorities cannot be merged.
        bench.process(.set("p", old), .listen("p", known: known()), by: Self.reader)
        #expect(
            bench.commit() == [
                "push p \(old) to 1", "push tagged(3) p \(old)", "4 done", "initial /p \(old) to 2",
                "5 listening",
            ])
        bench.process(.setPriority("p/a", "1"), .listen("p", known: known()), by: DatabaseBench.writer)
        #expect(bench.commit().contains(#"initial /p {"a":{".priority":1,".value":1},"b":2,"c":3} to 0"#))
    }

    @Test("a transaction goes through only if its hash is that of the current value")
    func transactions() {
        var bench = Bench()
        let one = NodeHash.hash("1")
        bench.process(
            .set("n", "1", expecting: one), .set("n", "1", expecting: []), .set("n", "2", expecting: []),
            .set("n", "2", expecting: one), .get("n"))
        #expect(bench.commit() == ["1 stale(null)", "2 done", "3 stale(1)", "4 done", "5 2"])
    }

    @Test("of clients at other nodes, only those of REST are sent the value that a transaction has missed")
    func transactionsOfOthers() {
        for (kind, value) in [(ConnectionID.Kind.realtime, "null"), (.http, "1")] {
            var bench = Bench()
            bench.process(.set("n", "1"))
            _ = bench.commit()
            bench.process(.set("n", "2", expecting: []), by: ConnectionID(forwarded: kind, link: 0, serial: 1))
            #expect(bench.commit() == ["2 stale(\(value))"])
        }
    }

    @Test("an update happens as a whole or not at all, and listeners get it as one")
    func updates() throws {
        var bench = Bench()
        bench.process(.listen("", known: []), by: Self.reader)
        bench.process(
            try .update("a", [("a/b", "1"), ("a/c/d", "2")]),
            try .update("a", [("a/b", "null"), ("a/x/.priority", "1"), ("a/c", "9")]),
            try .update("a", []), .get("a"))
        #expect(
            bench.commit() == [
                "join 2", "1 listening", "push /a a/b 1, a/c/d 2 to 1", "2 done", "3 nothingThere", "4 done",
                #"5 {"b":1,"c":{"d":2}}"#,
            ])
    }

    @Test("an update may give a priority to what it makes, in any order, or take it from what it removes")
    func prioritiesInUpdates() throws {
        var bench = Bench()
        bench.process(
            try .update("", [("a/.priority", "1"), ("a/b", "2"), ("c/.priority", "3"), ("c", "4")]), .get(""),
            try .update("", [("a/.priority", "5"), ("a/b", "null"), ("none/.priority", "null")]), .get(""))
        #expect(
            bench.commit() == [
                "1 done", #"2 {"a":{".priority":1,"b":2},"c":{".priority":3,".value":4}}"#, "3 done",
                #"4 {"c":{".priority":3,".value":4}}"#,
            ])
    }

    /// A large value comes into the tree before all else that its update says.
    @Test("a node with data before and after an update keeps its priority", arguments: [1, .max])
    func prioritiesThatStay(largeBytesMin: Int) throws {
        let large = #"{"x":{"y":"long enough for rows of its own"}}"# as CanonicalJSON
        for entries in [[("a/b", .null), ("a/c", large)], [("a/c", large), ("a/b", .null)]] {
            let packing = RowPacking(packedBytesMax: 20, repackBytesMax: 10)
            var bench = Bench(packing: packing, largeBytesMin: largeBytesMin)
            bench.process(.set("a", #"{".priority":7,"b":1}"#), try .update("a", entries), .get("a"))
            let kept = #"{".priority":7,"c":{"x":{"y":"long enough for rows of its own"}}}"#
            #expect(bench.commit().last == "3 \(kept)")
            var again = try Bench.reopened(MemoryRowStore(), sequence: 0, log: bench.log)
            again.process(.get("a"))
            #expect(again.commit().last == "1 \(kept)")
        }
    }

    @Test("a priority needs data to belong to")
    func prioritiesNeedData() {
        var bench = Bench()
        bench.process(.setPriority("a", "1"), .set("a", "0"), .setPriority("a", "1"), .get("a"))
        #expect(bench.commit() == ["1 nothingThere", "2 done", "3 done", #"4 {".priority":1,".value":0}"#])
        #expect(bench.log.map(\.count) == [2])
    }

    @Test("server values refer to what was there before the request")
    func serverValues() throws {
        var bench = Bench()
        let increment = IncomingValue(json: #"{".sv":{"increment":2}}"#, hasServerValues: true)
        let now = IncomingValue(json: #"{".sv":"timestamp"}"#, hasServerValues: true)
        bench.process(
            .update(base: "", [(WriteTarget(path: "a"), increment), (WriteTarget(path: "b"), now)]),
            .set(WriteTarget(path: "a"), increment, echoes: true),
            .set(WriteTarget(path: "a", isPriority: true), increment), .get(""))
        #expect(bench.commit() == ["1 done", "2 4", "3 done", #"4 {"a":{".priority":2,".value":4},"b":1000}"#])
        // The log has what became of them.
        let replayed = Database(index: 0, store: MemoryRowStore(), sequence: 0)
        for record in bench.log { try replayed.replay(record.operations()) }
        #expect(try replayed.rows.read(.root) == (try bench.database.rows.read(.root)))
    }

    @Test("a listener above others takes their place, and gives it back")
    func membership() {
        var bench = Bench()
        bench.process(.listen("a/b", known: []), .listen("a", known: []), .set("a/b", "1"), .unlisten("a"))
        bench.process(.set("a", #"{"b":2,"c":3}"#), .disconnect, .set("a", "4"))
        #expect(
            bench.commit() == [
                "join 0", "1 listening", "leave 0", "join 0", "2 listening", "push a/b 1 to 1", "3 done", "leave 0",
                "join 0", "4 done", "push a/b 2 to 1", "5 done", "7 done",
            ])
    }

    @Test("a value beyond a megabyte is read from the rows as they were at its place among the writes")
    func largeReads() throws {
        var bench = Bench()
        let leaf = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: 600_000))
        bench.process(.set("big/a", leaf), .set("big/b", leaf))
        _ = bench.commit()
        bench.process(.set("big/c", "1"), .get("big"), .set("big/c", "2"))
        // The rows may be written only when the reader was told to wait for them.
        bench.database.committed(through: 3)
        #expect(bench.database.takeFrozen() == nil)
        #expect(bench.commit() == ["3 done", "stream /big", "5 done"])
        let frozen = try #require(bench.database.takeFrozen())
        #expect(frozen.sequence == 3)
        #expect(frozen.reads.map(\.path) == ["big"])
        #expect(frozen.changes.rows.contains { $0.key == ("big/c" as Path).encoded && $0.value == .subtree("1") })
        #expect(bench.database.takeFrozen() == nil)
    }

    // MARK: Queries

    @Test("a child of a query that one update empties and fills again comes whole")
    func refilledChild() throws {
        var bench = Bench()
        let query = try Query(index: .key, limit: QueryLimit(.first, 1))
        bench.process(.set("l", #"{"a":{"x":1},"b":2}"#))
        bench.process(.listenQuery("l", query, .tagged(1)), by: Self.reader)
        _ = bench.commit()
        bench.process(try .update("l", [("l/a/x", "null"), ("l/a/y", "3")]))
        #expect(bench.commit() == ["push \(ListenerForm.tagged(1)) l/a {\"y\":3}", "3 done"])
        bench.process(try .update("l", [("l/a/y", "4"), ("l/a/z", "5")]))
        #expect(bench.commit() == ["push \(ListenerForm.tagged(1)) l/a/y 4, l/a/z 5", "4 done"])
    }

    @Test("a child is added after one that moves only after that has moved")
    func orderOfEvents() throws {
        var bench = Bench()
        let form = ListenerForm.events(tag: 1, .child)
        bench.process(.set("l", #"{"x":1,"y":2,"m":3}"#))
        bench.process(.listenQuery("l", Query(index: .value), form), by: Self.reader)
        _ = bench.commit()
        bench.process(try .update("l", [("l/m", "-2"), ("l/a", "-1")]))
        #expect(
            bench.commit() == ["push \(form) moved /m -2, added /a -1 after /m, changed /m -2", "3 done"])
    }

    // MARK: Failures

    @Test("a failed commit undoes what came after it, and the turns in flight are answered again")
    func failedCommit() throws {
        var bench = Bench()
        bench.process(.set("a", "1"), .listen("a", known: []), by: Self.reader)
        _ = bench.commit()
        bench.process(.set("a", "2"), .get("a"), .listen("b", known: []))
        bench.process(.get("a"), .set("a", "3", expecting: NodeHash.hash("2")))
        let kept = try bench.log[0].operations()
        try bench.database.refuse(because: .full, storeSequence: 0, replaying: kept)
        let full = "\(Failure.unavailable(.full))"
        #expect(
            bench.takeReady() == [
                "join 0", "3 \(full)", "4 1", "initial /b null to 0", "5 listening", "6 1", "7 \(full)",
            ])
        bench.process(.set("a", "4"))
        #expect(bench.takeReady() == ["8 \(full)"])
        bench.database.accept()
        bench.process(.set("a", "5"))
        #expect(bench.log.last?.firstSequence == 2)
        #expect(bench.commit() == ["push a 5 to 1", "9 done"])
    }

    @Test("a turn that the log has after all is told as it was")
    func ambiguousCommit() throws {
        var bench = Bench()
        bench.process(.set("a", "1"))
        bench.process(.set("a", "2"))
        try bench.database.refuse(
            because: .inputOutput("?"), storeSequence: 0, replaying: try bench.log[0].operations())
        #expect(bench.takeReady() == ["1 done", "2 \(Failure.unavailable(.inputOutput("?")))"])
        #expect(bench.database.sequence == 1)
    }

    @Test("nothing is built on half a change")
    func tornMemory() throws {
        var bench = Bench(packing: .init(packedBytesMax: 10, repackBytesMax: 5))
        bench.process(.set("", #"{"a":{"x":"a long text"},"b":{"x":"a long text"}}"#))
        _ = bench.commit()
        try bench.applyAll()
        // Memory starts over, so the second half of the update has to look into the store, which fails.
        try bench.database.refuse(because: .full, storeSequence: 1, replaying: [])
        bench.database.accept()
        bench.process(.get("a/x"))
        _ = bench.takeReady()
        bench.store.readsLeft = 0
        bench.process(
            try .update("", [("a/x", "1"), ("b/x", "2")]), .get("a/x"),
            .set("a/x", "3", expecting: NodeHash.hash("1")),
            .set("a/x", "4"), .listen("a/x", known: nil))
        bench.store.readsLeft = nil
        let torn = "\(Failure.unavailable(.inputOutput("scripted")))"
        #expect(bench.database.tornBy == .inputOutput("scripted"))
        #expect(bench.takeReady() == ["3 \(torn)", "4 \(torn)", "5 \(torn)", "6 \(torn)", "7 \(torn)"])
        try bench.database.refuse(because: .inputOutput("scripted"), storeSequence: 1, replaying: [])
        #expect(try bench.database.rows.read("a/x") == #""a long text""#)
        #expect(bench.log.count == 1)
    }

    @Test("a write whose listeners cannot be told is undone")
    func tornTelling() throws {
        var bench = Bench()
        bench.database.setIndexes([IndexDefinition(pattern: IndexPattern(text: "list")!, index: .child("n"))])
        try bench.database.buildIndex()
        bench.process(.set("list", #"{"a":{"n":1},"b":{"n":2}}"#))
        let query = try Query(index: .child("n"), start: QueryBound("2"))
        bench.process(.listenQuery("list", query, .tagged(1)), by: Bench.reader)
        _ = bench.commit()
        try bench.applyAll()
        // The selection is read after the write, from the index in the store.
        bench.store.readsLeft = 0
        bench.process(.set("", "1"))
        bench.store.readsLeft = nil
        #expect(bench.takeReady() == ["3 \(Failure.unavailable(.inputOutput("scripted")))"])
        #expect(bench.log.count == 1)
        let error = try #require(bench.database.tornBy)
        try bench.database.refuse(because: error, storeSequence: 1, replaying: [])
        #expect(try bench.database.rows.read("list/b/n") == "2")
    }

    @Test("the value is sent again to a listener of a lost turn, even if its client reports it")
    func lostListen() throws {
        var bench = Bench()
        bench.process(.listen("a", known: nil), .set("a", "1"), .unlisten("a"), .set("a", "null"))
        let kept = try bench.log[0].operations()
        #expect(bench.commit().contains("push a 1 to 1"))
        // The client has not received the 1 yet, and the log will not receive the 2.
        bench.process(.set("b", "2"), .listen("a", known: KnownData(hash: NodeHash.hash("null"))))
        try bench.database.refuse(because: .full, storeSequence: 0, replaying: kept)
        #expect(
            bench.takeReady() == ["join 0", "5 \(Failure.unavailable(.full))", "initial /a null to 0", "6 listening"])
    }
}
