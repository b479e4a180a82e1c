import Glibc

/// Held while a process fills the folder of a backup, so that another one does not take it for what a failed backup
/// has left. The system gives it back when the process ends.
final class RemainsLock {
    private let descriptor: Int32
    let isHeldElsewhere: Bool
    /// Whether this process has the lock of a folder that is still there, or the file system has no locks.
    var keepsFolder: Bool {
        var found = stat()
        return !isHeldElsewhere && descriptor >= 0 && fstat(descriptor, &found) == 0 && found.st_nlink > 0
    }

    /// A file system without locks has none that are held.
    init(_ folder: String) {
        descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        isHeldElsewhere = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
