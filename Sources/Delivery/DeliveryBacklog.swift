import Synchronization

/// Bytes that databases have handed to the event loops, and that these have not passed on to their connections yet.
/// While they are many, no further requests are processed, so that loops that have much to send are not buried under
/// more.
package final class DeliveryBacklog: Sendable {
    private let bytes = Atomic<Int>(0)
    private let bytesMax: Int

    package init(bytesMax: Int) { self.bytesMax = bytesMax }

    package var isFull: Bool { bytes.load(ordering: .sequentiallyConsistent) >= bytesMax }

    package var byteCount: Int { bytes.load(ordering: .relaxed) }

    package func add(_ count: Int) { bytes.add(count, ordering: .sequentiallyConsistent) }

    /// True when there is room again because of that.
    package func remove(_ count: Int) -> Bool {
        let (old, new) = bytes.subtract(count, ordering: .sequentiallyConsistent)
        return old >= bytesMax && new < bytesMax
    }
}
