package import HearthJSONTree
package import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

/// Reads the rows of a tree file. Used by one thread at a time.
package final class TreeReader: RowStore, @unchecked Sendable {
    // Safe because: one thread at a time uses it; the applier makes it and hands it to the thread that reads.
    private let connection: Connection
    private let ranges: ClearingRanges
    private let entryRanges: ClearingRanges
    /// A snapshot may hold dead rows that have gone from the file since.
    private let isSnapshot: Bool
    /// Of a reader that stays; a snapshot passes each page once.
    private let pages: PageCache?
    /// Bytes of pages that the connection may keep.
    private var share = 0
    private let reportDamage: @Sendable (StorageError) -> Void
    /// Statements that are not in use.
    private var idle: [Selection: [Statement]] = [:]
    private var cursorsInUse = 0
    /// Cursors that are in use at the same time see the same state of the file, so one that must skip dead rows makes
    /// later ones do so.
    private var skipsDead = false

    private struct Selection: Hashable {
        var entries = false
        /// Looks out for dead rows.
        var skipsDead: Bool
        var direction: ScanDirection
    }

    init(
        path: String, clearing ranges: ClearingRanges, _ entryRanges: ClearingRanges, pages: PageCache?,
        _ reportDamage: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        self.reportDamage = reportDamage
        connection = try Connection(path: path, mode: .readOnly)
        self.ranges = ranges
        self.entryRanges = entryRanges
        self.pages = pages
        isSnapshot = pages == nil
        if let pages {
            pages.join()
            takeShare()
        } else {
            // The snapshot begins with the first read.
            try connection.execute("PRAGMA cache_size = -1024; BEGIN; SELECT value FROM meta LIMIT 1")
        }
    }

    deinit { pages?.leave() }

    /// Other databases were opened or closed.
    private func takeShare() {
        guard let share = pages?.share, share != self.share else { return }
        self.share = share
        // If it cannot be changed, SQLite's own choice holds.
        try? connection.execute("PRAGMA cache_size = -\(share >> 10)")
    }

    /// Of the rows of a file that another object writes, or none, as they are now.
    convenience init(snapshotOf path: String) throws(StorageError) {
        try self.init(path: path, clearing: ClearingRanges(), ClearingRanges(), pages: nil) { _ in }
    }

    /// The last operation that the rows include.
    package func sequence() throws(StorageError) -> UInt64 {
        UInt64(try MetaTable.integer("sequence", in: connection) ?? 0)
    }

    /// The operation up to which the log must be read to know the rows: the same, or a later one while a large value is
    /// being written (``TreeFile``).
    func wholeSequence() throws(StorageError) -> UInt64 {
        max(try sequence(), UInt64(try MetaTable.integer("writing", in: connection) ?? 0))
    }

    package var clearing: Set<[UInt8]> { ranges.keys }

    // If the transaction cannot begin, the reads cost the same as without it.

    /// Bytes of pages that the connection may keep.
    func pageBytesMax() throws(StorageError) -> Int {
        -Int(try connection.prepare("PRAGMA cache_size").firstInteger() ?? 0) << 10
    }

    package func beginReads() { if !isSnapshot { try? connection.execute("BEGIN") } }

    package func endReads() { if !isSnapshot { try? connection.execute("COMMIT") } }

    package func owedWrites() throws(StorageError) -> [UInt64: OwedWrites] {
        var owed: [UInt64: OwedWrites] = [:]
        let select = try connection.prepare("SELECT connection, writes, checksum FROM owed")
        while try select.step() {
            let writes = select.blob(1)
            guard RowChecksum.of([], select.integer(0), writes) == select.integer(2) else {
                throw damaged("an on-disconnect write")
            }
            owed[UInt64(bitPattern: select.integer(0))] = try OwedWrites(stored: writes)
        }
        return owed
    }

    /// Events of the outbox after a key and below a bound, some at a time, and how far the file reaches. `isLast` if
    /// there are no more. Damaged ones are reported and left out, since the others must not wait for them; they stay in
    /// the file.
    package func outbox(
        after key: [UInt8], below upper: [UInt8]
    ) throws(StorageError) -> (rows: [OutboxRow], isLast: Bool, sequence: UInt64) {
        // The shortest one that is greater.
        try outbox(from: key + [0], below: upper)
    }

    private func outbox(
        from lower: [UInt8], below upper: [UInt8]
    ) throws(StorageError) -> (rows: [OutboxRow], isLast: Bool, sequence: UInt64) {
        try connection.execute("BEGIN")
        defer { try? connection.execute("COMMIT") }
        var rows: [OutboxRow] = []
        var (bytes, isLast) = (0, true)
        let select = try connection.prepare(
            "SELECT key, event, checksum FROM outbox WHERE key >= ?1 AND key < ?2 ORDER BY key")
        select.bind(1, lower)
        select.bind(2, upper)
        while try select.step() {
            let (key, event) = (select.blob(0), select.blob(1))
            guard RowChecksum.of(key, 0, event) == select.integer(2) else {
                _ = damaged(TreeCheck.describe(OutboxKey(bytes: key)))
                continue
            }
            rows.append(OutboxRow(key: OutboxKey(bytes: key), event: event))
            bytes += event.count
            if rows.count >= Self.outboxRowsMax || bytes >= Self.outboxBytesMax {
                isLast = false
                break
            }
        }
        select.reset()
        let sequence = try MetaTable.integer("sequence", in: connection).flatMap(UInt64.init(exactly:))
        return (rows, isLast, sequence ?? 0)
    }

    /// One event of the outbox, and how far the file reaches. Nil if it is not there, or is damaged, which is reported.
    package func event(_ key: OutboxKey) throws(StorageError) -> (event: [UInt8]?, sequence: UInt64) {
        let (rows, _, sequence) = try outbox(from: key.bytes, below: key.bytes + [0])
        return (rows.first?.event, sequence)
    }

    private static let outboxRowsMax = 500
    private static let outboxBytesMax = 4 << 20

    /// How many events there are between two keys.
    package func eventCount(from lower: [UInt8], below upper: [UInt8]) throws(StorageError) -> Int {
        let select = try connection.prepare("SELECT count(*) FROM outbox WHERE key >= ?1 AND key < ?2")
        defer { select.reset() }
        select.bind(1, lower)
        select.bind(2, upper)
        return Int(try select.firstInteger() ?? 0)
    }

    /// The keys of the events between two keys. Costs no access to the events.
    package func eventKeys(from lower: [UInt8], below upper: [UInt8]) throws(StorageError) -> [OutboxKey] {
        let select = try connection.prepare("SELECT key FROM outbox WHERE key >= ?1 AND key < ?2 ORDER BY key")
        defer { select.reset() }
        select.bind(1, lower)
        select.bind(2, upper)
        var keys: [OutboxKey] = []
        while try select.step() { keys.append(OutboxKey(bytes: select.blob(0))) }
        return keys
    }

    package func rows(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) throws(StorageError)
        -> any RowCursor
    {
        try cursor(from: lower, below: upper, direction, entries: false)
    }

    package func entries(
        from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection
    ) throws(StorageError) -> any RowCursor {
        try cursor(from: lower, below: upper, direction, entries: true)
    }

    package func indexCatalog() throws(StorageError) -> [UInt8]? {
        try MetaTable.bytes("indexes", in: connection)
    }

    private func cursor(
        from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection, entries: Bool
    ) throws(StorageError) -> any RowCursor {
        takeShare()
        skipsDead =
            isSnapshot || skipsDead && cursorsInUse > 0 || !ranges.keys.isEmpty || !entryRanges.keys.isEmpty
        let selection = Selection(entries: entries, skipsDead: skipsDead, direction: direction)
        let statement = try idleStatement(selection)
        statement.bind(1, lower)
        statement.bind(2, upper)
        return Cursor(statement: statement, reader: self, selection: selection)
    }

    /// Data is damaged: the reader and the operator are told.
    private func damaged(_ what: String) -> StorageError {
        let error = connection.damaged(what)
        reportDamage(error)
        return error
    }

    private func idleStatement(_ selection: Selection) throws(StorageError) -> Statement {
        if let statement = idle[selection]?.popLast() { return statement }
        return try connection.prepare(Self.select(selection))
    }

    private static func select(_ selection: Selection) -> String {
        let table = selection.entries ? "index_entry" : "row"
        let isAlive =
            """
            AND NOT EXISTS (
                SELECT 1 FROM \(selection.entries ? "cleared_entry" : "cleared") AS cleared
                WHERE cleared.lower <= \(table).key AND \(table).key < cleared.upper
                    AND \(table).sequence < cleared.sequence)
            """
        return """
            SELECT key, sequence, checksum\(selection.entries ? "" : ", value") FROM \(table) WHERE key >= ?1 AND key < ?2
            \(selection.skipsDead ? isAlive : "") ORDER BY key \(selection.direction == .descending ? "DESC" : "")
            """
    }

    private final class Cursor: RowCursor {
        private let statement: Statement
        private let reader: TreeReader
        private let selection: Selection
        private var isAtEnd = false

        init(statement: Statement, reader: TreeReader, selection: Selection) {
            self.statement = statement
            self.reader = reader
            self.selection = selection
            reader.cursorsInUse += 1
        }

        deinit {
            statement.reset()
            reader.cursorsInUse -= 1
            reader.idle[selection, default: []].append(statement)
        }

        func next() throws(StorageError) -> Row? {
            guard !selection.entries else { return try nextKey().map { Row(key: $0, value: .subtree(.null)) } }
            guard try step() else { return nil }
            let row: Row? = statement.withBlob(0) { key in
                statement.withBlob(3) { value in
                    guard RowChecksum.of(key, statement.integer(1), value) == statement.integer(2) else { return nil }
                    return Row(key: Array(key), value: RowValue(encoded: value))
                }
            }
            guard let row else { throw damagedRow() }
            return row
        }

        func nextKey() throws(StorageError) -> [UInt8]? {
            guard try step() else { return nil }
            let key: [UInt8]? = statement.withBlob(0) { key in
                RowChecksum.fits(statement.integer(2), key, statement.integer(1)) ? Array(key) : nil
            }
            guard let key else { throw damagedRow() }
            return key
        }

        private func damagedRow() -> StorageError {
            let key = statement.blob(0)
            return reader.damaged(
                selection.entries ? "an entry of an index" : "the row of \(TreeCheck.describe(key))")
        }

        private func step() throws(StorageError) -> Bool {
            // A statement at its end would start over.
            if isAtEnd { return false }
            isAtEnd = try !statement.step()
            return !isAtEnd
        }

        func seek(to bound: [UInt8]) {
            statement.reset()
            statement.bind(selection.direction == .ascending ? 1 : 2, bound)
            isAtEnd = false
        }
    }
}
