import HearthJSONTree
import HearthRealtimeDatabase

/// Connections that wait, of clients that share time. Those of one client take turns.
struct FairLine: ~Copyable {
    /// Those of one client. Not empty while it has a place.
    private final class Connections {
        var queue = Queue<ConnectionID>()
    }

    private struct Place {
        let time: Int64
        /// Who came first is served first if all else is equal.
        let serial: Int64
        let client: TimeShares.ClientNumber
        let connections: Connections

        func isBehind(_ other: Place) -> Bool { (time, serial) > (other.time, other.serial) }
    }

    private var clients: [TimeShares.ClientNumber: Connections] = [:]
    /// One for each client, the next one last.
    private var places: [Place] = []
    private var serial: Int64 = 0

    var isEmpty: Bool { places.isEmpty }

    /// Connections that wait. O(clients).
    var count: Int { places.reduce(0) { $0 + $1.connections.queue.count } }

    mutating func append(_ connection: ConnectionID, of client: TimeShares.ClientNumber, _ shares: TimeShares) {
        if let connections = clients[client] {
            connections.queue.append(connection)
        } else {
            let connections = Connections()
            connections.queue.append(connection)
            clients[client] = connections
            enter(client, connections, at: shares.time(of: client))
        }
    }

    /// The next connection of the client that has had the least time.
    mutating func takeFirst(_ shares: inout TimeShares) -> ConnectionID? {
        while let place = places.popLast() {
            let time = shares.time(of: place.client)
            // It has had some since it took its place.
            if time > place.time, let next = places.last, (time, serial + 1) > (next.time, next.serial) {
                enter(place.client, place.connections, at: time)
                continue
            }
            shares.serve(at: time)
            let connection = place.connections.queue.takeFirst()
            if place.connections.queue.isEmpty {
                clients[place.client] = nil
            } else {
                enter(place.client, place.connections, at: time)
            }
            if let connection { return connection }
        }
        return nil
    }

    /// Takes a connection out, wherever it is. O(connections of the client).
    mutating func remove(_ connection: ConnectionID, of client: TimeShares.ClientNumber) {
        guard let connections = clients[client], connections.queue.remove(connection), connections.queue.isEmpty else {
            return
        }
        clients[client] = nil
        places.removeAll { $0.client == client }
    }

    private mutating func enter(_ client: TimeShares.ClientNumber, _ connections: Connections, at time: Int64) {
        serial += 1
        let place = Place(time: time, serial: serial, client: client, connections: connections)
        places.insert(place, at: places.partitioningIndex { !$0.isBehind(place) })
    }
}
