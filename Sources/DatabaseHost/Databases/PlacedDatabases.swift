import HearthRealtimeDatabase

/// The databases of a cluster that a node does not hold, or does not have yet, and the requests that wait for each of
/// them.
struct PlacedDatabases {
    /// How much of requests may wait. The request that exceeds a limit is the last.
    struct Limits {
        /// Requests for one database, and the bytes that they hold.
        var count = 50_000
        var bytes = 16 << 20
        /// Those for all of them.
        var countOfAll = 100_000
        var bytesOfAll = 64 << 20
        /// So long requests wait for a database to arrive or to be gone, in milliseconds.
        var milliseconds: Int64 = 10_000
    }

    private enum Way {
        /// Opened on empty files: nothing is served before the node has what the log has.
        case arriving
        /// The files are closed and removed, if no other node needs them.
        case removing
    }

    private struct Line {
        let way: Way
        var requests: [Request] = []
        var byteCount = 0
        /// When the first of them came, in milliseconds of uptime.
        var since: Int64 = 0
        /// Realtime connections of which a request was refused. None of their later ones is done, until they end.
        var refused: Set<ConnectionID> = []
    }

    /// Requests that do not wait.
    struct Turned {
        /// Those of other nodes, which have to ask elsewhere.
        var forwarded: [Request] = []
        /// Those for which there is no room.
        var excess: [Request] = []
    }

    private var lines: [UInt32: Line] = [:]
    /// Here only because clients use them here.
    var visited: Set<UInt32> = []
    /// Databases whose files were removed.
    private(set) var removedCount = 0
    private let limits: Limits
    /// Requests that wait.
    private(set) var waitingCount = 0
    private var waitingBytes = 0

    init(limits: Limits = Limits()) { self.limits = limits }

    // MARK: Databases

    func isArriving(_ index: UInt32) -> Bool { lines[index]?.way == .arriving }

    mutating func beginArrival(_ index: UInt32) { if lines[index] == nil { lines[index] = Line(way: .arriving) } }

    /// The database can be used. Returns the waiting requests.
    mutating func endArrival(_ index: UInt32) -> [Request] { end(.arriving, index) }

    func isRemoving(_ index: UInt32) -> Bool { lines[index]?.way == .removing }

    var isRemovingAny: Bool { lines.values.contains { $0.way == .removing } }

    mutating func beginRemoval(_ index: UInt32) { lines[index] = Line(way: .removing) }

    /// Returns the waiting requests.
    ///
    /// - parameter isRemoved: the files are gone. Otherwise they had to stay.
    mutating func endRemoval(_ index: UInt32, isRemoved: Bool) -> [Request] {
        if isRemoved {
            visited.remove(index)
            removedCount += 1
        }
        return end(.removing, index)
    }

    private mutating func end(_ way: Way, _ index: UInt32) -> [Request] {
        guard let line = lines[index], line.way == way else { return [] }
        lines[index] = nil
        return leave(line)
    }

    // MARK: Requests

    /// Has requests wait, if the database is on its way here or away, as far as there is room.
    ///
    /// - returns: those that do not wait; nil if none has to.
    mutating func hold(_ requests: [Request], of index: UInt32, at uptime: Int64) -> Turned? {
        // Moved out, so that it is not copied.
        guard var line = lines.removeValue(forKey: index) else { return nil }
        var turned = Turned()
        for request in requests {
            let connection = request.connection
            // Nothing of a connection of another node that ends has come further than this.
            if connection.isForwarded {
                turned.forwarded.append(request)
                continue
            }
            if request.operation.isOfEnd {
                line.refused.remove(connection)
            } else if !hasRoom(in: line) || line.refused.contains(connection) {
                if connection.kind == .realtime { line.refused.insert(connection) }
                turned.excess.append(request)
                continue
            }
            if line.requests.isEmpty { line.since = uptime }
            line.requests.append(request)
            line.byteCount += request.heldByteCount
            waitingCount += 1
            waitingBytes += request.heldByteCount
        }
        lines[index] = line
        return turned
    }

    private func hasRoom(in line: Line) -> Bool {
        line.requests.count < limits.count && line.byteCount < limits.bytes && waitingCount < limits.countOfAll
            && waitingBytes < limits.bytesOfAll
    }

    /// The databases for which requests have waited too long, with these requests.
    mutating func takeLate(at uptime: Int64) -> [(index: UInt32, requests: [Request])] {
        lines.filter { !$0.value.requests.isEmpty && uptime - $0.value.since >= limits.milliseconds }.keys.sorted()
            .map { (index: $0, requests: takeAll(of: $0)) }
    }

    /// All that waits: the server ends.
    mutating func takeWaiting() -> [[Request]] { lines.keys.sorted().map { takeAll(of: $0) }.filter { !$0.isEmpty } }

    /// Takes what waits for a database. It is to be refused.
    private mutating func takeAll(of index: UInt32) -> [Request] {
        guard let line = lines.removeValue(forKey: index) else { return [] }
        var refused = line.refused
        for request in line.requests where request.connection.kind == .realtime {
            if request.operation.isOfEnd {
                refused.remove(request.connection)
            } else {
                refused.insert(request.connection)
            }
        }
        lines[index] = Line(way: line.way, refused: refused)
        return leave(line)
    }

    private mutating func leave(_ line: Line) -> [Request] {
        waitingCount -= line.requests.count
        waitingBytes -= line.byteCount
        return line.requests
    }
}
