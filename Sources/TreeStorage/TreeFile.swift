import JSONTree
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
/// meta(name TEXT PRIMARY KEY, value)                                           sequence: the last operation included;
///                                                                              stamp: see below
/// ```
/// One transaction takes the file from one sequence number to the next, so after a crash it is at one of them. The
/// column `sequence` of the other tables holds the transaction's *stamp*, a number that grows. A large range that was
/// deleted or overwritten is only written down in `cleared`; its rows are dead from then on, and are removed in small
/// steps (``clearSome()``), so other writes do not wait for them. A row is dead when a range that covers it has a
/// greater stamp.
///
/// The rows of a large value are written in transactions of their own, before the one that takes the file to its
/// sequence number (``writeSome(of:)``). Until then its range has a greater stamp than they, so they are dead; the last
/// transaction gives the range their stamp, and they live. After a crash in between the file is at the operation before
/// the large one, but has nothing at its place, and the log has the operation.
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
    private let setStamp: Statement
    private let durability: Durability
    private var stamp: UInt64
    private var writing: LargeValueWriting?
    private let clearedPerStep: Int64
    private let writtenPerStep: Int

    /// The last operation that the rows include.
    package private(set) var sequence: UInt64

    /// - parameter deletedAtOnceMax: ranges up to this many rows are deleted at once.
    /// - parameter clearedPerStep: rows looked at in one step of clearing.
    /// - parameter writtenPerStep: rows of a large value after which a step of writing ends.
    package init(
        path: String, durability: Durability, deletedAtOnceMax: Int64 = 256, clearedPerStep: Int64 = 2000,
        writtenPerStep: Int = 8192
    ) throws(StorageError) {
        self.path = path
        self.durability = durability
        self.clearedPerStep = clearedPerStep
        self.writtenPerStep = writtenPerStep
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
            INSERT OR IGNORE INTO meta SELECT 'stamp', value FROM meta WHERE name = 'sequence';
            """)
        stamp = UInt64(try connection.integer("SELECT value FROM meta WHERE name = 'stamp'") ?? 0)
        sequence = UInt64(try connection.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? 0)
        rows = try ClearableTable("row", "cleared", connection, deletedAtOnceMax, clearedPerStep)
        entries = try ClearableTable("index_entry", "cleared_entry", connection, deletedAtOnceMax, clearedPerStep)
        upsertRow = try connection.prepare("INSERT OR REPLACE INTO row VALUES (?1, ?2, ?3)")
        upsertEntry = try connection.prepare("INSERT OR REPLACE INTO index_entry VALUES (?1, ?2)")
        setSequence = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'sequence'")
        setStamp = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'stamp'")
    }

    // MARK: Writing

    /// Writes changed rows; the file then includes everything up to `sequence`. All of it or, when it throws, nothing
    /// that can be seen. Of a large value it writes what ``writeSome(of:)`` has not written yet.
    package func apply(_ changes: RowChanges, upTo sequence: UInt64) throws(StorageError) {
        while try writeSome(of: changes) {}
        let stamp = stamp + 1
        try connection.transaction { () throws(StorageError) in
            if let writing { try rows.show(writing.range, from: writing.replaces ? writing.stamp : nil) }
            for range in changes.cleared { try rows.clear(range, sequence: stamp) }
            for range in changes.entries.cleared { try entries.clear(range, sequence: stamp) }
            for key in changes.entries.removed { try entries.delete(key) }
            for key in changes.entries.added {
                upsertEntry.bind(1, key)
                upsertEntry.bind(2, Int64(stamp))
                try upsertEntry.run()
            }
            if let catalog = changes.indexCatalog { try set(catalog: catalog) }
            for key in changes.removed { try rows.delete(key) }
            // In key order, neighbours go to the same page.
            for index in RowOrder.indices(of: changes.rows) {
                let row = changes.rows[index]
                upsertRow.bind(1, row.key)
                upsertRow.bind(2, Int64(stamp))
                upsertRow.bind(3, row.value.encoded)
                try upsertRow.run()
            }
            for (connection, writes) in changes.owed { try set(writes, of: connection) }
            setSequence.bind(1, Int64(sequence))
            try setSequence.run()
            try set(stamp: stamp)
        }
        self.stamp = stamp
        self.sequence = sequence
        if let writing {
            rows.clearing.endHiding()
            // The range may have been cleared again by the same changes.
            if !writing.replaces, !changes.cleared.contains(where: { $0.lower == writing.range.lower }) {
                rows.clearing.remove(writing.range.lower)
            }
        }
        writing = nil
    }

    private func set(stamp: UInt64) throws(StorageError) {
        setStamp.bind(1, Int64(stamp))
        try setStamp.run()
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

    // MARK: Large values

    /// The writing of a large value's rows.
    private struct LargeValueWriting {
        let change: PreparedChange
        let range: KeyRange
        /// That of its rows.
        let stamp: UInt64
        /// There are older rows in the range.
        let replaces: Bool
        /// Blocks that are written.
        var blocks = 0
    }

    /// Bytes of rows after which a step ends.
    private static let bytesPerStep = 1 << 20

    /// Writes some rows of the large value among the changes, if there is one, in a transaction of its own; they cannot
    /// be seen before ``apply(_:upTo:)``. Answers whether there are more. Changes that are left half written are
    /// forgotten when others come.
    package func writeSome(of changes: RowChanges) throws(StorageError) -> Bool {
        if let writing, writing.change.rows !== changes.large?.rows || writing.change.path != changes.large?.path {
            self.writing = nil
            rows.clearing.endHiding()
        }
        guard let large = changes.large else { return false }
        guard var writing else {
            try beginWriting(large, changes)
            return true
        }
        guard writing.blocks < large.rows.blockCount else { return false }
        // What is lost with the power is written anew; the last transaction syncs it all.
        if durability == .full { try connection.execute("PRAGMA synchronous = normal") }
        defer { if durability == .full { try? connection.execute("PRAGMA synchronous = full") } }
        try connection.transaction { () throws(StorageError) in
            var (rowCount, byteCount) = (0, 0)
            while writing.blocks < large.rows.blockCount, rowCount < writtenPerStep, byteCount < Self.bytesPerStep {
                try large.rows.forEachRow(ofBlock: writing.blocks) { (key, text, isHeader) throws(StorageError) in
                    upsertRow.bind(1, large.path + key)
                    upsertRow.bind(2, Int64(writing.stamp))
                    if isHeader {
                        upsertRow.bind(3, RowValue.header(priority: CanonicalJSON(trusted: Array(text))).encoded)
                    } else {
                        upsertRow.bind(3, bytes: text)
                    }
                    try upsertRow.run()
                    rowCount += 1
                    byteCount += key.count + text.count
                }
                writing.blocks += 1
            }
        }
        self.writing = writing
        return writing.blocks < large.rows.blockCount
    }

    /// Hides what is at the place of a large value. What the changes take from indexes goes as well: the log brings it
    /// back only as what it is without that.
    private func beginWriting(_ large: PreparedChange, _ changes: RowChanges) throws(StorageError) {
        let range = large.range
        let replaces = try rows.holdsRows(in: range)
        let stamp = stamp + 1
        try connection.transaction { () throws(StorageError) in
            try rows.hide(range, sequence: stamp + 1)
            for key in changes.entries.removed { try entries.delete(key) }
            try set(stamp: stamp + 1)
        }
        self.stamp = stamp + 1
        writing = LargeValueWriting(change: large, range: range, stamp: stamp, replaces: replaces)
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
