import HearthJSONTree
import Synchronization

/// The memory that the databases of a process together may keep for connections until these end: for their listeners
/// and their on-disconnect writes. A client may have as much as it leaves free for others: one alone half of it. Any
/// thread.
package final class KeptMemory: Sendable {
    package let bytesMax: Int
    /// Bytes in use, by client.
    private let clients = Mutex<[UInt64: Int]>([:])
    private let used = Atomic<Int>(0)

    package init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

    /// The size for a process that may use so many bytes.
    package static func bytesMax(of processBytes: Int) -> Int { max(processBytes / 4, 16 << 20) }

    /// Bytes that are in use.
    package var bytesUsed: Int { used.load(ordering: .relaxed) }

    fileprivate func hasRoom(_ bytes: Int, of client: UInt64) -> Bool {
        let own = clients.withLock { $0[client] ?? 0 }
        return bytesUsed + own + 2 * bytes <= bytesMax
    }

    fileprivate func add(_ bytes: Int, of client: UInt64) {
        used.add(bytes, ordering: .relaxed)
        clients.withLock {
            let sum = $0[client, default: 0] + bytes
            $0[client] = sum == 0 ? nil : sum
        }
    }
}

/// The part of the ``KeptMemory`` that one database uses for things of one kind.
///
/// The first ``freeBytes`` of a connection are not counted: few connections have more.
final class KeptBytes {
    static let freeBytes = 64 << 10

    private struct Excess {
        let client: UInt64
        var bytes: Int
    }

    private let memory: KeptMemory
    /// The counted bytes of connections that have any.
    private var connections: [UInt64: Excess] = [:]

    init(of memory: KeptMemory) { self.memory = memory }

    deinit { for excess in connections.values { memory.add(-excess.bytes, of: excess.client) } }

    /// Whether a connection of a client may have so many bytes.
    func hasRoom(_ bytes: Int, for connection: UInt64, of client: UInt64) -> Bool {
        let more = bytes - Self.freeBytes - (connections[connection]?.bytes ?? 0)
        return more <= 0 || memory.hasRoom(more, of: client)
    }

    /// A connection has so many bytes now, whether there is room or not. `client` is that of its first ones that count.
    func set(_ bytes: Int, of connection: UInt64, client: UInt64) {
        let excess = max(0, bytes - Self.freeBytes)
        let old = connections[connection]
        guard excess != old?.bytes ?? 0 else { return }
        let owner = old?.client ?? client
        connections[connection] = excess == 0 ? nil : Excess(client: owner, bytes: excess)
        memory.add(excess - (old?.bytes ?? 0), of: owner)
    }

    // MARK: Listeners, about

    /// The memory of a child in the window of a query.
    static let ofPlaceInWindow = 100

    /// The memory of a listener, without the window of its query, of which `text` is the text. Others usually listen
    /// below the first places of the path too, so only the last one counts, and those after the fourth.
    static func listener(at path: Path, query text: [UInt8]? = nil) -> Int {
        let ofPath = 128 + 2 * path.encoded.count + 320 * max(1, path.depth - 3)
        return ofPath + (text.map { 512 + 3 * $0.count } ?? 0)
    }

    /// Traps if the connections have other bytes. O(connections).
    func checkInvariants(_ bytes: [UInt64: Int]) {
        let excesses = bytes.mapValues { $0 - Self.freeBytes }.filter { $0.value > 0 }
        precondition(connections.mapValues(\.bytes) == excesses, "the bytes kept for connections are others")
    }
}
