extension Database {
    /// Traps if parts of the state contradict each other. O(turns that wait for the log and requests that wait for
    /// scans).
    package func checkInvariants() {
        precondition(durableSequence <= sequence, "more is durable than there is")
        pending.checkInvariants()
        var last: UInt64 = 0
        precondition(pending.last?.sequence ?? 0 <= sequence, "a turn waits for a number that was not given")
        for rows in frozen {
            precondition(rows.sequence >= last, "rows are frozen out of order")
            last = rows.sequence
        }
        precondition(last <= sequence, "rows are frozen that are not there yet")
        precondition(largeReads.values.allSatisfy { $0 > 0 }, "a connection has no large read, and it is counted")
        for waiter in scanWaiters.values {
            precondition(
                waiter.live.scan != nil && scanning.contains { $0 === waiter.live }, "a request waits for no scan")
        }
        precondition(paid.allSatisfy { $0.sequence <= sequence }, "an on-disconnect write has a number from the future")
        if let telling {
            precondition(telling.sequence <= sequence, "listeners are told of a commit that is not there")
        }
    }
}
