import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthRealtimeDatabase

@Suite("events of triggers")
struct TriggerTests {
    private static func program(_ settings: String) throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array(settings.utf8)))
    }

    private static func bench(_ settings: String) throws -> DatabaseBench {
        let bench = DatabaseBench()
        bench.database.setRules(try program(settings), now: 0)
        return bench
    }

    /// What the last record puts into the outbox.
    private static func events(_ bench: DatabaseBench) throws -> [TriggerEvent] {
        try (bench.log.last?.operations() ?? []).flatMap { operation -> [TriggerEvent] in
            guard case .outbox(let change) = operation.content else { return [] }
            return try change.added.map { try TriggerEvent(stored: $0.event) }
        }
    }

    private static func words(_ events: [TriggerEvent]) -> [String] {
        events.map {
            "\($0.trigger) \($0.kind) \($0.path) \(String(decoding: $0.data, as: UTF8.self)) "
                + String(decoding: $0.delta, as: UTF8.self)
        }
    }

    private static let text = """
        {"settings": {"rooms": {"$room": {
          ".trigger": [
            {"name": "new", "on": "created", "url": "https://a.example/"},
            {"name": "gone", "on": "deleted", "url": "https://a.example/"},
            {"name": "other", "on": "updated", "url": "https://a.example/"}
          ],
          "state": {".trigger": {"name": "paid", "on": "written", "command": "paid",
            "when": "newData.val() == 'paid' && data.val() != 'paid' && $room != 'x' && auth.uid != null"}}
        }}}}
        """

    @Test("an administrator who wants no events is the same after a way to another node")
    func quietAdministrator() throws {
        let user = try Principal(auth: Array(#"{"uid":"a"}"#.utf8))
        let principals: [Principal] = [.nobody, .administrator, .quietAdministrator, user]
        for principal in principals { #expect(try Principal.stored(principal.stored) == principal) }
        #expect(Set(principals).count == 4)
    }

    @Test("tell how the places of a pattern change, also by writes above and below them")
    func kinds() throws {
        var bench = try Self.bench(Self.text)
        bench.process(.set("rooms", #"{"a":{"n":1},"b":2}"#))
        #expect(
            Self.words(try Self.events(bench)) == [
                #"new created /rooms/a null {"n":1}"#, "new created /rooms/b null 2",
            ])
        bench.process(.set("rooms/a/n", "2"))
        #expect(Self.words(try Self.events(bench)) == [#"other updated /rooms/a {"n":1} {"n":2}"#])
        bench.process(.set("rooms/a/n", "2"))
        #expect(try Self.events(bench).isEmpty)
        bench.process(.set("rooms", #"{"b":{"x":{"y":1,"z":1}},"c":true}"#))
        #expect(
            Self.words(try Self.events(bench)) == [
                "new created /rooms/c null true", #"gone deleted /rooms/a {"n":2} null"#,
                #"other updated /rooms/b 2 {"x":{"y":1,"z":1}}"#,
            ])
        bench.process(.set("rooms/b/x/y", "null"))
        #expect(Self.words(try Self.events(bench)) == [#"other updated /rooms/b {"x":{"y":1,"z":1}} {"x":{"y":null}}"#])
        // What becomes empty goes as a whole.
        bench.process(.set("rooms/b/x/z", "null"))
        #expect(Self.words(try Self.events(bench)) == [#"gone deleted /rooms/b {"x":{"z":1}} null"#])
        bench.process(.set("", "null"))
        #expect(Self.words(try Self.events(bench)) == ["gone deleted /rooms/c true null"])
        bench.process(.set("elsewhere", "1"))
        #expect(try Self.events(bench).isEmpty)
    }

    @Test("are those for which the expression holds, and tell who has made the change")
    func filter() throws {
        var bench = try Self.bench(Self.text)
        let ann = try Principal(auth: Array(#"{"uid":"ann"}"#.utf8))
        bench.process(.set("rooms/a/state", #""paid""#), as: ann)
        let events = try Self.events(bench)
        #expect(events.map(\.trigger) == ["new", "paid"])
        #expect(events.map(\.author) == [.user(Array("ann".utf8))] * 2)
        // After the change itself, as the second operation of the log.
        #expect(events.map(\.id) == ["0-2-0", "0-2-1"])
        #expect(events.map(\.time) == [1000, 1000])
        bench.process(.set("rooms/a/state", #""paid""#), as: ann)
        bench.process(.set("rooms/x/state", #""paid""#), as: ann)
        #expect(try Self.events(bench).map(\.trigger) == ["new"])
        bench.process(.set("rooms/b/state", #""paid""#), as: .administrator)
        #expect(try Self.events(bench).map(\.trigger) == ["new"])
        #expect(try Self.events(bench).map(\.author) == [.administrator])
        bench.process(.set("rooms/c/state", #""paid""#))
        #expect(try Self.events(bench).map(\.author) == [.nobody])
    }

    @Test("of what expires are the server's own")
    func expiry() throws {
        var bench = try Self.bench(
            """
            {"settings": {"a": {".expires": ".value", "$k": {
              ".trigger": {"name": "t", "on": "deleted", "url": "https://a.example/"}}}}}
            """)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        bench.process(.set("a/x", "2000"))
        bench.process(.get("b"), at: 2000)
        #expect(Self.words(try Self.events(bench)) == ["t deleted /a/x 2000 null"])
        #expect(try Self.events(bench).map(\.author) == [.server])
    }

    @Test("that are too large, or too many, are set aside and say so")
    func bounds() throws {
        var bench = try Self.bench(
            #"{"settings": {"a": {"$k": {".trigger": {"name": "t", "on": "written", "url": "https://a.example/"}}}}}"#)
        let large = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: Database.eventValueBytesMax))
        bench.process(.set("a/x", large))
        var events = try Self.events(bench)
        #expect(events.count == 1)
        #expect(events.first?.failure?.contains("a value of more than") == true)
        #expect(events.first?.isWhole == false)
        #expect(events.first?.path == "a/x")
        let members = (0...Database.triggeredPlacesMax).map { "\"k\($0)\":1" }.joined(separator: ",")
        bench.process(.set("a", try CanonicalJSON.parse(Array("{\(members)}".utf8)).value))
        events = try Self.events(bench)
        #expect(events.count == 1)
        #expect(events.first?.failure?.contains("places may have changed") == true)
        #expect(events.first?.path == "a")
        // They are not told to anybody.
        let fresh = bench.database.takeFreshEvents()
        #expect(fresh.filter { !$0.key.isAside }.isEmpty)
    }

    @Test("the search for places is limited, even if it finds none")
    func deadEnds() throws {
        var bench = try Self.bench(
            """
            {"settings": {"a": {"$x": {"$y": {"$z": {
              ".trigger": {"name": "t", "on": "written", "url": "https://a.example/"}}}}}}}
            """)
        func wide(_ count: Int) throws -> CanonicalJSON {
            let leaves = (0..<count).map { "\"k\($0)\":1" }.joined(separator: ",")
            let branches = (0..<count).map { "\"k\($0)\":{\(leaves)}" }.joined(separator: ",")
            return try CanonicalJSON.parse(Array("{\(branches)}".utf8)).value
        }
        for (count, isTooMany) in [(50, false), (200, true)] {
            for value in [try wide(count), "null"] {
                bench.process(.set("a", value))
                let events = try Self.events(bench)
                #expect(events.count == (isTooMany ? 1 : 0), "\(count)")
                #expect(events.allSatisfy { $0.path == "a" && !$0.isWhole }, "\(count)")
                #expect(events.allSatisfy { $0.failure?.contains("places may have changed") == true }, "\(count)")
            }
        }
    }

    @Test("are bounded in what one commit makes, also of places that it writes itself")
    func commitBounds() throws {
        var bench = try Self.bench(
            """
            {"settings": {"a": {"$k": {".trigger": [
              {"name": "s", "on": "deleted", "url": "https://a.example/"},
              {"name": "t", "on": "written", "url": "https://a.example/"}]}}}}
            """)
        let many = (0...Database.triggeredPlacesMax).map { ("a/k\($0)", "1" as CanonicalJSON) }
        bench.process(try .update("a", many))
        var events = try Self.events(bench)
        #expect(events.map(\.trigger) == ["s", "t"])
        #expect(events.allSatisfy { $0.path == "a" && !$0.isWhole })
        #expect(events.allSatisfy { $0.failure?.contains("places may have changed") == true })
        bench.process(try .update("a", Array(many.dropLast())))
        #expect(try Self.events(bench).isEmpty, "nothing has changed")
        // All events of a commit that has too large ones are left out.
        let text = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: Database.eventValueBytesMax - 2))
        let large = (0...Database.eventBytesMax / Database.eventValueBytesMax).map { ("a/l\($0)", text) }
        bench.process(try .update("a", large))
        events = try Self.events(bench)
        #expect(events.map(\.failure) == ["one commit has changed too much"])
        #expect(events.first?.path == "a")
        bench.process(.set("a/l0", "1"))
        #expect(try Self.events(bench).map(\.failure) == [nil])
    }

    @Test("of a large value are made only if it appears or goes, for triggers that want to know of that")
    func largeValues() throws {
        var bench = try Self.bench(
            """
            {"settings": {"a": {"$k": {".trigger": [
              {"name": "new", "on": "created", "url": "https://a.example/"},
              {"name": "gone", "on": "deleted", "url": "https://a.example/"}]}}}}
            """)
        bench.process(.set("a/x/n", "1"))
        #expect(try Self.events(bench).map(\.trigger) == ["new"])
        let half = CanonicalJSON(string: Array(repeating: UInt8(ascii: "x"), count: Database.eventValueBytesMax / 2))
        for key in ["l", "m", "n"] {
            bench.process(.set(Path(stringLiteral: "a/x/\(key)"), half))
            #expect(try Self.events(bench).isEmpty)
        }
        bench.process(.set("a/x", "null"))
        let events = try Self.events(bench)
        #expect(events.map(\.trigger) == ["gone"])
        #expect(events.first?.failure?.contains("a value of more than") == true)
    }

    @Test("that are lost leave nothing to wait for")
    func loss() throws {
        var bench = try Self.bench(Self.text)
        bench.process(.set("rooms/a", "1"))
        _ = bench.commit()
        try bench.applyAll()
        let sequence = bench.database.outboxSequence
        #expect(sequence == bench.database.sequence)
        bench.process(.set("rooms/b", "1"))
        #expect(bench.database.outboxSequence > sequence)
        try bench.database.refuse(because: .full, storeSequence: sequence, replaying: [])
        #expect(bench.database.outboxSequence == sequence)
    }

    @Test("leave the outbox when they are delivered, and come back when they are to be sent again")
    func reports() throws {
        var bench = try Self.bench(Self.text)
        bench.process(.set("rooms", #"{"a":1,"b":2,"c":3}"#))
        #expect(bench.database.takeFreshEvents().isEmpty)
        _ = bench.commit()
        let rows = bench.database.takeFreshEvents()
        #expect(rows.count == 3)
        #expect(bench.database.takeFreshEvents().isEmpty)
        var event = try TriggerEvent(stored: rows[1].event)
        event.failure = "no"
        var report = OutboxReport()
        report.done = [rows[0].key]
        report.aside = [(rows[1].key, event)]
        bench.log.append(try #require(bench.database.note(report, now: 2000)))
        try bench.applyAll()
        #expect(bench.store.outbox.isEmpty, "the store is never ahead of the log")
        _ = bench.commit()
        try bench.applyAll()
        let kept = bench.store.outbox.keys.sorted()
        #expect(kept.map(\.isAside) == [false, true])
        #expect(kept[0] == rows[2].key)
        #expect(try TriggerEvent(stored: bench.store.outbox[kept[1]] ?? []) == event)
        event.failure = nil
        event.since = 3000
        report = OutboxReport()
        report.again = [(kept[1], event)]
        bench.log.append(try #require(bench.database.note(report, now: 3000)))
        _ = bench.commit()
        let again = bench.database.takeFreshEvents()
        #expect(try again.map { try TriggerEvent(stored: $0.event) } == [event])
        #expect(again[0].key > rows[2].key)
        try bench.applyAll()
        #expect(bench.store.outbox.keys.sorted() == [rows[2].key, again[0].key])
    }

    @Test(
        "are exactly the differences of the places, whatever is written; the log brings them back",
        arguments: 0..<(300 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        var generator = StepGenerator(seed: seed)
        var bench = DatabaseBench(
            packing: generator.packing(), largeBytesMin: [200, 1000, 100_000].randomElement(using: &random)!)
        var definitions: [TriggerDefinition] = []
        for number in 0..<3 {
            let path = generator.path()
            let segments = path.segments.map { range -> [UInt8]? in
                Int.random(in: 0..<3, using: &random) == 0 ? Array(path.encoded[range]) : nil
            }
            definitions.append(
                TriggerDefinition(
                    name: "t\(number)", pattern: IndexPattern(segments: segments),
                    kind: TriggerDefinition.Kind.allCases.randomElement(using: &random)!, target: .command("c")))
        }
        bench.database.outbox.setTriggers(definitions)
        var expected: [OutboxKey: [UInt8]] = [:]
        for step in 0..<40 {
            let before = try bench.database.rows.read(.root)
            let operation = generator.operation(
                knowing: { before.value(at: $0) }, having: { before.value(at: $0) })
            let logged = bench.log.count
            bench.process(operation)
            let after = try bench.database.rows.read(.root)
            let events = bench.log.count > logged ? try Self.events(bench) : []
            let wanted = Self.differences(definitions, before, after)
            #expect(
                events.map { "\($0.trigger) \($0.path)" } == wanted.map { "\($0.trigger) \($0.path)" },
                "seed \(seed) step \(step) \(operation)")
            for (event, wanted) in zip(events, wanted) {
                #expect(event.data == wanted.before.bytes, "seed \(seed) step \(step)")
                let made = try wanted.before.applying(mergePatch: event.delta)
                #expect(made == wanted.after, "seed \(seed) step \(step)")
            }
            for operation in bench.log.count > logged ? try bench.log[logged].operations() : [] {
                guard case .outbox(let change) = operation.content else { continue }
                for row in change.added { expected[row.key] = row.event }
            }
            if Int.random(in: 0..<5, using: &random) == 0 {
                _ = bench.commit()
                try bench.applyAll()
                #expect(bench.store.outbox == expected, "seed \(seed) step \(step)")
            }
        }
        // A process that has lost its memory finds them in the log.
        var reopened = try DatabaseBench.reopened(MemoryRowStore(), sequence: 0, log: bench.log)
        // Its own first turn made the writes of connections that are gone.
        _ = reopened.commit()
        try reopened.applyAll()
        #expect(reopened.store.outbox == expected, "seed \(seed)")
    }

    private static func differences(
        _ definitions: [TriggerDefinition], _ before: CanonicalJSON, _ after: CanonicalJSON
    ) -> [(trigger: String, path: Path, before: CanonicalJSON, after: CanonicalJSON)] {
        definitions.flatMap {
            definition -> [(trigger: String, path: Path, before: CanonicalJSON, after: CanonicalJSON)] in
            let places = places(definition.pattern.segments[...], in: before, at: .root)
                .union(places(definition.pattern.segments[...], in: after, at: .root))
            return places.sorted().compactMap { path in
                let (old, new) = (before.value(at: path).withoutPriorities, after.value(at: path).withoutPriorities)
                guard old != new, definition.kind.includes(before: !old.isNull, after: !new.isNull) else { return nil }
                return (definition.name, path, old, new)
            }
        }
    }

    private static func places(_ pattern: ArraySlice<[UInt8]?>, in value: CanonicalJSON, at path: Path) -> Set<Path> {
        guard let first = pattern.first else { return [path] }
        var found: Set<Path> = []
        for child in value.children {
            var segment: [UInt8] = []
            child.appendSegment(to: &segment)
            guard first == nil || first == segment else { continue }
            found.formUnion(
                places(pattern.dropFirst(), in: value.part(child.value), at: Path(encoded: path.encoded + segment)))
        }
        return found
    }
}

private func * <Element>(list: [Element], count: Int) -> [Element] { Array(repeating: list[0], count: count) }
