import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
import HearthTreeText
import Testing

@testable import HearthRealtimeDatabase

/// An update is one step, in which no database does anything else.
@Suite("the cost of updates of many places")
struct UpdateCostTests {
    private static func bench(_ settings: String) throws -> DatabaseBench {
        let bench = DatabaseBench()
        let settings = try DatabaseSettings(parsing: Array("{\"settings\":{\(settings)}}".utf8))
        bench.database.setRules(RulesProgram.open.with(settings), now: 0)
        while bench.database.isBuildingIndex { try bench.database.buildIndex() }
        while bench.database.isCounting { _ = try bench.database.countSome(now: 0) }
        return bench
    }

    private static func update(_ paths: some Sequence<String>, _ value: CanonicalJSON) throws -> Operation {
        try .update(.root, paths.map { ($0, value) })
    }

    /// Eight times the places cost eight times as much, and some more with larger collections and cold caches; 64 times
    /// if each place is compared with all others.
    private static func isLinear(_ time: (_ count: Int) throws -> Duration) rethrows -> Bool {
        var (few, many) = (try time(500), try time(4000))
        // What else the processor does can only add to a time.
        for _ in 0..<4 where many / few >= 24 {
            few = try min(few, time(500))
            many = try min(many, time(4000))
        }
        return many / few < 24
    }

    @Test("is linear where each changes a total")
    func totals() throws {
        let isLinear = try Self.isLinear { count in
            var bench = try Self.bench(#""rooms":{"$room":{".count":{"of":"members","into":"size"}}}"#)
            let update = try Self.update((0..<count).map { "rooms/r\($0)/members/u" }, "1")
            let time = threadTime { bench.process(update) }
            #expect(try bench.database.rows.read(Path(parsing: "rooms/r\(count - 1)/size")) == "1")
            return time
        }
        #expect(isLinear)
    }

    @Test("is linear where each removes a job with its state")
    func states() throws {
        let isLinear = try Self.isLinear { count in
            var bench = try Self.bench(#""q":{".queue":{}}"#)
            let states = try Self.update((0..<count).flatMap { ["q/jobs/j\($0)", "q/state/j\($0)"] }, "1")
            bench.process(states, as: .administrator)
            let removal = try Self.update((0..<count).map { "q/jobs/j\($0)" }, "null")
            let time = threadTime { bench.process(removal) }
            #expect(try bench.database.rows.read("q") == "null")
            return time
        }
        #expect(isLinear)
    }

    @Test("is linear where each makes another child go")
    func drops() throws {
        let isLinear = try Self.isLinear { count in
            var bench = try Self.bench(#""rooms":{"$room":{".maxChildren":{"count":1,"drop":"first"}}}"#)
            bench.process(try Self.update((0..<count).map { "rooms/r\($0)/a" }, "1"))
            let update = try Self.update((0..<count).map { "rooms/r\($0)/b" }, "1")
            let time = threadTime { bench.process(update) }
            #expect(try bench.database.rows.read(Path(parsing: "rooms/r\(count - 1)")) == #"{"b":1}"#)
            return time
        }
        #expect(isLinear)
    }

    @Test("is linear where each replaces children that are counted for a limit")
    func limitedCollections() throws {
        let isLinear = try Self.isLinear { count in
            var bench = try Self.bench(#""rooms":{"$room":{".maxChildren":2}}"#)
            bench.process(try Self.update((0..<count).map { "rooms/r\($0)/a" }, "1"))
            let update = try Self.update((0..<count).map { "rooms/r\($0)" }, #"{"a":1,"b":1}"#)
            let time = threadTime { bench.process(update) }
            let last = try Path(parsing: "rooms/r\(count - 1)")
            bench.process(.set(last.appending("c" as Path), "1"))
            #expect(try bench.database.rows.read(last) == #"{"a":1,"b":1}"#)
            return time
        }
        #expect(isLinear)
    }

    /// As ``Swift/Array/added(to:)`` is defined, by brute force.
    private static func added(_ derived: [DerivedValue], to assignments: [Assignment]) -> [Assignment] {
        var result = assignments
        for one in derived {
            let place = assignments.firstIndex { !$0.target.isPriority && $0.target.path.contains(one.target) }
            if let place, let relative = one.target.suffix(after: assignments[place].target.path) {
                result[place].value = result[place].value.setting(one.value, at: relative)
            } else {
                result.append(Assignment(target: WriteTarget(path: one.target), value: one.value))
            }
        }
        return result
    }

    @Test("derived values go into those that they are in, however these are found", arguments: 0..<20 as Range<UInt64>)
    func places(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        func path(_ depths: ClosedRange<Int>) throws -> Path {
            let depth = Int.random(in: depths, using: &random)
            return try Path(
                parsing: (0..<depth).map { _ in random.pick(["1", "10", "a", "ab"]) }.joined(separator: "/"))
        }
        for _ in 0..<50 {
            // Also one inside of another.
            let assignments = try (0..<Int.random(in: 0...40, using: &random)).map { _ in
                let isPriority = random.pick([true, false, false])
                let target = WriteTarget(path: try path(0...3), isPriority: isPriority)
                return Assignment(target: target, value: isPriority ? "1" : random.pick([#"{"x":1}"#, "1", "null"]))
            }
            var derived: [DerivedValue] = []
            for _ in 0..<Int.random(in: 0...10, using: &random) {
                let target = try path(4...4)
                if derived.contains(where: { $0.target == target }) { continue }
                derived.append(DerivedValue(target: target, value: random.pick(["2", "null"])))
            }
            #expect(derived.added(to: assignments) == Self.added(derived, to: assignments), "seed \(seed)")
        }
    }
}
