import Glibc
import HearthServerFiles
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// A copy of one database in one file: a SQLite file with the tables of the tree file, and with the end of the commit
/// log.
///
/// ```
/// row, cleared, entry, meta                     as in the tree file (see TreeFile)
/// log(first, count, time, checksum, body)       the turns that the rows do not include yet, and the one before them
/// part, large                                   what belongs to them (see LogParts)
/// kept_…, past_…                                the history that the settings keep, if there is one (Backup+History)
/// epoch(start, name)                            as in the log file; only in a copy with the history
/// backup(name TEXT PRIMARY KEY, value)          version: 2; database: its name; time: ms since 1970;
///                                               checksum: of the rows; reached: the last operation that they include;
///                                               erasure: that of the log (LogFormat), if there was one
/// ```
/// The application id is `applicationID`, the user version that of the tree file (``TreeFormat``). Version 1 was made
/// of tree files without checksums.
package struct Backup: Sendable {
    /// The contents of a backup.
    package struct Summary: Hashable, Sendable {
        package var database: String
        /// The last operation that is in it.
        package var sequence: UInt64
        /// When it was made, in milliseconds since 1970.
        package var time: Int64
        /// Rows of the tree, each of them up to some kilobytes.
        package var rows: Int
        /// Operations that are in the log, and not yet in the rows.
        package var laterWrites: Int
        package var byteCount: Int
        /// Changes in the history that the settings keep; nil without it.
        package var changes: Int?
    }

    /// How much of the commit log a copy has.
    package enum Extent: Hashable, Sendable, CaseIterable {
        /// The commits that the rows do not include yet.
        case data
        /// All commits, and the epochs that they belong to: the copy can take the place of the files themselves.
        case history

        /// SQL for the first row of the log that is copied.
        ///
        /// - parameter sequence: the last operation that the rows include, and the history that settings keep.
        fileprivate func firstRow(_ sequence: Int64) -> String {
            switch self {
            case .data: "coalesce((SELECT max(first) FROM history.log WHERE first <= \(sequence)), 0)"
            case .history: "0"
            }
        }
    }

    /// "HRTH".
    static let applicationID: Int64 = 0x4852_5448
    static let version: Int64 = 2

    /// Tables that are not the tree's.
    static let ownTables: Set<String> = Set(
        ["log", "epoch", "part", "large", "backup"] + namesOfKeptTables)

    static let isAlive = """
        NOT EXISTS (
            SELECT 1 FROM cleared
            WHERE cleared.lower <= row.key AND row.key < cleared.upper AND row.sequence < cleared.sequence)
        """

    /// Copies the tables of an attached database with everything in them. To be called in a transaction.
    static func copyTables(
        of schema: String, except excluded: Set<String>, in connection: Connection
    ) throws(StorageError) {
        var names: [(name: String, isTable: Bool, sql: String)] = []
        let select = try connection.prepare(
            """
            SELECT name, type = 'table', sql FROM \(schema).sqlite_schema
            WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY type = 'index'
            """)
        while try select.step() { names.append((select.text(0), select.integer(1) == 1, select.text(2))) }
        for (name, isTable, sql) in names where !excluded.contains(name) {
            try connection.execute(sql)
            if isTable { try connection.execute("INSERT INTO main.\(name) SELECT * FROM \(schema).\(name)") }
        }
    }
}

// MARK: Making

extension Backup {
    /// Copies a database, even while a server writes to it. The file gets its name when it is whole.
    ///
    /// Why the copy is consistent: SQLite shows a reader of a file one state of it, that of its first read. The tree
    /// file is read first, at its sequence number T; one transaction took it there. Then the log is read, at L. A
    /// server brings the tree to T only once the log has everything up to T, so L is not less than T, and the log's
    /// records after T are to be replayed on these rows; opening the copy does that, as after a crash. If the server
    /// has meanwhile removed old turns from the log that the rows at T need, both are read again. A write is
    /// acknowledged only when the log has it, so all that were acknowledged before the call are in L. The history that
    /// the settings keep is read before both, at H, and the log is copied from there. Flat memory; meanwhile the
    /// write-ahead files of the database grow with each write.
    ///
    /// - parameters:
    ///   - extent: how much of the commit log is copied.
    ///   - hasHistory: whether the history that the settings keep is copied.
    package static func make(
        of name: String, in folder: String, to path: String, _ extent: Extent = .data, hasHistory: Bool = true
    ) throws(BackupError) -> Summary {
        try make(of: name, in: folder, to: path, extent, hasHistory: hasHistory) { now }
    }

    /// - parameter clock: in milliseconds since 1970; asked when the copy is whole, so it has no commit of later.
    static func make(
        of name: String, in folder: String, to path: String, _ extent: Extent = .data, hasHistory: Bool = true,
        clock: () -> Int64
    ) throws(BackupError) -> Summary {
        do throws(StorageError) { try FolderContents(folder).requireWhole() } catch { throw BackupError(error) }
        let files = DatabaseFiles(name: name, folder: folder)
        guard !DataFolder.isFileName(name) || access(files.restoring, F_OK) != 0 else {
            throw BackupError(.interruptedRestore(database: name))
        }
        guard DataFolder.isFileName(name), access(files.tree, F_OK) == 0, access(files.log, F_OK) == 0 else {
            throw BackupError(message: "there is no database \(name) in \(folder)")
        }
        let output = PartialFile(path)
        try output.create()
        do throws(BackupError) {
            var summary: Summary
            do throws(StorageError) {
                let history = hasHistory ? folder : nil
                summary = try write(name, files, to: output.partialPath, extent, historyIn: history, clock)
            } catch {
                throw BackupError(error)
            }
            try output.commit()
            summary.byteCount = size(of: path)
            return summary
        } catch {
            output.discard()
            throw error
        }
    }

    private static func write(
        _ name: String, _ files: DatabaseFiles, to path: String, _ extent: Extent, historyIn folder: String?,
        _ clock: () -> Int64
    ) throws(StorageError) -> Summary {
        // The file is synced as a whole at the end, and thrown away if it does not come to that. At the end of the
        // process it may be removed at any time (``UnfinishedFiles``).
        let connection = try Connection(path: path, mode: .joiningExisting)
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off")
        try connection.execute("PRAGMA application_id = \(applicationID)")
        let before = try identity(files)
        for (schema, file) in [("tree", files.tree), ("history", files.log)] {
            let attach = try connection.prepare("ATTACH ? AS \(schema)")
            attach.bind(1, Connection.uri(readOnly: file))
            try attach.run()
        }
        _ = try connection.formatVersion(upTo: TreeFormat.version, of: files.tree, attachedAs: "tree")
        _ = try connection.formatVersion(upTo: LogFormat.version, of: files.log, attachedAs: "history")
        let hasHistory =
            try folder.map { (folder) throws(StorageError) in
                try attachHistory(of: name, in: folder, to: connection)
            } ?? false
        let (sequence, last, kept) = try beginSnapshot(connection, name, hasHistory: hasHistory)
        // A restore may have replaced the files one after the other.
        guard try identity(files) == before else { throw .busy("\(name) was just replaced by another one") }
        let format = try connection.integer("PRAGMA tree.user_version") ?? 0
        try copyTables(of: "tree", except: [], in: connection)
        try connection.execute(
            """
            CREATE TABLE log (
                first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL,
                body BLOB NOT NULL);
            INSERT INTO main.log SELECT first, count, time, checksum, body FROM history.log
                WHERE first >= \(extent.firstRow(min(sequence, kept ?? sequence)));
            \(LogParts.tables)
            CREATE TABLE backup (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
            INSERT INTO backup VALUES ('version', \(format == 0 ? 1 : version));
            PRAGMA user_version = \(format);
            """)
        if try LogParts.areKnown(in: "history", of: connection) {
            try connection.execute(LogParts.copy(from: "history"))
        }
        if extent == .history {
            try connection.execute(
                """
                CREATE TABLE \(LogFormat.epochTable);
                INSERT INTO main.epoch SELECT start, name FROM history.epoch ORDER BY start, rowid;
                """)
        }
        if let erasure = try LogFormat.erasure(in: connection, schema: "history") {
            try connection.execute("INSERT INTO backup VALUES ('\(LogFormat.erasureMark)', \(erasure))")
        }
        if kept != nil { try copyHistory(in: connection) }
        try connection.execute("COMMIT")
        if format > 0 { try TreeCheck.run(connection) { (problem) throws(StorageError) in throw .damaged(problem) } }
        let rows = try sum(connection) { _ in }
        let time = clock()
        let set = try connection.prepare(
            "INSERT INTO backup VALUES ('time', ?), ('checksum', ?), ('database', ?), ('reached', ?)")
        set.bind(1, time)
        set.bind(2, Int64(bitPattern: rows.checksum))
        set.bind(3, name)
        set.bind(4, sequence)
        try set.run()
        let changes = kept == nil ? nil : try sealHistory(in: connection)
        return Summary(
            database: name, sequence: UInt64(last), time: time, rows: rows.count, laterWrites: Int(last - sequence),
            byteCount: 0, changes: changes)
    }

    /// The number of the last erasing in the log that a copy was made of.
    static func erasure(in copy: Connection, schema: String = "main") throws(StorageError) -> Int64? {
        try copy.integer("SELECT value FROM \(schema).backup WHERE name = '\(LogFormat.erasureMark)'")
    }

    /// The rows of the tree: how many, and a checksum of all of them in key order. Rows that are dead do not count.
    /// Each one is shown to `body`, its key, its sequence number and its value in three columns.
    static func sum(
        _ connection: Connection, _ body: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) -> (count: Int, checksum: UInt64) {
        var count = 0
        var checksum: UInt64 = 0
        let select = try connection.prepare("SELECT key, sequence, value FROM main.row WHERE \(isAlive) ORDER BY key")
        while try select.step() {
            try body(select)
            // As of a log that has them in its rows, one after the other.
            let key = select.blob(0)
            let record = LogRecord(
                firstSequence: checksum, count: key.count, time: select.integer(1), body: key + select.blob(2))
            checksum = record.checksum
            count += 1
        }
        return (count, checksum)
    }

    /// Begins a transaction that sees the history, then the tree and then the log, and answers how far they reach.
    private static func beginSnapshot(
        _ connection: Connection, _ name: String, hasHistory: Bool
    ) throws(StorageError) -> (sequence: Int64, last: Int64, kept: Int64?) {
        var isHistoryWhole = true
        for _ in 0..<10 {
            try connection.execute("BEGIN")
            let position = hasHistory ? try keptPosition(in: connection) : .none
            isHistoryWhole = position != .changing
            if !isHistoryWhole {
                try connection.execute("ROLLBACK")
                continue
            }
            let sequence = try connection.integer("SELECT value FROM tree.meta WHERE name = 'sequence'") ?? 0
            let last = Int64(try LogEnd(of: connection, in: "history")?.last ?? 0)
            guard last >= sequence else {
                throw .damaged("the tree of \(name) is ahead of its log, which a write to it sets right")
            }
            var kept: Int64?
            if case .at(let reached) = position {
                // If not, the server starts it over.
                if try continuesHistory(at: reached, in: connection) { kept = reached }
            }
            // The turn after the rows, if there is one, must be there.
            let next = try connection.prepare(
                "SELECT first + count - 1 FROM history.log WHERE first <= ? ORDER BY first DESC LIMIT 1")
            next.bind(1, sequence + 1)
            if last == sequence { return (sequence, last, kept) }
            if let end = try next.firstInteger(), end > sequence { return (sequence, last, kept) }
            try connection.execute("ROLLBACK")
        }
        guard isHistoryWhole else {
            throw .damaged(
                "\(name).history and \(name).past do not belong together: --no-history makes a backup without them")
        }
        throw .damaged("the log of \(name) lacks turns that its tree needs")
    }

    private static func identity(_ files: DatabaseFiles) throws(StorageError) -> [UInt64] {
        var numbers: [UInt64] = []
        for file in [files.tree, files.log] {
            var status = stat()
            guard stat(file, &status) == 0 else { throw .readOnly("\(file): \(String(cString: strerror(errno)))") }
            numbers += [UInt64(status.st_dev), UInt64(status.st_ino)]
        }
        return numbers
    }

    static func size(of path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Milliseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
