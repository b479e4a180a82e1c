/// Changes of the machine's clock.
extension Database {
    /// A clock that was set by less than that, in milliseconds, makes no difference.
    private static let clockChangeMin: Int64 = 100

    /// Sets the time, in milliseconds since 1970 and of a monotonic clock, before any other event of that time. Costs
    /// nothing unless one has moved against the other.
    ///
    /// A change of the clock does not change how long workers wait. Leases, pauses after failures and times of expiry
    /// are data, and follow the clock.
    package func observeTime(_ now: Int64, uptime: Int64) {
        let offset = now - uptime
        defer { if clockOffset == nil { clockOffset = offset } }
        guard let before = clockOffset, abs(offset - before) >= Self.clockChangeMin else { return }
        clockOffset = offset
        workers.claims.moveClock(by: offset - before)
        // The next look may have been put off to a time that is far away now.
        if !indexes.catalog.expiries.isEmpty { indexes.postponeExpiry(to: 0) }
    }
}
