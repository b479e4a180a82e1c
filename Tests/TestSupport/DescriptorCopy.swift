import Glibc

/// Second descriptors of what this process has open, as a child has them between `fork` and `exec`: what they name is
/// not closed when its owner closes it.
package final class DescriptorCopy: Sendable {
    private let copies: [Int32]

    /// Copies the descriptors that are wanted; nil if there are none.
    package init?(of isWanted: (Int32) -> Bool) {
        copies = TemporaryFolder.files(in: "/proc/self/fd").compactMap { Int32($0) }.filter(isWanted).map {
            fcntl($0, F_DUPFD_CLOEXEC, 0)
        }
        if copies.isEmpty { return nil }
    }

    deinit { for copy in copies { close(copy) } }

    /// Those of a file.
    package convenience init?(ofFile path: String) {
        var file = stat()
        guard stat(path, &file) == 0 else { return nil }
        self.init { descriptor in
            var open = stat()
            return fstat(descriptor, &open) == 0 && open.st_dev == file.st_dev && open.st_ino == file.st_ino
        }
    }

    /// Those of a socket that accepts connections on an IPv4 port.
    package convenience init?(ofListenerOn port: UInt16) {
        self.init { descriptor in
            var accepts: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0, accepts != 0 else {
                return false
            }
            return LoopbackSocket.port(of: descriptor) == port
        }
    }
}
