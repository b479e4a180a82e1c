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

    /// Where a copy of a database waits that a restore has put there, for the log of the cluster to have its history.
    package func restoredCopyPath(of name: String, epoch: UInt64) -> String {
        precondition(Self.isFileName(name))
        return Self.restoredCopyPath(of: name, epoch: epoch, in: path)
    }

    static func restoredCopyPath(of name: String, epoch: UInt64, in folder: String) -> String {
        "\(folder)/\(name).\(epoch).restored"
    }

    /// Removes the copy that a restore has put there, once the log of the cluster is of its history and the files have
    /// it; and files of other restores that did not take place.
    ///
    /// A restore that is under way makes its copy after it has read the history of the log, and takes place only if the
    /// log still has it. So older copies than the one of the present history are not waited for. Without that one, they
    /// stay for a day.
    package func removeRestoredCopies(of name: String, epoch: UInt64) {
        let present = restoredCopyPath(of: name, epoch: epoch)
        let dayAgo = Backup.now / 1000 - 86_400
        let limit = Self.changeTime(of: present) ?? timespec(tv_sec: time_t(dayAgo), tv_nsec: 0)
        for copy in FolderContents(path).restoredCopies(of: name) {
            guard let time = Self.changeTime(of: copy) else { continue }
            if (time.tv_sec, time.tv_nsec) <= (limit.tv_sec, limit.tv_nsec) { unlink(copy) }
        }
    }

    private static func changeTime(of path: String) -> timespec? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mtim : nil
    }

    /// The last operation in the log of a database, and the epoch that it belongs to; nil for an empty log. Any thread,
    /// also while the database is open.
    package func logEnd(of name: String) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        precondition(Self.isFileName(name))
        return try Self.logEnd(of: try Connection(path: DatabaseFiles(name: name, folder: path).log, mode: .readOnly))
    }

    /// The same of a folder that a server may have; nil without a log.
    package static func logEnd(
        of name: String, in folder: String
    ) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        try logEnd(ofCopy: DatabaseFiles(name: name, folder: folder).log)
    }

    /// The same of a copy.
    package static func logEnd(ofCopy path: String) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        guard access(path, F_OK) == 0 else { return nil }
        return try logEnd(of: try Connection(path: path, mode: .readOnly))
    }

    private static func logEnd(
        of connection: Connection
    ) throws(StorageError) -> (epoch: UInt64, sequence: UInt64)? {
        guard let last = try LogEnd(of: connection)?.last,
            let epoch = try connection.integer("SELECT name FROM epoch ORDER BY start DESC, rowid DESC LIMIT 1")
        else { return nil }
        return (UInt64(bitPattern: epoch), last)
    }

    /// Replaces a database, whose files are closed, by a copy from another node.
    ///
    /// The new files are complete and on disk before the old ones are touched. A crash after that loses nothing either:
    /// the next ``open(_:newEpoch:isShared:warn:reportDamage:)`` finishes the exchange.
    ///
    /// - parameter path: a file of `Backup.make` with its history. It stays.
    /// - parameter epoch: the history that the copy must be of.
    /// - parameter sequence: the operation that it must at least reach.
    /// - parameter keepsOld: the old files stay in the folder, with the time after their names. Otherwise they are
    ///   removed: the copy has everything that they have.
    /// - parameter willExchange: called when the new files are complete, before any old file is touched. Afterwards the
    ///   files of the history must be closed as well.
    package func install(
        _ path: String, as name: String, epoch: UInt64, atLeast sequence: UInt64, keepsOld: Bool = false,
        willExchange: () -> Void
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
            try LogFile(path: new.log, durability: .process, newEpoch: 0).markAsOfCluster()
            try Backup.makeHistory(new, from: path)
        } catch {
            Backup.removeAll(new)
            throw BackupError(error)
        }
        for file in new.all where access(file, F_OK) == 0 {
            FolderSync.giveToOwner(file, of: self.path)
            try PartialFile.sync(file)
        }
        try Self.mark(files.installing, keepsOld ? Array(Backup.freeSuffix(files).utf8) : [])
        willExchange()
        try exchange(name)
        return summary
    }

    /// Makes a small file, durably. The marker of an exchange has the time that is put after the names of the old
    /// files; it is empty if these are removed.
    static func mark(_ path: String, _ bytes: [UInt8] = []) throws(BackupError) {
        let file = PartialFile(path)
        try file.create()
        do throws(BackupError) {
            let descriptor = Glibc.open(file.partialPath, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw BackupError("cannot write \(path)") }
            defer { close(descriptor) }
            guard write(descriptor, bytes, bytes.count) == bytes.count else {
                throw BackupError("cannot write \(path)")
            }
            try file.commit()
        } catch {
            file.discard()
            throw error
        }
    }

    private static func text(of path: String) throws(BackupError) -> String {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BackupError("cannot read \(path)") }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 0 else { throw BackupError("cannot read \(path)") }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// Tells the files of a database, which are closed, that the log of the cluster goes on where they end, with
    /// another history.
    ///
    /// - parameter sequence: the operation after which that begins.
    /// - returns: false if the files do not end there.
    package func goOn(_ name: String, withEpoch epoch: UInt64, after sequence: UInt64) throws(StorageError) -> Bool {
        precondition(Self.isFileName(name))
        let log = try LogFile(
            path: DatabaseFiles(name: name, folder: path).log, durability: durability, newEpoch: epoch)
        guard log.lastSequence == sequence else { return false }
        try log.markAsOfCluster()
        try log.beginEpoch()
        return true
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
        let time = try Self.text(of: files.installing)
        for (old, new) in zip(files.all, new.all) where access(new, F_OK) == 0 {
            if !time.isEmpty { try Backup.setAside(old, time) }
            // SQLite finds the files that belong to another by its name.
            for suffix in DatabaseFiles.suffixes where !suffix.isEmpty { unlink(old + suffix) }
            guard rename(new, old) == 0 else { throw BackupError("cannot rename \(new)") }
        }
        try PartialFile.sync(path)
        guard unlink(files.installing) == 0 else { throw BackupError("cannot remove \(files.installing)") }
        try PartialFile.sync(path)
    }
}
