import HearthSQLite
import HearthStorageErrors

/// The last row of a log (``LogFile``), or of a file with a part of one.
struct LogEnd: Equatable {
    var first: Int64
    var last: UInt64
    /// In milliseconds since 1970.
    var time: Int64
    var checksum: Int64

    /// Nil for an empty log.
    init?(of connection: Connection, in schema: String = "main") throws(StorageError) {
        try self.init(
            connection.prepare("SELECT first, count, time, checksum FROM \(schema).log ORDER BY first DESC LIMIT 1"))
    }

    /// The row that begins with a number; nil without one.
    init?(at first: Int64, in connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT first, count, time, checksum FROM log WHERE first = ?")
        select.bind(1, first)
        try self.init(select)
    }

    private init?(_ select: Statement) throws(StorageError) {
        guard try select.step() else { return nil }
        let numbers = try Self.numbers(first: select.integer(0), count: select.integer(1))
        (first, last) = (select.integer(0), numbers.upperBound)
        (time, checksum) = (select.integer(2), select.integer(3))
    }

    /// Whether both are one row.
    ///
    /// - parameter mayBeErased: something may have been erased from one of them (``Erasure``).
    func isSame(as other: LogEnd, mayBeErased: Bool) -> Bool {
        guard mayBeErased else { return self == other }
        return first == other.first && last == other.last && time == other.time
    }

    /// The numbers of the operations of a row. Throws ``StorageError/damaged(_:)`` if no row has such columns.
    static func numbers(first: Int64, count: Int64) throws(StorageError) -> ClosedRange<UInt64> {
        let (end, isTooLarge) = first.addingReportingOverflow(count)
        guard first > 0, count > 0, !isTooLarge else { throw .damaged("log row \(first)") }
        return UInt64(first)...UInt64(end - 1)
    }
}
