import HearthJSONTree
import HearthStorageErrors
import HearthRealtimeDatabase

/// Counts the rows that are read.
final class CountingStore: RowStore {
    let store = MemoryRowStore()
    var rowsRead = 0

    var clearing: Set<[UInt8]> { store.clearing }

    func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        Cursor(try store.rows(from: lower, below: upper, direction), of: self)
    }

    func entries(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        try store.entries(from: lower, below: upper, direction)
    }

    func owedWrites() -> [UInt64: OwedWrites] { store.owedWrites() }

    func indexCatalog() -> [UInt8]? { store.indexCatalog() }

    private final class Cursor: RowCursor {
        private let cursor: any RowCursor
        private let store: CountingStore

        init(_ cursor: any RowCursor, of store: CountingStore) {
            self.cursor = cursor
            self.store = store
        }

        func next() throws(StorageError) -> Row? {
            store.rowsRead += 1
            return try cursor.next()
        }

        func nextKey() throws(StorageError) -> [UInt8]? { try cursor.nextKey() }

        func seek(to lower: [UInt8]) throws(StorageError) { try cursor.seek(to: lower) }
    }
}
