package import HearthRealtimeDatabase

/// A connection that does not take all that is sent to it.
package struct SlowConnection {
    package let id: ConnectionID
    /// Bytes that wait for it. Others may hold the same bytes.
    package let bytes: Int

    package init(id: ConnectionID, bytes: Int) {
        self.id = id
        self.bytes = bytes
    }

    /// Those for which most waits, of all loops: as many as have that many bytes in total.
    package static func choose(_ lists: [[SlowConnection]], freeing bytes: Int) -> Set<ConnectionID> {
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
