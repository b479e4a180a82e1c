import Synchronization

/// Bytes that any number of streams may send.
///
/// They count for the ``OutboundMemory`` once, however many streams hold them: from the moment when the first of these
/// cannot send them until the last one lets go.
package final class SharedBytes: Sendable {
    package let bytes: [UInt8]
    private let memory: OutboundMemory?
    private let isCounted = Atomic(false)

    /// - parameter memory: where the bytes count while they wait; nil for bytes that are counted elsewhere.
    package init(_ bytes: [UInt8], in memory: OutboundMemory?) {
        self.bytes = bytes
        self.memory = memory
    }

    deinit {
        if isCounted.load(ordering: .relaxed) { memory?.change(by: -bytes.capacity) }
    }

    package var count: Int { bytes.count }

    /// The bytes wait for a peer.
    package func wait() {
        guard let memory, !isCounted.load(ordering: .relaxed) else { return }
        if !isCounted.exchange(true, ordering: .relaxed) { memory.change(by: bytes.capacity) }
    }
}
