import JSONTree
import RealtimeDatabase

/// Rows in memory, in key order: the store that tests run the tree on.
final class MemoryRowStore: RowStore {
    private var rows: [Row] = []

    init() {}

    /// Applies changes as a store on disk would. O(rows + changes).
    func apply(_ changes: RowChanges) {
        for range in changes.cleared {
            let lower = index(of: range.lower)
            rows.removeSubrange(lower..<max(lower, index(of: range.upper)))
        }
        for key in changes.removed {
            let index = index(of: key)
            if index < rows.count, rows[index].key == key { rows.remove(at: index) }
        }
        for row in changes.rows {
            let index = index(of: row.key)
            if index < rows.count, rows[index].key == row.key {
                rows[index] = row
            } else {
                rows.insert(row, at: index)
            }
        }
    }

    var all: [Row] { rows }

    func rows(from lower: [UInt8], below upper: [UInt8]) -> any RowCursor {
        Cursor(rows: rows[index(of: lower)..<max(index(of: lower), index(of: upper))])
    }

    private func index(of key: [UInt8]) -> Int {
        var lower = 0
        var upper = rows.count
        while lower < upper {
            let middle = (lower + upper) / 2
            if rows[middle].key.lexicographicallyPrecedes(key) { lower = middle + 1 } else { upper = middle }
        }
        return lower
    }

    private final class Cursor: RowCursor {
        private var rows: ArraySlice<Row>

        init(rows: ArraySlice<Row>) { self.rows = rows }

        func next() -> Row? { rows.popFirst() }

        func seek(to lower: [UInt8]) {
            rows = rows.drop { $0.key.lexicographicallyPrecedes(lower) }
        }
    }
}
