import HearthSecurityRules
import HearthTestSupport
import Testing

@testable import HearthRealtimeDatabase

@Suite("The table of rates")
struct RateTableTests {
    private static func limit(_ count: Int, per period: Int, burst: Int) -> RateLimit {
        RateLimit(pattern: IndexPattern(), measure: .write, subjects: [], count: count, period: period, burst: burst)
    }

    private static func charge(_ limit: RateLimit, _ key: UInt8 = 0, _ cost: Int = 1) -> RateTable.Charge {
        RateTable.Charge(limit: limit, key: [key], cost: cost)
    }

    /// A bucket of tokens, each of which is `period` parts; a millisecond adds `count` parts.
    private struct Bucket {
        let limit: RateLimit
        var parts: Int
        var time: Int64 = 0

        init(_ limit: RateLimit) {
            self.limit = limit
            parts = limit.burst * limit.period
        }

        mutating func fill(to now: Int64) {
            parts = min(limit.burst * limit.period, parts + Int(now - time) * limit.count)
            time = now
        }

        func wait(for cost: Int) -> Int64? {
            if cost > limit.burst { return nil }
            let missing = cost * limit.period - parts
            return missing <= 0 ? 0 : Int64((missing + limit.count - 1) / limit.count)
        }
    }

    @Test("agrees with buckets of tokens, to the millisecond", arguments: 0..<(20 * TestScale.factor))
    func model(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limits = (0..<3).map { _ in
            Self.limit(
                random.pick([1, 3, 7, 10, 1000]), per: random.pick([7, 100, 1000, 60_000]),
                burst: random.pick([1, 2, 10]))
        }
        var buckets = limits.map(Bucket.init)
        // The second one has room for three clients, and no more are ever in the middle of their burst.
        var table = RateTable(entriesMax: random.pick([6, 100]))
        var now: Int64 = 1_700_000_000_000
        for place in buckets.indices { buckets[place].time = now }
        var refusals = 0
        for step in 0..<5000 {
            now += Int64(random.pick([0, 0, 1, 2, 50, 143, 5000]))
            let used = limits.indices.filter { _ in Bool.random(using: &random) }
            let costs = used.map { _ in random.pick([1, 1, 1, 2, 11]) }
            for place in used { buckets[place].fill(to: now) }
            let waits = zip(used, costs).map { buckets[$0].wait(for: $1) }
            let charges = zip(used, costs).map { Self.charge(limits[$0], UInt8($0), $1) }
            let excess = table.excess(charges, now: now)
            let isAllowed = waits.allSatisfy { $0 == 0 }
            #expect((excess == nil) == isAllowed, "seed \(seed), step \(step)")
            if isAllowed {
                table.add(charges, now: now)
                for (place, cost) in zip(used, costs) { buckets[place].parts -= cost * limits[place].period }
            } else {
                refusals += 1
                let longest = waits.contains(nil) ? nil : waits.compactMap(\.self).max()
                #expect(excess?.retryAfter == longest, "seed \(seed), step \(step)")
            }
        }
        #expect(refusals > 100, "seed \(seed)")
    }

    @Test("forgets clients that have their burst again first, then those that will have it soonest")
    func bounded() {
        let limit = Self.limit(1, per: 1000, burst: 10)
        var table = RateTable(entriesMax: 4)
        table.add([Self.charge(limit, 0, 10)], now: 0)
        for key in 1...4 { table.add([Self.charge(limit, UInt8(key), 1)], now: 0) }
        #expect(table.count == 2)
        #expect(table.excess([Self.charge(limit, 0)], now: 0)?.retryAfter == 1000)
        table.add([Self.charge(limit, 5, 2)], now: 1500)
        table.add([Self.charge(limit, 6, 2)], now: 1500)
        table.add([Self.charge(limit, 7, 2)], now: 1500)
        #expect(table.count <= 4)
        #expect(table.excess([Self.charge(limit, 0, 2)], now: 1500)?.retryAfter == 500)
    }

    @Test("can be forgotten once all clients have their whole burst again")
    func rest() {
        let limits = [Self.limit(3, per: 1000, burst: 5), Self.limit(1, per: 60_000, burst: 1)]
        var table = RateTable()
        #expect(table.restsFrom <= 0)
        table.add([Self.charge(limits[0], 0, 4)], now: 1000)
        #expect(table.restsFrom == 1000 + 1334)
        table.add([Self.charge(limits[1], 1)], now: 1000)
        table.add([Self.charge(limits[0], 2)], now: 2000)
        #expect(table.restsFrom == 61_000)
    }

    @Test("makes nobody wait longer when the clock is set back")
    func clock() {
        let limit = Self.limit(1, per: 1000, burst: 2)
        var table = RateTable()
        table.add([Self.charge(limit, 0, 2)], now: 1_000_000)
        #expect(table.excess([Self.charge(limit)], now: 1000)?.retryAfter == 1000)
    }

    @Test("counts the largest rates without overflow")
    func largest() {
        let limit = Self.limit(RateLimit.largestCount, per: 86_400_000, burst: RateLimit.largestCount)
        var table = RateTable()
        table.add([Self.charge(limit, 0, RateLimit.largestCount)], now: 4_000_000_000_000)
        #expect(table.excess([Self.charge(limit)], now: 4_000_000_000_000)?.retryAfter == 1)
        #expect(table.excess([Self.charge(limit, 1, .max)], now: 0) == RateTable.Excess(limit: limit, retryAfter: nil))
    }
}
