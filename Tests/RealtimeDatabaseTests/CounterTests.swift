import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("counts and sums that the server keeps")
struct CounterTests {
    private static let text = """
        {"settings": {
          ".count": {"of": "rooms", "into": "stats/rooms"},
          "rooms": {"$room": {
            ".count": [{"of": "messages", "into": "stats/messages"}, {"of": "members", "into": "size"}],
            ".sum": [
              {"of": "messages", "value": "price", "into": "stats/turnover"},
              {"of": "members", "value": ".value", "into": "points"},
            ],
          }},
        }}
        """

    private static func program(_ text: String = text) throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8)))
    }

    private static func countAll(_ bench: inout DatabaseBench, childrenMax: Int = 200) throws {
        while bench.database.isCounting {
            if let record = try bench.database.countSome(childrenMax: childrenMax, now: 1000) {
                bench.log.append(record)
            }
        }
    }

    @Test("change in the commit that changes the data, and are told as one change")
    func commits() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.countAll(&bench)
        bench.process(.listen("rooms/a", known: nil), by: DatabaseBench.reader)
        _ = bench.commit()
        bench.process(.set("rooms/a/messages/m1", #"{"price":0.1}"#))
        bench.process(.set("rooms/a/messages/m2", #"{"price":0.2}"#))
        bench.process(.set("rooms/a/messages/m1/text", #""x""#))
        bench.process(.set("rooms/a/messages", "null"))
        #expect(
            bench.commit() == [
                "push /rooms/a rooms/a/messages/m1 {\"price\":0.1}, rooms/a/stats/messages 1, "
                    + "rooms/a/stats/turnover 0.1 to 1", "2 done",
                "push /rooms/a rooms/a/messages/m2 {\"price\":0.2}, rooms/a/stats/messages 2, "
                    + "rooms/a/stats/turnover 0.3 to 1", "3 done",
                "push rooms/a/messages/m1/text \"x\" to 1", "4 done",
                "push /rooms/a rooms/a/messages null, rooms/a/stats/messages null, "
                    + "rooms/a/stats/turnover null to 1", "5 done",
            ])
        #expect(try bench.database.rows.read("") == "null")
        #expect(bench.log.map(\.count) == [1, 1, 1, 1])
    }

    @Test("cannot be written; a value that is written above them gets the right ones in their place")
    func writes() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.countAll(&bench)
        bench.process(.set("rooms/a", #"{"members":{"u":2,"v":3},"size":77,"stats":{"messages":5,"mine":1}}"#))
        let expected: CanonicalJSON =
            #"{"members":{"u":2,"v":3},"points":5,"size":2,"stats":{"mine":1}}"#
        #expect(try bench.database.rows.read("rooms/a") == expected)
        bench.process(.set("rooms/a/size", "1"))
        bench.process(.set("rooms/a/size/deeper", "1"))
        bench.process(try .update("rooms/a", [("rooms/a/points/.priority", "1"), ("rooms/a/x", "1")]))
        bench.process(.set("rooms/a/size", "1"), as: .administrator)
        bench.process(
            try .update("rooms/a", [("rooms/a/size", "9"), ("rooms/a/members/u", "null")]), as: .administrator)
        bench.process(.set("rooms/a/stats", "null"))
        bench.process(.set("rooms/a/members/w", "1e+308"))
        bench.process(.set("rooms/a/members/x", "1e+308"))
        let size = Failure.refusedBySetting(
            why: StaticText("counter"), #"The server keeps the value at "/rooms/a/size": it cannot be written"#)
        let answers = bench.commit()
        #expect(answers[1] == "2 \(size)")
        #expect(size.denialReason == "counter")
        #expect(answers[2].contains("/rooms/a/size/deeper"))
        #expect(answers[3].contains("/rooms/a/points"))
        #expect(answers[4...7] == ["5 done", "6 done", "7 done", "8 done"])
        #expect(answers[8].contains("larger than any number"))
        let last = try bench.database.rows.read("rooms/a")
        #expect(last == #"{"members":{"v":3,"w":1e+308},"points":1e+308,"size":2}"#)
    }

    @Test("in a value that was written above them are answered to those who may read them, and to nobody else")
    func echoes() throws {
        let settings = try DatabaseSettings(
            parsing: Array(
                #"{"settings":{"shops":{"$shop":{".count":{"of":"orders","into":"stats/orders"}}}}}"#.utf8))
        let cases: [(read: String, answer: String)] = [
            ("false", #"2 {"foo":1}"#), ("auth.uid == 'bob'", #"2 {"foo":1}"#),
            ("auth.uid == 'ann'", #"2 {"foo":1,"orders":2}"#),
        ]
        for (read, answer) in cases {
            var bench = DatabaseBench()
            let rules = #"{"rules":{"shops":{"$shop":{"stats":{".write":"auth != null",".read":"\#(read)"}}}}}"#
            bench.database.setRules(try RulesProgram(parsing: Array(rules.utf8)).with(settings), now: 0)
            try Self.countAll(&bench)
            bench.process(.set("shops/x/orders", #"{"o1":1,"o2":1}"#), as: .administrator)
            bench.process(
                .set(WriteTarget(path: "shops/x/stats"), IncomingValue(json: #"{"foo":1}"#), echoes: true),
                as: try Principal(auth: Array(#"{"uid":"ann"}"#.utf8)))
            #expect(bench.commit() == ["1 done", answer], "\(read)")
            #expect(try bench.database.rows.read("shops/x/stats") == #"{"foo":1,"orders":2}"#)
        }
    }

    @Test("of what a connection leaves to be written when it ends are kept as well")
    func onDisconnect() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.countAll(&bench)
        bench.process(.set("rooms/a/members", #"{"u":1,"v":1}"#))
        bench.process(
            .onDisconnect([
                (WriteTarget(path: "rooms/a/members/u"), IncomingValue(json: "null")),
                (WriteTarget(path: "rooms/a/size"), IncomingValue(json: "7")),
            ]))
        bench.process(.disconnect)
        bench.process()
        #expect(try bench.database.rows.read("rooms/a") == #"{"members":{"v":1},"points":1,"size":1}"#)
    }

    // MARK: A model

    private struct Writes {
        var random: SeededRandom

        mutating func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }

        mutating func leaf() -> String {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: pick(["true", #""a""#, "null", #"{"q":1}"#])
            case 1: #"{".priority":1,".value":\#(Int.random(in: -5...5, using: &random))}"#
            case 2: "900719925474"
            default: "\(Double(Int.random(in: -9999...9999, using: &random)) / 100)"
            }
        }

        mutating func message() -> String {
            switch Int.random(in: 0..<5, using: &random) {
            case 0: leaf()
            case 1: #"{"price":\#(leaf()),"text":"x"}"#
            default: #"{"price":\#(leaf())}"#
            }
        }

        mutating func children(_ make: (inout Writes) -> String) -> String {
            let keys = ["1", "k", "l", "m", "n"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { "\"\($0)\":\(make(&self))" }.joined(separator: ","))}"
        }

        mutating func room() -> String {
            switch Int.random(in: 0..<6, using: &random) {
            case 0: "null"
            case 1: leaf()
            case 2: #"{"size":1,"stats":{"messages":\#(leaf()),"x":1}}"#
            case 3: #"{"messages":\#(children { $0.message() })}"#
            default:
                #"{"members":\#(children { $0.leaf() }),"messages":\#(children { $0.message() }),"size":\#(leaf())}"#
            }
        }

        mutating func assignment() throws -> (String, CanonicalJSON) {
            let room = "rooms/\(pick(["a", "b", "7"]))"
            let key = pick(["1", "k", "l", "m", "n"])
            let (path, text): (String, String) =
                switch Int.random(in: 0..<16, using: &random) {
                case 0:
                    pick([
                        ("", "null"), ("", #"{"rooms":{"a":\#(self.room()),"b":\#(self.room())},"stats":{"rooms":4}}"#),
                    ])
                case 1: ("rooms", #"{"b":\#(self.room()),"c":\#(self.room())}"#)
                case 2, 3: (room, self.room())
                case 4: ("\(room)/messages", children { $0.message() })
                case 5: ("\(room)/stats", pick(["null", "1", #"{"messages":9,"y":{"z":1}}"#]))
                case 6: ("stats", pick(["null", "3", #"{"rooms":1,"q":2}"#]))
                case 7: ("\(room)/members", pick(["null", children { $0.leaf() }]))
                case 8, 9: ("\(room)/members/\(key)", leaf())
                case 10: ("\(room)/members/\(key)/deep", leaf())
                case 11: ("\(room)/messages/\(key)/price", leaf())
                case 12: ("other/\(key)", leaf())
                default: ("\(room)/messages/\(key)", message())
                }
            return (path, try CanonicalJSON.parse(Array(text.utf8)).value)
        }

        /// No path lies at or below another.
        mutating func update() throws -> [(String, CanonicalJSON)] {
            var list: [(path: Path, entry: (String, CanonicalJSON))] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let entry = try assignment()
                let path = try Path(parsing: entry.0)
                if list.contains(where: { $0.path.contains(path) || path.contains($0.path) }) { continue }
                list.append((path, entry))
            }
            return list.map(\.entry)
        }
    }

    /// A tree with all totals made again, by brute force.
    private static func counted(_ tree: CanonicalJSON, _ settings: DatabaseSettings) throws -> CanonicalJSON {
        var result = tree
        // The room's totals first: none of them makes a room.
        for counter in settings.counters.reversed() {
            for place in places(result, .root, counter.pattern.segments[...]) {
                let collection = result.value(at: place.appending(counter.collection))
                var (count, total) = (Int64(0), Int64(0))
                for child in collection.children {
                    count += 1
                    let value = collection.part(child.value)
                    let summed: CanonicalJSON =
                        switch counter.summed {
                        case .child(let path): value.value(at: path)
                        default: value
                        }
                    let text = summed.part(summed.leafRange).description
                    if !summed.isLeaf || text.hasPrefix("\"") || text == "true" { continue }
                    // In hundredths; the one large number is a whole one.
                    total += try #require(
                        Int64(text).map { $0 * 100 } ?? Double(text).map { Int64(($0 * 100).rounded()) })
                }
                let text =
                    counter.summed == nil
                    ? "\(count)"
                    : "\(total < 0 ? "-" : "")\(total.magnitude / 100).\(String("\(100 + total.magnitude % 100)".dropFirst()))"
                var value = try CanonicalJSON.parse(Array(text.utf8)).value
                if value == "0" { value = .null }
                result = result.setting(value, at: place.appending(counter.target))
            }
        }
        return result
    }

    private static func places(_ tree: CanonicalJSON, _ path: Path, _ pattern: ArraySlice<[UInt8]?>) -> [Path] {
        guard let first = pattern.first else { return [path] }
        if let segment = first { return places(tree, Path(encoded: path.encoded + segment), pattern.dropFirst()) }
        return tree.value(at: path).children.flatMap { child in
            var encoded = path.encoded
            child.appendSegment(to: &encoded)
            return places(tree, Path(encoded: encoded), pattern.dropFirst())
        }
    }

    @Test(
        "are those of a new count after every write, in whatever form the data is kept",
        arguments: 0..<TestScale.cases(20))
    func model(seed: UInt64) throws {
        var writes = Writes(random: SeededRandom(seed: seed))
        let packing = RowPacking(packedBytesMax: writes.pick([20, 60, 2048]), repackBytesMax: 15)
        var bench = DatabaseBench(packing: packing, largeBytesMin: writes.pick([30, 200, .max]))
        let program = try Self.program()
        bench.database.setRules(program, now: 0)
        try Self.countAll(&bench)
        var tree = CanonicalJSON.null
        for step in 0..<200 {
            let entries = try writes.update()
            let operation =
                entries.count == 1 && writes.pick([true, false])
                ? try Operation.set(Path(parsing: entries[0].0), entries[0].1) : try .update("", entries)
            var request = Request(
                connection: DatabaseBench.writer, number: Int64(step), principal: .nobody, operation: operation)
            if writes.pick([true, false]) { request = bench.database.preparation.prepared(request) }
            if let record = bench.database.process([request], now: 1000) { bench.log.append(record) }
            for (path, value) in entries { tree = tree.setting(value, at: try Path(parsing: path)) }
            tree = try Self.counted(tree, program.settings)
            #expect(bench.commit() == ["\(step) done"])
            try #require(try bench.database.rows.read("") == tree, "seed \(seed), step \(step): \(entries)")
            if writes.pick([0, 0, 0, 1]) == 1 { try bench.applyAll() }
        }
        // The log alone says it all.
        let replayed = DatabaseBench()
        for record in bench.log { try replayed.database.replay(record.operations()) }
        #expect(try replayed.database.rows.read("") == tree, "seed \(seed)")
    }

    @Test(
        "of data that was there before are counted in steps, while it is written",
        arguments: 0..<(60 * TestScale.factor))
    func building(seed: UInt64) throws {
        var writes = Writes(random: SeededRandom(seed: seed))
        var bench = DatabaseBench(
            packing: RowPacking(packedBytesMax: writes.pick([20, 2048]), repackBytesMax: 15))
        let program = try Self.program()
        for _ in 0..<12 { bench.process(try .update("", try writes.update())) }
        bench.database.setRules(program, now: 0)
        var steps = 0
        while bench.database.isCounting {
            if let record = try bench.database.countSome(childrenMax: 1, now: 1000) { bench.log.append(record) }
            steps += 1
            if writes.pick([0, 1]) == 1, steps < 300 { bench.process(try .update("", try writes.update())) }
            if writes.pick([0, 0, 1]) == 1 { try bench.applyAll() }
        }
        _ = bench.commit()
        let tree = try bench.database.rows.read("")
        #expect(try Self.counted(tree, program.settings) == tree, "seed \(seed)")
    }

    @Test("are right after a restart without another count, unless they were not kept for some time")
    func restart() throws {
        var bench = DatabaseBench()
        let program = try Self.program()
        bench.database.setRules(program, now: 0)
        try Self.countAll(&bench)
        bench.process(.set("rooms/a/members/u", "1"))
        _ = bench.commit()
        try bench.applyAll()
        let sequence = bench.database.sequence
        bench.process(.set("rooms/a/members/v", "2"))
        var again = try DatabaseBench.reopened(bench.store, sequence: sequence, log: bench.log)
        again.database.setRules(program, now: 0)
        #expect(again.database.counterStatus().allSatisfy { $0.state == .kept })
        again.process(.set("rooms/a/members/w", "3"))
        #expect(try again.database.rows.read("rooms/a/points") == "6")

        // Without the settings for a while, and stopped before that reached the store.
        bench.database.setRules(nil, now: 0)
        bench.process(.set("rooms/a/members/x", "4"))
        var later = try DatabaseBench.reopened(bench.store, sequence: sequence, log: bench.log)
        later.database.setRules(program, now: 0)
        #expect(later.database.counterStatus().contains { $0.state == .counting })
        try Self.countAll(&later)
        #expect(try later.database.rows.read("rooms/a/points") == "7")
    }

    @Test("are counted again when the log refuses the commit that has them")
    func refusal() throws {
        var bench = DatabaseBench()
        bench.process(.set("rooms/a/members", #"{"u":1,"v":2}"#))
        _ = bench.commit()
        try bench.applyAll()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.countAll(&bench)
        #expect(!bench.database.isCounting)
        try bench.database.refuse(because: .full, storeSequence: 1, replaying: [])
        #expect(bench.database.isCounting)
        bench.database.accept()
        try Self.countAll(&bench)
        #expect(try bench.database.rows.read("rooms/a/points") == "3")
    }

    // MARK: Counting, and what happens meanwhile

    private static let counted = """
        {"settings": {
          ".count": {"of": "c", "into": "n"},
          "d": {".trigger": {"name": "t", "on": "written", "url": "https://a.example/"}},
        }}
        """

    /// Forty children were there before, each with a row, and some of them are counted.
    private static func halfCounted() throws -> DatabaseBench {
        var before = DatabaseBench(packing: RowPacking(packedBytesMax: 10, repackBytesMax: 5))
        let children = (10..<50).map { "\"k\($0)\":1" }.joined(separator: ",")
        before.process(.set("c", try CanonicalJSON.parse(Array("{\(children)}".utf8)).value))
        before.process(.set("d", #"{"x":1,"y":"a text"}"#), .set("n", #""an earlier total""#))
        _ = before.commit()
        try before.applyAll()
        let bench = try DatabaseBench.reopened(before.store, sequence: before.database.sequence, log: [])
        bench.database.setRules(try program(counted), now: 0)
        for _ in 0..<2 { #expect(try bench.database.countSome(childrenMax: 10, now: 1000) == nil) }
        #expect(bench.database.isCounting)
        return bench
    }

    @Test("are counted as if a write that is only explained were not there")
    func explaining() throws {
        for write: Operation in [.set("c/a", "1"), .set("c/k10", "null"), .set("c", #"{"a":1}"#)] {
            var bench = try Self.halfCounted()
            bench.process(.explain(write, as: .nobody), as: .administrator)
            try Self.countAll(&bench)
            #expect(try bench.database.rows.read("n") == "40", "\(write)")
        }
    }

    @Test("are counted as if a write that fails were not there")
    func failedWrite() throws {
        var bench = try Self.halfCounted()
        // The trigger tells of all of it.
        bench.store.damagedKeys = [Path("d/y").encoded]
        bench.process(try .update("", [("c/a", "1"), ("c/k10", "null"), ("c/k11", "null"), ("d/x", "2")]))
        #expect(bench.commit().last?.contains("unavailable") == true)
        #expect(bench.database.tornBy == nil)
        bench.store.damagedKeys = []
        #expect(try bench.database.rows.read("c").childCount == 40)
        try Self.countAll(&bench)
        #expect(try bench.database.rows.read("n") == "40")
    }

    @Test("are counted again if what was counted cannot be written")
    func failedTotal() throws {
        var bench = try Self.halfCounted()
        bench.store.damagedKeys = [Path("n").encoded]
        #expect(throws: StorageError.self) { try Self.countAll(&bench) }
        #expect(bench.database.tornBy == nil)
        bench.store.damagedKeys = []
        try Self.countAll(&bench)
        #expect(try bench.database.rows.read("n") == "40")
    }

    @Test("are counted with what another node has written meanwhile")
    func writesOfAnotherNode() throws {
        var bench = try Self.halfCounted()
        var other = try Self.halfCounted()
        other.process(try .update("c", [("c/a", "1"), ("c/b", "1"), ("c/k10", "null"), ("c/x", "1")]))
        bench.database.ownedElsewhere = .ownedElsewhere(node: "n1")
        try bench.database.follow(#require(other.log.last))
        bench.database.ownedElsewhere = nil
        try Self.countAll(&bench)
        #expect(try bench.database.rows.read("n") == "42")
    }
}
