import Glibc
import Synchronization

/// The target of a command's long output: a file that gets its name only once it is whole and on disk, or standard
/// output. One thread writes at a time; a cancelled command need not wait for it.
package final class OutputFile: Sendable {
    private struct State {
        var count = 0
        var last: UInt8 = 0
        var failure: String?
    }

    /// Nil for standard output.
    let path: String?
    /// Where a file is until it is whole: a new name in the same folder, which nobody knows beforehand.
    private let partialPath: String
    /// Open for as long as anybody could write.
    private let descriptor: Int32
    private let state = Mutex(State())

    /// - parameters:
    ///   - path: nil or `-` for standard output.
    ///   - replaces: a file that is there already. Anything else under that name is never replaced.
    package init(_ path: String?, replaces: Bool) throws(ShellError) {
        let path = path == "-" ? nil : path
        var status = stat()
        if let path, stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFREG else { throw .usage("\(path) already exists, and is not a file") }
            guard replaces else { throw .usage("\(path) is there already: --overwrite replaces it") }
        }
        self.path = path
        partialPath = "\(path ?? "").\(String(UInt32.random(in: .min ... .max), radix: 16)).part"
        descriptor =
            path == nil ? STDOUT_FILENO : open(partialPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw .usage(reason) }
    }

    deinit { if path != nil, descriptor >= 0 { close(descriptor) } }

    package var isFile: Bool { path != nil }

    /// Why it cannot be written.
    package var failure: String? { state.withLock { $0.failure } ?? (isFile ? nil : StandardOutput.failure) }

    /// False when that failed.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if let path {
            if let code = writeAll(bytes, to: descriptor) {
                let reason = String(cString: strerror(code))
                state.withLock { $0.failure = "cannot write \(path): \(reason)" }
                return false
            }
        } else if !StandardOutput.write(bytes) {
            return false
        }
        state.withLock { state in
            state.count += bytes.count
            state.last = bytes.last ?? state.last
        }
        return true
    }

    package func write(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { write($0) } }

    /// Ends the text with a line break, and a file gets its name; answers the bytes. A file that could not be finished
    /// is removed.
    package func finish() throws(ShellError) -> Int {
        do throws(ShellError) {
            if state.withLock({ $0.last }) != UInt8(ascii: "\n"), !write([UInt8(ascii: "\n")]) {
                throw .failed(failure ?? "")
            }
            try commit()
        } catch {
            discard()
            throw error
        }
        return state.withLock { $0.count }
    }

    private func commit() throws(ShellError) {
        guard let path else { return }
        guard fsync(descriptor) == 0, rename(partialPath, path) == 0 else { throw .failed(reason) }
        // The name has to last, too.
        let slash = path.lastIndex(of: "/")
        let folder = open(slash.map { String(path[...$0]) } ?? ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .failed(reason) }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw .failed(reason) }
    }

    /// Removes the written file. A thread may still be writing.
    package func discard() { if path != nil { unlink(partialPath) } }

    /// After a system call that failed.
    private var reason: String { "cannot write \(path ?? ""): \(String(cString: strerror(errno)))" }
}
