import HearthStorageErrors

/// Rows that are ready to be written to the store: everything up to `sequence`.
package struct FrozenRows: Sendable {
    package var sequence: UInt64
    /// What ``Database/applied(_:)`` is told afterwards; nil when no row changed.
    package var generation: UInt64?
    package var changes: RowChanges
    /// Large reads that want to see the store at exactly this point.
    package var reads: [SnapshotRead]

    /// The same once the store has the changes, whose memory the caller can then free.
    package var applied: FrozenRows {
        FrozenRows(sequence: sequence, generation: generation, changes: RowChanges(), reads: reads)
    }
}

/// The rows of a database in memory, and those on their way to the store.
struct DatabaseTree {
    private(set) var rows: TreeRows
    /// In order; the store has none of them.
    private var frozen: [FrozenRows] = []
    /// Bytes of memory in generations that were frozen and not applied.
    private var frozenBytes: [(generation: UInt64, bytes: Int)] = []
    /// The error of storage in the middle of a change: memory may hold half of it. Until ``rebuild()``, nothing is read
    /// or written.
    private(set) var tornBy: StorageError?
    /// A change was broken off by a damaged row. The row stays damaged.
    private(set) var hasDamage = false

    init(_ rows: TreeRows) { self.rows = rows }

    /// Memory holds half of a change, because storage failed.
    mutating func tear(by error: StorageError) {
        tornBy = error
        if case .damaged = error { hasDamage = true }
    }

    /// Drops the nodes in memory: the rows are then those of the store.
    mutating func rebuild() {
        rows = TreeRows(store: rows.store.base, residentBytesMax: rows.residentBytesMax, packing: rows.packing)
        frozen = []
        frozenBytes = []
        tornBy = nil
    }

    // MARK: On the way to the store

    /// No rows are on their way to the store.
    var hasNothingFrozen: Bool { frozen.isEmpty }

    /// Bytes of memory in generations that the store does not have.
    var unappliedBytes: Int { frozenBytes.reduce(0) { $0 + $1.bytes } }

    /// Adds rows that take `bytes` of memory.
    mutating func append(_ rows: FrozenRows, bytes: Int) {
        assert(frozen.last?.sequence ?? 0 <= rows.sequence, "rows are frozen in their order")
        if let generation = rows.generation { frozenBytes.append((generation, bytes)) }
        frozen.append(rows)
    }

    /// A large read sees the store with everything up to `sequence`, which is all there is.
    mutating func append(_ read: SnapshotRead, sequence: UInt64) {
        if frozen.last?.sequence == sequence {
            frozen[frozen.count - 1].reads.append(read)
        } else {
            // Nothing changed since the last freeze, which may still be under way: the read takes its turn after it.
            frozen.append(FrozenRows(sequence: sequence, generation: nil, changes: RowChanges(), reads: [read]))
        }
    }

    /// The next rows to write to the store.
    var nextFrozen: FrozenRows? { frozen.first }

    mutating func removeNextFrozen() { frozen.removeFirst() }

    /// The store now holds the rows of this generation and all before.
    mutating func applied(_ generation: UInt64) {
        rows.applied(generation)
        frozenBytes.removeAll { $0.generation <= generation }
    }

    /// Traps if parts of the state contradict each other. O(rows on their way).
    ///
    /// - parameter last: the number of the last operation in memory.
    func checkInvariants(last: UInt64) {
        var before: UInt64 = 0
        for rows in frozen {
            precondition(rows.sequence >= before, "rows are frozen out of order")
            before = rows.sequence
        }
        precondition(before <= last, "rows are frozen that are not there yet")
        let waiting = Set(frozen.compactMap(\.generation))
        precondition(waiting.isSubset(of: frozenBytes.map(\.generation)), "bytes of frozen rows are not counted")
    }
}
