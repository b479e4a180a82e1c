import HearthRealtimeDatabase
import Synchronization
package import HearthStorageErrors
package import HearthSystem

/// Whether the server takes all requests at the moment, for load balancers and monitors. Any thread.
package final class Readiness: Sendable {
    /// Why a database does not take all requests.
    enum Trouble: Equatable {
        case refusesWrites(StorageError)
        case cannotBeOpened(StorageError)
        /// Its files cannot follow the log of the cluster, for this reason.
        case cannotFollow(String)
        /// A copy of another node's files is under way.
        case isCopied
    }

    private struct State {
        var isStopping = false
        var databases: [String: Trouble] = [:]
        var folder: StorageError?
        var accounts: StorageError?
        /// The server is a node of a cluster, and has no lease.
        var lacksLease: Bool
        /// Bytes that are free, if these are too few.
        var scarceBytes: Int64?
    }

    private let state: Mutex<State>

    /// - parameter lacksLease: the server is a node of a cluster, and will have its lease later.
    package init(lacksLease: Bool = false) { state = Mutex(State(lacksLease: lacksLease)) }

    /// The problem of a database; nil if it accepts all requests.
    func database(_ name: String, _ trouble: Trouble?) { state.withLock { $0.databases[name] = trouble } }

    /// The files of a database can follow the log of the cluster again.
    func follows(_ name: String) {
        state.withLock { state in
            if case .cannotFollow = state.databases[name] { state.databases[name] = nil }
        }
    }

    /// A problem of the data folder as a whole.
    func folder(_ error: StorageError?) { state.withLock { $0.folder = error } }

    /// Why accounts cannot be read or written.
    package func accounts(_ error: StorageError?) { state.withLock { $0.accounts = error } }

    /// Whether the node of a cluster has its lease.
    package func lease(_ isHeld: Bool) { state.withLock { $0.lacksLease = !isHeld } }

    /// Of a server that is the node of a cluster.
    package var hasLease: Bool { state.withLock { !$0.lacksLease } }

    /// The free space on the disk of the data folder, and the required space, in bytes.
    package func disk(_ space: DiskSpace?, bytesMin: Int64) {
        state.withLock { $0.scarceBytes = space.flatMap { $0.available < bytesMin ? $0.available : nil } }
    }

    private static let withoutLease = "this node of the cluster has no lease: etcd cannot be reached"

    /// The server ends.
    package func stop() { state.withLock { $0.isStopping = true } }

    /// Why the server is not ready, in one line for operators; nil when it is.
    package var problem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.message }
            if let error = state.folder { return error.message }
            if let (name, trouble) = state.databases.min(by: { $0.key < $1.key }) {
                switch trouble {
                case .refusesWrites(let error): return "the database '\(name)' refuses writes: \(error.message)"
                case .cannotBeOpened(let error): return "the database '\(name)' cannot be opened: \(error.message)"
                case .cannotFollow(let reason):
                    return "the database '\(name)' cannot follow the cluster's log: \(reason)"
                case .isCopied: return "the database '\(name)' is being copied from another node"
                }
            }
            if state.lacksLease { return Self.withoutLease }
            if let error = state.accounts { return "accounts cannot be read and written: \(error.message)" }
            return state.scarceBytes.map { "the disk of the data folder is nearly full: \($0 >> 20) MiB are free" }
        }
    }

    /// The same for everybody: it names no database and no file.
    package var publicProblem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.summary }
            if let error = state.folder { return error.summary }
            if let trouble = state.databases.min(by: { $0.key < $1.key })?.value {
                switch trouble {
                case .refusesWrites(let error): return "a database refuses writes: \(error.summary)"
                case .cannotBeOpened(let error): return "a database cannot be opened: \(error.summary)"
                case .cannotFollow: return "a database cannot follow the cluster's log"
                case .isCopied: return "a database is being copied from another node"
                }
            }
            if state.lacksLease { return Self.withoutLease }
            if let error = state.accounts { return "accounts cannot be read and written: \(error.summary)" }
            return state.scarceBytes.map { _ in "the disk is nearly full" }
        }
    }
}
