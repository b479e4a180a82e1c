import RealtimeDatabase
import Synchronization

/// Whether the server takes all requests at the moment, for load balancers and monitors. Any thread.
final class Readiness: Sendable {
    /// Why a database does not take all requests.
    enum Trouble: Equatable {
        case refusesWrites(StorageError)
        case cannotBeOpened(StorageError)
    }

    private struct State {
        var isStopping = false
        var databases: [String: Trouble] = [:]
        var folder: StorageError?
        var accounts: StorageError?
    }

    private let state = Mutex(State())

    /// What is wrong with a database; nil when it takes all requests.
    func database(_ name: String, _ trouble: Trouble?) { state.withLock { $0.databases[name] = trouble } }

    /// What is wrong with the data folder as a whole.
    func folder(_ error: StorageError?) { state.withLock { $0.folder = error } }

    /// Why accounts cannot be read or written.
    func accounts(_ error: StorageError?) { state.withLock { $0.accounts = error } }

    /// The server ends.
    func stop() { state.withLock { $0.isStopping = true } }

    /// Why the server is not ready, in one line for operators; nil when it is.
    var problem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.message }
            if let error = state.folder { return error.message }
            if let (name, trouble) = state.databases.min(by: { $0.key < $1.key }) {
                switch trouble {
                case .refusesWrites(let error): return "the database '\(name)' refuses writes: \(error.message)"
                case .cannotBeOpened(let error): return "the database '\(name)' cannot be opened: \(error.message)"
                }
            }
            return state.accounts.map { "accounts cannot be read and written: \($0.message)" }
        }
    }

    /// The same for everybody: it names no database and no file.
    var publicProblem: String? {
        state.withLock { state in
            if state.isStopping { return StorageError.stopping.summary }
            if let error = state.folder { return error.summary }
            if let trouble = state.databases.min(by: { $0.key < $1.key })?.value {
                switch trouble {
                case .refusesWrites(let error): return "a database refuses writes: \(error.summary)"
                case .cannotBeOpened(let error): return "a database cannot be opened: \(error.summary)"
                }
            }
            return state.accounts.map { "accounts cannot be read and written: \($0.summary)" }
        }
    }
}
