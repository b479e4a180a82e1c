import HearthJSONTree
import HearthStorageErrors

/// Changes of the machine's clock.
extension Database {
    /// A clock that was set by less than that, in milliseconds, makes no difference: to what waits in memory, and to
    /// the leases and pauses of jobs, which are written.
    private static let clockChangeMin: Int64 = 100
    private static let leaseChangeMin: Int64 = 5_000
    /// States of jobs that are looked at in one step.
    private static let statesPerStep = 100

    /// Sets the time, in milliseconds since 1970 and of a monotonic clock, before any other event of that time. Costs
    /// nothing unless one has moved against the other.
    ///
    /// A change of the clock does not change how long workers and transactions wait, and what is left of leases and of
    /// pauses after failures. The times of jobs and of expiry are data, and follow the clock.
    ///
    /// - parameter jump: at the first time, by how much the clock is ahead of the last commit: a clock that is far
    ///   behind it was set back meanwhile.
    package func observeTime(_ now: Int64, uptime: Int64, jump: Int64? = nil) {
        let offset = now - uptime
        guard let before = clockOffset, let leasesBefore = leaseOffset else {
            (clockOffset, leaseOffset) = (offset, offset)
            if let jump, jump < 0 { moveLeases(by: jump) }
            return
        }
        if abs(offset - leasesBefore) >= Self.leaseChangeMin {
            leaseOffset = offset
            moveLeases(by: offset - leasesBefore)
        }
        guard abs(offset - before) >= Self.clockChangeMin else { return }
        clockOffset = offset
        workers.claims.moveClock(by: offset - before)
        transactions.moveClock(by: offset - before)
        // The next look may have been put off to a time that is far away now.
        if !indexes.catalog.expiries.isEmpty { indexes.postponeRemoval(to: 0) }
    }

    private func moveLeases(by change: Int64) {
        if !indexes.catalog.queues.isEmpty { workers.moves.add(change) }
    }

    /// Leases are to be moved with the clock, by turns.
    package var isMovingLeases: Bool { !workers.moves.isEmpty && ownedElsewhere == nil }

    /// Moves some leases, as one commit.
    func moveSomeLeases(in turn: inout Turn) {
        guard isMovingLeases, refusal == nil, tornBy == nil, telling == nil else { return }
        do {
            let moved = try workers.moves.step(indexes.catalog.queues, in: rows, countMax: Self.statesPerStep)
            if moved.isEmpty { return }
            turn.principal = .server
            try commit(moved, in: &turn)
        } catch {
            // They follow the clock.
            workers.moves.giveUp()
        }
    }
}
