package import HearthStorageErrors

/// Why a log did not take records.
package enum CommitFailure: Error, Hashable, Sendable {
    case storage(StorageError)
    /// This process does not own the log, or not any more. The name is that of the node that does, if it is known.
    case fenced(by: String?)
    /// Too few of the servers that keep the log can be reached.
    case noQuorum

    /// How clients and operators are told.
    package var storageError: StorageError {
        switch self {
        case .storage(let error): error
        case .fenced(let owner): .ownedElsewhere(node: owner)
        case .noQuorum: .noQuorum
        }
    }
}
