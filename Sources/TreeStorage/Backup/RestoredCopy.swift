import Glibc
import HearthSQLite
import HearthStorageErrors

/// A backup that waits in the data folder of a node, as a copy of another node's files would: the node takes it over
/// once the log of the cluster is of its history.
package struct RestoredCopy: Sendable {
    package let summary: Backup.Summary
    package let path: String

    /// Puts a backup there, on disk, beside those of other restores. All of it is checked first. A server may run on
    /// the folder. If the process is told to end, the copy goes, unless ``keep()`` comes before.
    ///
    /// - parameter database: of which it must be a backup.
    /// - parameter epoch: the history that the copy begins.
    package init(of backup: String, of database: String, in folder: String, epoch: UInt64) throws(BackupError) {
        summary = try Backup.check(backup)
        guard summary.database == database, DatabaseName.isValid(database) else {
            throw BackupError(
                message: "\(backup): it is of the database '\(summary.database)', not of '\(database)'")
        }
        // The first record says where a history begins.
        guard summary.sequence > 0 else { throw BackupError(message: "\(backup): nothing was ever written to it") }
        guard FolderContents(folder).isFolder else { throw BackupError(message: "there is no data folder \(folder)") }
        do throws(StorageError) { try FolderContents(folder).requireWhole() } catch { throw BackupError(error) }
        path = DataFolder.restoredCopyPath(of: database, epoch: epoch, in: folder)
        let file = PartialFile(path)
        try file.create()
        do throws(BackupError) {
            do throws(StorageError) {
                try Self.write(backup, to: file.partialPath, epoch, after: summary.sequence)
            } catch {
                throw BackupError(error)
            }
            FolderSync.giveToOwner(file.partialPath, of: folder)
            try file.commit()
        } catch {
            file.discard()
            throw error
        }
        UnfinishedFiles.making(path) {}
    }

    /// It stays from now on: the log of the cluster may wait for it.
    package func keep() { UnfinishedFiles.ending(path) {} }

    /// Removes it, if the restore does not take place.
    package func discard() { UnfinishedFiles.ending(path) { _ = unlink(path) } }

    private static func write(
        _ backup: String, to path: String, _ epoch: UInt64, after sequence: UInt64
    ) throws(StorageError) {
        // Into the file that is there, which is for its owner alone.
        do {
            let source = try Connection(path: backup, mode: .readOnly)
            let copy = try source.prepare("VACUUM INTO ?")
            copy.bind(1, path)
            try copy.run()
        }
        let connection = try Connection(path: path, mode: .joiningExisting)
        try connection.execute("PRAGMA journal_mode = off; PRAGMA synchronous = off")
        try connection.transaction { () throws(StorageError) in
            try connection.execute(
                """
                DROP TABLE IF EXISTS epoch;
                CREATE TABLE \(LogFormat.epochTable);
                """)
            let insert = try connection.prepare("INSERT INTO epoch VALUES (?, ?)")
            insert.bind(1, Int64(bitPattern: sequence))
            insert.bind(2, Int64(bitPattern: epoch))
            try insert.run()
        }
    }
}
