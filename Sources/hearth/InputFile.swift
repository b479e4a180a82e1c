import Glibc
import Synchronization

/// A file, or standard input, read from its start to its end in pieces. Used by one task at a time.
final class InputFile: Sendable {
    /// For messages.
    let name: String
    private let descriptor: Int32
    /// Bytes of a file; nil for what has no size.
    let size: Int?
    private let failed = Mutex<String?>(nil)

    private static let pieceBytes = 256 << 10

    init(_ word: String) throws(UsageError) {
        name = word == "-" ? "standard input" : word
        descriptor = word == "-" ? STDIN_FILENO : open(word, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UsageError(message: "cannot read \(word): \(String(cString: strerror(errno)))")
        }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isFile && word != "-" ? Int(status.st_size) : nil
    }

    /// Whether it can be read twice.
    var isRepeatable: Bool { size != nil }

    /// Why reading ended before the end.
    var failure: String? { failed.withLock { $0 } }

    /// The next bytes; nil at the end, or when there is a `failure`.
    func next() -> [UInt8]? {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: InputFile.pieceBytes) { buffer, initialized in
                count = read(descriptor, buffer.baseAddress, InputFile.pieceBytes)
                initialized = max(count, 0)
            }
            if count > 0 { return bytes }
            if count == 0 { return nil }
            if errno != EINTR {
                fail()
                return nil
            }
        }
    }

    /// Goes back to the start. False when that failed.
    func rewind() -> Bool {
        if lseek(descriptor, 0, SEEK_SET) == 0 { return true }
        fail()
        return false
    }

    private func fail() {
        let reason = String(cString: strerror(errno))
        failed.withLock { $0 = "cannot read \(name): \(reason)" }
    }
}
