import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeQueries
import Testing

@testable import HearthRealtimeDatabase

@Suite("sums of more digits than a double has")
struct ExactSumTests {
    private static let text = """
        {"settings": {"rooms": {"$room": {
          ".sum": [
            {"of": "members", "value": ".value", "into": "points"},
            {"of": "members", "value": "price", "into": "stats/prices"},
          ],
          "members": {".index": [[".value"]]},
        }}}}
        """

    private static func bench(largeBytesMin: Int = .max) throws -> DatabaseBench {
        var bench = DatabaseBench(largeBytesMin: largeBytesMin)
        try begin(&bench)
        return bench
    }

    /// The settings come, and what was there before is counted.
    private static func begin(_ bench: inout DatabaseBench) throws {
        bench.database.setRules(RulesProgram.open.with(try DatabaseSettings(parsing: Array(text.utf8))), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex(childrenMax: 3) }
        while bench.database.isCounting {
            if let record = try bench.database.countSome(childrenMax: 3, now: 1000) { bench.log.append(record) }
        }
    }

    private static func points(_ bench: DatabaseBench) throws -> CanonicalJSON {
        try bench.database.rows.read("rooms/a/points")
    }

    @Test("keep the digits that the total does not show")
    func digits() throws {
        var bench = try Self.bench()
        bench.process(.set("rooms/a/members/u", "1e16"))
        bench.process(.set("rooms/a/members/v", "1.5"))
        #expect(try Self.points(bench) == "10000000000000002")
        bench.process(.set("rooms/a/members/u", "null"))
        #expect(try Self.points(bench) == "1.5")
        bench.process(.set("rooms/a/members/w", "123456789012345.12"))
        bench.process(.set("rooms/a/members/x", "0.001"))
        bench.process(.set("rooms/a/members/w", "null"))
        #expect(try Self.points(bench) == "1.501")
        bench.process(.set("rooms/a/members", "null"))
        #expect(try bench.database.rows.read("") == "null")
        // What went with a place above does not come back with it.
        bench.process(.set("rooms/a/members", #"{"u":1e16,"v":1.5}"#))
        bench.process(.set("rooms", "null"))
        bench.process(.set("rooms/a/members/u", "1e16"))
        bench.process(.set("rooms/a/members/u", "null"))
        #expect(try bench.database.rows.read("") == "null")
    }

    @Test("that no double can hold are refused; those from before the setting show the largest, and can become less")
    func overflow() throws {
        var bench = DatabaseBench()
        bench.process(.set("rooms/a/members", #"{"u":1e308,"v":1e308,"w":1e308,"x":1.5}"#))
        try Self.begin(&bench)
        #expect(try Self.points(bench) == "1.7976931348623157e+308")
        bench.process(.set("rooms/a/members/u", "null"))
        bench.process(.set("rooms/a/members/v", "null"))
        #expect(try Self.points(bench) == "1e+308")
        bench.process(.set("rooms/a/members/y", "1e308"))
        bench.process(.set("rooms/a/members/w", "null"))
        #expect(try Self.points(bench) == "1.5")
        let answers = bench.commit()
        #expect(answers.filter { $0.contains("larger than any number") }.count == 1)
    }

    @Test("are removed from the store no sooner than the rest of their commit is there")
    func removal() throws {
        var bench = try Self.bench()
        bench.process(.set("rooms/a/members", #"{"u":1e16,"v":1.5}"#))
        _ = bench.commit()
        try bench.applyAll()
        bench.process(.set("rooms/a/members/v", "2.5"))
        _ = bench.commit()
        bench.database.freeze()
        let entries = try #require(bench.database.takeFrozen()).changes.entries
        // Those of the index go early.
        #expect(entries.removed.count == 1 && entries.cleared.count == 1 && entries.added.count == 2)
    }

    // MARK: A model

    private static let numbers = [
        "1e16", "-1e16", "1e-3", "-1e-3", "0.1", "-0.1", "1.5", "5e-324", "-5e-324", "2.5e-323",
        "1.0000000000000002e-308",
        "-1e-308", "123456789012345.12", "-123456789012345.12", "1e308", "-1e308", "1.7976931348623157e308",
        "9007199254740993", "-9223372036854775807", "1e22", "3", "-7", "true", #""x""#, "null",
    ]

    private struct Writes {
        var random: SeededRandom

        mutating func member() -> String {
            let number = random.pick(numbers)
            return random.pick([number, number, #"{"price":\#(number)}"#])
        }

        mutating func members() -> String {
            let keys = ["k", "l", "m"].filter { _ in Bool.random(using: &random) }
            return "{\(keys.map { "\"\($0)\":\(member())" }.joined(separator: ","))}"
        }

        mutating func write() -> (path: String, text: String) {
            let room = "rooms/\(random.pick(["a", "b"]))"
            switch Int.random(in: 0..<20, using: &random) {
            case 0: return ("rooms", random.pick(["null", #"{"a":{"members":\#(members())}}"#]))
            case 1: return (room, random.pick(["null", #"{"members":\#(members()),"x":1}"#]))
            case 2: return ("\(room)/members", random.pick(["null", members()]))
            case 3: return ("\(room)/stats", random.pick(["null", #"{"x":1}"#]))
            case 4: return ("\(room)/members/\(random.pick(["k", "l", "m"]))/price", random.pick(numbers))
            default: return ("\(room)/members/\(random.pick(["k", "l", "m", "n", "o"]))", member())
            }
        }
    }

    /// Looks at every child.
    private static func check(_ tree: CanonicalJSON, _ note: String) throws {
        for room in tree.value(at: "rooms").children {
            let rooms = tree.value(at: "rooms")
            let value = rooms.part(room.value)
            let members = value.value(at: "members")
            var (points, prices) = (DecimalSum(), DecimalSum())
            for child in members.children {
                if let number = members.number(in: child.value) { points.add(number) }
                let member = members.part(child.value)
                if let range = member.range(of: "price"), let number = member.number(in: range) { prices.add(number) }
            }
            #expect(value.value(at: "points") == KeptSum(1, .root, points).value, "\(note)")
            #expect(value.value(at: "stats/prices") == KeptSum(1, .root, prices).value, "\(note)")
        }
    }

    @Test(
        "are those of a new count after every write, restart and move to another node",
        arguments: 0..<(30 * TestScale.factor))
    func model(seed: UInt64) throws {
        var writes = Writes(random: SeededRandom(seed: seed))
        let largeBytesMin = writes.random.pick([40, .max, .max])
        var bench = try Self.bench(largeBytesMin: largeBytesMin)
        var follower = try Self.bench()
        var (told, applied) = (0, UInt64(0))
        for step in 0..<150 {
            let (path, text) = writes.write()
            bench.process(.set(try Path(parsing: path), try CanonicalJSON.parse(Array(text.utf8)).value))
            let answers = bench.commit()
            #expect(answers.allSatisfy { $0.hasSuffix("done") || $0.contains("larger than any") }, "\(answers)")
            try Self.check(try bench.database.rows.read(""), "seed \(seed), step \(step): \(path) \(text)")
            for record in bench.log[told...] { try follower.database.follow(record) }
            told = bench.log.count
            switch Int.random(in: 0..<12, using: &writes.random) {
            case 0:
                try bench.applyAll()
                applied = bench.database.sequence
            case 1:
                let log = bench.log
                bench = try DatabaseBench.reopened(bench.store, sequence: applied, log: log)
                bench.log = log
                try Self.begin(&bench)
                if largeBytesMin == .max { #expect(bench.log.count == log.count, "counted again: seed \(seed)") }
            case 2 where writes.random.pick([true, false]):
                #expect(try follower.database.rows.read("") == bench.database.rows.read(""))
                let log = bench.log
                bench = follower
                bench.log = log
                follower = try Self.bench()
                for record in log { try follower.database.follow(record) }
                applied = 0
            default: break
            }
        }
    }
}
