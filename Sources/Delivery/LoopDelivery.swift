package import HearthEventLoop
import HearthJSONTree
package import HearthRealtimeDatabase

/// The outputs that one event loop must send, in order: all those of databases in one turn, encoded once.
package struct LoopDelivery: Sendable {
    package enum Entry: Sendable {
        /// Some of ``messages`` for one session, which answer so many requests of it.
        case messages(ConnectionID, Range<Int>, answers: Int)
        /// Some of ``events`` for one event stream.
        case events(ConnectionID, Range<Int>)
        /// The end of an event stream whose data may not be read any more.
        case cancelEvents(ConnectionID)
        /// Messages for every session of a group on this loop: a run of ``pushes``.
        case push(GroupID, run: Int)
        /// Events for every event stream of a group on this loop: a run of ``pushedEvents``.
        case pushEvents(GroupID, run: Int)
        /// Pushes to the session may wait a little: an answer comes soon.
        case hold(ConnectionID)
        case join(GroupID, ConnectionID)
        case leave(GroupID, ConnectionID)
        /// A reply that the connection itself puts into its protocol's form.
        case reply(ConnectionID, Reply)
        /// A large read begins: nothing else goes to the connection until it is done.
        case stream(SnapshotStream)
    }

    /// The messages for sessions of this loop.
    package var messages: MessageList
    /// Text of event streams of this loop.
    package var events: SharedBytes
    /// The same for groups, shared by all loops.
    package var pushes: PushedMessages
    package var pushedEvents: SharedBytes
    /// Parts of ``pushes`` or of ``pushedEvents`` that have the same receivers.
    package var runs: [Range<Int>]
    package var entries: [Entry]
    /// The part of all this that counts as waiting for the loop, in bytes (``DeliveryBacklog``).
    package var backlogBytes: Int

    private static let noPushes = PushedMessages(MessageList())
    private static let noEvents = SharedBytes([], in: nil)

    init(
        messages: MessageList, events: SharedBytes?, pushes: PushedMessages?, pushedEvents: SharedBytes?,
        runs: [Range<Int>], entries: [Entry], backlogBytes: Int
    ) {
        self.messages = messages
        self.events = events ?? Self.noEvents
        self.pushes = pushes ?? Self.noPushes
        self.pushedEvents = pushedEvents ?? Self.noEvents
        self.runs = runs
        self.entries = entries
        self.backlogBytes = backlogBytes
    }

    /// One message for several sessions of the loop, which answers none of their requests.
    package init(_ message: [UInt8], to sessions: [ConnectionID]) {
        self.init(
            messages: MessageList(message), events: nil, pushes: nil, pushedEvents: nil, runs: [],
            entries: sessions.map { .messages($0, 0..<1, answers: 0) }, backlogBytes: message.count)
    }
}
