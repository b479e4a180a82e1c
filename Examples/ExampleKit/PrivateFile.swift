import Glibc

/// A small file that only its owner may read, replaced as a whole.
public struct PrivateFile: Sendable {
    /// Where it is.
    public let path: String

    private static let byteCountMax = 1 << 20

    /// The file at a path, which need not be there.
    public init(path: String) { self.path = path }

    /// All of it; nil if there is none.
    ///
    /// - throws: ``Problem``, also if others may read it, or if it is too large.
    public func read() throws(Problem) -> [UInt8]? {
        guard let file = fopen(path, "rbe") else {
            if errno == ENOENT { return nil }
            throw Problem("\(path) cannot be read.")
        }
        defer { fclose(file) }
        var information = stat()
        guard fstat(fileno(file), &information) == 0 else { throw Problem("\(path) cannot be read.") }
        guard information.st_mode & 0o077 == 0 else { throw Problem("Others may read \(path): chmod 600 it.") }
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.byteCountMax + 1) {
            $1 = fread($0.baseAddress, 1, $0.count, file)
        }
        guard ferror(file) == 0, bytes.count <= Self.byteCountMax else { throw Problem("\(path) cannot be read.") }
        return bytes
    }

    /// Replaces it: after a crash it is the old one or the new one.
    public func replace(with bytes: [UInt8]) throws(Problem) {
        let new = path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0, let file = fdopen(descriptor, "wb") else { throw Problem("\(path) cannot be written.") }
        let isWritten =
            fwrite(bytes, 1, bytes.count, file) == bytes.count && fflush(file) == 0 && fsync(descriptor) == 0
        guard fclose(file) == 0, isWritten, rename(new, path) == 0 else {
            unlink(new)
            throw Problem("\(path) cannot be written.")
        }
    }

    /// Removes it, if it is there.
    public func remove() throws(Problem) {
        guard unlink(path) == 0 || errno == ENOENT else { throw Problem("\(path) cannot be removed.") }
    }
}
