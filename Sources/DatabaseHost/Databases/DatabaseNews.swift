import HearthClusterNode
import HearthDatabaseScheduler
import HearthDelivery
import HearthRealtimeDatabase
import HearthStorageErrors

/// News for the thread of the databases from the threads that work for them.
enum DatabaseNews: Sendable {
    /// Reports of a thread to a database, or of a database to itself.
    case event(UInt32, Event)
    /// Some rows of a large value are in the tree file, and there are more to write; large reads wait for that.
    case wroteSome(UInt32, FrozenRows, [SnapshotStream])
    /// The files of a database are open, or cannot be opened.
    case opened(UInt32, Result<OpenedFiles, StorageError>)
    /// The files of an unused database are closed. `hasHistory` if its log can be pruned later.
    case closed(UInt32, hasHistory: Bool)
    /// The files of a database cannot follow the log of the cluster any more.
    case needsCopy(UInt32, CopyNeed)
    /// A copy of another node's files is in their place.
    case copied(UInt32)
    /// The files of a database were removed, or had to stay.
    case removed(UInt32)

    /// For those who look for long steps.
    var name: StaticString {
        switch self {
        case .event(_, let event): event.name
        case .wroteSome: "wroteSome"
        case .opened: "opened"
        case .closed: "closed"
        case .needsCopy: "needsCopy"
        case .copied: "copied"
        case .removed: "removed"
        }
    }
}
