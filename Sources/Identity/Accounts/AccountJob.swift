import HearthStorageErrors

/// A piece of work on the file of the accounts.
struct AccountJob: Sendable {
    /// Its requirements on accounts that several nodes share.
    enum Need: Sendable {
        /// None of them: it is done at once.
        case nothing
        /// That they are here, be they a moment old, and it writes nothing: it is done at once.
        case own
        /// Its writes are shared, and it sees all commits from before the request.
        case newest
    }

    var need = Need.newest
    var isProbe = false
    /// Does the work, and undoes it if it fails. May be called again: only the last call counts.
    let work: @Sendable (AccountFile) -> Void
    /// Tells the waiting caller: nil, or why the commit failed.
    let finish: @Sendable (StorageError?) -> Void
}
