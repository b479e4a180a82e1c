import HearthServerFiles
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

/// The tables of a commit log (``LogFile``), and files of earlier versions. The version is SQLite's `user_version`.
///
/// | version | |
/// |---|---|
/// | 0 | made before logs had versions; the oldest have no tables for epochs and large texts |
/// | 1 | without a hash chain, and without changes of the outbox in records |
/// | 2 | as below |
enum LogFormat {
    static let version: Int64 = 2

    /// In `meta`, of the logs of nodes.
    static let clusterMark = "cluster"

    static func isOfCluster(_ log: Connection) throws(StorageError) -> Bool {
        try log.integer("SELECT 1 FROM meta WHERE name = '\(clusterMark)'") != nil
    }

    /// The same of a log with this path. False if it cannot be read.
    static func isOfCluster(_ path: String) -> Bool {
        (try? Connection(path: path, mode: .readOnly)).flatMap { try? isOfCluster($0) } ?? false
    }

    /// In `meta`: another number after each ``Erasure``.
    static let erasureMark = "erasure"

    /// The number of the last erasing; nil if nothing was ever erased.
    static func erasure(in log: Connection, schema: String = "main") throws(StorageError) -> Int64? {
        guard try log.integer("SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'meta'") != nil else { return nil }
        return try log.integer("SELECT value FROM \(schema).meta WHERE name = '\(erasureMark)'")
    }

    static func set(erasure number: Int64, in log: Connection) throws(StorageError) {
        try log.execute("INSERT OR REPLACE INTO meta VALUES ('\(erasureMark)', \(number))")
    }

    /// The epochs of a log in the order of their rows. One that has given out no number begins where the next one does.
    static let epochTable = "epoch (start INTEGER NOT NULL, name INTEGER NOT NULL)"

    /// Brings the table of epochs of an earlier version to this one, which takes several with one start.
    static func renewEpochTable(_ connection: Connection) throws(StorageError) {
        let isEarlier = "SELECT count(*) FROM pragma_table_info('epoch') WHERE pk = 1"
        guard try connection.integer(isEarlier) == 1 else { return }
        try connection.execute(
            """
            ALTER TABLE epoch RENAME TO earlier;
            CREATE TABLE \(epochTable);
            INSERT INTO epoch SELECT start, name FROM earlier ORDER BY start;
            DROP TABLE earlier;
            """)
    }

    private static let tables = """
        CREATE TABLE IF NOT EXISTS log (
            first INTEGER PRIMARY KEY, count INTEGER NOT NULL, time INTEGER NOT NULL, checksum INTEGER NOT NULL,
            body BLOB NOT NULL, chain BLOB);
        CREATE TABLE IF NOT EXISTS \(epochTable);
        \(LogParts.tables)
        CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
        """

    /// Makes the tables if the file is a new one, and brings a file of an earlier version to this one.
    static func prepare(_ connection: Connection) throws(StorageError) {
        if try connection.formatVersion(upTo: version) == version { return }
        try connection.transaction { () throws(StorageError) in
            try connection.execute(tables)
            // The oldest logs have one epoch there, which does not tell whether they have lost their end.
            try connection.execute("DELETE FROM meta WHERE name IN ('epoch', 'unsynced')")
            let hasChain = "SELECT count(*) FROM pragma_table_info('log') WHERE name = 'chain'"
            if try connection.integer(hasChain) == 0 { try connection.execute("ALTER TABLE log ADD COLUMN chain BLOB") }
            // The records of earlier versions are before its beginning.
            try LogChain.begin(in: connection)
            try connection.setFormatVersion(version)
        }
    }
}
