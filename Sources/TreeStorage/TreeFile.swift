package import RealtimeDatabase
import SQLite
import Synchronization

/// The rows of one database in a SQLite file, and how far in the commit log they reach.
///
/// ```
/// row(key BLOB PRIMARY KEY, sequence INTEGER, value BLOB) WITHOUT ROWID       value: see RowValue.encoded
/// cleared(lower BLOB PRIMARY KEY, upper BLOB, sequence INTEGER)               ranges whose older rows are garbage
/// cleared_entry(…)                                                             the same of entries
/// index_entry(key BLOB PRIMARY KEY, sequence INTEGER) WITHOUT ROWID                  entries of indexes: see IndexEntries
/// owed(connection INTEGER PRIMARY KEY, writes BLOB)                           see OwedWrites.stored
/// meta(name TEXT PRIMARY KEY, value)                                           sequence: the last operation included
/// ```
/// One transaction takes the file from one sequence number to the next, so after a crash it is at one of them. A large
/// range that was deleted or overwritten is only written down in `cleared`; its rows are dead from then on, and are
/// removed in small steps (``clearSome()``), so other writes do not wait for them. A row is dead when a range that
/// covers it has a greater sequence.
///
/// This object writes, on the applier's thread. ``makeReader()`` and ``makeSnapshot()`` give objects that read.
package final class TreeFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it, but for `isClearing` and the `make` methods, which only read
    // constants and what is behind a lock. The database thread opens it and hands it to the applier through its
    // mailbox; it gets it back at the end.

    private let path: String
    private let connection: Connection
    private let rows: ClearableTable
    private let entries: ClearableTable
    private let upsertRow: Statement
    private let upsertEntry: Statement
    private let setSequence: Statement
    private let clearedPerStep: Int64

    /// The last operation that the rows include.
    package private(set) var sequence: UInt64

    /// - parameter deletedAtOnceMax: ranges up to this many rows are deleted at once.
    /// - parameter clearedPerStep: rows looked at in one step of clearing.
    package init(
        path: String, durability: Durability, deletedAtOnceMax: Int64 = 256, clearedPerStep: Int64 = 2000
    ) throws(StorageError) {
        self.path = path
        self.clearedPerStep = clearedPerStep
        connection = try Connection(path: path, mode: .readWrite)
        // Rows are up to 2 KiB: on pages of 8 KiB they need no overflow pages.
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = wal; PRAGMA cache_size = -16384")
        try connection.execute("PRAGMA synchronous = \(durability.synchronous)")
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS row (
                key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS cleared (
                lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS index_entry (key BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS cleared_entry (
                lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS owed (connection INTEGER PRIMARY KEY, writes BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            INSERT OR IGNORE INTO meta VALUES ('sequence', 0);
            """)
        sequence = UInt64(try connection.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? 0)
        rows = try ClearableTable("row", "cleared", connection, deletedAtOnceMax, clearedPerStep)
        entries = try ClearableTable("index_entry", "cleared_entry", connection, deletedAtOnceMax, clearedPerStep)
        upsertRow = try connection.prepare("INSERT OR REPLACE INTO row VALUES (?1, ?2, ?3)")
        upsertEntry = try connection.prepare("INSERT OR REPLACE INTO index_entry VALUES (?1, ?2)")
        setSequence = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'sequence'")
    }

    // MARK: Writing

    /// Writes changed rows; the file then includes everything up to `sequence`. All of it or, when it throws, nothing.
    package func apply(_ changes: RowChanges, upTo sequence: UInt64) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            for range in changes.cleared { try rows.clear(range, sequence: sequence) }
            for range in changes.entries.cleared { try entries.clear(range, sequence: sequence) }
            for key in changes.entries.removed { try entries.delete(key) }
            for key in changes.entries.added {
                upsertEntry.bind(1, key)
                upsertEntry.bind(2, Int64(sequence))
                try upsertEntry.run()
            }
            if let catalog = changes.indexCatalog { try set(catalog: catalog) }
            for key in changes.removed { try rows.delete(key) }
            // In key order, neighbours go to the same page.
            for index in RowOrder.indices(of: changes.rows) {
                let row = changes.rows[index]
                upsertRow.bind(1, row.key)
                upsertRow.bind(2, Int64(sequence))
                upsertRow.bind(3, row.value.encoded)
                try upsertRow.run()
            }
            for (connection, writes) in changes.owed { try set(writes, of: connection) }
            setSequence.bind(1, Int64(sequence))
            try setSequence.run()
        }
        self.sequence = sequence
    }

    private func set(catalog: [UInt8]) throws(StorageError) {
        let statement = try connection.prepare("INSERT OR REPLACE INTO meta VALUES ('indexes', ?1)")
        statement.bind(1, catalog)
        try statement.run()
    }

    private func set(_ writes: OwedWrites, of connection: UInt64) throws(StorageError) {
        let statement = try self.connection.prepare(
            writes.isEmpty ? "DELETE FROM owed WHERE connection = ?1" : "INSERT OR REPLACE INTO owed VALUES (?1, ?2)")
        statement.bind(1, Int64(bitPattern: connection))
        if !writes.isEmpty { statement.bind(2, writes.stored) }
        try statement.run()
    }

    /// Whether dead rows are still in the file.
    package var isClearing: Bool { rows.isClearing || entries.isClearing }

    /// Removes some dead rows, in a transaction of its own. Answers how many rows it looked at.
    @discardableResult
    package func clearSome() throws(StorageError) -> Int {
        rows.isClearing ? try rows.clearSome() : try entries.clearSome()
    }

    /// Removes entries of indexes that nobody asks for any more: looks at some entries from `start` on, in a
    /// transaction of its own. Answers where to go on; nil at the end.
    package func sweepEntries(of numbers: Set<UInt32>, from start: [UInt8]) throws(StorageError) -> [UInt8]? {
        let select = try connection.prepare("SELECT key FROM index_entry WHERE key >= ?1 ORDER BY key LIMIT ?2")
        select.bind(1, start)
        select.bind(2, clearedPerStep)
        var last: [UInt8]?
        var obsolete: [[UInt8]] = []
        while try select.step() {
            let key = select.blob(0)
            last = key
            if let number = IndexEntryKey.number(of: key), numbers.contains(number) { obsolete.append(key) }
        }
        select.reset()
        if !obsolete.isEmpty {
            try connection.transaction { () throws(StorageError) in for key in obsolete { try entries.delete(key) } }
        }
        return last.map { $0 + [0] }
    }

    /// Copies what the write-ahead file holds into the main file, so that a clean end leaves one tidy file.
    package func checkpoint() throws(StorageError) {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: Reading

    /// A reader of the newest rows, for the database thread.
    package func makeReader() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: rows.clearing, entries.clearing, isSnapshot: false)
    }

    /// A reader that goes on seeing the rows as they are now, whatever is applied later. It keeps the write-ahead file
    /// from being reset, so it should not live longer than its work.
    package func makeSnapshot() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: rows.clearing, entries.clearing, isSnapshot: true)
    }
}
