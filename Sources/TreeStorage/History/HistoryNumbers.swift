import HearthSQLite
import HearthStorageErrors

/// Numbers of operations in the files of a history, whose rows have no checksums.
extension Statement {
    /// Not negative, and not the greatest, so that one can be added. Throws ``StorageErrors/StorageError/damaged(_:)``
    /// for another one.
    func number(_ column: Int32) throws(StorageError) -> UInt64 {
        let number = integer(column)
        guard (0..<Int64.max).contains(number) else {
            throw .damaged("a history has the number \(number), which is impossible")
        }
        return UInt64(number)
    }
}

extension Connection {
    /// The same of the first row.
    func number(_ sql: String) throws(StorageError) -> UInt64? {
        let select = try prepare(sql)
        return try select.step() ? try select.number(0) : nil
    }
}
