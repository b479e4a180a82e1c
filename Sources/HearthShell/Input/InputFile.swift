import Glibc

/// A file, or standard input for `-`, read from its start to its end in pieces. Used by one task at a time. A task that
/// is cancelled does not wait for more input.
package final class InputFile: Sendable {
    /// For messages.
    package let name: String
    private let descriptor: Int32
    /// The size of a file in bytes; nil if it cannot be read twice.
    let size: Int?

    private static let pieceBytes = 256 << 10
    /// For which a read waits at most until it looks whether its task was cancelled.
    private static let waitMilliseconds: Int32 = 100

    package init(_ word: String) throws(ShellError) {
        name = word == "-" ? "standard input" : word
        descriptor = word == "-" ? STDIN_FILENO : open(word, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure(name) }
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        size = isFile && word != "-" ? Int(status.st_size) : nil
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Whether it can be read twice.
    var isRepeatable: Bool { size != nil }

    /// The next bytes; nil at the end. Throws ``ShellError/stopped`` when the task is cancelled.
    func next() throws(ShellError) -> [UInt8]? {
        while true {
            if Task.isCancelled { throw .stopped }
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&ready, 1, Self.waitMilliseconds) == 0 { continue }
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, initialized in
                count = read(descriptor, buffer.baseAddress, Self.pieceBytes)
                initialized = max(count, 0)
            }
            if count > 0 { return bytes }
            if count == 0 { return nil }
            if errno != EINTR, errno != EAGAIN { throw Self.failure(name) }
        }
    }

    /// Goes back to the start.
    func rewind() throws(ShellError) { if lseek(descriptor, 0, SEEK_SET) != 0 { throw Self.failure(name) } }

    /// All of a file, or of standard input for `-`.
    package static func contents(of word: String, bytesMax: Int = 256 << 20) throws(ShellError) -> [UInt8] {
        let file = try InputFile(word)
        var bytes: [UInt8] = []
        while let piece = try file.next() {
            bytes += piece
            if bytes.count > bytesMax { throw .data("\(file.name) has more than \(ByteText(bytesMax))") }
        }
        return bytes
    }

    /// After a system call that failed.
    private static func failure(_ name: String) -> ShellError {
        .usage("cannot read \(name): \(String(cString: strerror(errno)))")
    }
}
