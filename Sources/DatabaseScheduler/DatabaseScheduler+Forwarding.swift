package import HearthRealtimeDatabase

/// Writes that other nodes make for clients of this one.
extension DatabaseScheduler {
    /// How long the end of the process waits for the answers of other nodes, in milliseconds.
    static var forwardingGrace: Int64 { 3000 }

    /// The database is given up here: its connections end, and this object does nothing more.
    ///
    /// - returns: what the nodes are to be sent that know these connections.
    package mutating func endForwarding() -> [(node: String, requests: [ForwardedRequest])] {
        database.forwarded?.endAll() ?? []
    }

    /// The same of the requests of other nodes' connections. Those of connections without a turn whose outcome is not
    /// told were not done, and the next owner does them. The outcome of the others is unknown, as it would take the log
    /// to know what became of their turns.
    package func giveUpForwarded() -> (notDone: [Request], unknown: [ConnectionID]) {
        let unknown = database.connectionsWithPendingTurns.filter(\.isForwarded)
        let notDone = admission.forwarded.filter { !unknown.contains($0.connection) }
        return (notDone, unknown.sorted { $0.raw < $1.raw })
    }

    /// The number after which a database that is opened now begins. It had none as high before in this process, as no
    /// database is sent a thousand requests in a millisecond.
    static func firstForwardingNumber(_ conditions: Conditions) -> Int64 { conditions.uptime << 10 }

    /// Puts requests back in front of all others of their connections.
    mutating func giveBack(_ requests: [Request]) {
        admission.giveBack(requests[...], waiting: [], gate)
        // A large request is no longer the first of its connection.
        if !admission.hasBegun { abandonLarge() }
    }

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
        if !work.returned.isEmpty { giveBack(work.returned) }
        for connection in work.released { admission.goOn(connection) }
        release()
    }
}
