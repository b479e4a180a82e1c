package import HearthSQLite
package import HearthStorageErrors

extension Connection {
    /// The version of the file's format, which is SQLite's `user_version`: 0 for a new file, and for files that were
    /// made before formats had versions.
    ///
    /// - parameter known: the newest version that the program knows.
    /// - parameter schema: the name under which the file is attached.
    /// - throws: ``StorageError/newerFormat(path:found:known:)`` if the file is newer.
    package func formatVersion(
        upTo known: Int64, of path: String? = nil, attachedAs schema: String = "main"
    ) throws(StorageError) -> Int64 {
        let found = try integer("PRAGMA \(schema).user_version") ?? 0
        guard found <= known else { throw .newerFormat(path: path ?? self.path, found: found, known: known) }
        return found
    }

    /// To be called in the transaction that brings the file to a version.
    package func setFormatVersion(_ version: Int64) throws(StorageError) {
        try execute("PRAGMA user_version = \(version)")
    }
}
