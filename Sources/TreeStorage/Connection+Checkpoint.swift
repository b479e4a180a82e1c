import HearthSQLite
import HearthStorageErrors

extension Connection {
    /// Copies the write-ahead file into the main file, and empties it, without waiting for others.
    ///
    /// - returns: false if it is not empty, because another connection still reads an earlier state.
    func emptyWriteAheadFile() throws(StorageError) -> Bool {
        let patience = try integer("PRAGMA busy_timeout") ?? 0
        try execute("PRAGMA busy_timeout = 0")
        defer { try? execute("PRAGMA busy_timeout = \(patience)") }
        do throws(StorageError) {
            return try integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0
        } catch {
            if case .busy = error { return false }
            throw error
        }
    }

    /// The same, and waits for others as long as statements do. Throws ``StorageError/busy(_:)`` if one still reads:
    /// the main file has the old bytes then.
    func emptyForErasure() throws(StorageError) {
        guard try integer("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
            throw .busy("\(path) is being read, by a backup for example: erase again")
        }
    }
}
