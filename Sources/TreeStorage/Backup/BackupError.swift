import Glibc
package import HearthStorageErrors

/// Why a file could not be written, or a backup not be made or restored.
package struct BackupError: Error, Hashable, Sendable {
    /// One line for people.
    package var message: String

    package init(message: String) { self.message = message }

    /// After a system call that failed.
    package init(_ what: String, _ code: Int32 = errno) { message = "\(what): \(String(cString: strerror(code)))" }

    package init(_ error: StorageError) { message = error.message }
}
