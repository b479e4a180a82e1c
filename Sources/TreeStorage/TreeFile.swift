import CSQLite
package import RealtimeDatabase
import Synchronization

/// The rows of one database in a SQLite file, and how far in the commit log they reach.
///
/// ```
/// row(key BLOB PRIMARY KEY, sequence INTEGER, value BLOB) WITHOUT ROWID       value: see RowValue.encoded
/// cleared(lower BLOB PRIMARY KEY, upper BLOB, sequence INTEGER)               ranges whose older rows are garbage
/// entry(collection, position, value, child)                                    entries of `.indexOn` indexes
/// owed(connection INTEGER PRIMARY KEY, writes BLOB)                           see OwedWrites.stored
/// meta(name TEXT PRIMARY KEY, value)                                           sequence: the last operation included
/// ```
/// One transaction takes the file from one sequence number to the next, so after a crash it is at one of them. A large range that was
/// deleted or overwritten is only written down in `cleared`; its rows are dead from then on, and are removed in small steps
/// (``clearSome()``), so other writes do not wait for them. A row is dead when a range that covers it has a greater sequence.
///
/// This object writes, on the applier's thread. ``makeReader()`` and ``makeSnapshot()`` give objects that read.
package final class TreeFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it, but for `isClearing` and the `make` methods, which only read constants and what is
    // behind a lock. The database thread opens it and hands it to the applier through its mailbox; it gets it back at the end.

    private let path: String
    /// Ranges up to this many rows are deleted at once.
    private let deletedAtOnceMax: Int64
    /// Rows looked at in one step of clearing.
    private let clearedPerStep: Int64
    private let connection: Connection
    private let clearing = ClearingRanges()
    private let countRange: Statement
    private let deleteRange: Statement
    private let deleteRow: Statement
    private let upsertRow: Statement
    private let insertCleared: Statement
    private let setSequence: Statement
    /// How far the clearing of a range has come.
    private var progress: (lower: [UInt8], sequence: Int64, next: [UInt8])?

    /// The last operation that the rows include.
    package private(set) var sequence: UInt64

    package init(
        path: String, durability: Durability, deletedAtOnceMax: Int64 = 256, clearedPerStep: Int64 = 2000
    ) throws(StorageError) {
        self.path = path
        self.deletedAtOnceMax = deletedAtOnceMax
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
            CREATE TABLE IF NOT EXISTS entry (
                collection BLOB, position INTEGER, value BLOB, child BLOB,
                PRIMARY KEY (collection, position, value, child)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS owed (connection INTEGER PRIMARY KEY, writes BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            INSERT OR IGNORE INTO meta VALUES ('sequence', 0);
            """)
        sequence = UInt64(try connection.integer("SELECT value FROM meta WHERE name = 'sequence'") ?? 0)
        countRange = try connection.prepare(
            "SELECT count(*) FROM (SELECT 1 FROM row WHERE key >= ?1 AND key < ?2 LIMIT ?3)")
        deleteRange = try connection.prepare("DELETE FROM row WHERE key >= ?1 AND key < ?2")
        deleteRow = try connection.prepare("DELETE FROM row WHERE key = ?1")
        upsertRow = try connection.prepare("INSERT OR REPLACE INTO row VALUES (?1, ?2, ?3)")
        insertCleared = try connection.prepare("INSERT OR REPLACE INTO cleared VALUES (?1, ?2, ?3)")
        setSequence = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'sequence'")
        let cleared = try connection.prepare("SELECT lower FROM cleared")
        while try cleared.step() { clearing.insert(cleared.blob(0)) }
    }

    // MARK: Writing

    /// Writes changed rows; the file then includes everything up to `sequence`. All of it or, when it throws, nothing.
    package func apply(_ changes: RowChanges, upTo sequence: UInt64) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            for range in changes.cleared { try clear(range, sequence: sequence) }
            for key in changes.removed {
                deleteRow.bind(1, key)
                try deleteRow.run()
            }
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

    private func set(_ writes: OwedWrites, of connection: UInt64) throws(StorageError) {
        let statement = try self.connection.prepare(
            writes.isEmpty ? "DELETE FROM owed WHERE connection = ?1" : "INSERT OR REPLACE INTO owed VALUES (?1, ?2)")
        statement.bind(1, Int64(bitPattern: connection))
        if !writes.isEmpty { statement.bind(2, writes.stored) }
        try statement.run()
    }

    private func clear(_ range: KeyRange, sequence: UInt64) throws(StorageError) {
        countRange.bind(1, range.lower)
        countRange.bind(2, range.upper)
        countRange.bind(3, deletedAtOnceMax + 1)
        let count = try countRange.firstInteger() ?? 0
        if count == 0 { return }
        if count <= deletedAtOnceMax {
            deleteRange.bind(1, range.lower)
            deleteRange.bind(2, range.upper)
            try deleteRange.run()
        } else {
            // Readers must look out for dead rows before there are any.
            clearing.insert(range.lower)
            insertCleared.bind(1, range.lower)
            insertCleared.bind(2, range.upper)
            insertCleared.bind(3, Int64(sequence))
            try insertCleared.run()
        }
    }

    /// Whether dead rows are still in the file.
    package var isClearing: Bool { !clearing.keys.isEmpty }

    /// Removes some dead rows, in a transaction of its own. Called while there is nothing to apply.
    package func clearSome() throws(StorageError) {
        let next = try connection.prepare("SELECT lower, upper, sequence FROM cleared ORDER BY lower LIMIT 1")
        guard try next.step() else {
            clearing.removeAll()
            return
        }
        let (lower, upper, before) = (next.blob(0), next.blob(1), next.integer(2))
        next.reset()
        // Since the last step another range may have come before this one, or this one may have been cleared again.
        var from = lower
        if let progress, progress.lower == lower, progress.sequence == before { from = progress.next }
        let select = try connection.prepare(
            "SELECT key, sequence FROM row WHERE key >= ? AND key < ? ORDER BY key LIMIT ?")
        select.bind(1, from)
        select.bind(2, upper)
        select.bind(3, clearedPerStep)
        var dead: [[UInt8]] = []
        var last: [UInt8]?
        while try select.step() {
            last = select.blob(0)
            if select.integer(1) < before { dead.append(last ?? []) }
        }
        select.reset()
        try connection.transaction { () throws(StorageError) in
            for key in dead {
                deleteRow.bind(1, key)
                try deleteRow.run()
            }
            if last == nil {
                let done = try connection.prepare("DELETE FROM cleared WHERE lower = ?")
                done.bind(1, lower)
                try done.run()
            }
        }
        progress = last.map { (lower, before, $0 + [0]) }
        if last == nil { clearing.remove(lower) }
    }

    /// Copies what the write-ahead file holds into the main file, so that a clean end leaves one tidy file.
    package func checkpoint() throws(StorageError) {
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: Reading

    /// A reader of the newest rows, for the database thread.
    package func makeReader() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: clearing, isSnapshot: false)
    }

    /// A reader that goes on seeing the rows as they are now, whatever is applied later. It keeps the write-ahead file from
    /// being reset, so it should not live longer than its work.
    package func makeSnapshot() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: clearing, isSnapshot: true)
    }
}

/// The lower bounds of the ranges that hold dead rows. Written by the applier, read by readers on other threads: a range is in here
/// before its rows are dead, and until the last one is gone, so a stale answer costs time only.
final class ClearingRanges: Sendable {
    private let lowerBounds = Mutex(Set<[UInt8]>())

    var keys: Set<[UInt8]> { lowerBounds.withLock { $0 } }

    func insert(_ key: [UInt8]) { _ = lowerBounds.withLock { $0.insert(key) } }

    func remove(_ key: [UInt8]) { _ = lowerBounds.withLock { $0.remove(key) } }

    func removeAll() { lowerBounds.withLock { $0 = [] } }
}
