import HearthEventLoop
import HearthJSONValues
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSystem

/// Where a session came from.
struct SessionOrigin {
    /// It came in where administrators are answered.
    var administers = false
    var peer: SocketAddress?
    let client: Client
    /// In milliseconds since 1970.
    var since = WallClock.milliseconds
}

/// A connected client, as administrators see it.
struct ConnectionReport: Sendable {
    let id: ConnectionID
    let database: UInt32
    let peer: SocketAddress?
    let principal: Principal
    let since: Int64
    let transport: String
    /// Bytes that wait for the client to take them.
    let waiting: Int

    func json(database name: String, listens: [Database.Listen]) -> JSONObject {
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

/// The same of all who are connected to one loop: so many of them as were asked for, and how many there are.
struct LoopReport: Sendable {
    var listed: [ConnectionReport] = []
    var sessions = 0
    var eventStreams = 0
    var connections = 0
}

extension ConnectionID {
    /// What administrators call it.
    var name: String { "\(loop).\(raw & (1 << 48 - 1))" }

    /// Of a realtime connection or an HTTP connection: both are numbered in one row, so it takes looking for them.
    init?(name: String) {
        let parts = name.split(separator: ".")
        guard parts.count == 2, let loop = Int(parts[0]), let serial = UInt64(parts[1]), serial < 1 << 48,
            (0..<ConnectionID.loopsMax).contains(loop)
        else { return nil }
        self.init(loop: loop, kind: .realtime, serial: serial)
    }

    var asHTTP: ConnectionID { ConnectionID(loop: loop, kind: .http, serial: raw & (1 << 48 - 1)) }
}
