import Glibc
import TreeStorage

/// Where a command writes what may be long: a file that is only under its name once it is whole, or standard output.
/// Used by one thread at a time.
final class OutputFile: @unchecked Sendable {
    // Safe because: only the thread that writes uses it, until that is done.

    private let descriptor: Int32
    /// Nil for standard output.
    private let file: PartialFile?
    private var last: UInt8 = 0
    /// Why it cannot be written.
    private(set) var failure: String?

    init(_ path: String?) throws(UsageError) {
        guard let path else {
            descriptor = STDOUT_FILENO
            file = nil
            return
        }
        let file = PartialFile(path)
        descriptor = open(file.partialPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw UsageError(message: "cannot write \(file.partialPath): \(String(cString: strerror(errno)))")
        }
        self.file = file
    }

    /// False when that failed.
    func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count < 0 {
                if errno == EINTR { continue }
                failure = "cannot write \(file?.partialPath ?? "standard output"): \(String(cString: strerror(errno)))"
                return false
            }
            written += count
        }
        if let last = bytes.last { self.last = last }
        return true
    }

    func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

    /// Ends the text with a line break, and a file gets its name. False when that failed.
    func finish() -> Bool {
        if last != UInt8(ascii: "\n") {
            guard write([UInt8(ascii: "\n")]) else { return false }
        }
        guard let file else { return true }
        close(descriptor)
        do throws(BackupError) {
            try file.commit()
            return true
        } catch {
            failure = error.message
            return false
        }
    }

    /// Removes what was written to a file. Somebody may still be writing.
    func discard() { file?.discard() }

    var isFile: Bool { file != nil }
}
