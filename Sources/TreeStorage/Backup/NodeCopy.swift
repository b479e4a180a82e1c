import Glibc
import HearthRealtimeDatabase
import HearthSQLite
package import HearthStorageErrors

/// Copies of a database that one node of a cluster makes for another. Unlike a backup that is restored, such a copy
/// continues the history of the log: it has the same epochs, and clients can resume from positions before it.
extension DataFolder {
    /// Where a copy of a database is made that is sent to another node.
    package func outgoingCopyPath(of name: String) -> String {
        precondition(Self.isFileName(name))
        return "\(path)/\(name).sent"
    }

    /// Where a copy of a database goes that another node sends.
    package func incomingCopyPath(of name: String) -> String {
        precondition(Self.isFileName(name))
        return "\(path)/\(name).received"
    }

    /// The last operation in the log of a database, and the epoch that it belongs to; nil for an empty log. Any thread,
    /// also while the database is open.
    package func logEnd(of name: String) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        precondition(Self.isFileName(name))
        return try Self.logEnd(of: try Connection(path: DatabaseFiles(name: name, folder: path).log, mode: .readOnly))
    }

    private static func logEnd(
        of connection: Connection
    ) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        guard let last = try connection.integer("SELECT first + count - 1 FROM log ORDER BY first DESC LIMIT 1"),
            let epoch = try connection.integer("SELECT name FROM epoch ORDER BY start DESC LIMIT 1")
        else { return nil }
        return (UInt64(bitPattern: epoch), UInt64(bitPattern: last))
    }

    /// Replaces a database, whose files are closed, by a copy from another node.
    ///
    /// The new files are complete and on disk before the old ones are touched. A crash after that loses nothing either:
    /// the next ``open(_:newEpoch:isShared:warn:reportDamage:)`` finishes the exchange. The old files are removed, as
    /// the copy has everything that they have.
    ///
    /// - parameter path: a file of `Backup.make` with its history. It stays.
    /// - parameter epoch: the history that the copy must be of.
    /// - parameter sequence: the operation that it must at least reach.
    /// - parameter willExchange: called when the new files are complete, before any old file is touched. Afterwards the
    ///   files of the history must be closed as well.
    package func install(
        _ path: String, as name: String, epoch: UInt64, atLeast sequence: UInt64, willExchange: () -> Void
    ) throws(BackupError) -> Backup.Summary {
        let summary = try Backup.check(path)
        guard summary.database == name else {
            throw BackupError(message: "the copy is of the database '\(summary.database)', not of '\(name)'")
        }
        let (files, new) = installation(of: name)
        do throws(StorageError) {
            let end = try Self.logEnd(of: try Connection(path: path, mode: .readOnly))
            guard let end, end.epoch == epoch else { throw .damaged("the copy is of another history") }
            guard end.sequence >= sequence else {
                throw .damaged("the copy ends at \(end.sequence), before \(sequence)")
            }
            Backup.removeAll(new)
            try Backup.makeTree(new.tree, from: path)
            try Backup.makeLog(new.log, from: path, keepsEpochs: true)
            try Backup.makeHistory(new, from: path)
        } catch {
            Backup.removeAll(new)
            throw BackupError(error)
        }
        for file in new.all where access(file, F_OK) == 0 {
            FolderSync.giveToOwner(file, of: self.path)
            try PartialFile.sync(file)
        }
        let marker = Glibc.open(files.installing, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard marker >= 0 else { throw BackupError("cannot write \(files.installing)") }
        close(marker)
        try PartialFile.sync(self.path)
        willExchange()
        try exchange(name)
        return summary
    }

    private func installation(of name: String) -> (files: DatabaseFiles, new: DatabaseFiles) {
        (DatabaseFiles(name: name, folder: path), DatabaseFiles(name: name + ".new", folder: path))
    }

    /// Completes an interrupted exchange of files.
    func finishInstalling(_ name: String) throws(StorageError) {
        guard access(DatabaseFiles(name: name, folder: path).installing, F_OK) == 0 else { return }
        do throws(BackupError) { try exchange(name) } catch { throw .inputOutput(error.message) }
    }

    /// Gives new files the names of the old ones. It can be repeated after a crash at any point: a new file that is
    /// still under its own name has not replaced the old one.
    private func exchange(_ name: String) throws(BackupError) {
        let (files, new) = installation(of: name)
        for (old, new) in zip(files.all, new.all) where access(new, F_OK) == 0 {
            // SQLite finds what belongs to a file by its name.
            for suffix in Backup.suffixes where !suffix.isEmpty { unlink(old + suffix) }
            guard rename(new, old) == 0 else { throw BackupError("cannot rename \(new)") }
        }
        try PartialFile.sync(path)
        guard unlink(files.installing) == 0 else { throw BackupError("cannot remove \(files.installing)") }
        try PartialFile.sync(path)
    }
}
