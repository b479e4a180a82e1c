import JSONTree

/// The entries of all indexes, in the order of their keys: those of the store, and in front of them what changed since.
///
/// An entry is a key alone: the collection's encoded path, ``marker``, the number of the index in four bytes, and the
/// child's
/// ``IndexPlace``. So the entries of an index are a range in its order, and those of everything at and below a place
/// are a range as well. Owned by the database thread.
final class IndexEntries {
    /// Less than the first byte of every segment, so that it ends a path.
    static let marker: UInt8 = 0x01

    private struct Changed: ByteOrdered {
        var key: [UInt8]
        var isPresent: Bool
        var generation: UInt64

        var orderBytes: [UInt8] { key }
    }

    private let store: any RowStore
    private var changed = SortedChunks<Changed>()
    /// Encoded paths at and below which what the store has is obsolete, each with the generation since which it is.
    private var cleared: [[UInt8]: UInt64] = [:]
    /// About the memory of what changed since the last freeze, in bytes.
    private(set) var changedBytes = 0

    init(store: any RowStore) { self.store = store }

    static func prefix(of number: UInt32, at collection: Path) -> [UInt8] {
        var prefix = collection.encoded
        prefix.append(marker)
        for shift in [24, 16, 8, 0] as [UInt32] { prefix.append(UInt8(truncatingIfNeeded: number >> shift)) }
        return prefix
    }

    // MARK: Changing

    /// `generation` is the one that changes of rows are counted to.
    func set(_ key: [UInt8], isPresent: Bool, generation: UInt64) {
        changedBytes += 96 + key.count
        changed.insert(Changed(key: key, isPresent: isPresent, generation: generation))
    }

    /// Removes all entries of the collections at and below a place.
    func clear(_ path: Path, generation: UInt64) {
        changed.removeAll(from: path.encoded, below: path.subtreeEnd)
        cleared[path.encoded] = generation
        changedBytes += 96 + path.encoded.count
    }

    // MARK: Reading

    /// Visits the keys in `lower <= key < upper`, in either direction, until `body` answers false.
    func scan(
        from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection, _ body: ([UInt8]) -> Bool
    ) throws(StorageError) {
        guard lower.precedesBytewise(upper) else { return }
        let cursor = try store.entries(from: lower, below: upper, direction)
        var known = changed.walk(from: lower, below: upper, direction)
        var stored = try nextStored(cursor, direction)
        var entry = known.next()
        while true {
            if let current = entry, stored.map({ !comes($0, before: current.key, direction) }) ?? true {
                if current.isPresent, !body(current.key) { return }
                if stored == current.key { stored = try nextStored(cursor, direction) }
                entry = known.next()
            } else if let key = stored {
                if !body(key) { return }
                stored = try nextStored(cursor, direction)
            } else {
                return
            }
        }
    }

    private func nextStored(_ cursor: any RowCursor, _ direction: ScanDirection) throws(StorageError) -> [UInt8]? {
        while let key = try cursor.nextKey() {
            guard let hidden = clearedPlace(above: key) else { return key }
            try cursor.seek(to: direction == .ascending ? Path.subtreeEnd(of: hidden) : hidden)
        }
        return nil
    }

    /// The uppermost cleared place at or above the collection of an entry. O(depth).
    private func clearedPlace(above key: [UInt8]) -> [UInt8]? {
        if cleared.isEmpty { return nil }
        var end = 0
        while cleared[Array(key[..<end])] == nil {
            if key[end] == Self.marker { return nil }
            end = Path(encoded: key).segmentEnd(from: end)
        }
        return Array(key[..<end])
    }

    private func comes(_ a: [UInt8], before b: [UInt8], _ direction: ScanDirection) -> Bool {
        direction == .ascending ? a.precedesBytewise(b) : b.precedesBytewise(a)
    }

    // MARK: Applying

    /// What a store must change to hold the changes of a generation.
    func freeze(_ generation: UInt64) -> EntryChanges {
        changedBytes = 0
        var changes = EntryChanges()
        for (path, clearedIn) in cleared where clearedIn == generation {
            changes.cleared.append(KeyRange(lower: path, upper: Path.subtreeEnd(of: path)))
        }
        for entry in changed.elements where entry.generation == generation {
            if entry.isPresent { changes.added.append(entry.key) } else { changes.removed.append(entry.key) }
        }
        return changes
    }

    func applied(_ generation: UInt64) {
        changed.removeAll { $0.generation <= generation }
        cleared = cleared.filter { $0.value > generation }
    }
}

/// Changes of index entries, to be written to a store together with rows.
package struct EntryChanges: Sendable, Hashable {
    /// Removed before others are added.
    package var cleared: [KeyRange] = []
    package var removed: [[UInt8]] = []
    /// In order.
    package var added: [[UInt8]] = []

    package init() {}

    package var isEmpty: Bool { cleared.isEmpty && removed.isEmpty && added.isEmpty }
}
