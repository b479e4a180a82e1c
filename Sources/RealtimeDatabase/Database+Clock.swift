import HearthJSONTree
package import HearthStorageErrors

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
    /// When the clock is set, waiting workers and transactions wait as long as before, and leases and pauses after
    /// failures keep the time that is left. The times of jobs and of expiry are data, and follow the clock.
    ///
    /// - parameter jump: at the first time, by how much the clock is ahead of the last commit. A large negative value
    ///   means that the clock was set back while the server was off.
    package func observeTime(_ now: Int64, uptime: Int64, jump: Int64? = nil) {
        awaited.now = uptime
        let offset = now - uptime
        guard let before = clockOffset else {
            (clockOffset, leaseOffset) = (offset, offset)
            if let jump, jump < 0 { moveLeases(by: jump) }
            return
        }
        // The time of commits also goes on with those of another node, while that one takes the writes.
        let leasesBefore = leaseOffset ?? offset
        if leaseOffset == nil || abs(offset - leasesBefore) >= Self.leaseChangeMin {
            leaseOffset = offset
            moveLeases(by: offset - leasesBefore)
        }
        guard abs(offset - before) >= Self.clockChangeMin else { return }
        clockOffset = offset
        workers.claims.moveClock(by: offset - before)
        transactions.moveClock(by: offset - before)
        indexes.lookForExpired()
    }

    /// The node that takes the writes does that.
    private func moveLeases(by change: Int64) {
        if change != 0, !indexes.catalog.queues.isEmpty, ownedElsewhere == nil { workers.moves.add(change) }
    }

    /// Another node takes the writes from now on, by its own clock.
    package func giveUpMovingLeases() { workers.moves.giveUp() }

    /// Why leases could not be moved with the clock, since the last call.
    package func takeLeaseMoveFailure() -> StorageError? {
        defer { leaseMoveFailure = nil }
        return leaseMoveFailure
    }

    /// Leases are to be moved with the clock, by turns.
    package var isMovingLeases: Bool { !workers.moves.isEmpty && ownedElsewhere == nil }

    /// Moves some leases, as one commit.
    func moveSomeLeases(in turn: inout Turn) {
        guard isMovingLeases, refusal == nil, tornBy == nil, telling == nil else { return }
        let failure: Failure
        do throws(Failure) {
            let moved = try nextMovedLeases()
            if moved.isEmpty { return }
            turn.principal = .server
            try commit(moved, in: &turn)
            return
        } catch {
            failure = error
        }
        // They follow the clock. If memory is torn, it is built again, and they are looked at again.
        if tornBy != nil { return }
        workers.moves.giveUp()
        if case .unavailable(let error) = failure { leaseMoveFailure = error }
    }

    private func nextMovedLeases() throws(Failure) -> [Assignment] {
        do throws(StorageError) {
            return try workers.moves.step(
                indexes.catalog.queues, in: rows, countMax: Self.statesPerStep, sequence: sequence,
                durable: durableSequence)
        } catch {
            throw .unavailable(error)
        }
    }
}
