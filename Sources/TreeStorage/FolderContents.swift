import Glibc
package import HearthStorageErrors

/// The contents of a data folder, for readers without its lock.
package struct FolderContents: Sendable {
    let path: String

    package init(_ path: String) { self.path = path }

    package var isFolder: Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Throws if the names of its files cannot be read, which are then not empty but unknown.
    package func requireReadable() throws(BackupError) {
        guard let folder = opendir(path) else { throw BackupError("cannot read \(path)") }
        closedir(folder)
    }

    /// Throws while a restore of everything into the folder has not come to its end (``FolderRestore``), and after it
    /// was interrupted: some of what it was to have is missing.
    package func requireWhole() throws(StorageError) {
        guard access(restoreMarker, F_OK) == 0 else { return }
        throw .busy(
            "a restore into \(path) has not come to its end: if it was interrupted, \(FolderRestore.advice(path))")
    }

    /// There until the end of a restore of everything.
    var restoreMarker: String { "\(path)/restoring" }

    /// Names of the databases that have files here, be they only those of a restore that was interrupted; sorted.
    package var databases: [String] { Self.withFiles(files).filter(DatabaseName.isValid).sorted() }

    private static func withFiles(_ files: [String]) -> Set<String> {
        let suffixes = [".tree", ".log", ".restoring"]
        let names = files.compactMap { file in
            suffixes.first { file.hasSuffix($0) }.map { String(file.dropLast($0.count)) }
        }
        return Set(names)
    }

    /// The databases of a node of a cluster. O(files).
    package var listed: ListedDatabases {
        let files = files
        let copied = files.compactMap(Self.databaseOfRestoredCopy).filter(DatabaseName.isValid)
        return ListedDatabases(withFiles: Self.withFiles(files), withRestoredCopies: Set(copied))
    }

    /// Whether a server has the folder.
    package var isServed: Bool {
        let lock = open(path + "/lock", O_RDONLY | O_CLOEXEC)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        guard flock(lock, LOCK_SH | LOCK_NB) == 0 else { return true }
        flock(lock, LOCK_UN)
        return false
    }

    package var hasAccounts: Bool { access(path + "/accounts.sqlite", F_OK) == 0 }

    /// Paths of the rules that databases have of their own, sorted.
    package var rulesFiles: [String] { databases(withFileOf: ".rules").map { "\(path)/\($0).rules" } }

    /// Paths of the settings that databases have of their own, sorted.
    package var settingsFiles: [String] { databases(withFileOf: ".settings").map { "\(path)/\($0).settings" } }

    /// Paths of the rules and settings of databases that are not in their own files yet, sorted.
    package var publicationFiles: [String] {
        databases(withFileOf: ".publication").map { "\(path)/\($0).publication" }
    }

    /// Paths of the copies of a database that restores in a cluster have put here: `NAME.EPOCH.restored`.
    func restoredCopies(of name: String) -> [String] {
        files.filter { Self.databaseOfRestoredCopy($0) == name }.map { "\(path)/\($0)" }
    }

    /// Nil for any other file.
    private static func databaseOfRestoredCopy(_ file: String) -> String? {
        guard file.hasSuffix(".restored") else { return nil }
        let parts = file.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 3 && UInt64(parts[1]) != nil ? String(parts[0]) : nil
    }

    /// Names of the databases that have a file with this suffix, sorted.
    func databases(withFileOf suffix: String) -> [String] {
        files.filter { $0.hasSuffix(suffix) }.map { String($0.dropLast(suffix.count)) }.filter(DatabaseName.isValid)
            .sorted()
    }

    /// Names of the files that do not belong to the folder's owner, sorted: a server could not open them.
    package var foreignFiles: [String] {
        var folder = stat()
        guard stat(path, &folder) == 0 else { return [] }
        return files.filter { file in
            var status = stat()
            return lstat("\(path)/\(file)", &status) == 0 && status.st_uid != folder.st_uid
        }.sorted()
    }

    /// Names of all files, in no order.
    package var files: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let file = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if file != ".", file != ".." { names.append(file) }
        }
        return names
    }
}

/// Names of databases, from one look at a data folder.
package struct ListedDatabases: Sendable {
    /// Those that have files, the nodes' own database too, be they only those of a restore that was interrupted.
    package let withFiles: Set<String>
    /// Those of clients of which restores in a cluster have put copies there.
    package let withRestoredCopies: Set<String>
}
