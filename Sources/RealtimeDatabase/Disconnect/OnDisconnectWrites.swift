/// The writes that connections have registered for their end (Protocol.md 17), which of them are due, and which are
/// on their way to the commit log.
///
/// The numbers of connections are those of ``ConnectionID/raw``.
package struct OnDisconnectWrites {
    /// The registered writes in memory, by connection. Never empty.
    package private(set) var registered: [UInt64: OwedWrites] = [:]
    /// Connections whose writes changed since the store was last told.
    private var changed: Set<UInt64> = []
    /// Connections that have ended and whose writes are not made yet, in the order in which they ended.
    private(set) var due: [UInt64] = []
    /// Connections whose writes were made by operations that the log may not have yet, in the log's order.
    private var made: [(connection: UInt64, sequence: UInt64)] = []
    /// Connections whose writes are to be dropped instead of made, until that is durable.
    private(set) var forfeited: Set<UInt64> = []
    /// The memory that the registered writes use.
    private let kept: KeptBytes

    init(_ memory: KeptMemory) { kept = KeptBytes(of: memory) }

    /// Whether writes are registered for a connection, or due.
    func isOwed(_ connection: UInt64) -> Bool { registered[connection] != nil || due.contains(connection) }

    /// Nothing is registered, due, or on its way to the log.
    var isAtRest: Bool { registered.isEmpty && due.isEmpty && made.isEmpty && forfeited.isEmpty }

    /// The store lacks some change.
    var hasChanges: Bool { !changed.isEmpty }

    /// Replaces the known writes by those of the store. Writes that are due or being made stay.
    mutating func load(_ stored: [UInt64: OwedWrites]) {
        for connection in registered.keys where stored[connection] == nil { kept.set(0, of: connection, client: 0) }
        for (connection, writes) in stored { kept.set(writes.memoryByteCount, of: connection, client: 0) }
        registered = stored
        changed = []
    }

    /// The changes for the store: the writes of connections, empty for connections without writes.
    mutating func takeChanges() -> [UInt64: OwedWrites] {
        defer { changed = [] }
        return changed.reduce(into: [:]) { $0[$1] = registered[$1] ?? OwedWrites() }
    }

    // MARK: Registering

    /// Whether there is room for the writes of a connection of a client.
    func hasRoom(_ writes: OwedWrites, for connection: UInt64, of client: UInt64) -> Bool {
        kept.hasRoom(writes.memoryByteCount, for: connection, of: client)
    }

    /// Sets the registered writes of a connection; removes them if `writes` is empty.
    mutating func set(_ writes: OwedWrites, of connection: UInt64, client: UInt64 = 0) {
        registered[connection] = writes.isEmpty ? nil : writes
        kept.set(writes.isEmpty ? 0 : writes.memoryByteCount, of: connection, client: client)
        changed.insert(connection)
    }

    /// Does what an operation of the log says.
    mutating func take(_ content: LoggedOperation.Content) {
        switch content {
        case .change, .outbox: break
        case .owe(let assignments, let connection, by: let principal):
            var writes = registered[connection] ?? OwedWrites()
            writes.principal = principal
            writes.set(assignments)
            set(writes, of: connection)
        case .cancelOwed(let path, let connection):
            var writes = registered[connection] ?? OwedWrites()
            writes.cancel(path)
            set(writes, of: connection)
        }
    }

    /// Drops the registered writes of a connection.
    mutating func forfeit(_ connection: UInt64) { forfeited.insert(connection) }

    /// Nothing is registered any more that was to be dropped.
    mutating func endForfeit(_ connection: UInt64) { forfeited.remove(connection) }

    /// Writes in the name of some principals are not to be made. Asks about each of them once, in the order of
    /// connections.
    mutating func forfeit(where isRevoked: (Principal) -> Bool) {
        var known: [Principal: Bool] = [:]
        for (connection, writes) in registered.sorted(by: { $0.key < $1.key }) {
            let answer = known[writes.principal] ?? isRevoked(writes.principal)
            known[writes.principal] = answer
            if answer { forfeited.insert(connection) }
        }
    }

    // MARK: Making

    /// A connection has ended. False if nothing is registered for it.
    mutating func end(_ connection: UInt64) -> Bool {
        guard registered[connection] != nil else {
            forfeited.remove(connection)
            return false
        }
        if !due.contains(connection) { due.append(connection) }
        return true
    }

    /// All connections with registered writes have ended: they were of another process, or of another node.
    mutating func endAll() { due = registered.keys.sorted() }

    /// The writes of the first connection in ``due`` were made, or dropped, by the operation `sequence`; nil if there
    /// were none.
    mutating func finishFirstDue(as sequence: UInt64?) {
        let connection = due.removeFirst()
        guard let sequence else { return }
        set(OwedWrites(), of: connection)
        made.append((connection, sequence))
    }

    /// The log has everything up to `sequence`.
    mutating func committed(through sequence: UInt64) {
        if made.isEmpty { return }
        for entry in made where entry.sequence <= sequence { forfeited.remove(entry.connection) }
        made.removeAll { $0.sequence <= sequence }
    }

    /// Operations after `sequence` are lost, and ``load(_:)`` has the registered writes: those made by lost operations
    /// are due again.
    mutating func lose(after sequence: UInt64) {
        due = made.filter { $0.sequence > sequence }.map(\.connection) + due
        made = []
    }

    /// Traps if parts of the state contradict each other. O(registered writes).
    ///
    /// - parameter last: the number of the last operation in memory.
    func checkInvariants(last: UInt64) {
        precondition(registered.values.allSatisfy { !$0.isEmpty }, "a connection has registered nothing, and is known")
        kept.checkInvariants(registered.mapValues(\.memoryByteCount))
        precondition(Set(due).count == due.count, "a connection has ended twice")
        precondition(
            zip(made, made.dropFirst()).allSatisfy { $0.sequence < $1.sequence }, "writes were made out of order")
        precondition(made.last?.sequence ?? 0 <= last, "an on-disconnect write has a number from the future")
    }
}
