import HearthDelivery
import HearthEventLoop
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
        var frames: [UInt8] = []
        RealtimeFrames.append(message.span, to: &frames)
        let (bytes, none) = (SharedBytes(frames, in: outbound), SharedBytes([], in: nil))
        for (loop, connections) in Dictionary(grouping: watchers, by: \.loop) {
            let entries = connections.map { LoopDelivery.Entry.frames($0, 0..<frames.count, answers: 0) }
            deliver(
                loop,
                LoopDelivery(bytes: bytes, pushes: none, runs: [], entries: entries, backlogBytes: frames.count))
        }
    }
}
