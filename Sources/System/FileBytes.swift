import Glibc

/// Small files.
package enum FileBytes {
    /// The whole file, or nil when it cannot be read.
    package static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        return read(from: descriptor)
    }

    /// Everything that is left to read from a descriptor, or nil when that fails.
    package static func read(from descriptor: Int32) -> [UInt8]? {
        var bytes: [UInt8] = []
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { buffer in
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
                return count
            }
            if count < 0, errno != EINTR { return nil }
            if count == 0 { return bytes }
        }
    }
}
