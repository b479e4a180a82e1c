import HearthJSONTree
import HearthSecurityRules
import HearthTestSupport
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
}
