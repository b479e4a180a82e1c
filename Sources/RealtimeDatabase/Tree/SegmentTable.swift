import HearthJSONTree

/// What a ``SegmentTable`` holds: an object that knows its own key segment.
protocol SegmentKeyed: AnyObject, ByteOrdered {
    /// The encoded key, as one segment of `Path.encoded`.
    var segment: [UInt8] { get }
}

extension SegmentKeyed {
    var orderBytes: [UInt8] { segment }
}

/// A hash table from an encoded key segment to the node that carries it.
///
/// It exists because a trie is walked with slices of a path: `Dictionary` would want an owned array for every
/// look-up, this table compares borrowed bytes. Open addressing, linear probing, no markers for removed slots. The hash
/// has secrets that are new in every process, so a peer cannot choose keys that collide.
struct SegmentTable<Node: SegmentKeyed>: ~Copyable {
    /// Invariant: each node that is in a slot was retained once for it.
    private struct Slot {
        var hash: Int
        var node: Unmanaged<Node>?
    }

    private var slots: [Slot] = []
    private(set) var count = 0
    /// The nodes in key order, once somebody has asked for them in a wide table.
    private var order: SortedChunks<Node>?

    deinit {
        for slot in slots { slot.node?.release() }
    }

    var isEmpty: Bool { count == 0 }

    /// The node with this segment. Expected O(1), no allocation.
    subscript(segment: UnsafeRawBufferPointer) -> Node? { find(segment)?.takeUnretainedValue() }

    /// The same without counting a reference, for walks through many tables: good for as long as the node is in the
    /// table.
    func find(_ segment: UnsafeRawBufferPointer) -> Unmanaged<Node>? {
        guard count > 0 else { return nil }
        let hash = Self.hash(segment)
        var index = hash & (slots.count - 1)
        // Only a node with the same hash is touched.
        while let node = slots[index].node {
            if slots[index].hash == hash, node._withUnsafeGuaranteedRef({ Self.equal($0.segment, segment) }) {
                return node
            }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }

    /// The first node with a hash, which is that of its segment. It is not looked at, so it may be another one.
    func likelyNode(_ hash: Int) -> Unmanaged<Node>? {
        guard count > 0 else { return nil }
        var index = hash & (slots.count - 1)
        while let node = slots[index].node {
            if slots[index].hash == hash { return node }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Adds a node whose segment must not be in the table yet.
    mutating func insert(_ node: Node) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        let hash = node.segment.withUnsafeBytes { Self.hash($0) }
        slots[freeSlot(for: hash)] = Slot(hash: hash, node: .passRetained(node))
        count += 1
        order?.insert(node)
    }

    /// Removes the node with this segment, if it is there.
    mutating func remove(_ segment: [UInt8]) {
        guard count > 0 else { return }
        let hash = segment.withUnsafeBytes { Self.hash($0) }
        let mask = slots.count - 1
        var index = hash & mask
        // Only a node with the same hash is touched.
        while let node = slots[index].node {
            if slots[index].hash == hash, node._withUnsafeGuaranteedRef({ $0.segment == segment }) { break }
            index = (index + 1) & mask
        }
        guard let removed = slots[index].node else { return }
        defer { removed.release() }
        count -= 1
        order?.remove(segment)
        // Close the gap: every later entry of the run that may not follow a hole moves into it.
        var hole = index
        var next = (hole + 1) & mask
        while slots[next].node != nil {
            let home = slots[next].hash & mask
            if (next &- home) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole].node = nil
    }

    /// Takes out the node in the last place of all. Once begun, nothing else can be done with the table until it is
    /// empty. Amortised O(1).
    mutating func takeLast() -> Node? {
        order = nil
        while let slot = slots.popLast() {
            guard let node = slot.node else { continue }
            count -= 1
            return node.takeRetainedValue()
        }
        slots = []
        return nil
    }

    /// All nodes, in no particular order. `body` must not change the table.
    func forEach(_ body: (Node) throws -> Void) rethrows {
        for slot in slots {
            if let node = slot.node { try body(node.takeUnretainedValue()) }
        }
    }

    /// Whether a node satisfies the predicate, which must not change the table; stops at the first that does.
    func contains(where predicate: (Node) -> Bool) -> Bool {
        slots.contains { slot in slot.node.map { predicate($0.takeUnretainedValue()) } ?? false }
    }

    /// All nodes in key order. O(n log n), or O(n) once ``ordered()`` was asked for.
    func sorted() -> [Node] {
        if let order { return Array(order.elements) }
        var nodes: [Node] = []
        nodes.reserveCapacity(count)
        forEach { nodes.append($0) }
        nodes.sort { $0.segment.precedesBytewise($1.segment) }
        return nodes
    }

    /// The nodes in key order, to be walked from anywhere. O(n log n) the first time; a wide table keeps the order from
    /// then on.
    mutating func ordered() -> SortedChunks<Node> {
        if let order { return order }
        let order = SortedChunks(sorted: sorted())
        if count > Self.keptInOrderAbove { self.order = order }
        return order
    }

    /// Up to this many nodes are sorted again each time.
    private static var keptInOrderAbove: Int { 64 }

    private mutating func grow() {
        var old = Array(repeating: Slot(hash: 0, node: nil), count: max(4, slots.count * 2))
        swap(&old, &slots)
        // Slots are moved: nodes are not touched, which may be far away and very many.
        for index in old.indices where old[index].node != nil {
            swap(&old[index], &slots[freeSlot(for: old[index].hash)])
        }
    }

    private func freeSlot(for hash: Int) -> Int {
        var index = hash & (slots.count - 1)
        while slots[index].node != nil { index = (index + 1) & (slots.count - 1) }
        return index
    }

    static func hash(_ segment: UnsafeRawBufferPointer) -> Int { SegmentHash.of(segment) }

    private static func equal(_ a: [UInt8], _ b: UnsafeRawBufferPointer) -> Bool {
        a.withUnsafeBytes { $0.equalsBytewise(b) }
    }
}

/// A fast hash for short byte strings: 16 bytes a step, each folded by a full-width multiplication with secrets.
enum SegmentHash {
    private static let secrets = (secret(1), secret(2))

    /// From the standard library's hash, which is seeded at random in every process.
    private static func secret(_ number: Int) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(number)
        return UInt64(bitPattern: Int64(hasher.finalize())) | 1
    }

    static func of(_ bytes: UnsafeRawBufferPointer) -> Int {
        let (first, second) = secrets
        var state = first ^ UInt64(bytes.count)
        var offset = 0
        // Invariant: offset + 16 <= count within the loop; the tail loads stay within the last 16 bytes.
        while bytes.count - offset > 16 {
            state = fold(word(bytes, offset) ^ second, word(bytes, offset + 8) ^ state)
            offset += 16
        }
        let rest = bytes.count - offset
        let low: UInt64
        let high: UInt64
        if rest >= 8 {
            low = word(bytes, offset)
            high = word(bytes, bytes.count - 8)
        } else {
            var packed: UInt64 = 0
            for index in offset..<bytes.count { packed = packed << 8 | UInt64(bytes[index]) }
            (low, high) = (packed, 0)
        }
        return Int(truncatingIfNeeded: fold(fold(low ^ second, high ^ state), first))
    }

    private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    }

    private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let (high, low) = a.multipliedFullWidth(by: b)
        return high ^ low
    }
}
