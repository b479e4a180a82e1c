import HearthClusterNode
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
        /// Its files are being made fit for the log of the cluster. The last attempt has failed for this reason.
        case isCopied(CopyNeed.Files, failure: String? = nil)

        var text: String {
            switch self {
            case .refusesWrites(let error): "refuses writes: \(error.message)"
            case .cannotBeOpened(let error): "cannot be opened: \(error.message)"
            case .cannotFollow(let reason): "cannot follow the cluster's log: \(reason)"
            case .isCopied(let files, let failure):
                Self.text(of: files) + (failure.map { ", and the last attempt failed: \($0)" } ?? "")
            }
        }

        private static func text(of files: CopyNeed.Files) -> String {
            switch files {
            case .behind: "is being copied from another node"
            case .continued: "is being told of the new history of the cluster's log"
            case .replaced: "was restored, or its log was rebuilt, and this node does not have the new state yet"
            }
        }

        /// Names no file.
        var publicText: String {
            switch self {
            case .refusesWrites(let error): "refuses writes: \(error.summary)"
            case .cannotBeOpened(let error): "cannot be opened: \(error.summary)"
            case .cannotFollow: "cannot follow the cluster's log"
            case .isCopied(let files, _): Self.text(of: files)
            }
        }
    }

    private struct State {
        var isStopping = false
        var databases: [String: Trouble] = [:]
        /// Databases that were opened, and have not seen the log of the cluster yet.
        var unseen: Set<String> = []
        var folder: StorageError?
        var accounts: StorageError?
        /// The server is a node of a cluster, and has no lease, for this reason.
        var withoutLease: LeaseTrouble?
        /// The same, and other nodes that use these etcd clusters do not reach it.
        var cutOffIn: Set<String> = []
        /// The members of etcd are not of one cluster, for this reason.
        var mixedMembers: String?
        /// The etcd cluster of home has reached its quota.
        var isHomeFull = false
        /// Bytes that are free, if these are too few.
        var scarceBytes: Int64?
    }

    private enum LeaseTrouble {
        /// It does not have one yet.
        case starting
        /// etcd could not be reached for too long, or has ended it.
        case ended
        /// A process at this address has one under the same name.
        case nameTaken(String)
    }

    private let state: Mutex<State>
    private let node: String?

    /// - parameter node: the name of the server, if it is a node of a cluster.
    package init(node: String? = nil) {
        self.node = node
        state = Mutex(State(withoutLease: node == nil ? nil : .starting))
    }

    /// The problem of a database; nil if it accepts all requests.
    func database(_ name: String, _ trouble: Trouble?) { state.withLock { $0.databases[name] = trouble } }

    /// A database of a cluster is opened. Its files may lack writes that other nodes have acknowledged.
    func awaitsLog(_ name: String) { state.withLock { _ = $0.unseen.insert(name) } }

    /// The files of a database follow the log of the cluster. Answers whether they could not before.
    func follows(_ name: String) -> Bool {
        state.withLock { state in
            state.unseen.remove(name)
            guard case .cannotFollow = state.databases[name] else { return false }
            state.databases[name] = nil
            return true
        }
    }

    /// Whether the files of a database follow the log of the cluster, as far as is known.
    func isFollowing(_ name: String) -> Bool {
        state.withLock { state in
            if case .cannotFollow = state.databases[name] { return false }
            return !state.unseen.contains(name)
        }
    }

    /// The files of a database are gone, as others hold it.
    func forget(_ name: String) {
        state.withLock { state in
            state.databases[name] = nil
            state.unseen.remove(name)
        }
    }

    /// A problem of the data folder as a whole.
    func folder(_ error: StorageError?) { state.withLock { $0.folder = error } }

    /// Why accounts cannot be read or written.
    package func accounts(_ error: StorageError?) { state.withLock { $0.accounts = error } }

    /// Whether the node of a cluster has its lease.
    package func lease(_ isHeld: Bool) { state.withLock { $0.withoutLease = isHeld ? nil : .ended } }

    /// A node at this address has the name of this one.
    func nameTaken(address: String) { state.withLock { $0.withoutLease = .nameTaken(address) } }

    /// Whether other nodes that use an etcd cluster do not reach this one.
    func cutOff(_ isCutOff: Bool, in store: String) {
        state.withLock { state in
            if isCutOff { state.cutOffIn.insert(store) } else { state.cutOffIn.remove(store) }
        }
    }

    /// Why the members of etcd are not of one cluster; nil if they are.
    func mixedMembers(_ reason: String?) { state.withLock { $0.mixedMembers = reason } }

    /// Whether the etcd cluster of home has reached its quota, and takes no writes.
    func homeFull(_ isFull: Bool) { state.withLock { $0.isHomeFull = isFull } }

    /// An attempt to make the files of a database fit for the log of the cluster has failed.
    func copyFailed(_ name: String, _ reason: String) {
        state.withLock { state in
            guard case .isCopied(let files, _)? = state.databases[name] else { return }
            state.databases[name] = .isCopied(files, failure: reason)
        }
    }

    /// Of a server that is the node of a cluster.
    package var hasLease: Bool { state.withLock { $0.withoutLease == nil } }

    /// The free space on the disk of the data folder, and the required space, in bytes.
    package func disk(_ space: DiskSpace?, bytesMin: Int64) {
        state.withLock { $0.scarceBytes = space.flatMap { $0.available < bytesMin ? $0.available : nil } }
    }

    private func text(_ trouble: LeaseTrouble) -> String {
        let node = "the node '\(node ?? "")'"
        return switch trouble {
        case .starting: "\(node) has no lease yet: etcd has not answered"
        case .ended: "\(node) has lost its lease: etcd cannot be reached, or it did not answer in time"
        case .nameTaken(let address): "\(node) has no lease: a node at \(address) has the same name"
        }
    }

    private static let isUnseen = "was opened, and has not seen the cluster's log yet"

    /// The server ends.
    package func stop() { state.withLock { $0.isStopping = true } }

    /// Why the server is not ready, in one line for operators; nil when it is.
    package var problem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.message }
            if let error = state.folder { return error.message }
            // The reason of others.
            if state.isHomeFull { return StorageError.etcdFull.message }
            if let (name, trouble) = state.databases.min(by: { $0.key < $1.key }) {
                return "the database '\(name)' \(trouble.text)"
            }
            if let trouble = state.withoutLease {
                return state.mixedMembers.map { "the node '\(node ?? "")' has no lease: \($0)" } ?? text(trouble)
            }
            if !state.cutOffIn.isEmpty { return "other nodes do not reach the node '\(node ?? "")'" }
            if let name = state.unseen.min() { return "the database '\(name)' \(Self.isUnseen)" }
            if let error = state.accounts { return "accounts cannot be read and written: \(error.message)" }
            return state.scarceBytes.map { "the disk of the data folder is nearly full: \($0 >> 20) MiB are free" }
        }
    }

    /// The same for everybody: it names no database and no file.
    package var publicProblem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.summary }
            if let error = state.folder { return error.summary }
            if state.isHomeFull { return StorageError.etcdFull.summary }
            if let trouble = state.databases.min(by: { $0.key < $1.key })?.value {
                return "a database \(trouble.publicText)"
            }
            if state.withoutLease != nil { return "this node of the cluster has no lease" }
            if !state.cutOffIn.isEmpty { return "other nodes of the cluster do not reach this one" }
            if !state.unseen.isEmpty { return "a database \(Self.isUnseen)" }
            if let error = state.accounts { return "accounts cannot be read and written: \(error.summary)" }
            return state.scarceBytes.map { _ in "the disk is nearly full" }
        }
    }
}
