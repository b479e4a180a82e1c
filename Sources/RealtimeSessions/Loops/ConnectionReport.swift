package import HearthEventLoop
package import HearthJSONValues
import HearthJSONTree
package import HearthRealtimeDatabase

/// A connected client, as administrators see it.
package struct ConnectionReport: Sendable {
    package let id: ConnectionID
    package let database: UInt32
    let peer: SocketAddress?
    let principal: Principal
    package let since: Int64
    let transport: String
    /// Bytes that wait for the client to take them.
    let waiting: Int

    package init(
        id: ConnectionID, database: UInt32, peer: SocketAddress?, principal: Principal, since: Int64,
        transport: String, waiting: Int
    ) {
        self.id = id
        self.database = database
        self.peer = peer
        self.principal = principal
        self.since = since
        self.transport = transport
        self.waiting = waiting
    }

    package func json(database name: String, listens: [Database.Listen]) -> JSONObject {
        let who: JSONValue? =
            principal.isAdministrator ? .text("administrator") : principal.uid.isEmpty ? nil : .string(principal.uid)
        let list = listens.prefix(100).map { listen in
            JSONValue.object(
                JSONObject([
                    "path": .text("\(listen.path)"),
                    "query": listen.query.flatMap { $0.isEmpty ? nil : try? JSONValue(parsing: $0) },
                ]))
        }
        return JSONObject([
            "id": .text(id.name), "database": .text(name), "from": peer.map { .text("\($0)") }, "uid": who,
            "since": .integer(since), "transport": .text(transport), "waiting": .integer(Int64(waiting)),
            "listens": .integer(Int64(listens.count)), "at": .array(Array(list)),
        ])
    }
}

/// All who are connected to one loop: so many of them as were asked for, and how many there are.
package struct LoopReport: Sendable {
    package var listed: [ConnectionReport] = []
    package var sessions = 0
    package var eventStreams = 0
    package var connections = 0
    /// Messages and events that commits have caused, once for each connection that got them.
    package var pushes: Int64 = 0
}

extension ConnectionID {
    /// Its name for administrators.
    var name: String { "\(loop).\(raw & (1 << 48 - 1))" }

    /// Of a realtime connection or an HTTP connection: both are numbered in one row, so it takes looking for them.
    package init?(name: String) {
        let parts = name.split(separator: ".")
        guard parts.count == 2, let loop = Int(parts[0]), let serial = UInt64(parts[1]), serial < 1 << 48,
            (0..<ConnectionID.loopsMax).contains(loop)
        else { return nil }
        self.init(loop: loop, kind: .realtime, serial: serial)
    }

    package var asHTTP: ConnectionID { ConnectionID(loop: loop, kind: .http, serial: raw & (1 << 48 - 1)) }
}
