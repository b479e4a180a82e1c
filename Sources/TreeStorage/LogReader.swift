package import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

/// Reads a commit log while it is written. Used by one thread at a time.
package final class LogReader: @unchecked Sendable {
    // Safe because: one thread at a time uses it.
    private let path: String
    private var connection: Connection?

    init(path: String) { self.path = path }

    /// Visits the records with operations after `sequence`, in order, or only the newest ones if the log does not reach
    /// back so far, or if their bodies have more than `bytesMax` bytes. `begin` first gets the number after which all
    /// are visited. The cost depends on the visited records.
    package func forEachRecord(
        after sequence: UInt64, bytesMax: Int, begin: (UInt64) -> Void,
        _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        let connection = try open()
        // One state of the file for all reads.
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        let start = try start(after: sequence, bytesMax: bytesMax, in: connection)
        begin(start)
        try LogFile.forEachRecord(in: connection, after: start, body)
    }

    /// Visits the records with operations before `sequence`, or all, from the newest one on, until `body` answers
    /// false; `end` is called when there are no more. The cost depends on the visited records.
    package func forEachRecordBackwards(
        before sequence: UInt64?, _ body: (LogRecord) throws(StorageError) -> Bool, end: () -> Void
    ) throws(StorageError) {
        let connection = try open()
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        let parts = try LogParts.Reader(ifNeededIn: connection)
        let select = try connection.prepare(
            "SELECT first, count, time, checksum, body FROM log WHERE first < ?1 ORDER BY first DESC")
        select.bind(1, sequence.map { Int64(clamping: $0) } ?? .max)
        while try select.step() { if try !body(try LogFile.record(of: select, parts)) { return } }
        end()
    }

    /// When operations were committed, in milliseconds since 1970, without those that the log does not have. One
    /// look-up for each.
    package func times(of sequences: some Sequence<UInt64>) throws(StorageError) -> [UInt64: Int64] {
        let connection = try open()
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        return try LogFile.times(of: sequences, in: connection)
    }

    /// The history of the log, if it is that of a place or continues it after the place; otherwise nil. While the log
    /// has none, it is that of the place.
    ///
    /// - parameter epoch: that of the place; 0 for any.
    /// - parameter sequence: of the place.
    package func epoch(extending epoch: UInt64, after sequence: UInt64) throws(StorageError) -> UInt64? {
        let connection = try open()
        let select = try connection.prepare("SELECT name, start FROM epoch ORDER BY start, rowid")
        var last: UInt64?
        // The end of the history of the place, once it was found.
        var end: UInt64?
        while try select.step() {
            if last == epoch { end = UInt64(bitPattern: select.integer(1)) }
            last = UInt64(bitPattern: select.integer(0))
        }
        guard let last, epoch != 0 else { return last ?? epoch }
        if last == epoch { return last }
        return end.map { sequence <= $0 } == true ? last : nil
    }

    /// Whether the log is of a history, or was once; or begins after a number, so that it may have forgotten the
    /// history in which it gave that out.
    ///
    /// - parameter epoch: the history; 0 for any.
    package func hasHad(_ sequence: UInt64, epoch: UInt64) throws(StorageError) -> Bool {
        let connection = try open()
        if epoch == 0 { return true }
        let select = try connection.prepare("SELECT 1 FROM epoch WHERE name = ?")
        select.bind(1, Int64(bitPattern: epoch))
        if try select.firstInteger() != nil { return true }
        let first = try connection.integer("SELECT min(first) FROM log").map { UInt64(bitPattern: $0) } ?? 1
        return sequence + 1 < first
    }

    private func open() throws(StorageError) -> Connection {
        if let connection { return connection }
        let new = try Connection(path: path, mode: .readOnly)
        connection = new
        return new
    }

    /// The number from which on all records are there and have no more bytes than may be: backwards, as the newest ones
    /// count.
    private func start(after sequence: UInt64, bytesMax: Int, in connection: Connection) throws(StorageError) -> UInt64
    {
        let select = try connection.prepare(
            "SELECT first, count, \(LogFile.byteCount) FROM log WHERE first >= \(LogFile.firstAfter) ORDER BY first DESC"
        )
        select.bind(1, Int64(sequence))
        var first: UInt64?
        var bytesLeft = Int64(bytesMax)
        var last: UInt64 = 0
        while try select.step() {
            let numbers = try LogEnd.numbers(first: select.integer(0), count: select.integer(1))
            if first == nil { last = numbers.upperBound }
            bytesLeft -= select.integer(2)
            if let first, numbers.upperBound + 1 != first { break }
            if bytesLeft < 0 { break }
            first = numbers.lowerBound
        }
        // None of the records may be visited.
        guard let first else { return last }
        return max(sequence, first - 1)
    }
}

extension LogFile {
    /// Reads the log while another thread appends to it.
    package func makeReader() -> LogReader { LogReader(path: path) }
}
