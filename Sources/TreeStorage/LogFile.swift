package import RealtimeDatabase
import SQLite

/// The commit log of one database: a SQLite file with one row per turn.
///
/// ```
/// log(first INTEGER PRIMARY KEY, count, time, checksum INTEGER, body BLOB)     see LogRecord
/// meta(name TEXT PRIMARY KEY, value)                                           epoch; unsynced, see `checkHistory`
/// ```
/// Write-ahead mode; with ``Durability/full`` a commit returns once the disk has it.
package final class LogFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it. The database thread opens it and reads it while the committer is at
    // rest; otherwise it is the committer's. They hand it over through their mailboxes.

    private let connection: Connection
    private let insert: Statement
    /// The number of the last operation in the log, 0 for an empty one.
    package private(set) var lastSequence: UInt64
    /// Changes when history was cut (a restore, a new file, a power loss that may have taken the end of it), so that
    /// positions of different histories are not mixed up.
    package private(set) var epoch: UInt64
    private let path: String

    /// - parameter newEpoch: what the epoch becomes, if it changes.
    /// - parameter boot: names the start of the machine, so that a later one is told apart.
    package init(
        path: String, durability: Durability, newEpoch: UInt64, boot: String = Boot.current
    ) throws(StorageError) {
        self.path = path
        connection = try Connection(path: path, mode: .readWrite)
        try connection.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
        // The log is written once and seldom read: large steps between checkpoints, small cache.
        try connection.execute("PRAGMA wal_autocheckpoint = 4096; PRAGMA cache_size = -2048")
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS log (
                first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL,
                body BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            INSERT OR IGNORE INTO meta VALUES ('epoch', \(Int64(bitPattern: newEpoch)));
            """)
        epoch = UInt64(bitPattern: try connection.integer("SELECT value FROM meta WHERE name = 'epoch'") ?? 0)
        let last = try connection.integer("SELECT first + count - 1 FROM log ORDER BY first DESC LIMIT 1")
        lastSequence = UInt64(last ?? 0)
        insert = try connection.prepare("INSERT INTO log VALUES (?, ?, ?, ?, ?)")
        try checkHistory(durability, newEpoch, boot)
        try connection.execute("PRAGMA synchronous = \(durability.synchronous)")
    }

    /// While the log is written without waiting for the disk, it says so, and since which start of the machine. If the
    /// machine was started anew since, operations may be lost that somebody was told of, and their numbers are given
    /// out again: then it is another history.
    private func checkHistory(_ durability: Durability, _ newEpoch: UInt64, _ boot: String) throws(StorageError) {
        let select = try connection.prepare("SELECT value FROM meta WHERE name = 'unsynced'")
        let mark: String? = try select.step() ? select.text(0) : nil
        select.reset()
        if let mark, mark != boot { try setEpoch(newEpoch) }
        if durability == .full, mark != nil { try sync() }
        if durability == .process, mark != boot {
            let set = try connection.prepare("INSERT OR REPLACE INTO meta VALUES ('unsynced', ?)")
            set.bind(1, boot)
            try set.run()
        }
    }

    /// From here on it is another history.
    func setEpoch(_ newEpoch: UInt64) throws(StorageError) {
        let set = try connection.prepare("UPDATE meta SET value = ? WHERE name = 'epoch'")
        set.bind(1, Int64(bitPattern: newEpoch))
        try set.run()
        epoch = newEpoch
    }

    /// Waits until the disk has everything; called when nothing more is appended.
    package func sync() throws(StorageError) {
        try connection.execute("PRAGMA synchronous = full; DELETE FROM meta WHERE name = 'unsynced'")
    }

    /// Reads the log beside whoever appends to it.
    package func makeReader() -> LogReader { LogReader(path: path) }

    /// Appends records in one transaction: all of them or, when it throws, none. After an error of the disk itself it
    /// is not known which: a crash before the next commit may bring them back.
    package func append(_ records: [LogRecord]) throws(StorageError) {
        guard let last = records.last else { return }
        try connection.transaction { () throws(StorageError) in
            for record in records {
                insert.bind(1, Int64(record.firstSequence))
                insert.bind(2, Int64(record.count))
                insert.bind(3, record.time)
                insert.bind(4, Int64(bitPattern: record.checksum))
                insert.bind(5, record.body)
                try insert.run()
            }
        }
        lastSequence = last.lastSequence
    }

    /// Visits the records that hold operations after `sequence`, in order. Throws ``StorageError/damaged(_:)`` where
    /// one of them is not in the log any more, or not what was written.
    package func forEachRecord(
        after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        try LogFile.forEachRecord(in: connection, after: sequence, body)
    }

    static func forEachRecord(
        in connection: Connection, after sequence: UInt64, _ body: (LogRecord) throws(StorageError) -> Void
    ) throws(StorageError) {
        let select = try connection.prepare(
            """
            SELECT first, count, time, checksum, body FROM log
            WHERE first >= \(LogFile.firstAfter) AND first + count > ?1 + 1 ORDER BY first
            """)
        select.bind(1, Int64(sequence))
        var next = sequence + 1
        while try select.step() {
            let record = try record(of: select)
            guard record.firstSequence <= next else { throw .damaged("log row \(next) is missing") }
            next = record.lastSequence + 1
            try body(record)
        }
    }

    /// The record of a row with the columns first, count, time, checksum and body.
    static func record(of select: borrowing Statement) throws(StorageError) -> LogRecord {
        let record = LogRecord(
            firstSequence: UInt64(bitPattern: select.integer(0)), count: Int(select.integer(1)),
            time: select.integer(2), body: select.blob(4))
        guard record.count > 0, record.checksum == UInt64(bitPattern: select.integer(3)) else {
            throw .damaged("log row \(record.firstSequence)")
        }
        return record
    }

    /// The row that holds the operation after `?1`, or the one before it.
    static let firstAfter = "coalesce((SELECT max(first) FROM log WHERE first <= ?1 + 1), 0)"

    /// Removes the rows at the beginning that are older than `time`, or all while the log is larger than `bytesMax`;
    /// but none that the tree file has not got (`appliedSequence`), and never the last one, which carries the sequence
    /// number on. At most `rowsMax` rows a call; answers whether there may be more.
    package func prune(
        before time: Int64, keepingBytes bytesMax: Int64, appliedSequence: UInt64, rowsMax: Int64 = 4096
    ) throws(StorageError) -> Bool {
        let pages = try connection.integer("PRAGMA page_count") ?? 0
        let free = try connection.integer("PRAGMA freelist_count") ?? 0
        let pageSize = try connection.integer("PRAGMA page_size") ?? 4096
        var bytesAbove = (pages - free) * pageSize - bytesMax
        let limit = min(appliedSequence, lastSequence)
        // The rows that go have no gaps between them, even if the clock once went back.
        let select = try connection.prepare("SELECT first, count, time, length(body) FROM log ORDER BY first LIMIT ?")
        select.bind(1, rowsMax)
        var end: Int64?
        var rows: Int64 = 0
        while try select.step(), bytesAbove > 0 || select.integer(2) < time {
            guard UInt64(bitPattern: select.integer(0) + select.integer(1) - 1) < limit else { break }
            end = select.integer(0)
            rows += 1
            bytesAbove -= select.integer(3)
        }
        select.reset()
        guard let end else { return false }
        let delete = try connection.prepare("DELETE FROM log WHERE first <= ?")
        delete.bind(1, end)
        try delete.run()
        return rows == rowsMax
    }

    /// When the last record was made, in milliseconds since 1970; 0 for an empty log.
    package func lastTime() throws(StorageError) -> Int64 {
        try connection.integer("SELECT time FROM log ORDER BY first DESC LIMIT 1") ?? 0
    }

    /// Finds out whether the disk takes commits again, by making one that changes nothing.
    package func probe() throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            try connection.execute("INSERT OR REPLACE INTO meta VALUES ('probe', randomblob(16384))")
        }
        try connection.execute("DELETE FROM meta WHERE name = 'probe'")
    }
}

/// What an acknowledged write survives.
package enum Durability: String, Sendable, CaseIterable {
    /// A power loss: every commit waits for the disk.
    case full
    /// A crash of the process, not of the machine.
    case process
    /// Nothing: files are temporary and removed at the end.
    case memory

    var synchronous: String {
        switch self {
        case .full: "full"
        // Whole after a power loss too, though not up to the last commit.
        case .process: "normal"
        case .memory: "off"
        }
    }
}
