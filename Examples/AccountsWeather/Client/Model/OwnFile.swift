import ExampleKit
import Glibc

/// A small file that only its owner may read.
struct OwnFile: Sendable {
    let path: String

    /// The whole text; nil if there is none.
    func read() -> String? {
        guard let file = fopen(path, "rbe") else { return nil }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { $1 = fread($0.baseAddress, 1, $0.count, file) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces it as a whole.
    func write(_ text: String) throws(Problem) {
        let new = path + ".new"
        unlink(new)
        let bytes = Array(text.utf8)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Problem("\(path) cannot be written.") }
        let isWritten = Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(new, path) == 0 else { throw Problem("\(path) cannot be written.") }
    }

    /// With what SQLite keeps beside it, if it is a database.
    func remove() { for ending in ["", "-wal", "-shm"] { unlink(path + ending) } }
}
