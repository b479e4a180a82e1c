import HearthServerFiles
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// A range of a commit log in a file of its own: a SQLite file with the tables of the log (``LogFile``).
///
/// The application id is `applicationID`, the user version that of the form, 1. The table `least` has the least time of
/// the commits; segments of earlier versions lack it.
package enum ArchiveSegment {
    /// "HRTA".
    static let applicationID: Int64 = 0x4852_5441
    static let version: Int64 = 1

    /// Whether a log has a row of an archive, so that the same rows follow it.
    ///
    /// - parameter mayBeErased: something may have been erased from one of them since.
    static func has(
        _ end: LogEnd, in log: Connection, mayBeErased: Bool = false
    ) throws(StorageError) -> Bool {
        try LogEnd(at: end.first, in: log)?.isSame(as: end, mayBeErased: mayBeErased) ?? false
    }

    // MARK: Making

    /// Copies the rows after `first` and up to `end`, and no more than about `bytesMax`, to a new file. Answers its
    /// contents; nil if there are no rows. Flat memory.
    static func make(
        from log: String, after first: Int64, through end: Int64 = .max, kind: ArchiveFolder.Segment.Kind,
        in chain: String, bytesMax: Int64 = 64 << 20
    ) throws(BackupError) -> ArchiveFolder.Segment? {
        let output = PartialFile(chain + "/new.segment")
        output.discard()
        do throws(StorageError) {
            let path = output.partialPath
            guard let rows = try write(from: log, after: first, through: end, bytesMax: bytesMax, to: path) else {
                output.discard()
                return nil
            }
            try LogSync.sync(log)
            let segment = ArchiveFolder.Segment(
                first: UInt64(bitPattern: rows.begin), last: rows.last, kind: kind, in: chain)
            try commit(output, as: segment)
            return segment
        } catch {
            output.discard()
            throw BackupError(error)
        }
    }

    private static func commit(_ output: PartialFile, as segment: ArchiveFolder.Segment) throws(StorageError) {
        do throws(BackupError) { try output.commit(as: segment.path) } catch { throw .inputOutput(error.message) }
    }

    private static func write(
        from log: String, after first: Int64, through end: Int64, bytesMax: Int64, to path: String
    ) throws(StorageError) -> (begin: Int64, last: UInt64)? {
        let connection = try open(path)
        try attach(log, to: connection)
        var rows: (begin: Int64, end: Int64)?
        try connection.transaction { () throws(StorageError) in
            let select = try connection.prepare(
                """
                SELECT first, \(LogFile.byteCount(large: "source.large")) FROM source.log
                WHERE first > ?1 AND first <= ?2 ORDER BY first
                """)
            select.bind(1, first)
            select.bind(2, end)
            var bytes: Int64 = 0
            while bytes < bytesMax, try select.step() {
                rows = (rows?.begin ?? select.integer(0), select.integer(0))
                bytes += select.integer(1)
            }
            select.reset()
            if let rows { try copyRows(rows.begin...rows.end, to: connection) }
        }
        try connection.execute("DETACH source")
        guard let rows, let end = try LogEnd(of: connection) else { return nil }
        try noteLeastTime(connection)
        try verify(connection, from: UInt64(bitPattern: rows.begin))
        return (rows.begin, end.last)
    }

    /// Joins segments that follow one another. Flat memory.
    package static func merge(_ parts: [ArchiveFolder.Segment], in chain: String) throws(BackupError) {
        guard let first = parts.first, let last = parts.last else { return }
        let output = PartialFile(chain + "/new.segment")
        output.discard()
        do throws(StorageError) {
            let connection = try open(output.partialPath)
            for part in parts { try append(part.path, through: .max, to: connection) }
            try noteLeastTime(connection)
            let merged = ArchiveFolder.Segment(first: first.first, last: last.last, kind: .segment, in: chain)
            try commit(output, as: merged)
        } catch {
            output.discard()
            throw BackupError(error)
        }
    }

    private static func open(_ path: String) throws(StorageError) -> Connection {
        let connection = try Connection(path: path, mode: .joining)
        // The file is synced as a whole at the end, and thrown away if it does not come to that.
        try connection.execute(
            """
            PRAGMA journal_mode = off; PRAGMA synchronous = off;
            PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);
            CREATE TABLE log (
                first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL,
                body BLOB NOT NULL);
            \(LogParts.tables)
            """)
        return connection
    }

    private static func attach(_ path: String, to connection: Connection) throws(StorageError) {
        let attach = try connection.prepare("ATTACH ? AS source")
        attach.bind(1, Connection.uri(readOnly: path))
        try attach.run()
    }

    /// A log may give the numbers of its large texts again after a restart: here they are others.
    private static func copyRows(_ rows: ClosedRange<Int64>, to connection: Connection) throws(StorageError) {
        let batches = try connection.integer("SELECT max(batch) FROM main.large") ?? 0
        try connection.execute(
            """
            INSERT INTO main.log (first, count, time, checksum, body)
                SELECT first, count, time, checksum, body FROM source.log
                WHERE first BETWEEN \(rows.lowerBound) AND \(rows.upperBound);
            \(LogParts.copy(from: "source", rows, addingToBatches: batches))
            """)
    }

    // MARK: Reading

    /// Whether a file is a segment that this program can read.
    private static func checkForm(of path: String) throws(StorageError) {
        let connection = try Connection(path: path, mode: .readOnly)
        guard try connection.integer("PRAGMA application_id") == applicationID else {
            throw .damaged("\(path) is not a segment of an archive")
        }
        guard try connection.integer("PRAGMA user_version") == version else {
            throw .damaged("\(path) was made by a later version of hearth")
        }
    }

    private static func noteLeastTime(_ connection: Connection) throws(StorageError) {
        try connection.execute("CREATE TABLE least AS SELECT min(time) AS time FROM log")
    }

    /// The row of a segment, up to one, that has the latest time up to a moment; of several, the last one. Nil if all
    /// are of later. Reads all times, unless they are later.
    static func lastRow(
        of path: String, by time: Int64, through end: Int64
    ) throws(StorageError) -> (time: Int64, first: Int64)? {
        let connection = try Connection(path: path, mode: .readOnly)
        let hasLeast = try connection.integer("SELECT 1 FROM sqlite_schema WHERE name = 'least'") != nil
        if hasLeast, let least = try connection.integer("SELECT time FROM least"), least > time { return nil }
        let select = try connection.prepare(
            "SELECT time, first FROM log WHERE time <= ? AND first <= ? ORDER BY time DESC, first DESC LIMIT 1")
        select.bind(1, time)
        select.bind(2, end)
        return try select.step() ? (select.integer(0), select.integer(1)) : nil
    }

    /// The time of the last row of a segment or a copy.
    static func lastTime(of path: String) throws(StorageError) -> Int64? {
        try Connection(path: path, mode: .readOnly).integer("SELECT time FROM log ORDER BY first DESC LIMIT 1")
    }

    /// Appends the rows of a segment up to one to the log of an open file, but those that it has. Flat memory.
    static func append(_ path: String, through row: Int64, to connection: Connection) throws(StorageError) {
        try checkForm(of: path)
        try attach(path, to: connection)
        let last = try LogEnd(of: connection)
        let select = try connection.prepare("SELECT min(first), max(first) FROM source.log WHERE first > ?")
        select.bind(1, last?.first ?? 0)
        guard try select.step() else { return }
        let (begin, end) = (select.optionalInteger(0), select.optionalInteger(1))
        select.reset()
        if let begin, let end, begin <= row {
            guard last.map({ begin == Int64($0.last) + 1 }) ?? true else {
                throw .damaged("\(path): commits from \((last?.last ?? 0) + 1) to \(begin - 1) are missing")
            }
            try connection.transaction { () throws(StorageError) in
                try copyRows(begin...min(end, row), to: connection)
            }
        }
        try connection.execute("DETACH source")
    }

    /// Reads every commit of a segment, and answers its last row and the time of its first and last commits.
    static func check(_ segment: ArchiveFolder.Segment) throws(StorageError) -> (end: LogEnd, begin: Int64, time: Int64)
    {
        try checkForm(of: segment.path)
        let connection = try Connection(path: segment.path, mode: .readOnly)
        try verify(connection, from: segment.first)
        guard let end = try LogEnd(of: connection), end.last == segment.last else {
            throw .damaged("\(segment.path) does not end where its name says")
        }
        let begin = try connection.integer("SELECT time FROM log ORDER BY first LIMIT 1") ?? 0
        return (end, begin, try connection.integer("SELECT time FROM log ORDER BY first DESC LIMIT 1") ?? 0)
    }

    /// Compares every row with its checksum. A row is in memory at a time.
    private static func verify(_ connection: Connection, from first: UInt64) throws(StorageError) {
        try LogFile.forEachRecord(in: connection, after: first - 1) { _ in }
    }
}
