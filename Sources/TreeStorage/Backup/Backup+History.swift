import Glibc
import HearthServerFiles
import HearthJSONTree
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors
import HearthTreeText

/// The history that the settings keep (``HistoryFile``), in a backup: its tables as `kept_NAME`, and those of the tree
/// file with the state before the changes as `past_NAME`. `backup` has `changes`, their number, and `kept`, a checksum
/// of all of these tables.
extension Backup {
    private static let keptTables = [
        ("kept_place", 5), ("kept_change", 6), ("kept_moment", 3), ("kept_erased", 2), ("kept_meta", 2),
        ("past_row", 4), ("past_cleared", 4), ("past_meta", 3),
    ]

    static let namesOfKeptTables = keptTables.map(\.0)

    /// How far a history that can be copied has read the log.
    enum KeptPosition: Hashable {
        /// No history is kept, or it belongs to another log.
        case none
        /// Its files are being changed: they must be read again.
        case changing
        case at(Int64)
    }

    // MARK: Making

    /// Attaches the files of the history as `past` and `kept`. False without such files, and for those of an older
    /// format.
    static func attachHistory(
        of name: String, in folder: String, to connection: Connection
    ) throws(StorageError) -> Bool {
        let paths = HistoryFile.paths(of: name, in: folder)
        guard paths.allSatisfy({ access($0, F_OK) == 0 }) else { return false }
        for (schema, path) in zip(["kept", "past"], paths) {
            let attach = try connection.prepare("ATTACH ? AS \(schema)")
            attach.bind(1, Connection.uri(readOnly: path))
            try attach.run()
        }
        let kept = try connection.formatVersion(upTo: HistoryFormat.version, of: paths[0], attachedAs: "kept")
        let past = try connection.formatVersion(upTo: TreeFormat.version, of: paths[1], attachedAs: "past")
        return kept == HistoryFormat.version && past == TreeFormat.version
    }

    /// In the transaction of the copy, before the other files are read: later records of the log come after this.
    static func keptPosition(in connection: Connection) throws(StorageError) -> KeptPosition {
        // Changes go from `kept` to `past`, so this comes first. The number of the fold tells whether one came between.
        let folded = try connection.integer("SELECT value FROM past.meta WHERE name = 'sequence'") ?? 0
        let fold = try connection.integer("SELECT value FROM kept.meta WHERE name = 'fold'") ?? 0
        let isFolding = try connection.integer("SELECT count(*) FROM kept.place WHERE folding IS NOT NULL") != 0
        guard fold == folded || isFolding && fold == folded &+ 1 else { return .changing }
        guard try connection.integer("SELECT count(*) FROM kept.place") != 0 else { return .none }
        return .at(try connection.integer("SELECT value FROM kept.meta WHERE name = 'sequence'") ?? 0)
    }

    /// Whether the log, as `history`, continues the records that a history has read of it.
    static func continuesHistory(at sequence: Int64, in connection: Connection) throws(StorageError) -> Bool {
        let next = try connection.integer(
            """
            SELECT first FROM history.log WHERE first + count > \(sequence) + 1
                AND first >= coalesce((SELECT max(first) FROM history.log WHERE first <= \(sequence) + 1), 0)
            ORDER BY first LIMIT 1
            """)
        if let next, next > sequence &+ 1 { return false }
        return try HistoryFile.hasMarkedRow(connection, attachedAs: "history", connection, attachedAs: "kept")
            ?? (sequence == 0)
    }

    static func copyHistory(in connection: Connection) throws(StorageError) {
        for name in namesOfKeptTables {
            let source = name.replacingFirst("_", with: ".")
            try connection.execute("CREATE TABLE main.\(name) AS SELECT * FROM \(source)")
        }
    }

    /// Notes the extent of the copy.
    static func sealHistory(in connection: Connection) throws(StorageError) -> Int {
        let changes = try connection.integer("SELECT count(*) FROM main.kept_change") ?? 0
        let set = try connection.prepare("INSERT INTO backup VALUES ('changes', ?), ('kept', ?)")
        set.bind(1, changes)
        set.bind(2, Int64(bitPattern: try sumOfHistory(in: connection) { _, _ in }))
        try set.run()
        return Int(changes)
    }

    /// A checksum of the tables. Each row is shown to `body`.
    private static func sumOfHistory(
        in connection: Connection, _ body: (_ table: String, Statement) throws(StorageError) -> Void
    ) throws(StorageError) -> UInt64 {
        var checksum: UInt64 = 0
        for (name, columns) in keptTables {
            let select = try connection.prepare("SELECT * FROM main.\(name) ORDER BY rowid")
            while try select.step() {
                try body(name, select)
                for column in 0..<columns {
                    let bytes = select.blob(Int32(column))
                    checksum =
                        LogRecord(
                            firstSequence: checksum, count: bytes.count, time: Int64(column), body: bytes
                        ).checksum
                }
            }
        }
        return checksum
    }

    // MARK: Checking

    static func hasHistory(_ connection: Connection, in schema: String = "main") throws(StorageError) -> Bool {
        try connection.integer("SELECT count(*) FROM \(schema).sqlite_schema WHERE name = 'kept_place'") != 0
    }

    /// Answers the number of changes; nil without a history.
    ///
    /// - parameter last: the end of the log.
    static func checkHistory(_ connection: Connection, upTo last: UInt64) throws(StorageError) -> Int? {
        guard try hasHistory(connection) else { return nil }
        let sum = try sumOfHistory(in: connection) { (table, row) throws(StorageError) in
            switch table {
            case "kept_change":
                guard isPath(row.blob(1), depth: Path.maximumDepth), HistoryFile.Kind(rawValue: row.integer(4)) != nil,
                    CanonicalJSON.isCanonical(row.blob(5))
                else { throw .damaged("a change of its history is invalid") }
            case "past_row":
                let (key, value) = (row.blob(0), row.blob(3))
                guard isPath(key, depth: Path.maximumDepth + 1),
                    RowChecksum.of(key, row.integer(1), value) == row.integer(2)
                else { throw .damaged("a row of its history is damaged") }
            default: break
            }
        }
        let noted = try connection.integer("SELECT value FROM backup WHERE name = 'kept'")
        guard noted == Int64(bitPattern: sum) else { throw .damaged("its history is not the one that was copied") }
        let reached = try connection.integer("SELECT value FROM kept_meta WHERE name = 'sequence'") ?? 0
        let first = try connection.integer("SELECT min(first) FROM log") ?? 1
        guard reached <= Int64(clamping: last), first <= reached + 1 else {
            throw .damaged("its history ends at \(reached), its log goes from \(first) to \(last)")
        }
        return Int(try connection.integer("SELECT count(*) FROM kept_change") ?? 0)
    }

    private static func isPath(_ bytes: [UInt8], depth: Int) -> Bool {
        Path(validatingEncoded: bytes).map { $0.depth <= depth } ?? false
    }

    // MARK: Restoring

    /// Makes the files of the history beside those of the database, whose log is made already. False if the backup has
    /// none.
    @discardableResult
    static func makeHistory(_ files: DatabaseFiles, from backup: String) throws(StorageError) -> Bool {
        guard try hasHistory(Connection(path: backup, mode: .readOnly)) else { return false }
        // One that only reads would leave files behind.
        let log = try Connection(path: files.log, mode: .readWrite)
        try makeFile(files.history, "kept", from: backup) { (connection) throws(StorageError) in
            try HistoryFormat.prepare(connection)
        } then: { (connection) throws(StorageError) in
            // Its own log has this one's records, and links of other chains.
            let reached = try connection.number("SELECT value FROM meta WHERE name = 'sequence'") ?? 0
            try HistoryFile.setPosition(reached, in: log, connection)
        }
        try makeFile(files.past, "past", from: backup) { (connection) throws(StorageError) in
            try TreeFormat.prepare(connection)
            try connection.execute("DELETE FROM meta")
        }
        return true
    }

    private static func makeFile(
        _ path: String, _ prefix: String, from backup: String,
        prepare: (Connection) throws(StorageError) -> Void,
        then finish: (Connection) throws(StorageError) -> Void = { (_) throws(StorageError) in }
    ) throws(StorageError) {
        let connection = try Connection(path: path, mode: .joining)
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off")
        try prepare(connection)
        try attach(backup, to: connection)
        try connection.transaction { () throws(StorageError) in
            for name in namesOfKeptTables where name.hasPrefix(prefix) {
                try connection.execute(
                    "INSERT INTO main.\(name.dropFirst(prefix.count + 1)) SELECT * FROM source.\(name)")
            }
            try finish(connection)
        }
        try connection.execute("DETACH source")
    }
}

extension String {
    fileprivate func replacingFirst(_ character: Character, with other: Character) -> String {
        guard let index = firstIndex(of: character) else { return self }
        return self[..<index] + String(other) + self[self.index(after: index)...]
    }
}
