import HearthJSONTree
import HearthSecurityRules

/// What clients have used of their rates, by the generic cell rate algorithm: for each client one number, the time at
/// which all that it did would have been due at an even pace. Exact. Kept in memory alone.
struct RateTable {
    /// What a request costs a client.
    struct Charge {
        var limit: RateLimit
        /// Names the limit and the client.
        var key: [UInt8]
        var cost: Int
    }

    /// Why a request is refused.
    struct Excess: Equatable {
        var limit: RateLimit
        /// Milliseconds; nil if the request costs more than is ever allowed at once.
        var retryAfter: Int64?
    }

    /// A time in units of 1/``perMillisecond`` ms, so that no rate has to be rounded.
    private struct Arrival {
        var time: Int128
        var perMillisecond: Int

        func wait(at now: Int64) -> Int128 { time - Int128(now) * Int128(perMillisecond) }
    }

    /// Clients that are remembered, of all limits.
    private let entriesMax: Int
    private var arrivals: [[UInt8]: Arrival] = [:]

    init(entriesMax: Int = 100_000) { self.entriesMax = entriesMax }

    var count: Int { arrivals.count }

    /// From this time on, in milliseconds, all clients have their whole burst, and nothing needs to be remembered.
    private(set) var restsFrom = Int64.min

    /// The limit that has to be waited for the longest, if the charges exceed one. No two charges may have one key.
    func excess(_ charges: [Charge], now: Int64) -> Excess? {
        var found: Excess?
        for charge in charges {
            let limit = charge.limit
            let allowed = Int128(limit.burst) * Int128(limit.period)
            let wait = arrival(after: charge, now: now).wait(at: now) - allowed
            if wait <= 0 { continue }
            if charge.cost > limit.burst { return Excess(limit: limit, retryAfter: nil) }
            let milliseconds = Int64((wait + Int128(limit.count) - 1) / Int128(limit.count))
            if milliseconds > found?.retryAfter ?? 0 { found = Excess(limit: limit, retryAfter: milliseconds) }
        }
        return found
    }

    /// Also of what could not be refused: then a client may have to wait longer than for a burst, but at most twice as
    /// long.
    mutating func add(_ charges: [Charge], now: Int64) {
        for charge in charges {
            var arrival = arrival(after: charge, now: now)
            arrival.time = min(arrival.time, Int128(now) * Int128(charge.limit.count) + Self.latest(of: charge.limit))
            arrivals[charge.key] = arrival
            let perMillisecond = Int128(charge.limit.count)
            restsFrom = max(restsFrom, Int64(clamping: (arrival.time + perMillisecond - 1) / perMillisecond))
            if arrivals.count > entriesMax { shrink(now: now) }
        }
    }

    private func arrival(after charge: Charge, now: Int64) -> Arrival {
        let limit = charge.limit
        let present = Int128(now) * Int128(limit.count)
        var time = present
        if let known = arrivals[charge.key]?.time {
            // It cannot lie later than that, unless the clock was set back.
            time = max(present, min(known, present + Self.latest(of: limit)))
        }
        return Arrival(time: time + Int128(charge.cost) * Int128(limit.period), perMillisecond: limit.count)
    }

    /// How far ahead an arrival can be: one burst, or two for pushes to listeners, which cannot be refused.
    private static func latest(of limit: RateLimit) -> Int128 {
        Int128(limit.burst) * Int128(limit.period) * (limit.measure == .bytesRead ? 2 : 1)
    }

    /// Forgets clients that have their whole burst again, which changes nothing. If more than half of the table is
    /// left, it also forgets those that would have it soonest.
    private mutating func shrink(now: Int64) {
        arrivals = arrivals.filter { $0.value.wait(at: now) > 0 }
        if arrivals.count <= entriesMax / 2 { return }
        let waits = arrivals.map { (key: $0.key, wait: $0.value.wait(at: now) / Int128($0.value.perMillisecond)) }
        let soonest = waits.sorted { $0.wait != $1.wait ? $0.wait < $1.wait : $0.key.precedesBytewise($1.key) }
        for entry in soonest.dropLast(entriesMax / 2) { arrivals[entry.key] = nil }
    }
}
