import Glibc
import HearthRealtimeDatabase
import HearthSQLite
import HearthStorageErrors

extension Backup {
    package struct Restored: Hashable, Sendable {
        package var database: String
        /// Where the files are that were there before, if any.
        package var keptFiles: [String]
    }

    /// Replaces a database by a backup, or creates the database if it does not exist. No server may use the folder.
    ///
    /// The new files are complete and on disk before the old ones are touched. The old ones stay in the folder, with a
    /// time after their names. While names change there is a marker file: after a crash, or a name that could not be
    /// changed, no server reads or writes the database until the restore is run again. The new log knows no epochs: the
    /// numbers after the end of the backup were once something else.
    ///
    /// - parameter name: the database; nil for the one of which it is a backup.
    /// - parameter owner: has the folder's lock, if the caller took it.
    /// - parameter whenChecked: told the contents of the backup before anything is changed.
    package static func restore(
        _ path: String, as name: String?, in folder: String, lockedBy owner: DataFolder? = nil,
        whenChecked: (Summary) -> Void
    ) throws(BackupError) -> Restored {
        try restore(path, as: name, in: folder, lockedBy: owner, whenChecked: whenChecked) { _ in }
    }

    /// - parameter addCommits: appends later commits to the log of an open file.
    static func restore(
        _ path: String, as name: String?, in folder: String, lockedBy owner: DataFolder?,
        whenChecked: (Summary) -> Void, addCommits: (Connection) throws(StorageError) -> Void
    ) throws(BackupError) -> Restored {
        let summary = try check(path)
        let name = name ?? summary.database
        guard DatabaseName.isValid(name) else {
            throw BackupError(message: "a database name has 1 to 64 letters, digits, - and _")
        }
        whenChecked(summary)
        let lock: DataFolder
        do throws(StorageError) {
            lock = if let owner { owner } else { try DataFolder(path: folder, durability: .full) }
        } catch {
            throw BackupError(error)
        }
        defer { withExtendedLifetime(lock) {} }
        let files = DatabaseFiles(name: name, folder: folder)
        let new = DatabaseFiles(name: name + ".new", folder: folder)
        removeAll(new)
        do throws(StorageError) {
            try makeTree(new.tree, from: path)
            try makeLog(new.log, from: path, addCommits)
            try makeHistory(new, from: path)
            guard access(new.log + "-wal", F_OK) != 0, access(new.tree + "-wal", F_OK) != 0 else {
                throw .busy("somebody reads \(new.log)")
            }
        } catch {
            removeAll(new)
            throw BackupError(error)
        }
        for file in new.all where access(file, F_OK) == 0 { FolderSync.giveToOwner(file, of: folder) }
        return Restored(database: name, keptFiles: try replace(files, by: new, in: folder))
    }

    static func makeTree(_ path: String, from backup: String) throws(StorageError) {
        let connection = try Connection(path: path, mode: .joining)
        try connection.execute("PRAGMA page_size = 8192; PRAGMA journal_mode = off; PRAGMA synchronous = off")
        try attach(backup, to: connection)
        try connection.transaction { () throws(StorageError) in
            try copyTables(of: "source", except: ownTables, in: connection)
            let format = try connection.integer("PRAGMA source.user_version") ?? 0
            try connection.execute("PRAGMA user_version = \(format)")
        }
        try connection.execute("DETACH source")
    }

    static func makeLog(
        _ path: String, from backup: String, keepsEpochs: Bool = false,
        _ addCommits: (Connection) throws(StorageError) -> Void = { (_) throws(StorageError) in }
    ) throws(StorageError) {
        // Nothing is appended, so no epoch begins.
        _ = try LogFile(path: path, durability: .process, newEpoch: 0)
        let connection = try Connection(path: path, mode: .joining)
        try attach(backup, to: connection)
        try connection.execute(
            """
            INSERT INTO main.log (first, count, time, checksum, body)
                SELECT first, count, time, checksum, body FROM source.log
            """)
        if try LogParts.areKnown(in: "source", of: connection) {
            try connection.execute(LogParts.copy(from: "source"))
        }
        if keepsEpochs {
            try connection.execute("INSERT INTO main.epoch SELECT start, name FROM source.epoch ORDER BY start, rowid")
        }
        if let erasure = try erasure(in: connection, schema: "source") {
            try LogFormat.set(erasure: erasure, in: connection)
        }
        try connection.execute("DETACH source")
        try addCommits(connection)
        // Later records are chained to these, which have no chain themselves.
        try LogChain.begin(in: connection)
        // Everything in the main file, without further files.
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    static func attach(_ backup: String, to connection: Connection) throws(StorageError) {
        let attach = try connection.prepare("ATTACH ? AS source")
        attach.bind(1, Connection.uri(readOnly: backup))
        try attach.run()
    }

    // MARK: Files

    private static func replace(
        _ files: DatabaseFiles, by new: DatabaseFiles, in folder: String
    ) throws(BackupError) -> [String] {
        for file in new.all where access(file, F_OK) == 0 { try PartialFile.sync(file) }
        let marker = open(files.restoring, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard marker >= 0 else { throw BackupError("cannot write \(files.restoring)") }
        close(marker)
        do throws(BackupError) {
            try PartialFile.sync(folder)
            return try exchange(files, for: new, in: folder)
        } catch {
            throw BackupError(message: "\(error.message); the restore is not complete: run it again")
        }
    }

    /// Changes the names, with the marker there, and takes that away.
    private static func exchange(
        _ files: DatabaseFiles, for new: DatabaseFiles, in folder: String
    ) throws(BackupError) -> [String] {
        let time = freeSuffix(files)
        var kept: [String] = []
        let hasHistory = access(new.history, F_OK) == 0
        for file in [files.log, files.tree] + (hasHistory ? [files.history, files.past] : []) {
            if try setAside(file, time) { kept.append("\(file).\(time)") }
        }
        for (source, target) in zip(new.all, files.all) where access(source, F_OK) == 0 {
            guard rename(source, target) == 0 else { throw BackupError("cannot rename \(source)") }
        }
        try PartialFile.sync(folder)
        guard unlink(files.restoring) == 0 else { throw BackupError("cannot remove \(files.restoring)") }
        try PartialFile.sync(folder)
        return kept
    }

    /// Gives a file, and those that SQLite keeps next to it, names with the time after them. Answers whether it was
    /// there.
    @discardableResult
    static func setAside(_ file: String, _ time: String) throws(BackupError) -> Bool {
        var isThere = false
        for suffix in DatabaseFiles.suffixes where access(file + suffix, F_OK) == 0 {
            // It is made again when it is needed.
            if suffix == "-shm" {
                unlink(file + suffix)
                continue
            }
            // SQLite finds the files that belong to another by its name.
            let aside = "\(file).\(time)\(suffix)"
            guard rename(file + suffix, aside) == 0 else { throw BackupError("cannot rename \(file + suffix)") }
            if suffix.isEmpty { isThere = true }
        }
        return isThere
    }

    static func removeAll(_ files: DatabaseFiles) {
        for file in files.all {
            for suffix in DatabaseFiles.suffixes { unlink(file + suffix) }
        }
    }

    /// The time, as `20261121T214500Z`, so that no file has it after its name yet.
    static func freeSuffix(_ files: DatabaseFiles) -> String {
        var seconds = time_t(now / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        let time = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var suffix = time
        var number = 2
        while files.all.contains(where: { access("\($0).\(suffix)", F_OK) == 0 }) {
            suffix = "\(time)-\(number)"
            number += 1
        }
        return suffix
    }
}
