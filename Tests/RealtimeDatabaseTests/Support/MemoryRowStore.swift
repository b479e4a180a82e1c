import HearthJSONTree
import HearthRealtimeDatabase
import HearthStorageErrors

/// Rows in memory, in key order: the store that tests run the tree on. Large cleared ranges keep their dead rows until
/// ``clearSome(rowsMax:)`` takes them, as in a tree file.
final class MemoryRowStore: RowStore {
    private struct StoredRow {
        var row: Row
        /// The change that wrote it.
        var change: Int
    }

    private var stored: [StoredRow] = []
    private(set) var owed: [UInt64: OwedWrites] = [:]
    private(set) var outbox: [OutboxKey: [UInt8]] = [:]
    private var changes = 0
    /// Upper bounds and the changes that cleared, by lower bound.
    private var ranges: [[UInt8]: (upper: [UInt8], change: Int)] = [:]
    /// Ranges up to this many rows are deleted at once.
    private let deletedAtOnceMax: Int

    private var entryKeys: [[UInt8]] = []
    private var catalog: [UInt8]?

    /// Dead rows that cursors had to step over.
    var deadRowsSteppedOver = 0
    /// Reads that still succeed before all others fail; nil for all.
    var readsLeft: Int?
    /// The keys of rows whose values cannot be read.
    var damagedKeys: Set<[UInt8]> = []

    init(deletedAtOnceMax: Int = .max) { self.deletedAtOnceMax = deletedAtOnceMax }

    /// A store that has these rows and nothing in progress.
    convenience init(rows: [Row]) {
        self.init()
        apply(RowChanges(rows: rows))
    }

    // MARK: Writing

    /// Applies changes as a store on disk would. O(rows + changes).
    func apply(_ rowChanges: RowChanges) {
        changes += 1
        if let large = rowChanges.large, let entries = large.entries {
            entryKeys.removeAll { large.range.contains($0) }
            for block in 0..<entries.blockCount { entryKeys += entries.keys(ofBlock: block).map { large.path + $0 } }
        }
        entryKeys.removeAll { key in
            rowChanges.entries.cleared.contains { $0.contains(key) } || rowChanges.entries.removed.contains(key)
        }
        entryKeys = Set(entryKeys).union(rowChanges.entries.added).sorted { $0.lexicographicallyPrecedes($1) }
        catalog = rowChanges.indexCatalog ?? catalog
        if let large = rowChanges.large {
            // Before all others, so that these can clear some of its rows.
            defer { changes += 1 }
            if !large.isOfChildren {
                stored.removeSubrange(index(of: large.range.lower)..<index(of: large.range.upper))
            }
            var child = KeyRange(lower: [], upper: [])
            for block in 0..<large.rows.blockCount {
                try? large.rows.forEachRow(ofBlock: block) { (key, text, isHeader) throws(StorageError) in
                    put(large, large.path + key, CanonicalJSON(trusted: Array(text)), isHeader, &child)
                }
            }
        }
        let clearing = rowChanges.rows.filter(\.clearsBelow).map {
            KeyRange(lower: $0.key, upper: Path.subtreeEnd(of: $0.key))
        }
        for range in rowChanges.cleared + clearing {
            let covered = index(of: range.lower)..<max(index(of: range.lower), index(of: range.upper))
            if covered.count <= deletedAtOnceMax {
                stored.removeSubrange(covered)
            } else {
                ranges[range.lower] = (range.upper, changes)
            }
        }
        for key in rowChanges.removed {
            let index = index(of: key)
            if index < stored.count, stored[index].row.key == key { stored.remove(at: index) }
        }
        for row in rowChanges.rows {
            let index = index(of: row.key)
            let new = StoredRow(row: Row(key: row.key, value: row.value), change: changes)
            if index < stored.count, stored[index].row.key == row.key {
                stored[index] = new
            } else {
                stored.insert(new, at: index)
            }
        }
        for (key, event) in rowChanges.outbox { outbox[key] = event }
        for (connection, writes) in rowChanges.owed { owed[connection] = writes.isEmpty ? nil : writes }
    }

    /// Writes the first half of a large value's rows, as a store does that writes them in several steps. Children of a
    /// place are seen at once: in front of them memory has the value, and after a crash the log has it.
    func applyPart(of rowChanges: RowChanges) {
        guard let large = rowChanges.large, large.isOfChildren else { return }
        changes += 1
        var child = KeyRange(lower: [], upper: [])
        for block in 0..<large.rows.blockCount / 2 {
            try? large.rows.forEachRow(ofBlock: block) { (key, text, isHeader) throws(StorageError) in
                put(large, large.path + key, CanonicalJSON(trusted: Array(text)), isHeader, &child)
            }
        }
    }

    private func put(
        _ large: PreparedChange, _ key: [UInt8], _ text: CanonicalJSON, _ isHeader: Bool, _ child: inout KeyRange
    ) {
        if large.isOfChildren, !child.contains(key) {
            child = large.child(of: key)
            stored.removeSubrange(index(of: child.lower)..<index(of: child.upper))
            if text.isNull { return }
        }
        let row = Row(key: key, value: isHeader ? .header(priority: text) : .subtree(text))
        stored.insert(StoredRow(row: row, change: changes), at: index(of: row.key))
    }

    func owedWrites() -> [UInt64: OwedWrites] { owed }

    /// Removes some dead rows; a range without any is done.
    func clearSome(rowsMax: Int) {
        guard let lower = ranges.keys.min(by: { $0.lexicographicallyPrecedes($1) }), let range = ranges[lower] else {
            return
        }
        var left = rowsMax
        stored.removeAll { row in
            let isDead = isCovered(row.row.key, lower, range.upper) && row.change < range.change
            guard isDead, left > 0 else { return false }
            left -= 1
            return true
        }
        if left > 0 { ranges[lower] = nil }
    }

    // MARK: Reading

    /// The rows that are not dead.
    var all: [Row] { stored.filter { !isDead($0) }.map(\.row) }

    var clearing: Set<[UInt8]> { Set(ranges.keys) }

    func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        if let left = readsLeft {
            guard left > 0 else { throw .inputOutput("scripted") }
            readsLeft = left - 1
        }
        let rows = stored[index(of: lower)..<max(index(of: lower), index(of: upper))]
        return Cursor(store: self, rows: rows, direction)
    }

    func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        if let left = readsLeft {
            guard left > 0 else { throw .inputOutput("scripted") }
            readsLeft = left - 1
        }
        let keys = entryKeys.filter { isCovered($0, lower, upper) }
        let rows = keys.map { StoredRow(row: Row(key: $0, value: .subtree(.null)), change: .max) }
        return Cursor(store: self, rows: rows[...], direction)
    }

    func indexCatalog() -> [UInt8]? { catalog }

    private func isDead(_ row: StoredRow) -> Bool {
        ranges.contains { lower, range in row.change < range.change && isCovered(row.row.key, lower, range.upper) }
    }

    private func isCovered(_ key: [UInt8], _ lower: [UInt8], _ upper: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }

    private func index(of key: [UInt8]) -> Int {
        var lower = 0
        var upper = stored.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if stored[middle].row.key.lexicographicallyPrecedes(key) { lower = middle + 1 } else { upper = middle }
        }
        return lower
    }

    private final class Cursor: RowCursor {
        private let store: MemoryRowStore
        private var rows: ArraySlice<StoredRow>
        private let direction: ScanDirection

        init(store: MemoryRowStore, rows: ArraySlice<StoredRow>, _ direction: ScanDirection) {
            self.store = store
            self.rows = rows
            self.direction = direction
        }

        func next() throws(StorageError) -> Row? {
            guard let row = nextRow() else { return nil }
            if store.damagedKeys.contains(row.key) { throw .damaged("a row has a wrong checksum") }
            return row
        }

        func nextKey() -> [UInt8]? { nextRow()?.key }

        private func nextRow() -> Row? {
            while let row = direction == .ascending ? rows.popFirst() : rows.popLast() {
                if !store.isDead(row) { return row.row }
                store.deadRowsSteppedOver += 1
            }
            return nil
        }

        func seek(to bound: [UInt8]) {
            switch direction {
            case .ascending: rows = rows.drop { $0.row.key.lexicographicallyPrecedes(bound) }
            case .descending: rows = rows.prefix { $0.row.key.lexicographicallyPrecedes(bound) }
            }
        }
    }
}
