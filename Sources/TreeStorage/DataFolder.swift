import CHearthSQLite
import Glibc
import HearthServerFiles
import HearthSQLite
import HearthRealtimeDatabase
package import HearthStorageErrors

/// The folder that holds everything: one pair of files per database, and a lock that keeps a second server out.
package final class DataFolder: Sendable {
    package let path: String
    package let durability: Durability
    private let pages: PageCache
    private let lock: Int32
    private let identities: [FileIdentity]

    /// Makes the folder if it is missing, and takes its lock for the life of the object. Throws if a restore of
    /// everything has left a part of it there. With ``Durability/memory`` it
    /// is a temporary one instead, which goes with the object.
    ///
    /// - parameter pageBytesMax: memory for pages of tree files that were read, of all databases together.
    package init(
        path: String, durability: Durability, pageBytesMax: Int = PageCache.bytesMaxDefault
    ) throws(StorageError) {
        var path = path
        if durability == .memory {
            var template = Array("/tmp/hearth-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw Self.error("cannot make a temporary folder") }
            path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        } else {
            let code = FolderSync.makeFolder(path)
            guard code == 0 else { throw Self.error("cannot make the data folder \(path)", code) }
        }
        let lock = Glibc.open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw Self.error("cannot open \(path)/lock") }
        FolderSync.giveToOwner(path + "/lock", of: path)
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            close(lock)
            throw .busy("another server uses the data folder \(path)")
        }
        do throws(StorageError) { try FolderContents(path).requireWhole() } catch {
            close(lock)
            throw error
        }
        self.path = path
        self.durability = durability
        self.lock = lock
        pages = PageCache(bytesMax: pageBytesMax)
        identities = [path, path + "/lock"].compactMap(FileIdentity.init)
        try finishRemoving()
    }

    /// Throws if the folder, or its lock, is not under its name any more: another server could start there.
    package func verify() throws(StorageError) { for identity in identities { try identity.verify() } }

    /// Throws if no file can be made in the folder.
    package func verifyWritable() throws(StorageError) {
        guard access(path, W_OK | X_OK) == 0 else { throw Self.error("cannot write \(path)") }
    }

    deinit {
        // Closing alone leaves it locked for as long as a process that was just forked has not begun its program.
        flock(lock, LOCK_UN)
        close(lock)
        if durability == .memory { removeAll() }
    }

    private func removeAll() {
        for file in FolderContents(path).files { unlink("\(path)/\(file)") }
        rmdir(path)
    }

    /// The version of SQLite.
    package static var engineVersion: String { String(cString: sqlite3_libversion()) }

    /// Names of the databases that have files here, sorted.
    package var databases: [String] {
        FolderContents(path).databases
    }

    /// Names of the databases that have rules of their own here, sorted.
    package var databasesWithRules: [String] { FolderContents(path).databases(withFileOf: ".rules") }

    /// Names of the databases that have settings of their own here, sorted.
    package var databasesWithSettings: [String] { FolderContents(path).databases(withFileOf: ".settings") }

    /// Names of the databases whose rules and settings are being replaced together, sorted.
    package var databasesWithPublication: [String] { FolderContents(path).databases(withFileOf: ".publication") }

    /// Where the new rules and settings of a database are, until each is in its own file.
    package func publicationPath(of name: String) -> String {
        precondition(Self.isFileName(name))
        return "\(path)/\(name).publication"
    }

    /// Where the settings of a database are kept, if it has its own.
    package func settingsPath(of name: String) -> String {
        precondition(Self.isFileName(name))
        return "\(path)/\(name).settings"
    }

    /// Where the rules of a database are kept, if it has its own.
    package func rulesPath(of name: String) -> String {
        precondition(Self.isFileName(name))
        return "\(path)/\(name).rules"
    }

    /// The database for the other data that the nodes of a cluster share. Clients cannot access it.
    package static let clusterDatabase = "$cluster"

    /// Whether a string may name a database's files.
    package static func isFileName(_ name: String) -> Bool { DatabaseName.isValid(name) || name == clusterDatabase }

    /// Whether a database has files here, be they only those of a restore that was interrupted.
    package func hasDatabase(_ name: String) -> Bool {
        precondition(Self.isFileName(name))
        let files = DatabaseFiles(name: name, folder: path)
        return [files.tree, files.log, files.restoring].contains { (file: String) in access(file, F_OK) == 0 }
    }

    /// The files of a database as they are now; nil if one is missing.
    package func filesInPlace(of name: String) -> FilesInPlace? {
        precondition(Self.isFileName(name))
        let files = DatabaseFiles(name: name, folder: path)
        let identities = [files.log, files.tree].compactMap(FileIdentity.init)
        return identities.count == 2 ? FilesInPlace(identities: identities) : nil
    }

    /// Bytes that the files of a database take.
    package func byteCount(of name: String) -> Int64 {
        precondition(Self.isFileName(name))
        let files = DatabaseFiles(name: name, folder: path)
        let all = [files.tree, files.log] + HistoryFile.paths(of: name, in: path)
        return all.flatMap { [$0, $0 + "-wal"] }.reduce(0) { sum, file in
            var status = stat()
            return stat(file, &status) == 0 ? sum + Int64(status.st_size) : sum
        }
    }

    /// Reads the log of a database; nil if it does not exist.
    package func makeLogReader(of name: String) -> LogReader? {
        guard hasDatabase(name) else { return nil }
        return LogReader(path: DatabaseFiles(name: name, folder: path).log)
    }

    /// Where a copy of a database goes that the server makes: `backups/NAME-TIME.backup`.
    package func backupPath(of name: String, time: String) throws(BackupError) -> String {
        precondition(Self.isFileName(name))
        let folder = path + "/backups"
        let code = FolderSync.makeFolder(folder)
        guard code == 0 else { throw BackupError("cannot make \(folder)", code) }
        return "\(folder)/\(name)-\(time).backup"
    }

    /// Waits until the disk has all that the log of a database has now, if its commits do not wait for that.
    package func syncLog(of name: String) throws(StorageError) {
        try LogSync.sync(DatabaseFiles(name: name, folder: path).log)
    }

    /// Opens the two files of a database, and creates them if necessary.
    ///
    /// - parameter newEpoch: a random number, see ``LogFile``.
    /// - parameter isShared: other nodes append to the same log, and have the records that this one lacks. Commits do
    ///   not wait for the disk: see ``LogSync``.
    /// - parameter warn: called with facts that an operator should know about them.
    /// - parameter reportDamage: told of each row that a reader refuses, on the reader's thread.
    package func open(
        _ name: String, newEpoch: UInt64, isShared: Bool = false, warn: (String) -> Void = { _ in },
        reportDamage: @escaping @Sendable (StorageError) -> Void = { _ in }
    ) throws(StorageError) -> (log: LogFile, tree: TreeFile) {
        precondition(Self.isFileName(name))
        let files = DatabaseFiles(name: name, folder: path)
        guard access(files.restoring, F_OK) != 0 else { throw .interruptedRestore(database: name) }
        try finishInstalling(name)
        let damaged = [files.log, files.tree].filter { WriteAheadFile.hasLostCommits($0 + "-wal") }
        let log = try LogFile(path: files.log, durability: durability, newEpoch: newEpoch)
        // A node of a cluster has not synced the last commits of its log: a loss of power looks like such damage, and
        // it reads them from etcd. A server by itself does not.
        for file in damaged where file != files.log || !(isShared && log.isOfCluster) {
            warn("\(file)-wal is damaged: commits that were on the disk are lost")
        }
        let tree = try TreeFile(path: files.tree, durability: durability, pages: pages, reportDamage: reportDamage)
        // Without full durability a power loss may leave the tree ahead of the log, which then continues after it.
        if isShared {
            try log.goOnWithEpoch()
            try log.deferSyncs()
        } else {
            log.goOnAlone()
            if log.isOfCluster { warn("the files are those of a node of a cluster, until this server writes to them") }
        }
        guard tree.sequence <= log.lastSequence || durability != .full || isShared else {
            throw .damaged(
                "\(name).tree is ahead of \(name).log: either one does not belong here, or power was lost at a lower durability;"
                    + " --durability process opens it")
        }
        if tree.sequence > log.lastSequence {
            warn("the log ends at \(log.lastSequence) and the tree at \(tree.sequence): the end of the log is lost")
            log.goOn(behind: tree.sequence)
        }
        return (log, tree)
    }

    private static func error(_ what: String, _ code: Int32 = errno) -> StorageError {
        let detail = "\(what): \(String(cString: strerror(code)))"
        return switch code {
        case ENOSPC, EDQUOT: .full
        case EROFS, EACCES, EPERM, ENOENT, ENOTDIR: .readOnly(detail)
        default: .inputOutput(detail)
        }
    }
}

/// Which files a database had when it was closed.
package struct FilesInPlace: Sendable {
    fileprivate let identities: [FileIdentity]

    /// Throws if they are not under their names any more.
    package func verify() throws(StorageError) { for identity in identities { try identity.verify() } }
}
