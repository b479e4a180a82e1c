package import HearthJSONTree
// Callers of a database are told why its storage failed, wherever the error is defined.
package import HearthStorageErrors

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
