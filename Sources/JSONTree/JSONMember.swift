/// A member of an object that is being read, as ranges of the output.
struct JSONMember {
    /// Sorts as the key does, except that equal ones may need the keys themselves: the first eight bytes of the key's
    /// segment. Metadata comes before all keys.
    var order: UInt64
    /// Of the opening quote of the key.
    var start: UInt32
    /// After the closing quote of the key.
    var keyEnd: UInt32
    /// After the value.
    var end: UInt32
    var keyHasEscapes: Bool
    var isNothing = false

    static let priorityOrder: UInt64 = 0
    static let serverValueOrder: UInt64 = 1
    static let valueOrder: UInt64 = 2

    var isMetadata: Bool { order <= JSONMember.valueOrder }

    /// Whether equal `order` means equal keys: integers and metadata are in it whole.
    var isOrderExact: Bool { order >> 56 != UInt64(Segment.textTag) }

    static func order(ofKey utf8: UnsafeRawBufferPointer) -> UInt64 {
        if let integer = IntegerKey(utf8) {
            let bits = UInt64(UInt32(bitPattern: integer.value) ^ 0x8000_0000)
            return UInt64(Segment.integerTag) << 56 | bits << 24 | UInt64(integer.form) << 8
        }
        var order = UInt64(Segment.textTag)
        let count = min(utf8.count, 7)
        for index in 0..<count { order = order << 8 | UInt64(Segment.permuted(utf8[index])) }
        return order << UInt64(8 * (7 - count))
    }

    /// Nil for the key of a child.
    static func order(ofMetadata key: UnsafeRawBufferPointer) -> UInt64? {
        guard key.first == UInt8(ascii: ".") else { return nil }
        if key.elementsEqual(".priority".utf8) { return priorityOrder }
        if key.elementsEqual(".value".utf8) { return valueOrder }
        return key.elementsEqual(".sv".utf8) ? serverValueOrder : nil
    }
}

/// The members of all objects that are open, those of the innermost one on top.
struct MemberStack: ~Copyable {
    /// Invariant: the first `count` elements are initialised (the type is trivial).
    private var base: UnsafeMutablePointer<JSONMember>
    private var capacity: Int
    private(set) var count = 0
    /// Whether the memory is the stack's own.
    private var isOwned: Bool

    /// Begins in memory that outlives the stack, aligned for members, and moves when it is used up.
    init(in memory: UnsafeMutableRawBufferPointer) {
        let members = memory.bindMemory(to: JSONMember.self)
        isOwned = members.baseAddress == nil
        capacity = isOwned ? 16 : members.count
        base = members.baseAddress ?? .allocate(capacity: 16)
    }

    deinit {
        if isOwned { base.deallocate() }
    }

    @inline(__always)
    mutating func append(_ member: JSONMember) {
        if count == capacity { grow() }
        (base + count).initialize(to: member)
        count += 1
    }

    @inline(never)
    private mutating func grow() {
        let larger = max(16, capacity * 2)
        let moved = UnsafeMutablePointer<JSONMember>.allocate(capacity: larger)
        moved.moveInitialize(from: base, count: count)
        if isOwned { base.deallocate() }
        base = moved
        capacity = larger
        isOwned = true
    }

    mutating func truncate(to count: Int) { self.count = count }

    /// Takes off all from `start` on. Valid until the next `append`.
    mutating func takeTop(from start: Int) -> UnsafeMutableBufferPointer<JSONMember> {
        defer { count = start }
        return top(from: start)
    }

    /// Valid until the next `append`.
    func top(from start: Int) -> UnsafeMutableBufferPointer<JSONMember> {
        UnsafeMutableBufferPointer(start: base + start, count: count - start)
    }
}
