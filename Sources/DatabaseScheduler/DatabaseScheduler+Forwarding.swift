import HearthRealtimeDatabase

/// Writes that other nodes make for clients of this one.
extension DatabaseScheduler {
    /// How long the end of the process waits for the answers of other nodes, in milliseconds.
    static var forwardingGrace: Int64 { 3000 }

    /// Processes forwarded requests as far as possible, and resumes the requests that wait for them.
    mutating func goOnForwarding() {
        if let end = forwardingEnd, conditions.uptime >= end { database.forwarded?.giveUp() }
        // Memory is being rebuilt: outputs could be lost now.
        guard !recovery.isUnderWay, !database.isTelling else { return }
        let time = conditions.uptime
        guard let work = database.forwarded?.takeWork(applied: database.sequence, now: time), !work.isEmpty else {
            return
        }
        for (node, requests) in work.toSend { emit(.forward(to: node, requests)) }
        database.answer(work.answers, now: now)
        if !work.ended.isEmpty { emit(.abandon(work.ended)) }
        if !work.returned.isEmpty {
            admission.giveBack(work.returned[...], waiting: [])
            // A large request is no longer the first of its connection.
            if !admission.hasBegun { abandonLarge() }
        }
        for connection in work.released { admission.largeReadEnded(of: connection) }
        release()
    }
}
