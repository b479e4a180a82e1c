import CHearthLinux
package import HearthStorageErrors

/// The file that a name meant when it was opened, to notice when it means another one, or none.
package struct FileIdentity: Hashable, Sendable {
    private let path: String
    private let device: UInt64
    private let inode: UInt64

    /// Nil if there is no such file.
    package init?(_ path: String) {
        self.path = path
        var (device, inode) = (UInt64(0), UInt64(0))
        guard linux_file_identity(path, &device, &inode) == 0 else { return nil }
        (self.device, self.inode) = (device, inode)
    }

    /// Throws ``StorageErrors/StorageError/replaced(_:)`` if the name does not mean the same file any more: it was
    /// moved or removed, and perhaps another one was put there. Costs a system call, about a microsecond.
    package func verify() throws(StorageError) {
        guard let present = FileIdentity(path) else { throw .replaced("\(path) is gone") }
        guard present == self else { throw .replaced("\(path) is another one") }
    }
}
