import HearthServerFiles
import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSQLite
import Synchronization
package import HearthStorageErrors

/// The rows of one database in a SQLite file, and how far in the commit log they reach.
///
/// ```
/// row(key BLOB PRIMARY KEY, sequence, checksum, value BLOB) WITHOUT ROWID     value: see RowValue.encoded
/// cleared(lower BLOB PRIMARY KEY, upper BLOB, sequence, checksum)             ranges whose older rows are garbage
/// cleared_entry(…)                                                            the same of entries
/// index_entry(key BLOB PRIMARY KEY, sequence, checksum) WITHOUT ROWID         entries of indexes: see IndexEntries
/// outbox(key BLOB PRIMARY KEY, event BLOB, checksum)                          see OutboxKey, TriggerEvent.stored
/// owed(connection INTEGER PRIMARY KEY, writes BLOB, checksum)                 see OwedWrites.stored
/// meta(name TEXT PRIMARY KEY, value, checksum)                                sequence: the last operation included;
///                                                                             stamp: see below;
///                                                                             indexes: the catalog of the indexes;
///                                                                             total of TABLE: see RowTotal
/// ```
/// Each row has a checksum over all of it (``RowChecksum``), which is compared when it is read. The totals tell whether
/// rows are missing; only ``DatabaseCheck`` and backups compare those. ``TreeFormat`` makes the tables.
///
/// One transaction takes the file from one sequence number to the next, so after a crash it is at one of them. The
/// column `sequence` of the other tables holds the transaction's *stamp*, a number that grows. A large range that was
/// deleted or overwritten is only written down in `cleared`; its rows are dead from then on, and are removed in small
/// steps (``clearSome()``), so other writes do not wait for them. A row is dead when a range that covers it has a
/// greater stamp.
///
/// The rows of a large value and its index entries are written in transactions of their own, before the one that takes
/// the file to its sequence number (``writeSome(of:upTo:)``). Until then its range has a greater stamp than they, so
/// they are dead; the last transaction gives the range their stamp, and they live. After a crash in between the file is
/// at the operation before the large one, but has nothing at its place, and the log has the operation. Children of a
/// place that are written in this way live at once: after a crash the file may have some of them. `writing` is the
/// operation that the last transaction of the last large value takes the file to; while it is beyond `sequence`, the
/// rows are those of an operation only together with the log's operations up to it.
///
/// This object writes, on the applier's thread. ``makeReader()`` and ``makeSnapshot()`` give objects that read.
package final class TreeFile: @unchecked Sendable {
    // Safe because: one thread at a time uses it, but for `isClearing` and the `make` methods, which only read
    // constants and data under a lock. The database thread opens it and hands it to the applier through its mailbox; it
    // gets it back at the end.

    private let path: String
    private let pages: PageCache
    private let connection: Connection
    private let meta: MetaTable
    private let rows: ClearableTable
    private let entries: ClearableTable
    /// The files, as they were opened.
    private let identities: [FileIdentity]
    private let reportDamage: @Sendable (StorageError) -> Void
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
    /// - parameter overwrites: bytes that are deleted are overwritten in the file.
    /// - parameter pages: memory for its readers, except snapshots.
    /// - parameter reportDamage: told of each row that a reader refuses, on the reader's thread.
    package init(
        path: String, durability: Durability, deletedAtOnceMax: Int64 = 256, clearedPerStep: Int64 = 2000,
        writtenPerStep: Int = 8192, overwrites: Bool = false, pages: PageCache = PageCache(),
        reportDamage: @escaping @Sendable (StorageError) -> Void = { _ in }
    ) throws(StorageError) {
        self.path = path
        self.pages = pages
        self.reportDamage = reportDamage
        self.durability = durability
        self.clearedPerStep = clearedPerStep
        self.writtenPerStep = writtenPerStep
        connection = try Connection(path: path, mode: .readWrite)
        // Rows are up to 2 KiB: on pages of 8 KiB they need no overflow pages.
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = wal; PRAGMA cache_size = -16384")
        try connection.execute("PRAGMA synchronous = \(durability.synchronous)")
        if overwrites { try connection.execute("PRAGMA secure_delete = on") }
        try TreeFormat.prepare(connection)
        guard let sequence = try MetaTable.integer("sequence", in: connection).flatMap(UInt64.init(exactly:)),
            let stamp = try MetaTable.integer("stamp", in: connection).flatMap(UInt64.init(exactly:))
        else { throw .damaged("it does not say how far its rows reach (\(path))") }
        self.sequence = sequence
        self.stamp = stamp
        meta = try MetaTable(connection)
        rows = try ClearableTable("row", "cleared", columns: 4, connection, deletedAtOnceMax, clearedPerStep)
        entries = try ClearableTable(
            "index_entry", "cleared_entry", columns: 3, connection, deletedAtOnceMax, clearedPerStep)
        identities = [path, path + "-wal"].compactMap(FileIdentity.init)
    }

    // MARK: Writing

    /// Writes changed rows; the file then includes everything up to `sequence`. All of it or, when it throws, nothing
    /// that can be seen. Of a large value it writes the rows that ``writeSome(of:upTo:)`` has not written yet.
    package func apply(_ changes: RowChanges, upTo sequence: UInt64) throws(StorageError) {
        while try writeSome(of: changes, upTo: sequence) {}
        try verify()
        let stamp = stamp + 1
        try transaction { () throws(StorageError) in
            if let writing, !writing.change.isOfChildren {
                try rows.show(writing.range, from: writing.replaces ? writing.stamp : nil)
                if writing.change.entries != nil {
                    try entries.show(writing.range, from: writing.replacesEntries ? writing.stamp : nil)
                }
            }
            for range in changes.cleared { try rows.clear(range, sequence: stamp) }
            for range in changes.entries.cleared { try entries.clear(range, sequence: stamp) }
            for key in changes.entries.removed { try entries.delete(key) }
            try entries.put(changes.entries.added.map { Row(key: $0, value: .subtree(.null)) }, stamp)
            if let catalog = changes.indexCatalog { try meta.set("indexes", catalog) }
            for key in changes.removed { try rows.delete(key) }
            try rows.put(changes.rows, stamp)
            for (connection, writes) in changes.owed { try set(writes, of: connection) }
            try set(changes.outbox)
            try meta.set("sequence", Int64(sequence))
            try meta.set("stamp", Int64(stamp))
        }
        self.stamp = stamp
        self.sequence = sequence
        if let writing, !writing.change.isOfChildren {
            endHiding()
            let lower = writing.range.lower
            // The range may have been cleared again by the same changes.
            if !writing.replaces, !changes.clear(lower) {
                rows.clearing.remove(lower)
            }
            if writing.change.entries != nil, !writing.replacesEntries,
                !changes.entries.cleared.contains(where: { $0.lower == lower })
            {
                entries.clearing.remove(lower)
            }
        }
        writing = nil
    }

    /// Throws if the files are not under their names any more.
    package func verify() throws(StorageError) {
        for identity in identities { try identity.verify() }
    }

    /// Runs `body` in a transaction, with the totals of the tables.
    private func transaction(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let totals = (rows.total, entries.total)
        do throws(StorageError) {
            try connection.transaction { () throws(StorageError) in
                try body()
                if rows.total != totals.0 { try meta.set(total: rows.total, of: "row") }
                if entries.total != totals.1 { try meta.set(total: entries.total, of: "index_entry") }
            }
        } catch {
            (rows.total, entries.total) = totals
            throw error
        }
    }

    private func set(_ writes: OwedWrites, of connection: UInt64) throws(StorageError) {
        let statement = try self.connection.prepare(
            writes.isEmpty
                ? "DELETE FROM owed WHERE connection = ?1" : "INSERT OR REPLACE INTO owed VALUES (?1, ?2, ?3)")
        statement.bind(1, Int64(bitPattern: connection))
        if !writes.isEmpty {
            let stored = writes.stored
            statement.bind(2, stored)
            statement.bind(3, RowChecksum.of([], Int64(bitPattern: connection), stored))
        }
        try statement.run()
    }

    private func set(_ outbox: [OutboxKey: [UInt8]?]) throws(StorageError) {
        if outbox.isEmpty { return }
        let insert = try connection.prepare("INSERT OR REPLACE INTO outbox VALUES (?1, ?2, ?3)")
        let delete = try connection.prepare("DELETE FROM outbox WHERE key = ?1")
        for (key, event) in outbox.sorted(by: { $0.key < $1.key }) {
            let statement = event == nil ? delete : insert
            statement.bind(1, key.bytes)
            if let event {
                statement.bind(2, event)
                statement.bind(3, RowChecksum.of(key.bytes, 0, event))
            }
            try statement.run()
        }
    }

    /// Whether dead rows are still in the file.
    package var isClearing: Bool { rows.isClearing || entries.isClearing }

    /// Removes some dead rows, in a transaction of its own. Answers how many rows it looked at.
    @discardableResult
    package func clearSome() throws(StorageError) -> Int {
        try (rows.isClearing ? rows : entries).clearSome(in: transaction)
    }

    /// Removes entries of unused indexes: checks some entries from `start` on, in a separate transaction. Answers where
    /// to continue; nil at the end.
    package func sweepEntries(of numbers: Set<UInt32>, from start: [UInt8]) throws(StorageError) -> [UInt8]? {
        try sweepEntries(from: start) { key in IndexEntryKey.number(of: key).map(numbers.contains) ?? false }
    }

    /// The same of entries of which `isObsolete` says so.
    func sweepEntries(
        from start: [UInt8], where isObsolete: ([UInt8]) throws(StorageError) -> Bool
    ) throws(StorageError) -> [UInt8]? {
        let select = try connection.prepare("SELECT key FROM index_entry WHERE key >= ?1 ORDER BY key LIMIT ?2")
        select.bind(1, start)
        select.bind(2, clearedPerStep)
        var last: [UInt8]?
        var obsolete: [[UInt8]] = []
        while try select.step() {
            let key = select.blob(0)
            last = key
            if try isObsolete(key) { obsolete.append(key) }
        }
        select.reset()
        if !obsolete.isEmpty {
            try transaction { () throws(StorageError) in for key in obsolete { try entries.delete(key) } }
        }
        return last.map { $0 + [0] }
    }

    /// Copies the write-ahead file into the main file, so that a clean end leaves one tidy file. Does not wait for
    /// readers. False if one keeps the write-ahead file from being emptied.
    package func emptyWriteAheadFile() throws(StorageError) -> Bool { try connection.emptyWriteAheadFile() }

    /// Removes the events of triggers that tell something of the value at a path, or below it.
    ///
    /// - returns: how many waited, and how many were set aside.
    func removeEvents(concerning path: Path) throws(StorageError) -> (waiting: Int, aside: Int) {
        let select = try connection.prepare("SELECT key, event FROM outbox")
        var removed: [OutboxKey: [UInt8]?] = [:]
        while try select.step() {
            let row = OutboxRow(key: OutboxKey(bytes: select.blob(0)), event: select.blob(1))
            if try row.concerns(path) { removed[row.key] = .some(nil) }
        }
        select.reset()
        try set(removed)
        let aside = removed.keys.count { $0.isAside }
        return (removed.count - aside, aside)
    }

    /// Writes the file again, so that it has the bytes of no row that was deleted. Takes as long as copying it.
    ///
    /// - parameter patience: how long it waits for those who read the file, in milliseconds.
    func rewrite(patience: Int) throws(StorageError) {
        while isClearing { try clearSome() }
        try connection.execute("PRAGMA busy_timeout = \(patience); PRAGMA secure_delete = on; VACUUM")
        try connection.emptyForErasure()
    }

    // MARK: Large values

    /// The writing of a large value's rows.
    private struct LargeValueWriting {
        let change: PreparedChange
        let range: KeyRange
        /// That of its rows.
        let stamp: UInt64
        /// There are older rows in the range, or older entries.
        let replaces: Bool
        let replacesEntries: Bool
        /// Blocks that are written, of rows and then of entries.
        var blocks = 0
        /// Of children of a place: the last one that was begun.
        var child = KeyRange(lower: [], upper: [])

        var blockCount: Int { change.rows.blockCount + (change.entries?.blockCount ?? 0) }
    }

    private func endHiding() {
        rows.clearing.endHiding()
        entries.clearing.endHiding()
    }

    /// Bytes of rows after which a step ends.
    private static let bytesPerStep = 1 << 20

    /// Writes some rows of the large value among the changes, if there is one, in a transaction of its own; they cannot
    /// be seen before ``apply(_:upTo:)``. Answers whether there are more. Changes that are left half written are
    /// forgotten when others come.
    package func writeSome(of changes: RowChanges, upTo sequence: UInt64) throws(StorageError) -> Bool {
        if let writing, writing.change.rows !== changes.large?.rows || writing.change.path != changes.large?.path {
            self.writing = nil
            endHiding()
        }
        guard let large = changes.large else { return false }
        guard var writing else {
            if large.isOfChildren {
                try beginWriting(childrenOf: large, upTo: sequence)
            } else {
                try beginWriting(large, changes, upTo: sequence)
            }
            return true
        }
        guard writing.blocks < writing.blockCount else { return false }
        // Rows lost with the power are written again; the last transaction syncs everything.
        if durability == .full { try connection.execute("PRAGMA synchronous = normal") }
        defer { if durability == .full { try? connection.execute("PRAGMA synchronous = full") } }
        try transaction { () throws(StorageError) in
            var (rowCount, byteCount) = (0, 0)
            while writing.blocks < writing.blockCount, rowCount < writtenPerStep, byteCount < Self.bytesPerStep {
                defer { writing.blocks += 1 }
                if let prepared = large.entries, writing.blocks >= large.rows.blockCount {
                    for key in prepared.keys(ofBlock: writing.blocks - large.rows.blockCount) {
                        try entries.put(large.path + key, writing.stamp, bytes: nil)
                        rowCount += 1
                        byteCount += key.count
                    }
                    continue
                }
                let replaces = large.isOfChildren ? try holdsRows(at: writing.blocks, of: large) : false
                try large.rows.forEachRow(ofBlock: writing.blocks) { (key, text, isHeader) throws(StorageError) in
                    if large.isOfChildren, !writing.child.contains(large.path + key) {
                        writing.child = large.child(of: large.path + key)
                        if replaces { try rows.clear(writing.child, sequence: writing.stamp) }
                        // The child goes.
                        if text.first == UInt8(ascii: "n") { return }
                    }
                    if isHeader {
                        let header = RowValue.header(priority: CanonicalJSON(trusted: Array(text)))
                        try rows.put(large.path + key, writing.stamp, header.encoded)
                    } else {
                        try rows.put(large.path + key, writing.stamp, bytes: text)
                    }
                    rowCount += 1
                    byteCount += key.count + text.count
                }
            }
        }
        self.writing = writing
        return writing.blocks < writing.blockCount
    }

    /// Whether there are rows where the children are that a block has rows of.
    private func holdsRows(at block: Int, of large: PreparedChange) throws(StorageError) -> Bool {
        guard let first = large.rows.firstKey(ofBlock: block) else { return false }
        let last = large.rows.firstKey(ofBlock: block + 1).map { large.child(of: large.path + $0).upper }
        let range = KeyRange(lower: large.child(of: large.path + first).lower, upper: last ?? large.range.upper)
        return try rows.holdsRows(in: range)
    }

    /// Begins to write children of a place. They are written where they are seen at once: readers have them in
    /// front of the store, and after a crash the log has them.
    private func beginWriting(childrenOf large: PreparedChange, upTo sequence: UInt64) throws(StorageError) {
        let stamp = stamp + 1
        try transaction { () throws(StorageError) in
            try meta.set("stamp", Int64(stamp))
            try meta.set("writing", Int64(sequence))
        }
        self.stamp = stamp
        writing = LargeValueWriting(
            change: large, range: large.range, stamp: stamp, replaces: false, replacesEntries: false)
    }

    /// Hides the rows at the place of a large value. Index entries that the changes remove go as well: the log restores
    /// the value without them.
    private func beginWriting(
        _ large: PreparedChange, _ changes: RowChanges, upTo sequence: UInt64
    ) throws(StorageError) {
        let range = large.range
        let replaces = try rows.holdsRows(in: range)
        let replacesEntries = large.entries == nil ? false : try entries.holdsRows(in: range)
        let stamp = stamp + 1
        try transaction { () throws(StorageError) in
            try rows.hide(range, sequence: stamp + 1)
            if large.entries != nil { try entries.hide(range, sequence: stamp + 1) }
            for key in changes.entries.removed { try entries.delete(key) }
            try meta.set("stamp", Int64(stamp + 1))
            try meta.set("writing", Int64(sequence))
        }
        self.stamp = stamp + 1
        writing = LargeValueWriting(
            change: large, range: range, stamp: stamp, replaces: replaces, replacesEntries: replacesEntries)
    }

    // MARK: Reading

    /// Bytes of the rows at and below a path. Reads all of them.
    func byteCount(at path: Path) throws(StorageError) -> Int {
        let select = try connection.prepare(
            "SELECT sum(length(key) + length(value)) FROM row WHERE key >= ?1 AND key < ?2")
        select.bind(1, path.encoded)
        select.bind(2, path.subtreeEnd)
        return Int(try select.firstInteger() ?? 0)
    }

    /// A reader of the newest rows, for the database thread.
    package func makeReader() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: rows.clearing, entries.clearing, pages: pages, reportDamage)
    }

    /// A reader that sees the rows as of now, regardless of later changes. It keeps the write-ahead file from being
    /// reset, so it should not live longer than its work.
    package func makeSnapshot() throws(StorageError) -> TreeReader {
        try TreeReader(path: path, clearing: rows.clearing, entries.clearing, pages: nil, reportDamage)
    }
}
