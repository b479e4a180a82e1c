import Glibc
import HearthStorageErrors

/// A restore of everything into a data folder in which there is nothing yet.
///
/// It makes one file after the other. A marker file is on disk from before the first until after the last one: a folder
/// with the marker may lack anything, and nothing opens it. It looks complete otherwise.
package enum FolderRestore {
    /// What to do after one that was interrupted. Not to remove the folder: it may have backups, certificates or the
    /// set itself, or be the place where a disk is mounted.
    package static func advice(_ path: String) -> String {
        """
        remove these files from \(path), and nothing else, and run 'hearth restore' again: restoring, \
        accounts.sqlite*, *.tree*, *.log*, *.history*, *.past*, *.rules, *.settings, *.publication, \
        signing-keys.json, openid-providers.json, service-accounts.json, client-projects.json
        """
    }

    /// Makes the folder if it is missing, and runs `body`, which makes the files and waits until the disk has them. No
    /// other process has the folder meanwhile. If something fails, the marker stays.
    ///
    /// - parameter requireEmpty: throws if the folder has something already. Called before anything is made, and again
    ///   when no other process has the folder.
    package static func run(
        in path: String, requireEmpty: () throws(BackupError) -> Void,
        _ body: (DataFolder) throws(BackupError) -> Void
    ) throws(BackupError) {
        try requireEmpty()
        let folder: DataFolder
        do throws(StorageError) { folder = try DataFolder(path: path, durability: .full) } catch {
            throw BackupError(error)
        }
        // Its lock is to last until the end, also if nothing uses it any more.
        defer { withExtendedLifetime(folder) {} }
        try requireEmpty()
        let marker = FolderContents(path).restoreMarker
        do throws(BackupError) {
            try make(marker, in: path)
            try body(folder)
            try PartialFile.sync(path)
            guard unlink(marker) == 0 else { throw BackupError("cannot remove \(marker)") }
            try PartialFile.sync(path)
        } catch {
            throw BackupError(message: "\(error.message); the restore is not complete: \(advice(path))")
        }
    }

    private static func make(_ marker: String, in folder: String) throws(BackupError) {
        let file = open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BackupError("cannot write \(marker)") }
        close(file)
        FolderSync.giveToOwner(marker, of: folder)
        try PartialFile.sync(marker)
        try PartialFile.sync(folder)
    }
}
