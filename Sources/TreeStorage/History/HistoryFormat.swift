import HearthServerFiles
import HearthSQLite
import HearthStorageErrors

/// The tables of a file with the history of a database (``HistoryFile``). The version is SQLite's `user_version`.
enum HistoryFormat {
    static let version: Int64 = 2

    private static let tables = """
        CREATE TABLE place (
            id INTEGER PRIMARY KEY, pattern TEXT NOT NULL UNIQUE, start INTEGER NOT NULL, edge INTEGER NOT NULL,
            folding INTEGER);
        CREATE TABLE change (
            place INTEGER NOT NULL, path BLOB NOT NULL, sequence INTEGER NOT NULL, part INTEGER NOT NULL,
            kind INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (place, path, sequence, part)) WITHOUT ROWID;
        CREATE INDEX change_sequence ON change (place, sequence);
        CREATE TABLE moment (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, uid BLOB NOT NULL);
        CREATE INDEX moment_time ON moment (time, sequence);
        CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        """
    /// Since version 2.
    private static let erased = "CREATE TABLE erased (path BLOB PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID"

    static func prepare(_ connection: Connection) throws(StorageError) {
        let found = try connection.formatVersion(upTo: version)
        if found == version { return }
        try connection.transaction { () throws(StorageError) in
            if found == 0 { try connection.execute(tables) }
            try connection.execute(erased)
            try connection.setFormatVersion(version)
        }
    }
}
