import HearthJSONTree
import HearthStorageErrors

/// The entries of all indexes, in the order of their keys: those of the store, in front of them those of at most one
/// large value that the store does not have yet, and in front of both what changed since.
///
/// An entry is a key alone: the collection's encoded path, ``IndexEntryKey/marker``, the number of the index in four
/// bytes, and the child's ``IndexPlace``. So the entries of an index are a range in its order, and those of everything
/// at and below a place are a range as well. Owned by the database thread.
final class IndexEntries {
    private struct Changed: ByteOrdered {
        var key: [UInt8]
        var isPresent: Bool
        var generation: UInt64
        var removal: Removal

        var orderBytes: [UInt8] { key }
    }

    /// When the store may remove an entry.
    enum Removal {
        /// Before a large value of the same changes is there as a whole: after a crash the log brings back what it is
        /// without the entry.
        case early
        /// With the last of the changes: the log is replayed with the entry.
        case late
    }

    private let store: any RowStore
    private var changed = SortedChunks<Changed>()
    /// The store has the changes of this generation and all before. Those of them that are still among ``changed`` say
    /// what the store says.
    private var appliedGeneration: UInt64 = 0
    /// Where ``trim(looks:)`` goes on, or nil when it has nothing to do.
    private var trimmedTo: [UInt8]?
    /// Encoded paths at and below which what the store has is obsolete, each with the generation since which it is.
    private var cleared: [[UInt8]: UInt64] = [:]
    /// The entries of a large value, the place at and below which they hide what the store has, and the generation of
    /// changes that brings them to the store. Everything else of that generation comes after them.
    private var layer: (entries: PreparedEntries, range: KeyRange, generation: UInt64)?
    private var gaps = EntryGaps()
    /// The approximate memory of the changes since the last freeze, in bytes.
    private(set) var changedBytes = 0
    /// Changes since then.
    private(set) var changedCount = 0

    init(store: any RowStore) { self.store = store }

    // MARK: Changing

    /// `generation` is the one that changes of rows are counted to.
    func set(_ key: [UInt8], isPresent: Bool, generation: UInt64, removal: Removal = .early) {
        changedBytes += 96 + key.count
        changedCount += 1
        if isPresent { gaps.fill(key) }
        changed.insert(Changed(key: key, isPresent: isPresent, generation: generation, removal: removal))
    }

    /// Removes all entries of the collections at and below a place.
    func clear(_ path: Path, generation: UInt64) {
        changed.removeAll(from: path.encoded, below: path.subtreeEnd)
        cleared[path.encoded] = generation
        changedBytes += 96 + path.encoded.count
    }

    /// Makes the entries of a large value all those of the collections at and below its place. Everything that changed
    /// before must be frozen, and the store have the large value before.
    func attach(_ entries: PreparedEntries, at path: Path, generation: UInt64) {
        let range = KeyRange(lower: path.encoded, upper: path.subtreeEnd)
        changed.removeAll(from: range.lower, below: range.upper)
        layer = (entries, range, generation)
        gaps.forget(range)
        changedBytes += 96 + path.encoded.count
    }

    // MARK: Reading

    /// Visits the keys in `lower <= key < upper`, in either direction, until `body` answers false.
    func scan(
        from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection, _ body: ([UInt8]) -> Bool
    ) throws(StorageError) {
        let range = gaps.visited(KeyRange(lower: lower, upper: upper), direction)
        guard range.lower.precedesBytewise(range.upper) else { return }
        var behind = try Behind(self, from: range.lower, below: range.upper, direction)
        var known = changed.walk(from: range.lower, below: range.upper, direction)
        var stored = try behind.next()
        var entry = known.next()
        var isFirst = true
        var removed = 0
        func visit(_ key: [UInt8]) -> Bool {
            if isFirst, removed >= EntryGaps.removedMin { gaps.add(range.part(before: key, direction)) }
            isFirst = false
            return body(key)
        }
        while true {
            if let current = entry, stored.map({ !comes($0, before: current.key, direction) }) ?? true {
                if current.isPresent { if !visit(current.key) { return } } else { removed += 1 }
                if stored == current.key { stored = try behind.next() }
                entry = known.next()
            } else if let key = stored {
                if !visit(key) { return }
                stored = try behind.next()
            } else {
                if isFirst, removed >= EntryGaps.removedMin { gaps.add(range) }
                return
            }
        }
    }

    /// The layer below the changes: the keys of the store that are not hidden, and those of the large value.
    private struct Behind {
        private let entries: IndexEntries
        private let direction: ScanDirection
        private let cursor: any RowCursor
        private let layered: PreparedEntries.Cursor?
        private var stored: [UInt8]?
        private var large: [UInt8]?

        init(
            _ entries: IndexEntries, from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection
        ) throws(StorageError) {
            self.entries = entries
            self.direction = direction
            cursor = try entries.store.entries(from: lower, below: upper, direction)
            layered = entries.layer.flatMap { layer in
                guard lower.precedesBytewise(layer.range.upper), layer.range.lower.precedesBytewise(upper) else {
                    return nil
                }
                return layer.entries.cursor(at: layer.range.lower, from: lower, below: upper, direction)
            }
            stored = try nextStored()
            large = nextLarge()
        }

        mutating func next() throws(StorageError) -> [UInt8]? {
            if let key = large, stored.map({ !entries.comes($0, before: key, direction) }) ?? true {
                large = nextLarge()
                return key
            }
            guard let key = stored else { return nil }
            stored = try nextStored()
            return key
        }

        private func nextStored() throws(StorageError) -> [UInt8]? {
            while let key = try cursor.nextKey() {
                var hidden = entries.clearedPlace(above: key, since: 0)
                if let range = entries.layer?.range, range.contains(key) { hidden = range.lower }
                guard let hidden else { return key }
                try cursor.seek(to: direction == .ascending ? Path.subtreeEnd(of: hidden) : hidden)
            }
            return nil
        }

        private func nextLarge() -> [UInt8]? {
            guard let layered, let generation = entries.layer?.generation else { return nil }
            while let key = layered.nextKey() {
                guard let hidden = entries.clearedPlace(above: key, since: generation) else { return key }
                layered.seek(to: direction == .ascending ? Path.subtreeEnd(of: hidden) : hidden)
            }
            return nil
        }
    }

    /// The uppermost place at or above the collection of an entry that was cleared in a generation or later. O(depth).
    private func clearedPlace(above key: [UInt8], since generation: UInt64) -> [UInt8]? {
        if cleared.isEmpty { return nil }
        var end = 0
        while cleared[Array(key[..<end])].map({ $0 < generation }) ?? true {
            if key[end] == IndexEntryKey.marker { return nil }
            end = Path(encoded: key).segmentEnd(from: end)
        }
        return Array(key[..<end])
    }

    private func comes(_ a: [UInt8], before b: [UInt8], _ direction: ScanDirection) -> Bool {
        direction == .ascending ? a.precedesBytewise(b) : b.precedesBytewise(a)
    }

    // MARK: Applying

    /// The writes to a store for the changes of a generation, except the entries of a large value.
    func freeze(_ generation: UInt64) -> EntryChanges {
        changedBytes = 0
        changedCount = 0
        var changes = EntryChanges()
        for (path, clearedIn) in cleared where clearedIn == generation {
            changes.cleared.append(KeyRange(lower: path, upper: Path.subtreeEnd(of: path)))
        }
        for entry in changed.elements where entry.generation == generation {
            switch (entry.isPresent, entry.removal) {
            case (true, _): changes.added.append(entry.key)
            case (false, .early): changes.removed.append(entry.key)
            case (false, .late): changes.cleared.append(KeyRange(lower: entry.key, upper: entry.key + [0]))
            }
        }
        return changes
    }

    /// The store now has the changes of a generation and all before. ``trim(looks:)`` frees their memory.
    func applied(_ generation: UInt64) {
        appliedGeneration = generation
        if !changed.isEmpty { trimmedTo = [] }
        cleared = cleared.filter { $0.value > generation }
        if let layer, layer.generation <= generation { self.layer = nil }
    }

    /// Changes in memory.
    var resident: Int { changed.count }

    /// There is memory to be freed.
    var isTrimDue: Bool { trimmedTo != nil }

    /// Forgets changes that the store has, of about so many that it looks at.
    func trim(looks: Int) {
        guard let start = trimmedTo else { return }
        let applied = appliedGeneration
        trimmedTo = changed.removeSome(from: start, looks: looks) { $0.generation <= applied }
    }
}

extension KeyRange {
    /// The nodes that a walk passes before it comes to a key.
    fileprivate func part(before key: [UInt8], _ direction: ScanDirection) -> KeyRange {
        switch direction {
        case .ascending: KeyRange(lower: lower, upper: key)
        case .descending: KeyRange(lower: key + [0], upper: upper)
        }
    }
}
