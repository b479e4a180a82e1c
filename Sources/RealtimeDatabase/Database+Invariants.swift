extension Database {
    /// Traps if parts of the state contradict each other. O(turns that wait for the log and requests that wait for
    /// scans), and if it is thorough, O(listeners and registered on-disconnect writes).
    package func checkInvariants(isThorough: Bool = false) {
        log.checkInvariants()
        indexes.checkInvariants()
        listeners.scans.checkInvariants()
        tree.checkInvariants(last: sequence)
        outbox.checkInvariants(last: sequence)
        if isThorough {
            onDisconnect.checkInvariants(last: sequence)
            listeners.checkInvariants()
        }
        precondition(largeReads.values.allSatisfy { $0 > 0 }, "a connection has no large read, and it is counted")
        if let telling {
            precondition(telling.sequence <= sequence, "listeners are told of a commit that is not there")
        }
    }
}
