import Glibc
import HearthIdentity
import HearthSystem
package import HearthTreeStorage
import HearthStorageErrors

/// A folder with copies of everything that a data folder holds: `hearth-TIME` with a backup of every database
/// (`NAME.backup`), the accounts, the keys, the rules and a manifest. It gets its name when it is whole and on disk.
package struct BackupSet: Sendable {
    package let path: String
    /// When it was made, in milliseconds since 1970.
    package let time: Int64
    package let byteCount: Int64
    /// Names of the files but the manifest.
    package let files: [String]
    /// Of the program that made it.
    package let version: String

    package static let prefix = "hearth-"
    private static let partialSuffix = ".part"
    private static let databaseSuffix = ".backup"
    static let accounts = "accounts.sqlite"

    private init(_ path: String, _ manifest: BackupManifest) {
        self.path = path
        time = manifest.time
        byteCount = manifest.byteCount
        files = manifest.files.map(\.name)
        version = manifest.version
    }

    /// Makes the folder of a set that is being made, and locks it. Until it is locked, another process may take it for
    /// what a failed backup has left, and remove it.
    private static func makePartial(_ path: String) throws(BackupError) -> RemainsLock {
        var attempts = 0
        while true {
            let code = UnfinishedFiles.making(path) {
                remove(path)
                return mkdir(path, 0o700) == 0 ? 0 : errno
            }
            guard code == 0 else { throw BackupError("cannot make \(path)", code) }
            let lock = RemainsLock(path)
            attempts += 1
            if lock.keepsFolder || attempts == 3 { return lock }
        }
    }

    private static func isDatabase(_ file: String) -> Bool { file.hasSuffix(databaseSuffix) }

    /// The names of databases in it.
    package var databases: [String] {
        files.filter(Self.isDatabase).map { String($0.dropLast(Self.databaseSuffix.count)) }
    }

    /// Small files that belong to a data folder: keys for tokens, administrators, and rules.
    static func isKept(_ file: String) -> Bool {
        ["signing-keys.json", "openid-providers.json", "service-accounts.json", "client-projects.json"].contains(file)
            || [".rules", ".settings", ".publication"].contains { file.hasSuffix($0) }
    }

    // MARK: Making

    /// Copies everything, while a server runs on the folder or not. Each database is consistent in itself; they and the
    /// accounts are of moments one after the other. Nothing is replaced.
    ///
    /// - parameter target: the folder that holds the sets; made if it is not there.
    /// - parameter hasDatabases: otherwise the set has the accounts, keys, rules and settings only, and is not reported
    ///   as a backup.
    /// - parameter hasHistory: whether the history that the settings keep is copied.
    package static func make(
        of folder: String, in target: String, now: Int64, hasDatabases: Bool = true, hasHistory: Bool = true
    ) throws(BackupError) -> BackupSet {
        let contents = FolderContents(folder)
        guard contents.isFolder else { throw BackupError(message: "there is no data folder \(folder)") }
        try requireWhole(contents)
        let start = MonotonicTime.current
        let code = FolderSync.makeFolder(target)
        guard code == 0 else { throw BackupError("cannot make \(target)", code) }
        let name = "\(prefix)\(Timestamp(milliseconds: now))".filter { $0 != ":" && $0 != "." }
        let path = "\(target)/\(name)"
        guard access(path, F_OK) != 0 else { throw BackupError(message: "\(path) is there already") }
        let partial = path + partialSuffix
        do throws(BackupError) {
            let lock = try makePartial(partial)
            defer { withExtendedLifetime(lock) {} }
            let manifest = try fill(
                partial, from: folder, contents, databases: hasDatabases ? contents.databases : [],
                hasHistory: hasHistory, now: now)
            for file in manifest.files.map(\.name) + [BackupManifest.fileName] { try sync("\(partial)/\(file)") }
            try sync(partial)
            let code = UnfinishedFiles.ending(partial) { rename(partial, path) == 0 ? 0 : errno }
            guard code == 0 else { throw BackupError("cannot rename \(partial)", code) }
            try sync(target)
            guard hasDatabases else { return BackupSet(path, manifest) }
            let status = BackupStatus(
                time: now, milliseconds: (MonotonicTime.current.nanoseconds - start.nanoseconds) / 1_000_000,
                byteCount: manifest.byteCount)
            do throws(PrivateFile.Failure) { try status.keep(in: folder) } catch {
                throw BackupError(message: "\(path) is complete, but the server cannot be told: \(error)")
            }
            return BackupSet(path, manifest)
        } catch {
            _ = UnfinishedFiles.ending(partial) { remove(partial) }
            throw error
        }
    }

    private static func fill(
        _ path: String, from folder: String, _ contents: FolderContents, databases: [String], hasHistory: Bool,
        now: Int64
    ) throws(BackupError) -> BackupManifest {
        var names: [String] = []
        for database in databases {
            _ = try Backup.make(
                of: database, in: folder, to: "\(path)/\(database)\(databaseSuffix)", hasHistory: hasHistory)
            names.append(database + databaseSuffix)
        }
        do throws(StorageError) {
            if try Accounts.copy(from: folder, to: "\(path)/\(accounts)") { names.append(accounts) }
        } catch {
            throw BackupError(message: "accounts: \(error.message)")
        }
        for (file, bytes) in try keptFiles(of: contents, folder) {
            do throws(PrivateFile.Failure) {
                try PrivateFile.replace("\(path)/\(file)", with: bytes, keepsOwner: false)
            } catch {
                throw BackupError(message: "\(error)")
            }
            names.append(file)
        }
        guard !names.isEmpty else { throw BackupError(message: "there is nothing in \(folder)") }
        var files: [BackupManifest.File] = []
        for name in names {
            let file = try FileDigest("\(path)/\(name)")
            files.append(.init(name: name, byteCount: file.byteCount, digest: file.text))
        }
        let manifest = BackupManifest(version: Version.current, time: now, files: files)
        do throws(PrivateFile.Failure) {
            try PrivateFile.replace("\(path)/\(BackupManifest.fileName)", with: manifest.json, keepsOwner: false)
        } catch {
            throw BackupError(message: "\(error)")
        }
        return manifest
    }

    /// The small files, of one moment: rules and settings that are replaced together are copied together.
    private static func keptFiles(
        of contents: FolderContents, _ folder: String
    ) throws(BackupError) -> [(name: String, bytes: [UInt8])] {
        var last: [(name: String, bytes: [UInt8])]?
        while true {
            var files: [(name: String, bytes: [UInt8])] = []
            for name in contents.files.filter(isKept).sorted() {
                if let bytes = FileBytes.read("\(folder)/\(name)") {
                    files.append((name, bytes))
                } else if errno != ENOENT {
                    throw BackupError("cannot read \(folder)/\(name)")
                }
            }
            if let last, last.elementsEqual(files, by: ==) { return files }
            last = files
        }
    }

    private static func sync(_ path: String) throws(BackupError) {
        let code = FolderSync.sync(path)
        guard code == 0 else { throw BackupError("cannot sync \(path)", code) }
    }

    // MARK: Keeping a number of them

    /// The complete sets of a folder, the oldest first.
    package static func list(in target: String) -> [BackupSet] {
        FolderContents(target).files.filter { $0.hasPrefix(prefix) && !$0.hasSuffix(partialSuffix) }.sorted()
            .compactMap { name in
                let path = "\(target)/\(name)"
                return (try? manifest(of: path)).map { BackupSet(path, $0) }
            }
    }

    /// Removes all but the newest sets, and remains of failed backups. Answers the paths of those that are gone.
    package static func prune(_ target: String, keeping count: Int) -> [String] {
        let sets = list(in: target).dropLast(max(count, 1)).map(\.path)
        return sets.filter(remove) + removeRemains(in: target)
    }

    /// Removes what failed backups have left, and nothing of a backup that is being made. Answers the paths of those
    /// that are gone.
    @discardableResult
    static func removeRemains(in target: String) -> [String] {
        let partial = FolderContents(target).files.filter { $0.hasPrefix(prefix) && $0.hasSuffix(partialSuffix) }
        return partial.sorted().map { "\(target)/\($0)" }.filter { path in
            let lock = RemainsLock(path)
            defer { withExtendedLifetime(lock) {} }
            return !lock.isHeldElsewhere && remove(path)
        }
    }

    /// Removes a folder with files and no folders. Whether it is gone.
    @discardableResult
    static func remove(_ path: String) -> Bool {
        // Without its manifest it is no longer a set, even if the rest is not removed.
        unlink("\(path)/\(BackupManifest.fileName)")
        for file in FolderContents(path).files { unlink("\(path)/\(file)") }
        return rmdir(path) == 0
    }

    // MARK: Checking

    private static func manifest(of path: String) throws(BackupError) -> BackupManifest {
        let file = "\(path)/\(BackupManifest.fileName)"
        guard let text = FileBytes.read(file) else { throw BackupError("cannot read \(file)") }
        do throws(BackupManifest.Problem) {
            return try BackupManifest(parsing: text)
        } catch {
            throw BackupError(message: "\(file): \(error.text)")
        }
    }

    /// Whether a path is that of a set, and not of a backup of one database.
    package static func isSet(_ path: String) -> Bool { access("\(path)/\(BackupManifest.fileName)", F_OK) == 0 }

    /// Reads everything in a set, and compares it with the manifest. Throws if anything is missing or another.
    package static func check(_ path: String) throws(BackupError) -> BackupSet {
        let manifest = try manifest(of: path)
        for file in manifest.files {
            let found = try FileDigest("\(path)/\(file.name)")
            guard found.byteCount == file.byteCount, found.text == file.digest else {
                throw BackupError(
                    message: "\(path)/\(file.name) is not the file that the manifest names: it is damaged")
            }
            if isDatabase(file.name) { _ = try Backup.check("\(path)/\(file.name)") }
        }
        if manifest.files.contains(where: { $0.name == accounts }) {
            let problems = Accounts.check(folder: path)?.problems ?? []
            if let problem = problems.first { throw BackupError(message: problem) }
        }
        return BackupSet(path, manifest)
    }

    // MARK: Restoring

    /// Throws unless a folder has nothing that a data folder has, or is not there.
    package static func requireEmpty(_ folder: String, hint: String) throws(BackupError) {
        let contents = FolderContents(folder)
        try requireWhole(contents)
        let own = contents.files.filter { $0 == accounts || isKept($0) }
        if let first = (contents.databases + own).first {
            throw BackupError(message: "\(folder) is not empty: it has \(first). \(hint)")
        }
    }

    private static func requireWhole(_ contents: FolderContents) throws(BackupError) {
        do throws(StorageError) { try contents.requireWhole() } catch { throw BackupError(error) }
    }

    /// Puts everything of a set into a data folder in which there is nothing yet. All of it is checked first. A restore
    /// that does not come to its end leaves a folder that nothing opens (``FolderRestore``).
    package static func restore(_ path: String, in folder: String) throws(BackupError) -> BackupSet {
        let set = try check(path)
        let hint = "Restore into a new folder, or one database with 'hearth restore \(path)/NAME\(databaseSuffix)'"
        try FolderRestore.run(in: folder) { () throws(BackupError) in
            try requireEmpty(folder, hint: hint)
        } _: { (lock) throws(BackupError) in
            try set.put(in: lock)
        }
        return set
    }

    /// The part of a ``FolderRestore`` that makes the files of a set, which was checked.
    package func put(in folder: DataFolder) throws(BackupError) {
        for name in databases {
            _ = try Backup.restore(
                "\(path)/\(name)\(Self.databaseSuffix)", as: name, in: folder.path, lockedBy: folder
            ) { _ in }
        }
        for name in files where !Self.isDatabase(name) {
            try FileDigest.copy("\(path)/\(name)", to: "\(folder.path)/\(name)")
            FolderSync.giveToOwner("\(folder.path)/\(name)", of: folder.path)
        }
    }
}
