package import HearthRealtimeDatabase
package import HearthStorageErrors

/// News for operators.
package enum Report: Sendable {
    case commitFailed(CommitFailure)
    /// Memory could not be built again from the files, so reads fail as well. It is tried again with each tick.
    case recoveryFailed(StorageError)
    /// Writes are refused from now on. `isRecovered` if memory was built again for that.
    case writesRefused(StorageError, isRecovered: Bool)
    case writesAccepted
    /// The open files are no longer those in the data folder.
    case filesReplaced(StorageError)
    /// Rows that could be one stay several, because they cannot be read.
    case packingFailed(StorageError)
    case applyFailed(StorageError)
    case indexesBuilt
    case buildFailed(StorageError)
    case historyReadFailed(StorageError)
    /// The clock of the machine was set, by so many milliseconds.
    case clockJumped(Int64)
    /// The leases of jobs, or some of them, do not move with the clock, because states could not be read or set.
    case leasesNotMoved(StorageError)
    /// Which node takes the writes of the database.
    case ownership(Ownership)
    /// Requests that the rules have denied.
    case denials([DeniedRequest])
}
