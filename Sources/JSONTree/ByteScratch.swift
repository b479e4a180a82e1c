/// A growing byte buffer of one owner, written through pointers. `append` costs a comparison and a store.
struct ByteScratch: ~Copyable {
    /// Invariant: `count` <= `capacity`, and the first `count` bytes are initialised.
    private(set) var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0
    /// Whether the memory is the buffer's own.
    private var isOwned: Bool

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        base = .allocate(byteCount: self.capacity, alignment: 8)
        isOwned = true
    }

    /// Begins in memory that outlives the buffer, and moves when it is used up.
    init(in memory: UnsafeMutableRawBufferPointer) {
        isOwned = memory.baseAddress == nil
        capacity = isOwned ? 64 : memory.count
        base = memory.baseAddress ?? .allocate(byteCount: 64, alignment: 8)
    }

    deinit {
        if isOwned { base.deallocate() }
    }

    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        let larger = max(capacity * 2, count + more)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 8)
        moved.copyMemory(from: base, byteCount: count)
        if isOwned { base.deallocate() }
        base = moved
        capacity = larger
        isOwned = true
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends a copy of bytes that are already here.
    mutating func appendCopy(of range: Range<Int>) {
        reserve(range.count)
        (base + count).copyMemory(from: base + range.lowerBound, byteCount: range.count)
        count += range.count
    }

    /// Drops everything from `count` on.
    mutating func truncate(to count: Int) { self.count = count }

    /// Moves the bytes of `range` down to `start` and drops those after them.
    mutating func keepOnly(_ range: Range<Int>, at start: Int) {
        (base + start).copyMemory(from: base + range.lowerBound, byteCount: range.count)
        count = start + range.count
    }

    subscript(offset: Int) -> UInt8 { base.load(fromByteOffset: offset, as: UInt8.self) }

    /// Valid until the next mutation.
    @inline(__always)
    /// Puts the bytes into memory that has room for them, unless the buffer began there and has not moved.
    func move(to memory: UnsafeMutableRawBufferPointer) {
        if isOwned { memory.copyMemory(from: bytes(0..<count)) }
    }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
    }
}
