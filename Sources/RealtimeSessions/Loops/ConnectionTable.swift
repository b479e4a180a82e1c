package import HearthRealtimeDatabase

/// The connections of one kind on one loop, and the groups of listeners that they are members of. Used on that loop
/// only.
///
/// Connections refer to their table, which knows no more of them than their type.
package final class ConnectionTable<Connection: TableMember>: @unchecked Sendable {
    // Safe because: other threads only carry a reference into `loop.execute`.
    private var connections: [UInt64: Connection] = [:]
    private var groups = ListenerGroups<Connection>()
    /// Those for which another thread works, also such as have ended.
    private var kept: [UInt64: Connection] = [:]

    package init() {}

    package func add(_ connection: Connection) { connections[connection.id.raw] = connection }

    package func remove(_ connection: Connection) {
        connections[connection.id.raw] = nil
        groups.leaveAll(connection)
    }

    /// The connection with an id (`ConnectionID.raw`). Nil if it has ended, or is of another kind or loop.
    package subscript(id: UInt64) -> Connection? { connections[id] }

    package var count: Int { connections.count }

    /// The present connections. They may end while a caller goes through this.
    package var all: some Collection<Connection> { connections.values }

    // MARK: Work on other threads

    /// Keeps a connection until the result of the work is there, even if the connection ends before.
    package func keep(_ connection: Connection) { kept[connection.id.raw] = connection }

    /// Those that have ended before the result is there.
    package var ended: [Connection] { kept.values.filter { connections[$0.id.raw] == nil } }

    /// The result is there.
    package func takeKept(_ id: UInt64) -> Connection? { kept.removeValue(forKey: id) }

    // MARK: Groups

    /// Calls `body` with each member.
    package func forEachMember(of group: GroupID, _ body: (Connection) -> Void) {
        groups.forEachMember(of: group, body)
    }

    package func memberCount(of group: GroupID) -> Int { groups.memberCount(of: group) }

    package func join(_ group: GroupID, _ id: ConnectionID) {
        if let connection = connections[id.raw] { groups.join(group, connection) }
    }

    package func leave(_ group: GroupID, _ id: ConnectionID) {
        if let connection = connections[id.raw] { groups.leave(group.raw, connection) }
    }
}
