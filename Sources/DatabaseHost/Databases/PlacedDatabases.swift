import HearthRealtimeDatabase

/// The databases of a cluster that a node does not hold, or does not have yet, and the requests that wait for each of
/// them.
struct PlacedDatabases {
    private struct Arrival {
        var requests: [Request] = []
        /// When the first of them came, in milliseconds of uptime.
        var since: Int64 = 0
    }

    /// Opened on empty files: nothing is served before the node has what the log has.
    private var arriving: [UInt32: Arrival] = [:]
    /// Their files are closed and removed, if no other node needs them.
    private var removing: [UInt32: [Request]] = [:]
    /// Here only because clients use them here.
    var visited: Set<UInt32> = []

    /// So long requests wait for a database to arrive, in milliseconds.
    static let patience: Int64 = 10_000

    // MARK: Arriving

    func isArriving(_ index: UInt32) -> Bool { arriving[index] != nil }

    mutating func beginArrival(_ index: UInt32) { if arriving[index] == nil { arriving[index] = Arrival() } }

    /// The database can be used. Returns the waiting requests.
    mutating func endArrival(_ index: UInt32) -> [Request] { arriving.removeValue(forKey: index)?.requests ?? [] }

    /// The databases for which requests have waited too long, with these requests.
    mutating func takeLate(at uptime: Int64) -> [(index: UInt32, requests: [Request])] {
        var late: [(UInt32, [Request])] = []
        for (index, arrival) in arriving.sorted(by: { $0.key < $1.key })
        where !arrival.requests.isEmpty && uptime - arrival.since >= Self.patience {
            late.append((index, arrival.requests))
            arriving[index] = Arrival()
        }
        return late
    }

    /// All that waits: the server ends.
    mutating func takeWaiting() -> [[Request]] {
        let waiting = arriving.values.map(\.requests) + removing.values
        for index in arriving.keys { arriving[index] = Arrival() }
        for index in removing.keys { removing[index] = [] }
        return waiting.filter { !$0.isEmpty }
    }

    // MARK: Removing

    func isRemoving(_ index: UInt32) -> Bool { removing[index] != nil }

    var isRemovingAny: Bool { !removing.isEmpty }

    mutating func beginRemoval(_ index: UInt32) { removing[index] = [] }

    /// Returns the waiting requests.
    mutating func endRemoval(_ index: UInt32) -> [Request] { removing.removeValue(forKey: index) ?? [] }

    // MARK: Requests

    /// Has requests wait, if the database is on its way here or away. Returns those of other nodes, which have to ask
    /// elsewhere; nil if none has to wait.
    mutating func hold(_ requests: [Request], of index: UInt32, at uptime: Int64) -> [Request]? {
        guard arriving[index] != nil || removing[index] != nil else { return nil }
        // Nothing of a connection that ends has come further than this.
        let own = requests.filter { !$0.connection.isForwarded }
        if arriving[index] != nil {
            if arriving[index]?.requests.isEmpty == true { arriving[index]?.since = uptime }
            arriving[index]?.requests += own
        } else {
            removing[index]? += own
        }
        return requests.filter { $0.connection.isForwarded }
    }
}
