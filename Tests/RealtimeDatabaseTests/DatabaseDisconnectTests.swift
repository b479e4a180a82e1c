import HearthJSONTree
import HearthTestSupport
import Testing
import HearthStorageErrors

@testable import HearthRealtimeDatabase

@Suite("writes that wait for the end of a connection")
struct DatabaseDisconnectTests {
    private static let reader = DatabaseBench.reader

    private static func onDisconnect(_ entries: (String, CanonicalJSON)...) throws -> Operation {
        .onDisconnect(try entries.map { (try WriteTarget(parsing: $0), IncomingValue(json: $1)) })
    }

    private static func tree(_ bench: DatabaseBench) throws -> CanonicalJSON { try bench.database.rows.read(.root) }

    @Test("are one commit, and one push for each listener")
    func firing() throws {
        var bench = DatabaseBench()
        bench.process(.set("p", #"{"a":{"on":true},"b":1}"#))
        bench.process(.listen("p", known: []), .listen("p/a", known: []), .listen("q", known: []), by: Self.reader)
        bench.process(
            try Self.onDisconnect(("p/a/on", "false")), try Self.onDisconnect(("p/b", "null"), ("r/.priority", "1")),
            try Self.onDisconnect(("r", "2")))
        _ = bench.commit()
        #expect(try Self.tree(bench) == #"{"p":{"a":{"on":true},"b":1}}"#)
        bench.process(.disconnect)
        #expect(bench.commit() == ["push /p p/a/on false, p/b null to 1"])
        #expect(try Self.tree(bench) == #"{"p":{"a":{"on":false}},"r":2}"#)
        #expect(bench.database.onDisconnect.registered.isEmpty)
        #expect(bench.log.last?.count == 2)
        // Once is enough.
        bench.process(.set("p/a/on", "true"), .disconnect)
        #expect(bench.commit() == ["push p/a/on true to 1", "9 done"])
    }

    @Test("are told with the tags of queries, too")
    func firingAtQueries() throws {
        var bench = DatabaseBench()
        let query = try Query(index: .key, limit: QueryLimit(.first, 1))
        bench.process(.set("p", #"{"a":1,"b":2}"#))
        bench.process(
            .listenQuery("p", query, .tagged(1)), .listenQuery("p", query, .events(tag: 2, .child)), by: Self.reader)
        bench.process(try Self.onDisconnect(("p/a", "null"), ("p/c", "3")))
        _ = bench.commit()
        bench.process(.disconnect)
        let pushes = bench.commit()
        #expect(
            pushes == [
                "push \(ListenerForm.tagged(1)) p/a null, p/b 2",
                "push \(ListenerForm.events(tag: 2, .child)) removed /a 1, added /b 2",
            ])
    }

    @Test("are forgotten when they are cancelled, at a place and below it")
    func cancelling() throws {
        var bench = DatabaseBench()
        bench.process(
            try Self.onDisconnect(("p/a/x", "1")), try Self.onDisconnect(("p/a/y", "2")),
            try Self.onDisconnect(("p/b", "3")), .cancelOnDisconnect("p/a"), .cancelOnDisconnect("none"), .disconnect)
        #expect(bench.commit() == ["1 done", "2 done", "3 done", "4 done", "5 done"])
        #expect(try Self.tree(bench) == #"{"p":{"b":3}}"#)
        bench.process(try Self.onDisconnect(("p/b", "4")), .cancelOnDisconnect(""), .disconnect)
        #expect(try Self.tree(bench) == #"{"p":{"b":3}}"#)
    }

    @Test("are not made when they are forfeited, and what is registered later is")
    func forfeiting() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a", "1")), .forfeit, .forfeit)
        bench.process(try Self.onDisconnect(("b", "2")), by: Self.reader)
        bench.process(.forfeit, .disconnect, by: Self.reader)
        // No one is answered.
        #expect(bench.commit() == ["1 done", "4 done"])
        bench.process(try Self.onDisconnect(("c", "3")), .disconnect)
        #expect(try Self.tree(bench) == #"{"c":3}"#)
        _ = bench.commit()
        #expect(bench.database.onDisconnect.forfeited.isEmpty)
        #expect(try Self.tree(.reopened(MemoryRowStore(), sequence: 0, log: bench.log)) == #"{"c":3}"#)
    }

    @Test("are not made when they are forfeited while storage refuses writes, nor what is left of them afterwards")
    func forfeitingWhileRefusing() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a", "1")))
        bench.process(try Self.onDisconnect(("b", "2")), by: Self.reader)
        _ = bench.commit()
        bench.database.refuse(because: .full)
        bench.process(.forfeit, .disconnect)
        bench.process(.forfeit, by: Self.reader)
        bench.database.accept()
        bench.process(try Self.onDisconnect(("c", "3")), .disconnect, by: Self.reader)
        _ = bench.commit()
        #expect(try Self.tree(bench) == #"{"c":3}"#)
        #expect(bench.database.onDisconnect.registered.isEmpty)
        #expect(bench.database.onDisconnect.forfeited.isEmpty)
        #expect(try Self.tree(.reopened(MemoryRowStore(), sequence: 0, log: bench.log)) == #"{"c":3}"#)
    }

    @Test("of another connection are none of this one's")
    func connections() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a", "1")))
        bench.process(try Self.onDisconnect(("b", "2")), .cancelOnDisconnect(""), by: Self.reader)
        bench.process(.disconnect, by: Self.reader)
        #expect(try Self.tree(bench) == .null)
        bench.process(.disconnect)
        #expect(try Self.tree(bench) == #"{"a":1}"#)
    }

    @Test("get their server values when they are made")
    func serverValues() throws {
        var bench = DatabaseBench()
        bench.process(
            .set("n", "1"),
            try Self.onDisconnect(("at", #"{".sv":"timestamp"}"#), ("n", #"{".sv":{"increment":2}}"#)), .set("n", "40"),
            .disconnect)
        #expect(try Self.tree(bench) == #"{"at":1000,"n":42}"#)
    }

    @Test("leave out the priority of what is not there, and nothing else")
    func priorityOfNothing() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a/.priority", "1"), ("b", "2")), .disconnect)
        #expect(try Self.tree(bench) == #"{"b":2}"#)
        #expect(!bench.database.hasOrphans)
    }

    @Test("may not be more than a connection may owe")
    func limits() throws {
        var bench = DatabaseBench()
        let many = (0..<Database.owedEntriesMax).map { ("a/\($0)", CanonicalJSON(string: [0x78])) }
        func operation(_ entries: some Sequence<(String, CanonicalJSON)>) throws -> Operation {
            .onDisconnect(try entries.map { (try WriteTarget(parsing: $0), IncomingValue(json: $1)) })
        }
        let text = CanonicalJSON(string: Array(repeating: 0x78, count: Database.owedBytesMax))
        bench.process(
            try operation(many), try Self.onDisconnect(("b", "1")), try Self.onDisconnect(("a/0", "1")),
            try Self.onDisconnect(("a", "1")), try operation(many + [("b", "1")]), try Self.onDisconnect(("b", text)),
            .disconnect)
        let refused =
            "\(Failure.refused(status: StaticText("too_big"), "too much is to be written when this connection ends"))"
        #expect(
            bench.commit() == [
                "1 done", "2 \(refused)", "3 done", "4 done", "5 \(refused)", "6 \(refused)",
            ])
        #expect(try Self.tree(bench) == #"{"a":1}"#)
    }

    @Test("change and cancel no parts of values that are large, or would leave too many")
    func partsOfLargeValues() throws {
        var bench = DatabaseBench()
        func object(_ count: Int, _ value: String) -> CanonicalJSON {
            let members = (0..<count).map { #""k\#(10_000 + $0)":\#(value)"# }
            return CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
        }
        let large = object(100, "\"\(String(repeating: "x", count: Database.owedPartsBytesMax / 100))\"")
        let many = object(Database.owedEntriesMax + 2, "1")
        let text =
            "the value above, which is to be written when this connection ends, is too large to change a part of it"
        let refused = "\(Failure.refused(status: StaticText("too_big"), text))"
        bench.process(
            try Self.onDisconnect(("large", large), ("many", many)), try Self.onDisconnect(("large/new", "1")),
            try Self.onDisconnect(("large/k10000/.priority", "1")), .cancelOnDisconnect("large/k10000"),
            .cancelOnDisconnect("many/k10000"), try Self.onDisconnect(("many/new", "1")),
            // A copy for each priority, of what is added, too.
            try Self.onDisconnect(("small/z", "1")), try Self.onDisconnect(("small", #"{"z":1}"#)),
            .onDisconnect(
                [(WriteTarget(path: "small/a"), IncomingValue(json: large))]
                    + (0..<2).map {
                        let path = Path(stringLiteral: "small/b\($0)")
                        return (WriteTarget(path: path, isPriority: true), IncomingValue(json: "1"))
                    }),
            .onDisconnect(
                (0..<100).map {
                    let path = Path(stringLiteral: "many/k\(10_000 + $0)")
                    return (WriteTarget(path: path, isPriority: true), IncomingValue(json: "1"))
                }))
        #expect(
            bench.commit() == [
                "1 done", "2 \(refused)", "3 \(refused)", "4 \(refused)", "5 \(refused)", "6 done", "7 done", "8 done",
                "9 \(refused)", "10 \(refused)",
            ])
        bench.process(.disconnect)
        #expect(try bench.database.rows.read("large") == large)
        #expect(try bench.database.rows.read("many/k10000") == "1")
        #expect(try bench.database.rows.read("many/new") == "1")
    }

    @Test("of all connections together use no more memory than there is, and none after these end")
    func memory() throws {
        let memory = KeptMemory(bytesMax: 300_000)
        let database = Database(index: 0, store: MemoryRowStore(), sequence: 0, keptMemory: memory)
        let value = CanonicalJSON(string: Array(repeating: 0x78, count: KeptBytes.freeBytes + 50_000))
        func outcome(of operation: Operation, _ serial: UInt64, client: UInt64) -> String {
            let connection = ConnectionID(loop: 0, kind: .realtime, serial: serial)
            let request = Request(connection: connection, number: 1, operation: operation, client: client)
            if let record = database.process([request], now: 0) { database.committed(through: record.lastSequence) }
            database.checkInvariants(isThorough: true)
            guard case .reply(_, _, .failed(let failure))? = database.takeReady().first else { return "done" }
            return failure.message
        }
        let large = try Self.onDisconnect(("a", value))
        let refusal = "too much is to be written when this connection ends"
        #expect(outcome(of: large, 1, client: 1) == "done")
        #expect(outcome(of: large, 2, client: 1) == "done")
        // It would have more than it leaves free.
        #expect(outcome(of: large, 3, client: 1) == refusal)
        #expect(outcome(of: large, 4, client: 2) == "done")
        #expect(outcome(of: try Self.onDisconnect(("b", "1")), 3, client: 1) == "done")
        #expect(memory.bytesUsed > 150_000)
        for serial in 1...4 as ClosedRange<UInt64> { _ = outcome(of: .disconnect, serial, client: 1) }
        #expect(memory.bytesUsed == 0)
    }

    @Test("may not increment more than a connection may, in all of its requests together")
    func increments() throws {
        var bench = DatabaseBench()
        func counters(_ count: Int) -> CanonicalJSON {
            let members = (0..<count).map { #""c\#(10_000 + $0)":{".sv":{"increment":1}}"# }
            return CanonicalJSON(stringLiteral: "{\(members.joined(separator: ","))}")
        }
        func register(_ path: Path, _ value: CanonicalJSON) -> Operation {
            .onDisconnect([(WriteTarget(path: path), IncomingValue(json: value, hasServerValues: true))])
        }
        let max = Database.owedIncrementsMax
        bench.process(
            register("a", counters(max + 1)), register("a", counters(max - 1)), register("b", counters(2)),
            register("b", counters(1)), register("a/more", counters(1)), .cancelOnDisconnect("a/c10000"),
            register("a/more", counters(1)), register("a", counters(max)), .cancelOnDisconnect("b"),
            register("a", counters(max)), .disconnect)
        let text = "more than \(max) values are to be incremented when this connection ends"
        let refused = "\(Failure.refused(status: StaticText("too_big"), text))"
        #expect(
            bench.commit() == [
                "1 \(refused)", "2 done", "3 \(refused)", "4 done", "5 \(refused)", "6 done", "7 done", "8 \(refused)",
                "9 done", "10 done",
            ])
        #expect(try bench.database.rows.read("a/c10999") == "1")
        #expect(try bench.database.rows.read("b") == .null)
    }

    @Test("grow the log by what is new, not by all that is owed")
    func logGrowth() throws {
        var bench = DatabaseBench()
        let text = CanonicalJSON(string: Array(repeating: 0x78, count: 1 << 20))
        bench.process(try Self.onDisconnect(("big", text)))
        bench.process(try Self.onDisconnect(("a", "1")), .cancelOnDisconnect("a"))
        bench.process(.cancelOnDisconnect("a"))
        try #require(bench.log.count == 2)
        #expect(bench.log[1].body.count < 100)
    }

    // MARK: Storage

    @Test("wait while storage refuses writes")
    func refusing() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a", "1")))
        bench.process(try Self.onDisconnect(("b", "2")), by: Self.reader)
        _ = bench.commit()
        bench.database.refuse(because: .full)
        bench.process(try Self.onDisconnect(("a", "3")), .cancelOnDisconnect("a"), .disconnect)
        bench.process(.disconnect, by: Self.reader)
        let full = "\(Failure.unavailable(.full))"
        #expect(bench.takeReady() == ["3 \(full)", "4 \(full)"])
        #expect(try Self.tree(bench) == .null)
        #expect(bench.database.hasOrphans)
        bench.database.accept()
        bench.process(.get(""))
        #expect(bench.commit() == [#"7 {"a":1,"b":2}"#])
        #expect(!bench.database.hasOrphans)
    }

    @Test("that need a damaged row are dropped, and those of others are made")
    func damagedRow() throws {
        // Each child of the root has a row.
        var bench = DatabaseBench(packing: RowPacking(packedBytesMax: 10, repackBytesMax: 5))
        bench.process(.set("bob", #"{"n":1}"#), .set("alice", #"{"n":1}"#))
        bench.process(
            try Self.onDisconnect(("bob/n", #"{".sv":{"increment":1}}"#), ("alice/n", #"{".sv":{"increment":1}}"#)))
        bench.process(try Self.onDisconnect(("alice/is", #""offline""#)), by: Self.reader)
        _ = bench.commit()
        try bench.applyAll()
        bench.store.damagedKeys = [Path("bob").encoded]
        let reopened = try DatabaseBench.reopened(bench.store, sequence: bench.database.sequence, log: [])
        #expect(!reopened.database.hasOrphans)
        #expect(try reopened.database.rows.read("alice") == #"{"is":"offline","n":2}"#)
    }

    @Test("are made again if the commit that made them is lost, whenever that was")
    func lostCommit() throws {
        for wasRefused in [false, true] {
            var bench = DatabaseBench()
            bench.process(.listen("a", known: []), by: Self.reader)
            bench.process(try Self.onDisconnect(("a", "1")))
            _ = bench.commit()
            if wasRefused {
                bench.database.refuse(because: .full)
                bench.process(.disconnect)
                bench.database.accept()
                bench.process()
            } else {
                bench.process(.disconnect)
            }
            #expect(bench.log.count == 2)
            // The log has the first record only.
            let kept = try bench.log.removeFirst().operations()
            bench.log = []
            try bench.database.refuse(because: .full, storeSequence: 0, replaying: kept)
            #expect(bench.takeReady().isEmpty)
            #expect(try Self.tree(bench) == .null, "\(wasRefused)")
            #expect(bench.database.hasOrphans, "\(wasRefused)")
            bench.database.accept()
            bench.process()
            #expect(bench.commit() == ["push a 1 to 1"], "\(wasRefused)")
            #expect(!bench.database.hasOrphans)
            #expect(bench.database.onDisconnect.registered.isEmpty)
        }
    }

    @Test("are made when the database is opened after a crash, from the log and from the store")
    func crash() throws {
        var bench = DatabaseBench()
        bench.process(.set("a", "0"), try Self.onDisconnect(("a", "1"), ("b", #"{".sv":"timestamp"}"#)))
        bench.process(try Self.onDisconnect(("c", "2")), by: Self.reader)
        _ = bench.commit()
        let expected: CanonicalJSON = #"{"a":1,"b":1000,"c":2}"#
        // The store has nothing.
        #expect(try Self.tree(.reopened(MemoryRowStore(), sequence: 0, log: bench.log)) == expected)
        // It has everything so far; what comes later is in the log only.
        try bench.applyAll()
        #expect(bench.store.owed.count == 2)
        var reopened = try DatabaseBench.reopened(bench.store, sequence: 3, log: bench.log)
        #expect(try Self.tree(reopened) == expected)
        bench.process(.cancelOnDisconnect("b"), .disconnect)
        bench.process(.cancelOnDisconnect(""), by: Self.reader)
        #expect(try Self.tree(.reopened(bench.store, sequence: 3, log: bench.log)) == #"{"a":1}"#)
        // Having been made they are neither in the log nor in the store.
        _ = reopened.commit()
        try reopened.applyAll()
        #expect(bench.store.owed.isEmpty)
        #expect(
            try Self.tree(.reopened(bench.store, sequence: reopened.database.sequence, log: reopened.log)) == expected)
    }

    @Test("are worth freezing although no row changed")
    func freezing() throws {
        var bench = DatabaseBench()
        bench.process(try Self.onDisconnect(("a", "1")))
        _ = bench.commit()
        #expect(bench.database.changedBytes == 0)
        #expect(bench.database.hasChanges)
        try bench.applyAll()
        #expect(!bench.database.hasChanges)
        #expect(bench.store.owed.count == 1)
    }
}
