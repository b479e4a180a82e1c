import HearthTreeText
import HearthJSONTree
import HearthSecurityRules
import HearthStorageErrors
import HearthTestSupport
import Testing
import HearthRealtimeDatabase

@Suite("limits of the number of children")
struct ChildLimitTests {
    private static func program(_ text: String) throws -> RulesProgram {
        RulesProgram.open.with(try DatabaseSettings(parsing: Array("{\"settings\":{\(text)}}".utf8)))
    }

    @Test("refuse new children, also in updates and whole values, and let all others be written")
    func refusing() throws {
        var bench = DatabaseBench()
        bench.process(.set("b", #"{"1":1,"2":1,"3":1}"#))
        bench.database.setRules(try Self.program(#""a":{".maxChildren":2},"b":{".maxChildren":2}"#), now: 0)
        bench.process(.set("a", #"{"x":1,"y":1}"#))
        bench.process(.set("a/z", "1"), as: .administrator)
        bench.process(.set("a/x/deeper", "1"))
        bench.process(try .update("a", [("a/x", "null"), ("a/z", "1")]))
        bench.process(.set("a", #"{"x":1,"y":1,"z":1}"#))
        bench.process(.set("b/3", "2"))
        bench.process(.set("b/1", "null"))
        bench.process(.set("b/4", "1"))
        bench.process(.set("b", #"{"4":1,"5":1}"#))
        let refused = Failure.refusedBySetting(
            why: StaticText("maxChildren"), #""/a" may not have more than 2 children"#)
        let answers = bench.commit()
        #expect(answers.count == 10)
        #expect(answers[2] == "3 \(refused)")
        #expect(answers[5] == "6 \(refused)")
        #expect(answers[8].contains(#"\"/b\" may"#))
        #expect(answers.count { $0.hasSuffix("done") } == 7)
        #expect(refused.denialReason == "maxChildren")
        #expect(try bench.database.rows.read("") == #"{"a":{"y":1,"z":1},"b":{"4":1,"5":1}}"#)
    }

    @Test("drop the first children in the commit that brings new ones, and totals count that")
    func dropping() throws {
        var bench = DatabaseBench()
        bench.database.setRules(
            try Self.program(
                #""a":{".maxChildren":{"count":2,"drop":"first"}},".count":{"of":"a","into":"n"},".sum":{"of":"a","value":".value","into":"s"}"#
            ), now: 0)
        while bench.database.isCounting { _ = try bench.database.countSome(now: 0) }
        bench.process(.listen("a", known: nil), by: DatabaseBench.reader)
        _ = bench.commit()
        bench.process(.set("a/k", "1"))
        bench.process(.set("a/l", "2"))
        bench.process(.set("a/m", "3"))
        // It is the first itself.
        bench.process(.set("a/b", "4"))
        bench.process(.set("a", #"{"x":5,"y":6,"z":7}"#))
        let answers = bench.commit().filter { $0.hasPrefix("push") }
        #expect(
            answers == [
                "push a/k 1 to 1", "push a/l 2 to 1", "push /a a/m 3, a/k null to 1",
                #"push a/b null to 1"#, #"push a {"y":6,"z":7} to 1"#,
            ])
        #expect(try bench.database.rows.read("") == #"{"a":{"y":6,"z":7},"n":2,"s":13}"#)
    }

    @Test("that came after the data are reached in steps of a thousand children")
    func largeCollections() throws {
        var bench = DatabaseBench()
        let children = (0..<2500).map { "\"\($0)\":1" }.joined(separator: ",")
        bench.process(.set("a", try CanonicalJSON.parse(Array("{\(children)}".utf8)).value))
        bench.database.setRules(try Self.program(#""a":{".maxChildren":{"count":10,"drop":"first"}}"#), now: 0)
        let left = try (0..<3).map { step in
            bench.process(.set(try Path(parsing: "a/\(3000 + step)"), "1"))
            return try bench.database.rows.read("a").childCount
        }
        #expect(left == [1501, 502, 10])
    }

    @Test("are kept by one write of thousands of children, of which the last ones stay", arguments: [false, true])
    func largeUpdates(isText: Bool) throws {
        var bench = DatabaseBench()
        bench.database.setRules(
            try Self.program(
                #""a":{".maxChildren":{"count":10,"drop":"first"}},".count":{"of":"a","into":"n"}"#), now: 0)
        while bench.database.isCounting { _ = try bench.database.countSome(now: 0) }
        for first in [10_000, 20_000] {
            let keys = (first..<first + 2500).map { "k\($0)" }
            if isText {
                let children = keys.map { "\"\($0)\":1" }.joined(separator: ",")
                let text = try CanonicalJSON.parse(Array("{\(children)}".utf8)).value
                bench.process(.setChildren("a", IncomingValue(json: text)))
            } else {
                bench.process(try .update("a", keys.map { ("a/\($0)", "1") }))
            }
            #expect(try bench.database.rows.read("a").children.map { "\($0.key)" } == keys.suffix(10))
            #expect(try bench.database.rows.read("n") == "10")
        }
    }

    /// What must be the state after a write, by brute force.
    private static func limited(
        _ before: CanonicalJSON, _ entries: [(Path, CanonicalJSON)], drops: Bool
    ) -> CanonicalJSON? {
        var after = entries.reduce(before) { $0.setting($1.1, at: $1.0) }
        for group in ["g", "h"] as [Path] {
            for collection in [group.appending("c" as Path)] {
                let keys = after.value(at: collection).children.map(\.key)
                let was = before.value(at: collection).childCount
                if keys.count <= 3 || keys.count <= was && !drops { continue }
                // A collection never has more, since the setting was there first.
                if !drops { return nil }
                for key in keys.prefix(keys.count - 3) {
                    after = after.setting(.null, at: collection.appending(key))
                }
            }
        }
        return after
    }

    @Test(
        "agree with a count of all children after every write, also after failures and restarts",
        arguments: 0..<(30 * TestScale.factor))
    func model(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func pick<Element>(_ list: [Element]) -> Element { random.pick(list) }
        func children() -> String {
            let keys = ["1", "10", "k", "l", "m", "n"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { "\"\($0)\":\(pick(["1", #"{"x":1}"#]))" }.joined(separator: ","))}"
        }
        let drops = pick([true, false])
        let setting = drops ? #"{"count":3,"drop":"first"}"# : "3"
        let program = try Self.program(#""$g":{"c":{".maxChildren":\#(setting)}}"#)
        let packing = RowPacking(packedBytesMax: pick([20, 60, 2048]), repackBytesMax: 15)
        var bench = DatabaseBench(packing: packing, largeBytesMin: pick([30, .max]))
        bench.database.setRules(program, now: 0)
        var tree = CanonicalJSON.null
        var refusals = 0
        for step in 0..<200 {
            var entries: [(Path, CanonicalJSON)] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let group = pick(["g", "h"])
                let key = pick(["1", "10", "k", "l", "m", "n"])
                let (path, text): (String, String) =
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0: (group, pick(["null", "7", #"{"c":\#(children())}"#]))
                    case 1: ("\(group)/c", pick(["null", children()]))
                    case 2, 3: ("\(group)/c/\(key)", "null")
                    case 4: ("\(group)/c/\(key)/x", pick(["null", "2"]))
                    default: ("\(group)/c/\(key)", "3")
                    }
                let target = try Path(parsing: path)
                if entries.contains(where: { $0.0.contains(target) || target.contains($0.0) }) { continue }
                entries.append((target, try CanonicalJSON.parse(Array(text.utf8)).value))
            }
            let expected = Self.limited(tree, entries, drops: drops)
            bench.process(
                entries.count == 1 && pick([true, false])
                    ? .set(entries[0].0, entries[0].1)
                    : .update(base: .root, entries.map { (WriteTarget(path: $0.0), IncomingValue(json: $0.1)) }))
            if expected == nil { refusals += 1 }
            tree = expected ?? tree
            #expect(
                bench.commit().last?.hasSuffix("done") == (expected != nil), "seed \(seed), step \(step): \(entries)")
            try #require(try bench.database.rows.read("") == tree, "seed \(seed), step \(step): \(entries)")
            if pick([0, 0, 0, 1]) == 1 { try bench.applyAll() }
            if pick([0, 0, 0, 0, 0, 1]) == 1 {
                try bench.applyAll()
                let sequence = bench.database.sequence
                try bench.database.refuse(because: .full, storeSequence: sequence, replaying: [])
                bench.database.accept()
            }
        }
        #expect(drops || refusals > 5, "seed \(seed)")
    }
}
