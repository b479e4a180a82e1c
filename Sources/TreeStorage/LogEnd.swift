import HearthSQLite
import HearthStorageErrors

/// The last row of a log (``LogFile``), or of a file with a part of one.
struct LogEnd: Equatable {
    var first: Int64
    var last: UInt64
    var checksum: Int64

    /// Nil for an empty log.
    init?(of connection: Connection, in schema: String = "main") throws(StorageError) {
        let select = try connection.prepare(
            "SELECT first, count, checksum FROM \(schema).log ORDER BY first DESC LIMIT 1")
        guard try select.step() else { return nil }
        let numbers = try Self.numbers(first: select.integer(0), count: select.integer(1))
        (first, last, checksum) = (select.integer(0), numbers.upperBound, select.integer(2))
    }

    /// The numbers of the operations of a row. Throws ``StorageError/damaged(_:)`` if no row has such columns.
    static func numbers(first: Int64, count: Int64) throws(StorageError) -> ClosedRange<UInt64> {
        let (end, isTooLarge) = first.addingReportingOverflow(count)
        guard first > 0, count > 0, !isTooLarge else { throw .damaged("log row \(first)") }
        return UInt64(first)...UInt64(end - 1)
    }
}
