import Synchronization

/// The memory of all bytes that wait to be sent, on all loops that share this: bytes that streams could not send at
/// once, and bytes kept for them elsewhere (``OutboundClaim``).
///
/// It only counts: the owner of the connections checks ``isExceeded``.
package final class OutboundMemory: Sendable {
    package let bytesMax: Int
    private let used = Atomic<Int>(0)

    package init(bytesMax: Int = .max) { self.bytesMax = bytesMax }

    /// Bytes that wait, each array counted once.
    package var bytesUsed: Int { used.load(ordering: .relaxed) }

    package var isExceeded: Bool { bytesUsed > bytesMax }

    func change(by count: Int) { used.add(count, ordering: .relaxed) }
}

/// Bytes that one owner keeps for a peer outside of the peer's stream. They are free with the claim.
package final class OutboundClaim {
    private let memory: OutboundMemory
    private var bytes = 0

    package init(in memory: OutboundMemory) { self.memory = memory }

    deinit { if bytes > 0 { memory.change(by: -bytes) } }

    package func resize(to count: Int) {
        if count != bytes { memory.change(by: count - bytes) }
        bytes = count
    }
}
