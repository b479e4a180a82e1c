import HearthBytes
import Glibc
import HearthJSONWebTokens
import HearthTreeStorage

/// The size and the SHA-256 of a file. Flat memory.
struct FileDigest {
    let byteCount: Int64
    /// Hexadecimal.
    let text: String

    init(_ path: String) throws(BackupError) {
        var count: Int64 = 0
        let digest = RunningDigest()
        try Self.forEachPart(of: path) { (part) throws(BackupError) in
            count += Int64(part.count)
            digest.add(part)
        }
        byteCount = count
        text = String(decoding: Hexadecimal.encode(digest.finish()), as: UTF8.self)
    }

    /// Copies a file to one that is not there yet, for its owner alone, and waits for the disk.
    static func copy(_ path: String, to target: String) throws(BackupError) {
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw BackupError("cannot make \(target)") }
        defer { close(output) }
        try forEachPart(of: path) { (part) throws(BackupError) in
            var written = 0
            while written < part.count {
                let count = write(output, part.baseAddress! + written, part.count - written)
                guard count > 0 else { throw BackupError("cannot write \(target)") }
                written += count
            }
        }
        guard fsync(output) == 0 else { throw BackupError("cannot sync \(target)") }
    }

    private static func forEachPart(
        of path: String, _ body: (UnsafeRawBufferPointer) throws(BackupError) -> Void
    ) throws(BackupError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw BackupError("cannot read \(path)") }
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let count = read(file, buffer.baseAddress, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw BackupError("cannot read \(path)") }
            if count == 0 { return }
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }
}
