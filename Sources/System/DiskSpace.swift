import Glibc

/// The room on the file system of a folder, in bytes.
package struct DiskSpace: Equatable, Sendable {
    /// The bytes that users without privileges may still use.
    package var available: Int64
    package var total: Int64

    package init(available: Int64, total: Int64) { (self.available, self.total) = (available, total) }

    /// Nil if the system does not tell.
    package init?(of folder: String) {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        let block = Int64(status.f_frsize)
        self.init(available: Int64(status.f_bavail) * block, total: Int64(status.f_blocks) * block)
    }
}
