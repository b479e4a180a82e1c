import Glibc
import Synchronization
package import HearthSystem

/// The file of the audit trail: lines of JSON, only ever appended to, which its owner alone may read. Any thread.
package final class AuditFile: Sendable {
    private let path: String
    private let descriptor: Mutex<Int32>

    package init(_ path: String) throws(SystemError) {
        self.path = path
        descriptor = Mutex(try Self.open(path))
    }

    deinit { descriptor.withLock { _ = close($0) } }

    private static func open(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError("open the audit log \(path)", code: errno) }
        return descriptor
    }

    /// A line, written whole by one system call.
    func append(_ line: String) throws(SystemError) {
        let bytes = Array(line.utf8)
        let result: Int32 = descriptor.withLock { descriptor in
            let count = write(descriptor, bytes, bytes.count)
            return count == bytes.count ? 0 : count < 0 ? errno : ENOSPC
        }
        guard result == 0 else { throw SystemError("write the audit log \(path)", code: result) }
    }

    /// Opens the file of that name again; the old one stays in use if that fails.
    func reopen() throws(SystemError) {
        let opened = try Self.open(path)
        descriptor.withLock { descriptor in
            close(descriptor)
            descriptor = opened
        }
    }
}
