import Glibc
package import HearthStorageErrors

/// Why a file could not be written, or a backup not be made or restored.
package struct BackupError: Error, Hashable, Sendable {
    /// One line for people.
    package var message: String

    package init(message: String) { self.message = message }

    /// After a system call that failed.
    package init(_ what: String, _ code: Int32 = errno) { message = "\(what): \(String(cString: strerror(code)))" }

    /// The words of a storage error speak of the data folder, and a copy may be anywhere.
    package init(_ error: StorageError) {
        message =
            switch error {
            case .full: "no space left on the device of the copy"
            case .readOnly(let why), .inputOutput(let why): why
            default: error.message
            }
    }
}
