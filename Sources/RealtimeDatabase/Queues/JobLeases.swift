import HearthJSONTree

/// Which connection has which jobs, so that they are free soon after it ends. In memory alone: after a restart a lease
/// lasts until its time is over.
struct JobLeases {
    private var jobs: [ConnectionID: Set<Path>] = [:]
    private var holders: [Path: (connection: ConnectionID, claim: Int64)] = [:]

    var isEmpty: Bool { holders.isEmpty }

    /// A connection has a job from now on.
    mutating func add(_ job: Path, _ claim: Int64, to connection: ConnectionID) {
        remove(job)
        // An HTTP connection says nothing about its worker.
        guard connection.kind == .realtime else { return }
        holders[job] = (connection, claim)
        jobs[connection, default: []].insert(job)
    }

    /// No worker holds it any more.
    mutating func remove(_ job: Path) {
        guard let holder = holders.removeValue(forKey: job) else { return }
        jobs[holder.connection]?.remove(job)
        if jobs[holder.connection]?.isEmpty == true { jobs[holder.connection] = nil }
    }

    /// The connection has ended: takes the jobs it had.
    mutating func end(_ connection: ConnectionID) -> [(job: Path, claim: Int64)] {
        guard let ended = jobs.removeValue(forKey: connection) else { return [] }
        return ended.sorted().compactMap { job in holders.removeValue(forKey: job).map { (job, $0.claim) } }
    }
}
