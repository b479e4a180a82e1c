import JSONTree
import RealtimeDatabase

/// How much of a thread's time clients have had while others waited. Whoever had the least is next, so a client that
/// asks for little hardly notices others that ask for much.
///
/// This is start-time fair queueing: one that comes back, or is new, counts as having had as much as the client that
/// was served last, so nobody saves up time.
struct TimeShares {
    /// Stands for the requests that come from one address.
    typealias ClientNumber = UInt64

    /// In nanoseconds.
    private var used: [ClientNumber: Int64] = [:]
    private var floor: Int64 = 0
    /// With so many clients, those that have had no more than others are forgotten.
    private var forgettingCount = forgettingCountMin
    private static let forgettingCountMin = 1024

    func time(of client: ClientNumber) -> Int64 { max(used[client] ?? 0, floor) }

    mutating func charge(_ client: ClientNumber, nanoseconds: Int64) {
        used[client] = time(of: client) + nanoseconds
        guard used.count >= forgettingCount else { return }
        used = used.filter { $0.value > floor }
        forgettingCount = max(Self.forgettingCountMin, 2 * used.count)
    }

    /// Clients of which something is known.
    var count: Int { used.count }

    /// A client that had this much is served, and no other that waits had less.
    mutating func serve(at time: Int64) { floor = max(floor, time) }

    /// Nobody waits: everybody is alike again.
    mutating func reset() {
        if !used.isEmpty { used.removeAll() }
        floor = 0
    }
}

/// Connections that wait, of clients that share time. Those of one client take turns.
struct FairLine {
    private struct Place {
        let time: Int64
        /// Who came first is served first if all else is equal.
        let serial: Int64
        let client: TimeShares.ClientNumber

        func isBehind(_ other: Place) -> Bool { (time, serial) > (other.time, other.serial) }
    }

    private var connections: [TimeShares.ClientNumber: Queue<ConnectionID>] = [:]
    /// One for each client, the next one last.
    private var places: [Place] = []
    private var serial: Int64 = 0

    var isEmpty: Bool { places.isEmpty }

    mutating func append(_ connection: ConnectionID, of client: TimeShares.ClientNumber, _ shares: TimeShares) {
        if connections[client] == nil { enter(client, shares) }
        connections[client, default: Queue()].append(connection)
    }

    /// The next connection of the client that has had the least time.
    mutating func takeFirst(_ shares: inout TimeShares) -> ConnectionID? {
        while let place = places.popLast() {
            let time = shares.time(of: place.client)
            // It has had some since it took its place.
            if time > place.time, !places.isEmpty {
                enter(place.client, shares)
                if places.last?.client != place.client { continue }
                places.removeLast()
            }
            shares.serve(at: time)
            let connection = connections[place.client]?.takeFirst()
            if connections[place.client]?.isEmpty ?? true {
                connections[place.client] = nil
            } else {
                enter(place.client, shares)
            }
            if let connection { return connection }
        }
        return nil
    }

    /// Takes a connection out, wherever it is. O(connections of the client).
    mutating func remove(_ connection: ConnectionID, of client: TimeShares.ClientNumber) {
        guard connections[client]?.remove(connection) == true, connections[client]?.isEmpty ?? true else { return }
        connections[client] = nil
        places.removeAll { $0.client == client }
    }

    private mutating func enter(_ client: TimeShares.ClientNumber, _ shares: TimeShares) {
        serial += 1
        let place = Place(time: shares.time(of: client), serial: serial, client: client)
        places.insert(place, at: places.partitioningIndex { !$0.isBehind(place) })
    }
}

extension Request {
    /// Who gets the time that it takes. Requests that nobody in particular makes share by connection.
    var sharer: TimeShares.ClientNumber { client == 0 ? connection.raw | 1 << 63 : client }
}
