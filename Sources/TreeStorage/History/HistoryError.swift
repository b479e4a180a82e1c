package import HearthStorageErrors

/// Why the past of a place cannot be read.
package enum HistoryError: Error, Hashable, Sendable {
    /// No setting keeps it.
    case notKept
    /// It is kept from this moment on.
    case tooOld(sequence: UInt64, time: Int64)
    /// The value, or the changes that make it, have more bytes than may be read at once.
    case tooLarge
    case storage(StorageError)

    package var message: String {
        switch self {
        case .notKept: "no history is kept of this place"
        case .tooOld(let sequence, let time): "the history begins at \(sequence), at \(time) ms since 1970"
        case .tooLarge: "the value, or its changes, are too large to be restored or compared: use a place below"
        case .storage(let error): error.message
        }
    }
}
