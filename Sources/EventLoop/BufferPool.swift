/// Small buffers that the queues of one loop take for copied bytes and give back when these are sent, so that a loop at
/// work does not allocate for every message.
package final class BufferPool {
    /// A buffer that grew beyond this is not kept.
    private static let keptCapacityMax = 8 * 1024
    /// The limit of all kept buffers together.
    private static let keptBytesMax = 4 * 1024 * 1024
    /// The approximate overhead of an array and of the allocator.
    private static let overhead = 48

    private var buffers: [[UInt8]] = []
    private var keptBytes = 0

    package init() {}

    /// An empty buffer.
    func take() -> [UInt8] {
        guard let buffer = buffers.popLast() else { return [] }
        keptBytes -= buffer.capacity + BufferPool.overhead
        return buffer
    }

    /// Takes the buffer out of `buffer`, which becomes empty.
    func give(_ buffer: inout [UInt8]) {
        var given: [UInt8] = []
        swap(&given, &buffer)
        let bytes = given.capacity + BufferPool.overhead
        guard given.capacity <= BufferPool.keptCapacityMax, keptBytes + bytes <= BufferPool.keptBytesMax else { return }
        given.removeAll(keepingCapacity: true)
        buffers.append(given)
        keptBytes += bytes
    }
}
