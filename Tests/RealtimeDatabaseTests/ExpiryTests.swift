import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("children that expire")
struct ExpiryTests {
    private static let text = """
        {"settings": {
          ".count": {"of": "codes", "into": "codeCount"},
          "codes": {".expires": "until"},
          "rooms": {"$room": {"messages": {".expires": [{"since": "at", "after": 100}, ".value"]}}},
        }}
        """

    private static func program(_ text: String = text) throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8)))
    }

    private static func build(_ bench: inout DatabaseBench, childrenMax: Int = 200) throws {
        while bench.database.isBuildingIndex { try bench.database.buildIndex(childrenMax: childrenMax) }
        while bench.database.isCounting {
            if let record = try bench.database.countSome(now: 0) { bench.log.append(record) }
        }
    }

    private static func process(_ bench: inout DatabaseBench, _ operations: Operation..., at now: Int64) {
        let requests = operations.map {
            Request(connection: DatabaseBench.writer, number: 1, principal: .nobody, operation: $0)
        }
        if let record = bench.database.process(requests, now: now) { bench.log.append(record) }
    }

    @Test("go in a commit that listeners see, no earlier than their time, which can be changed until then")
    func times() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        bench.process(.listen("codes", known: nil), by: DatabaseBench.reader)
        Self.process(
            &bench, .set("codes", #"{"a":{"until":2000},"b":{"until":2000,"x":1},"c":{"until":"2000"}}"#), at: 1000)
        Self.process(&bench, at: 1999)
        Self.process(&bench, .set("codes/a/until", "3000"), at: 1999)
        _ = bench.commit()
        #expect(!bench.database.hasExpired(at: 1999))
        #expect(bench.database.hasExpired(at: 2000))
        Self.process(&bench, .get("codes/b"), .get("codes/a/until"), at: 2000)
        #expect(bench.commit() == ["push codes/b null to 1", "1 null", "1 3000"])
        #expect(try bench.database.rows.read("codeCount") == "2")
        Self.process(&bench, .set("codes/a/until", "null"), at: 2500)
        Self.process(&bench, at: 100_000)
        #expect(try bench.database.rows.read("codes") == #"{"c":{"until":"2000"}}"#)
        #expect(!bench.database.hasExpired(at: .max - 1))
    }

    @Test("go in time by a clock that was set back, though their removal was put off by the one before")
    func clock() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        bench.database.observeTime(86_400_000, uptime: 0)
        Self.process(&bench, .set("codes", #"{"a":{"until":2000}}"#), at: 1000)
        bench.database.indexes.postponeRemoval(to: 86_401_000)
        bench.database.observeTime(1_500, uptime: 500)
        #expect(bench.database.hasExpired(at: 2000))
        Self.process(&bench, at: 2000)
        #expect(try bench.database.rows.read("codes") == .null)
    }

    @Test("are removed in steps; one that is read by itself is never seen, however many wait")
    func steps() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        let count = 1000
        let children = (0..<count).map { "\"\($0)\":{\"until\":50}" }.joined(separator: ",")
        Self.process(&bench, .set("codes", try CanonicalJSON.parse(Array("{\(children)}".utf8)).value), at: 0)
        var left = [count]
        while bench.database.hasExpired(at: 60) {
            Self.process(&bench, .get("codes/999/until"), at: 60)
            #expect(bench.commit().last == "1 null")
            left.append(try bench.database.rows.read("codes").childCount)
        }
        let size = bench.database.expiredMax
        #expect(left == [count] + stride(from: count - 1 - size, to: 0, by: -size) + [0])
        #expect(try bench.database.rows.read("") == "null")
    }

    @Test("are not in what is read once of their collection or above it, however many wait to be removed")
    func reads() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        let children = (0..<1000).map { "\"\($0)\":{\"until\":\($0 == 998 ? 70 : 50)}" }.joined(separator: ",")
        let codes = try CanonicalJSON.parse(Array("{\(children)}".utf8)).value
        Self.process(&bench, .set("codes", codes), .set("other", "1"), at: 0)
        let query = try Query(index: .key, limit: QueryLimit(.last, 2))
        _ = bench.commit()
        for step in 0..<4 {
            #expect(bench.database.hasExpired(at: 60), "\(step)")
            Self.process(&bench, .get("codes"), .get(""), .get("codes", query: query), .get("codes"), at: 60)
            let count = try bench.database.rows.read("codes").childCount
            #expect(count == 1000 - bench.database.expiredMax * (step + 1), "\(step)")
            let left = #"{"998":{"until":70}}"#
            #expect(
                bench.commit().suffix(4) == [
                    "1 \(left)", #"1 {"codeCount":\#(count),"codes":\#(left),"other":1}"#, "1 \(left)", "1 \(left)",
                ])
        }
        Self.process(&bench, at: 60)
        Self.process(&bench, .get("codes"), at: 70)
        #expect(bench.commit().last == "1 null")
    }

    @Test("are taken out of what is read as the model says", arguments: 0..<(200 * TestScale.factor))
    func readModel(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func time() -> String { random.pick(["49", "50", "51", "-60", "-50", "-49", "null", #""x""#, #"{"q":1}"#]) }
        func children() -> String {
            let keys = ["1", "k", "l", "m"].filter { _ in Bool.random(using: &random) }
            return
                "{\(keys.map { #""\#($0)":\#(random.pick([time(), #"{"at":\#(time()),"until":\#(time())}"#]))"# }.joined(separator: ","))}"
        }
        let settings = try DatabaseSettings(parsing: Array(Self.text.utf8))
        let expired = ExpiredChildren(definitions: settings.expiries, time: 50)
        let text =
            #"{"codes":\#(children()),"rooms":{"a":{"messages":\#(children())},"b":{"messages":\#(children())}}}"#
        let tree = try CanonicalJSON.parse(Array(text.utf8)).value
        let expected = try Self.expired(tree, at: 50).setting(.null, at: "codeCount")
        for path in ["", "codes", "rooms", "rooms/a", "rooms/b/messages", "x"] as [Path] {
            let read = expired.removed(from: tree.value(at: path), at: path)
            #expect(read == expected.value(at: path), "seed \(seed): \(path) of \(tree)")
        }
    }

    @Test("are not removed while writes are refused, and are afterwards, also by another process")
    func refusal() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        Self.process(&bench, .set("codes/a", #"{"until":50}"#), at: 0)
        _ = bench.commit()
        try bench.applyAll()
        let sequence = bench.database.sequence
        try bench.database.refuse(because: .full, storeSequence: sequence, replaying: [])
        Self.process(&bench, .get("codes/a/until"), at: 60)
        #expect(bench.commit() == ["1 null"])
        #expect(try bench.database.rows.read("codes/a/until") == "50")
        var again = try DatabaseBench.reopened(bench.store, sequence: sequence, log: [])
        again.database.setRules(try Self.program(), now: 0)
        #expect(!again.database.isBuildingIndex)
        Self.process(&again, .get("codes"), at: 60)
        #expect(again.commit() == ["1 null"])
        bench.database.accept()
        Self.process(&bench, .get("codes"), at: 60)
        #expect(bench.commit() == ["1 null"])
    }

    @Test("keep nothing when on-disconnect writes go into them that another process makes")
    func owedWrites() throws {
        var bench = DatabaseBench()
        bench.database.setRules(try Self.program(), now: 0)
        try Self.build(&bench)
        Self.process(
            &bench,
            .set("codes", #"{"a":{"until":2000,"x":1},"b":{"n":5,"until":2000},"c":{"until":9000,"x":1}}"#), at: 1000)
        let entries: [(String, CanonicalJSON)] = [
            ("codes/a/on", "false"), ("codes/b/n", #"{".sv":{"increment":1}}"#), ("codes/c/on", "false"),
        ]
        let owed = try entries.map { (try WriteTarget(parsing: $0.0), IncomingValue(json: $0.1)) }
        Self.process(&bench, .onDisconnect(owed), at: 1000)
        _ = bench.commit()
        try bench.applyAll()
        var again = DatabaseBench(store: bench.store, sequence: bench.database.sequence)
        try again.database.load()
        again.database.setRules(try Self.program(), now: 0)
        again.database.orphanAll()
        Self.process(&again, at: 5000)
        let codes: CanonicalJSON = #"{"a":{"on":false},"b":{"n":1},"c":{"on":false,"until":9000,"x":1}}"#
        #expect(try again.database.rows.read("codes") == codes)
    }

    // MARK: Children that cannot be removed

    private static let summed = """
        {"settings": {
          ".sum": {"of": "codes", "value": "n", "into": "total"},
          "codes": {".expires": "until"},
        }}
        """

    @Test(
        "are removed although rows of others before them, which are more than one step removes, are damaged",
        arguments: ["until", "n"])
    func damaged(name: String) throws {
        // Each of these values has a row.
        var bench = DatabaseBench(packing: RowPacking(packedBytesMax: 3, repackBytesMax: 2))
        bench.database.setRules(try Self.program(Self.summed), now: 0)
        try Self.build(&bench)
        let bad = (100..<140).map { Path(stringLiteral: "codes/a\($0)") }
        for path in bad { bench.process(.set(path, #"{"until":5000,"n":1}"#)) }
        for number in 100..<150 {
            let value: CanonicalJSON = number == 149 ? #"{"until":5500,"n":10}"# : #"{"until":5001,"n":10}"#
            bench.process(.set(Path(stringLiteral: "codes/b\(number)"), value))
        }
        _ = bench.commit()
        try bench.applyAll()
        bench.store.damagedKeys = Set(bad.map { $0.appending(Path(stringLiteral: name)).encoded })
        var again = try DatabaseBench.reopened(bench.store, sequence: bench.database.sequence, log: [])
        again.database.setRules(try Self.program(Self.summed), now: 0)
        var steps = 0
        while again.database.hasExpired(at: 5001), steps < 10 {
            Self.process(&again, at: 5001)
            steps += 1
        }
        #expect(steps < 10)
        #expect(again.database.tornBy == nil)
        #expect(try again.database.rows.read("total") == "50")
        // Requests for one of them do not put off the others.
        Self.process(&again, .get(bad[0]), at: 5400)
        Self.process(&again, at: 5500)
        #expect(try again.database.rows.read("total") == "40")
        again.store.damagedKeys = []
        while again.database.hasExpired(at: 6001) { Self.process(&again, at: 6001) }
        #expect(try again.database.rows.read("") == "null")
    }

    @Test("removal may leave a sum larger than any double, on the owner and on another node")
    func largeSum() throws {
        var (bench, follower) = (DatabaseBench(), DatabaseBench())
        for other in [bench, follower] { other.database.setRules(try Self.program(Self.summed), now: 0) }
        try Self.build(&bench)
        try Self.build(&follower)
        let codes: CanonicalJSON = #"{"a":{"n":1.7e308},"b":{"n":-1.7e308,"until":50},"c":{"n":1.7e308}}"#
        Self.process(&bench, .set("codes", codes), at: 0)
        Self.process(&bench, .set("codes/d", #"{"until":50}"#), at: 0)
        #expect(try bench.database.rows.read("total") == "1.7e+308")
        Self.process(&bench, at: 60)
        #expect(try bench.database.rows.read("codes") == #"{"a":{"n":1.7e308},"c":{"n":1.7e308}}"#)
        #expect(try bench.database.rows.read("total") == "1.7976931348623157e+308")
        Self.process(&bench, .set("codes/a", "null"), at: 70)
        #expect(try bench.database.rows.read("total") == "1.7e+308")
        for record in bench.log { try follower.database.follow(record) }
        #expect(try follower.database.rows.read("") == bench.database.rows.read(""))
    }

    // MARK: A model

    private static func expired(_ tree: CanonicalJSON, at now: Int64) throws -> CanonicalJSON {
        var result = tree
        func number(_ value: CanonicalJSON) -> Double? {
            value.isLeaf ? Double(value.part(value.leafRange).description) : nil
        }
        func expire(_ collection: Path, _ time: (CanonicalJSON) -> Double?) {
            let value = result.value(at: collection)
            for child in value.children {
                guard let time = time(value.part(child.value)), time <= Double(now) else { continue }
                result = result.setting(.null, at: collection.appending(child.key))
            }
        }
        expire("codes") { number($0.value(at: "until")) }
        for room in tree.value(at: "rooms").children {
            let messages = ("rooms" as Path).appending(room.key).appending("messages" as Path)
            expire(messages) { number($0.value(at: "at")).map { $0 + 100 } }
            expire(messages) { number($0) }
        }
        let count = result.value(at: "codes").childCount
        return result.setting(count == 0 ? .null : CanonicalJSON(integer: Int64(count)), at: "codeCount")
    }

    @Test(
        "agree with a look at all children at every moment, also of data from before and after restarts",
        arguments: 0..<(40 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }
        var now: Int64 = 1000
        func time() -> String {
            pick(["\(now + pick([-200, -1, 0, 1, 5, 30, 100]))", "\(now).5", "null", #""x""#, "{\"q\":1}"])
        }
        func child() -> String { pick([time(), #"{"at":\#(time()),"until":\#(time())}"#, #"{"x":1}"#]) }
        func children() -> String {
            let keys = ["1", "k", "l", "m"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { "\"\($0)\":\(child())" }.joined(separator: ","))}"
        }
        let program = try Self.program()
        let packing = RowPacking(packedBytesMax: pick([20, 2048]), repackBytesMax: 15)
        var bench = DatabaseBench(packing: packing, largeBytesMin: pick([30, .max]))
        var isSet = pick([true, false])
        if isSet {
            bench.database.setRules(program, now: 0)
            try Self.build(&bench)
        }
        var tree = CanonicalJSON.null
        for step in 0..<150 {
            if !isSet, step == 20 {
                bench.database.setRules(program, now: 0)
                try Self.build(&bench, childrenMax: 2)
                isSet = true
            }
            now += pick([0, 0, 1, 3, 20])
            if isSet { tree = try Self.expired(tree, at: now) }
            let key = pick(["1", "k", "l", "m"])
            let base = pick(["codes", "rooms/a/messages", "rooms/b/messages"])
            let (path, text): (String, String) =
                switch Int.random(in: 0..<12, using: &random) {
                case 0: (pick(["", "rooms", "rooms/a"]), "null")
                case 1: ("", #"{"codes":\#(children()),"rooms":{"b":{"messages":\#(children())}}}"#)
                case 2: (base, children())
                case 3: ("rooms/a", #"{"messages":\#(children())}"#)
                case 4: ("\(base)/\(key)/until", time())
                case 5: ("\(base)/\(key)/at", time())
                default: ("\(base)/\(key)", child())
                }
            let target = try Path(parsing: path)
            let value = try CanonicalJSON.parse(Array(text.utf8)).value
            Self.process(&bench, .set(target, value), at: now)
            tree = tree.setting(value, at: target)
            if isSet {
                // A child that is already expired when it is written is removed in the next turn.
                Self.process(&bench, at: now)
                tree = try Self.expired(tree, at: now)
            }
            _ = bench.commit()
            try #require(
                try bench.database.rows.read("") == tree, "seed \(seed), step \(step): \(path) \(value) at \(now)")
            if pick([0, 0, 0, 1]) == 1 { try bench.applyAll() }
            if pick([0, 0, 0, 0, 0, 0, 1]) == 1 {
                if pick([0, 1]) == 1 { try bench.applyAll() }
                let operations = try bench.log.flatMap { try $0.operations() }
                let stored = pick([true, false]) ? bench.database.sequence : 0
                if stored > 0 { try bench.applyAll() } else { continue }
                try bench.database.refuse(because: .full, storeSequence: stored, replaying: operations)
                bench.database.accept()
                try Self.build(&bench)
            }
        }
        // The log alone says it all.
        let replayed = DatabaseBench()
        for record in bench.log { try replayed.database.replay(record.operations()) }
        #expect(try replayed.database.rows.read("") == tree, "seed \(seed)")
    }
}
