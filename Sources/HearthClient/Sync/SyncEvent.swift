import HearthJSONTree
import HearthWireProtocol

/// An event for an observer.
struct SyncEvent: Equatable {
    enum What: Equatable {
        /// One child; `previous` is the key before it, in the query's order.
        case child(ChildEvent.Kind, Key, Node, previous: Key?)
        case value(Node)
    }

    /// The observer's number.
    let observer: Int
    let path: Path
    let what: What
}

/// A listen request to the server: for a whole place, or for the children that a query selects.
struct ServerListen: Hashable {
    /// Unique in the tree.
    let number: Int
    let path: Path
    /// Nil for the whole place.
    let query: QueryObject?
    /// Names the listen in pushes; nil for the whole place.
    let tag: Int64?
}

/// The effects of a change of the sync tree: events in order of delivery, listens to begin, and then listens to end.
struct SyncOutput: Equatable {
    var events: [SyncEvent] = []
    var starts: [ServerListen] = []
    var stops: [ServerListen] = []
}
