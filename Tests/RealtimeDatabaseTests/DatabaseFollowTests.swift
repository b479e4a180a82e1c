import HearthDatabaseScheduler
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("Following the log of another node")
struct DatabaseFollowTests {
    private static let reader = DatabaseBench.reader
    private static let elsewhere = StorageError.ownedElsewhere(node: "n1")

    private static func follower() -> DatabaseBench {
        let bench = DatabaseBench()
        bench.database.ownedElsewhere = elsewhere
        return bench
    }

    /// The follower stores the owner's commits, and sends its outputs.
    private static func follow(_ owner: DatabaseBench, from: Int, _ follower: inout DatabaseBench) throws -> [String] {
        for record in owner.log[from...] {
            try follower.database.follow(record)
            follower.log.append(record)
        }
        return follower.commit()
    }

    @Test("tells listeners what the owner tells its own, whatever is written", arguments: 0..<20 as Range<UInt64>)
    func pushes(seed: UInt64) throws {
        var generator = StepGenerator(seed: seed)
        var (owner, follower) = (DatabaseBench(), Self.follower())
        // The same listeners at both, besides those of the generator.
        let query = try Query(index: .key, limit: QueryLimit(.first, 2))
        for place: Path in ["", "a", "b", "a/b"] {
            owner.process(.listen(place, known: []), .listenQuery(place, query, .tagged(1)), by: Self.reader)
            follower.process(.listen(place, known: []), .listenQuery(place, query, .tagged(1)), by: Self.reader)
        }
        #expect(owner.commit() == follower.commit())
        for step in 0..<150 {
            let operation = generator.operation(knowing: { _ in nil }, having: { _ in .null })
            guard operation.writes || step.isMultiple(of: 40) else { continue }
            let before = owner.log.count
            owner.process(step.isMultiple(of: 40) ? .disconnect : operation)
            let told = owner.commit().filter { $0.hasPrefix("push") }
            #expect(try Self.follow(owner, from: before, &follower) == told, "seed \(seed), step \(step)")
            #expect(
                follower.database.onDisconnect.registered == owner.database.onDisconnect.registered,
                "seed \(seed), step \(step)")
        }
        #expect(try follower.database.rows.read(.root) == owner.database.rows.read(.root))
        #expect(follower.database.sequence == owner.database.sequence)
    }

    @Test(
        "A follower without listeners has the same data as the owner, with any settings",
        arguments: [
            "{}", #"{"a":{".index":[["b","c"]]}}"#, #"{".count":{"of":"a","into":"n"}}"#, #"{"a":{".unique":"b"}}"#,
        ], 0..<5 as Range<UInt64>)
    func data(settings: String, seed: UInt64) throws {
        let settings = try DatabaseSettings(parsing: Array(#"{"settings":\#(settings)}"#.utf8))
        var generator = StepGenerator(seed: seed)
        var (owner, follower) = (DatabaseBench(), Self.follower())
        for bench in [owner, follower] { bench.database.setRules(RulesProgram.open.with(settings), now: 0) }
        for step in 0..<60 {
            let before = owner.log.count
            // Several operations make one record.
            let operations = (0..<1 + Int(seed) * 8).map { _ in
                generator.operation(knowing: { _ in nil }, having: { _ in .null })
            }
            owner.process(operations: operations.filter(\.writes))
            _ = owner.commit()
            _ = try Self.follow(owner, from: before, &follower)
            #expect(
                try follower.database.rows.read(.root) == owner.database.rows.read(.root), "seed \(seed), step \(step)")
        }
        #expect(follower.database.sequence == owner.database.sequence)
    }

    @Test("nothing of a damaged record is applied, and the whole record can be followed after it")
    func damaged() throws {
        var (owner, follower) = (DatabaseBench(), Self.follower())
        owner.process(.set("a", "1"), .set("b", "null"), .set("b", "2"))
        _ = owner.commit()
        let whole = owner.log[0]
        func record(_ count: Int, _ body: some Sequence<UInt8>) -> LogRecord {
            LogRecord(firstSequence: 1, count: count, time: whole.time, body: Array(body))
        }
        let short = (1..<whole.body.count).map { record(3, whole.body.prefix($0)) }
        let unknownKind: [UInt8] = [99, 0]
        for damaged in short + [record(2, whole.body), record(4, whole.body), record(4, whole.body + unknownKind)] {
            #expect(throws: StorageError.self, "\(damaged)") { try follower.database.follow(damaged) }
            #expect(follower.database.sequence == 0)
            #expect(try follower.database.rows.read(.root).isNull)
        }
        _ = try Self.follow(owner, from: 0, &follower)
        #expect(try follower.database.rows.read(.root) == #"{"a":1,"b":2}"#)
    }

    @Test("skips operations that memory has, and says nothing before the own log has the record")
    func repeated() throws {
        var (owner, follower) = (DatabaseBench(), Self.follower())
        follower.process(.listen("a", known: []), by: Self.reader)
        _ = follower.commit()
        owner.process(.set("a", "1"), .set("a", "2"))
        try follower.database.follow(owner.log[0])
        try follower.database.follow(owner.log[0])
        #expect(follower.takeReady().isEmpty)
        follower.log.append(owner.log[0])
        #expect(follower.commit() == ["push a 1 to 1", "push a 2 to 1"])
    }

    @Test("keeps the events of triggers that the owner has not delivered, for when it takes the writes")
    func outbox() throws {
        let settings = #"{"settings":{"a":{"$k":{".trigger":{"name":"t","on":"written","command":"c"}}}}}"#
        let rules = RulesProgram.open.with(try DatabaseSettings(parsing: Array(settings.utf8)))
        var (owner, follower) = (DatabaseBench(), Self.follower())
        for bench in [owner, follower] { bench.database.setRules(rules, now: 0) }
        owner.process(.set("a", #"{"x":1,"y":2,"z":3}"#))
        _ = owner.commit()
        let rows = owner.database.takeFreshEvents()
        #expect(rows.count == 3)
        var report = OutboxReport()
        report.done = [rows[0].key]
        report.aside = [(rows[1].key, try TriggerEvent(stored: rows[1].event))]
        owner.log.append(try #require(owner.database.note(report, now: 2000)))
        _ = owner.commit()
        try owner.applyAll()
        _ = try Self.follow(owner, from: 0, &follower)
        try follower.applyAll()
        #expect(follower.store.outbox.count == 2)
        #expect(follower.store.outbox == owner.store.outbox)
        #expect(follower.database.outboxSequence == owner.database.outboxSequence)
        #expect(follower.database.takeFreshEvents().isEmpty, "another node sends them")
    }

    @Test("refuses writes, and leaves alone what is owed to connections of the owner that have the same numbers")
    func refusing() throws {
        var (owner, follower) = (DatabaseBench(), Self.follower())
        let entry = (target: WriteTarget(path: "gone"), value: IncomingValue(json: "true"))
        owner.process(.onDisconnect([entry]))
        _ = try Self.follow(owner, from: 0, &follower)
        let refusal = "\(Failure.unavailable(Self.elsewhere))"
        follower.process(.set("a", "1"), .onDisconnect([entry]), .cancelOnDisconnect(""), .forfeit, .disconnect)
        #expect(follower.takeReady() == ["1 \(refusal)", "2 \(refusal)", "3 done"])
        #expect(follower.log.count == 1)
        #expect(follower.database.onDisconnect.registered == owner.database.onDisconnect.registered)
        // It takes over the writes, and with them the owed ones.
        follower.database.ownedElsewhere = nil
        follower.database.orphanAll()
        follower.process()
        #expect(try follower.database.rows.read("gone") == "true")
        #expect(follower.database.onDisconnect.registered.isEmpty)
    }
}
