package import HearthJSONTree
// Callers of a database are told why its storage failed, wherever the error is defined.
package import HearthStorageErrors

/// A row as the tree file holds it: the encoded path and the value stored there.
package struct Row: Hashable, Sendable {
    /// `Path.encoded` of the place the row describes.
    package var key: [UInt8]
    package var value: RowValue

    package init(key: [UInt8], value: RowValue) {
        self.key = key
        self.value = value
    }
}

/// What a row says about its place.
///
/// No row lies inside another: below a `.subtree` row there are no rows. A node that is spread over the rows of its
/// children needs no row of its own, unless it has a priority.
package enum RowValue: Hashable, Sendable {
    /// The whole subtree, in canonical form; never null.
    case subtree(CanonicalJSON)
    /// The priority of a node whose children have rows of their own.
    case header(priority: CanonicalJSON)

    /// The stored form: the canonical text, after a `!` for a header (no JSON text begins with that byte).
    package var encoded: [UInt8] {
        switch self {
        case .subtree(let json): json.bytes
        case .header(let priority): [UInt8(ascii: "!")] + priority.bytes
        }
    }

    package init(encoded bytes: UnsafeRawBufferPointer) {
        if bytes.first == UInt8(ascii: "!") {
            self = .header(priority: CanonicalJSON(trusted: Array(bytes.dropFirst())))
        } else {
            self = .subtree(CanonicalJSON(trusted: Array(bytes)))
        }
    }
}

/// The rows of one database as they are on disk, in key order. Changed rows that are not on disk yet are kept by
/// ``TreeRows``, so a store may lag behind, but it never runs ahead of the commit log.
package protocol RowStore: AnyObject {
    /// A cursor over the rows with `lower <= key < upper`. Rows that are applied in the meantime may be seen as they
    /// were or as they are, which is the same to a reader that has all changes in memory until they are applied.
    func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor

    /// What connections want written when they end, by their number, as of the last applied change.
    func owedWrites() throws(StorageError) -> [UInt64: OwedWrites]

    /// A cursor over the keys of index entries with `lower <= key < upper`; their rows have no values.
    func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor

    /// What the last change that had one said of the indexes.
    func indexCatalog() throws(StorageError) -> [UInt8]?

    /// Lower bounds of the cleared ranges whose rows are still being removed, in the background. Cursors step over
    /// those rows, which can take long. Nearly always empty.
    var clearing: Set<[UInt8]> { get }

    /// Begins a series of reads, until ``endReads()``. Preparations of each read, such as locking a file, may be done
    /// once for all. All reads may see the state of the first one.
    func beginReads()

    func endReads()
}

extension RowStore {
    package func beginReads() {}

    package func endReads() {}

    /// The same, ascending.
    package func rows(from lower: [UInt8], below upper: [UInt8]) throws(StorageError) -> any RowCursor {
        try rows(from: lower, below: upper, .ascending)
    }
}

package protocol RowCursor: AnyObject {
    /// The next row, or nil at the end.
    func next() throws(StorageError) -> Row?
    /// The key of the next row, whose value is not read; nil at the end.
    func nextKey() throws(StorageError) -> [UInt8]?
    /// Moves to the first row whose key is at or after `bound`; a descending cursor to the last one before `bound`.
    /// Only forwards.
    func seek(to bound: [UInt8]) throws(StorageError)
}

/// The keys `lower <= key < upper`.
package struct KeyRange: Hashable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    package func contains(_ key: [UInt8]) -> Bool { !key.precedesBytewise(lower) && key.precedesBytewise(upper) }
}

/// The changed rows of one stretch of the commit log, to be written to a store in one transaction.
package struct RowChanges: Sendable {
    /// A large value, whose rows come first: all stored rows at its place and below are obsolete.
    package var large: PreparedChange?
    /// Ranges whose stored rows are all obsolete. They are removed before `rows` are written.
    package var cleared: [KeyRange]
    /// Keys whose row goes away.
    package var removed: [[UInt8]]
    package var rows: [Row]
    /// What connections want written when they end; empty for those that want nothing any more.
    package var owed: [UInt64: OwedWrites]
    package var entries = EntryChanges()
    /// The new state of the indexes.
    package var indexCatalog: [UInt8]?
    /// What goes into the outbox; nil for what leaves it.
    package var outbox: [OutboxKey: [UInt8]?] = [:]

    package init(
        cleared: [KeyRange] = [], removed: [[UInt8]] = [], rows: [Row] = [], owed: [UInt64: OwedWrites] = [:]
    ) {
        self.cleared = cleared
        self.removed = removed
        self.rows = rows
        self.owed = owed
    }

    package var isEmpty: Bool {
        large == nil && cleared.isEmpty && removed.isEmpty && rows.isEmpty && owed.isEmpty && entries.isEmpty
            && indexCatalog == nil && outbox.isEmpty
    }
}
