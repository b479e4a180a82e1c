package import HearthStorageErrors

package protocol RowCursor: AnyObject {
    /// The next row, or nil at the end.
    func next() throws(StorageError) -> Row?
    /// The key of the next row, whose value is not read; nil at the end.
    func nextKey() throws(StorageError) -> [UInt8]?
    /// Moves to the first row whose key is at or after `bound`; a descending cursor to the last one before `bound`.
    /// Only forwards.
    func seek(to bound: [UInt8]) throws(StorageError)
}
