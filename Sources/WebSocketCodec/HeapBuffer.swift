/// A growing buffer on the heap, whose address is stable between appends, and whose memory can be released.
///
/// `start` is nil exactly when `capacity` is 0; the first `count` bytes are initialised.
struct HeapBuffer: ~Copyable {
    private var start: UnsafeMutableRawPointer?
    private(set) var count = 0
    private(set) var capacity = 0

    deinit { start?.deallocate() }

    /// Valid until the next append or release.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Appends `bytes`; `expected` more bytes are announced to follow and may be made room for in advance, but not
    /// so many that announcing alone costs us memory.
    mutating func append(_ bytes: UnsafeRawBufferPointer, expecting expected: Int) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        let total = count + bytes.count
        if total > capacity { grow(to: min(total + expected, max(2 * total, Self.advanceMax))) }
        start?.advanced(by: count).copyMemory(from: source, byteCount: bytes.count)
        count = total
    }

    /// Lets `write` fill the free space, which is at least one byte and at most `limit - count` bytes; it returns how
    /// many bytes it wrote. `limit` must exceed `count`.
    mutating func appendUpTo<Failure: Error>(
        _ limit: Int, suggested: Int, write: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        if count == capacity { grow(to: min(limit, max(2 * count, suggested, 1))) }
        guard let start else { return }
        let room = UnsafeMutableRawBufferPointer(start: start + count, count: min(limit, capacity) - count)
        count += try write(room)
    }

    /// Gives the memory back.
    mutating func release() {
        start?.deallocate()
        (start, count, capacity) = (nil, 0, 0)
    }

    private mutating func grow(to newCapacity: Int) {
        let grown = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 1)
        if let start {
            grown.copyMemory(from: start, byteCount: count)
            start.deallocate()
        }
        (start, capacity) = (grown, newCapacity)
    }

    /// Bytes that may be reserved on the strength of an announcement: a chunk of the realtime protocol fits.
    private static let advanceMax = 16 << 10
}
