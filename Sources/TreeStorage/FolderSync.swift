import Glibc

/// Names of files are durable once the folder that holds them was synced.
package enum FolderSync {
    /// Makes a folder for its owner alone, unless there is one, and waits until the disk has its name. Answers an
    /// `errno` value, 0 if all went well.
    package static func makeFolder(_ path: String) -> Int32 {
        if mkdir(path, 0o700) != 0, errno != EEXIST { return errno }
        let code = sync(FolderSync.folder(of: path))
        // A folder that may be entered but not listed cannot be opened. Its maker saw to its durability.
        return code == EACCES || code == EPERM ? 0 : code
    }

    /// A file that the superuser makes in somebody's folder becomes theirs: their server must be able to write it.
    package static func giveToOwner(_ path: String, of folder: String) {
        var status = stat()
        guard geteuid() == 0, stat(folder, &status) == 0 else { return }
        _ = chown(path, status.st_uid, status.st_gid)
    }

    /// Waits until the disk has a file, or the names in a folder. Answers an `errno` value, 0 if all went well.
    package static func sync(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        if fsync(descriptor) == 0 { return 0 }
        // Some file systems have nothing to sync about a folder.
        return errno == EINVAL ? 0 : errno
    }

    /// The folder that a file is in.
    static func folder(of path: String) -> String {
        // A slash at the end belongs to the name.
        let name = path.last == "/" && path.utf8.count > 1 ? path.dropLast() : path[...]
        guard let slash = name.lastIndex(of: "/") else { return "." }
        return slash == name.startIndex ? "/" : String(name[..<slash])
    }
}
