import HearthEventLoop
import HearthRealtimeDatabase
import HearthServerLog

/// A connection that does not take all that is sent to it.
struct SlowConnection {
    let id: ConnectionID
    /// Bytes that wait for it. Others may hold the same bytes.
    let bytes: Int

    /// Those for which most waits, of all loops: as many as have that many bytes in total.
    static func choose(_ lists: [[SlowConnection]], freeing bytes: Int) -> Set<ConnectionID> {
        var chosen: Set<ConnectionID> = []
        var freed = 0
        for connection in lists.joined().sorted(by: { $0.bytes > $1.bytes }) {
            if freed >= bytes { break }
            chosen.insert(connection.id)
            freed += connection.bytes
        }
        return chosen
    }
}

extension LoopContext {
    /// The connections of this loop for which something waits.
    var slowConnections: [SlowConnection] {
        let waiting =
            sessions.values.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }
            + exchanges.values.map { SlowConnection(id: $0.id, bytes: $0.waitingBytes) }
        return waiting.filter { $0.bytes > 0 }
    }

    /// Disconnects the chosen connections of this loop.
    func shed(_ chosen: Set<ConnectionID>) {
        for id in chosen where id.loop == index {
            switch id.kind {
            case .realtime: sessions[id.raw]?.shed()
            case .http: exchanges[id.raw]?.stream.abort(.slowConsumer)
            }
        }
        if !chosen.isEmpty, chosen.contains(where: { $0.loop == index }) {
            services.log.warning(
                "connections.shed", [("connections", "\(chosen.count)"), ("reason", "too much waits for all clients")])
        }
    }
}
