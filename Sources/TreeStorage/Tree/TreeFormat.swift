import HearthServerFiles
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// The tables of a tree file (``TreeFile``), and files of earlier versions, which had no checksums. The version is
/// SQLite's `user_version`. Version 1 had no outbox.
enum TreeFormat {
    static let version: Int64 = 2

    private static let tables = """
        CREATE TABLE row (
            key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE cleared (
            lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL)
            WITHOUT ROWID;
        CREATE TABLE index_entry (
            key BLOB PRIMARY KEY, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE cleared_entry (
            lower BLOB PRIMARY KEY, upper BLOB NOT NULL, sequence INTEGER NOT NULL, checksum INTEGER NOT NULL)
            WITHOUT ROWID;
        CREATE TABLE owed (connection INTEGER PRIMARY KEY, writes BLOB NOT NULL, checksum INTEGER NOT NULL);
        \(outbox)
        CREATE TABLE meta (name TEXT PRIMARY KEY, value, checksum INTEGER NOT NULL) WITHOUT ROWID;
        """

    private static let outbox = """
        CREATE TABLE outbox (key BLOB PRIMARY KEY, event BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
        """

    /// Makes the tables if the file is a new one, and brings a file of an earlier version to this one: all of it or,
    /// when it throws, nothing. From version 0, that costs about as much as writing the file again.
    static func prepare(_ connection: Connection) throws(StorageError) {
        let found = try connection.formatVersion(upTo: version)
        if found == version { return }
        let isNew = try connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'row'") == 0
        try connection.transaction { () throws(StorageError) in
            if isNew {
                try connection.execute(tables)
                let meta = try MetaTable(connection)
                try meta.set("sequence", 0)
                try meta.set("stamp", 0)
                for table in ["row", "index_entry"] { try meta.set(total: RowTotal(), of: table) }
            } else if found == 0 {
                try addChecksums(connection)
            } else {
                try connection.execute(outbox)
            }
            try connection.setFormatVersion(version)
        }
    }

    /// From version 0.
    private static func addChecksums(_ connection: Connection) throws(StorageError) {
        let names = ["row", "cleared", "index_entry", "cleared_entry", "owed", "meta"]
        for name in names { try connection.execute("ALTER TABLE \(name) RENAME TO old_\(name)") }
        try connection.execute(tables)
        let meta = try MetaTable(connection)
        try meta.set(total: copyRows(connection), of: "row")
        try meta.set(total: copyEntries(connection), of: "index_entry")
        for name in ["cleared", "cleared_entry"] { try copyRanges(name, connection) }
        try copyOwed(connection)
        let sequence = try connection.integer("SELECT value FROM old_meta WHERE name = 'sequence'") ?? 0
        try meta.set("sequence", sequence)
        // Before there were stamps, rows had the sequence number in their place.
        try meta.set("stamp", try connection.integer("SELECT value FROM old_meta WHERE name = 'stamp'") ?? sequence)
        let indexes = try connection.prepare("SELECT value FROM old_meta WHERE name = 'indexes'")
        if try indexes.step() { try meta.set("indexes", indexes.blob(0)) }
        indexes.reset()
        for name in names { try connection.execute("DROP TABLE old_\(name)") }
    }

    private static func copyRows(_ connection: Connection) throws(StorageError) -> RowTotal {
        var total = RowTotal()
        let select = try connection.prepare("SELECT key, sequence, value FROM old_row ORDER BY key")
        let insert = try connection.prepare("INSERT INTO row VALUES (?1, ?2, ?3, ?4)")
        while try select.step() {
            let (key, sequence, value) = (select.blob(0), select.integer(1), select.blob(2))
            let checksum = RowChecksum.of(key, sequence, value)
            insert.bind(1, key)
            insert.bind(2, sequence)
            insert.bind(3, checksum)
            insert.bind(4, value)
            try insert.run()
            total.add(checksum)
        }
        return total
    }

    private static func copyEntries(_ connection: Connection) throws(StorageError) -> RowTotal {
        var total = RowTotal()
        let select = try connection.prepare("SELECT key, sequence FROM old_index_entry ORDER BY key")
        let insert = try connection.prepare("INSERT INTO index_entry VALUES (?1, ?2, ?3)")
        while try select.step() {
            let (key, sequence) = (select.blob(0), select.integer(1))
            let checksum = RowChecksum.of(key, sequence)
            insert.bind(1, key)
            insert.bind(2, sequence)
            insert.bind(3, checksum)
            try insert.run()
            total.add(checksum)
        }
        return total
    }

    private static func copyRanges(_ table: String, _ connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT lower, upper, sequence FROM old_\(table)")
        let insert = try connection.prepare("INSERT INTO \(table) VALUES (?1, ?2, ?3, ?4)")
        while try select.step() {
            let (lower, upper, sequence) = (select.blob(0), select.blob(1), select.integer(2))
            insert.bind(1, lower)
            insert.bind(2, upper)
            insert.bind(3, sequence)
            insert.bind(4, RowChecksum.of(lower, sequence, upper))
            try insert.run()
        }
    }

    private static func copyOwed(_ connection: Connection) throws(StorageError) {
        let select = try connection.prepare("SELECT connection, writes FROM old_owed")
        let insert = try connection.prepare("INSERT INTO owed VALUES (?1, ?2, ?3)")
        while try select.step() {
            let (number, writes) = (select.integer(0), select.blob(1))
            insert.bind(1, number)
            insert.bind(2, writes)
            insert.bind(3, RowChecksum.of([], number, writes))
            try insert.run()
        }
    }
}
