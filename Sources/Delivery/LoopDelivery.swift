package import HearthEventLoop
import HearthJSONTree
package import HearthRealtimeDatabase

/// The outputs that one event loop must send, in order: all those of databases in one turn, encoded once.
package struct LoopDelivery: Sendable {
    package enum Entry: Sendable {
        /// Frames for one connection, which answer so many requests of it.
        case frames(ConnectionID, Range<Int>, answers: Int)
        /// Events for one event stream.
        case events(ConnectionID, Range<Int>)
        /// The end of an event stream whose data may not be read any more.
        case cancelEvents(ConnectionID)
        /// Frames for every session of a group on this loop: a run of `pushes`.
        case push(GroupID, run: Int)
        /// Events for every event stream of a group on this loop: a run of `pushes`.
        case pushEvents(GroupID, run: Int)
        case join(GroupID, ConnectionID)
        case leave(GroupID, ConnectionID)
        /// A reply that the connection itself puts into its protocol's form.
        case reply(ConnectionID, Reply)
        /// A large read begins: nothing else goes to the connection until it is done.
        case stream(SnapshotStream)
    }

    /// WebSocket frames, and events, of all loops, shared between them and their connections.
    package var bytes: SharedBytes
    package var pushes: SharedBytes
    package var runs: [Range<Int>]
    package var entries: [Entry]
    /// The part of all this that counts as waiting for the loop, in bytes (``DeliveryBacklog``).
    package var backlogBytes: Int

    package init(
        bytes: SharedBytes, pushes: SharedBytes, runs: [Range<Int>], entries: [Entry], backlogBytes: Int
    ) {
        self.bytes = bytes
        self.pushes = pushes
        self.runs = runs
        self.entries = entries
        self.backlogBytes = backlogBytes
    }
}
