import EventLoop
import Glibc

/// What the operating system says of the process and of the file system of the data folder. Asking costs system calls
/// in proportion to the open descriptors, so it is done on the helper thread.
struct SystemFigures: Sendable {
    let usage = ProcessUsage.current
    let openDescriptors: Int
    let descriptorsMax: Int
    /// Of the data folder's file system, in bytes; nil if it cannot be asked.
    let space: DiskSpace?

    init(folder: String) {
        openDescriptors = FileDescriptors.openCount
        descriptorsMax = FileDescriptors.limit
        space = DiskSpace(of: folder)
    }
}

/// The room on the file system of a folder, in bytes.
package struct DiskSpace: Equatable, Sendable {
    /// What users without privileges may still use.
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
