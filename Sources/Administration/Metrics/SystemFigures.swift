import Glibc
import HearthSystem

/// Figures of the operating system about the process and the file system of the data folder. They cost system calls in
/// proportion to the open descriptors, so it is done on the helper thread.
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
