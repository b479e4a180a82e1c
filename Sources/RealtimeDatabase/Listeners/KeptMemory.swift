import HearthJSONTree
import Synchronization

/// The memory that the databases of a process together may keep for connections until these end: for their listeners
/// and their on-disconnect writes. Any thread.
package final class KeptMemory: Sendable {
    package let bytesMax: Int
    private let used = Atomic<Int>(0)

    package init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

    /// Bytes that are in use.
    package var bytesUsed: Int { used.load(ordering: .relaxed) }

    fileprivate func add(_ bytes: Int) { used.add(bytes, ordering: .relaxed) }
}

/// The part of the ``KeptMemory`` that one database uses for things of one kind.
///
/// The first ``freeBytes`` of a connection are not counted: few connections have more. Of the rest, a client may have
/// as much as it leaves free for others: one alone half of the memory.
final class KeptBytes {
    static let freeBytes = 64 << 10

    private struct Excess {
        let client: UInt64
        var bytes: Int
    }

    private let memory: KeptMemory
    /// The counted bytes of connections that have any, and their sums by client.
    private var connections: [UInt64: Excess] = [:]
    private var clients: [UInt64: Int] = [:]

    init(of memory: KeptMemory) { self.memory = memory }

    deinit { memory.add(-clients.values.reduce(0, +)) }

    /// Whether a connection of a client may have so many bytes.
    func hasRoom(_ bytes: Int, for connection: UInt64, of client: UInt64) -> Bool {
        let more = bytes - Self.freeBytes - (connections[connection]?.bytes ?? 0)
        return more <= 0 || memory.bytesUsed + clients[client, default: 0] + 2 * more <= memory.bytesMax
    }

    /// A connection has so many bytes now, whether there is room or not. `client` is that of its first ones that count.
    func set(_ bytes: Int, of connection: UInt64, client: UInt64) {
        let excess = max(0, bytes - Self.freeBytes)
        let old = connections[connection]
        guard excess != old?.bytes ?? 0 else { return }
        let owner = old?.client ?? client
        let change = excess - (old?.bytes ?? 0)
        connections[connection] = excess == 0 ? nil : Excess(client: owner, bytes: excess)
        let sum = clients[owner, default: 0] + change
        clients[owner] = sum == 0 ? nil : sum
        memory.add(change)
    }

    // MARK: Listeners, about

    /// The memory of a child in the window of a query.
    static let ofPlaceInWindow = 100

    /// The memory of a listener, without the window of its query, of which `text` is the text. Places are counted as if
    /// nobody else listened at or below them.
    static func listener(at path: Path, query text: [UInt8]? = nil) -> Int {
        let ofPath = 128 + 2 * path.encoded.count + 320 * path.depth
        return ofPath + (text.map { 512 + 3 * $0.count } ?? 0)
    }

    /// Traps if the connections have other bytes. O(connections).
    func checkInvariants(_ bytes: [UInt64: Int]) {
        let excesses = bytes.mapValues { $0 - Self.freeBytes }.filter { $0.value > 0 }
        precondition(connections.mapValues(\.bytes) == excesses, "the bytes kept for connections are others")
        precondition(
            clients.values.reduce(0, +) == excesses.values.reduce(0, +), "the bytes kept for clients are others")
    }
}
