import HearthDelivery
import HearthRealtimeDatabase

/// Subscriptions of an administrator's connection to pushes.
package enum Watched: Hashable, Sendable {
    /// The requests to its database (``Profiler``).
    case requests
    /// The commits of its database (``CommitTail``).
    case commits
}

extension DatabaseHost {
    /// Sends a message to connections that watch. On the databases' thread.
    func push(_ message: [UInt8], to watchers: Set<ConnectionID>) {
        for (loop, connections) in Dictionary(grouping: watchers, by: \.loop) {
            deliver(loop, LoopDelivery(message, to: connections))
        }
    }
}
