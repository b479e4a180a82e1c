import RealtimeDatabase
import Synchronization

/// Whether the server takes all requests at the moment, for load balancers and monitors. Any thread.
final class Readiness: Sendable {
    private struct State {
        var isStopping = false
        var refusals: [String: StorageError] = [:]
    }

    private let state = Mutex(State())

    /// An open database refuses writes because of this; nil when it takes them again.
    func database(_ name: String, refusesWrites error: StorageError?) { state.withLock { $0.refusals[name] = error } }

    /// The server ends.
    func stop() { state.withLock { $0.isStopping = true } }

    /// Why the server is not ready, in one line for people; nil when it is.
    var problem: String? {
        state.withLock { state in
            if state.isStopping { return "the server is shutting down" }
            guard let (name, error) = state.refusals.min(by: { $0.key < $1.key }) else { return nil }
            return "the database '\(name)' refuses writes: \(error.message)"
        }
    }
}
