import Glibc

/// A file that is written under a temporary name, and gets its own name only once it is whole and on disk. An earlier
/// file with that name stays until then.
package struct PartialFile: Sendable {
    package let path: String
    /// Where to write.
    package var partialPath: String { path + ".part" }

    package init(_ path: String) { self.path = path }

    /// Makes it again, for its owner alone.
    func create() throws(BackupError) {
        let path = partialPath
        let code = UnfinishedFiles.making(path) {
            unlink(path)
            let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            guard file >= 0 else { return errno }
            close(file)
            return 0
        }
        guard code == 0 else {
            discard()
            throw BackupError("cannot write \(path)", code)
        }
    }

    /// Gives the file its name; it must be closed.
    package func commit() throws(BackupError) { try commit(as: path) }

    /// Gives the file a name in the same folder that depends on its contents.
    func commit(as path: String) throws(BackupError) {
        try PartialFile.sync(partialPath)
        let code = UnfinishedFiles.ending(partialPath) { rename(partialPath, path) == 0 ? 0 : errno }
        guard code == 0 else { throw BackupError("cannot rename \(partialPath)", code) }
        try PartialFile.sync(FolderSync.folder(of: path))
    }

    package func discard() { _ = UnfinishedFiles.ending(partialPath) { unlink(partialPath) } }

    /// Waits until the disk has a file, or the names of the files in a folder.
    static func sync(_ path: String) throws(BackupError) {
        let code = FolderSync.sync(path)
        guard code == 0 else { throw BackupError("cannot sync \(path)", code) }
    }
}
