import HearthStorageErrors

/// A piece of work on the file of the accounts.
struct AccountJob: Sendable {
    /// What it needs of accounts that several nodes share.
    enum Need: Sendable {
        /// None of them: it is done at once.
        case nothing
        /// That they are here, be they a moment old, and it writes nothing: it is done at once.
        case own
        /// What it writes is shared, and it sees all that was committed before it was asked.
        case newest
    }

    var need = Need.newest
    var isProbe = false
    /// Does the work, and undoes it if it fails. May be called again: only what the last call did counts.
    let work: @Sendable (AccountFile) -> Void
    /// Tells whoever waits: nil, or why the commit failed.
    let finish: @Sendable (StorageError?) -> Void
}
