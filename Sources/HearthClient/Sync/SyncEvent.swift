import HearthJSONTree
import HearthWireProtocol

/// Something that an observer is to be told.
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

/// What the server is asked to report: a whole place, or what a query selects of its children.
struct ServerListen: Hashable {
    /// Unique in the tree.
    let number: Int
    let path: Path
    /// Nil for the whole place.
    let query: QueryObject?
    /// Names the listen in pushes; nil for the whole place.
    let tag: Int64?
}

/// What comes of a change of the sync tree: events in the order in which they are to be told, listens to begin, and
/// listens to end after that.
struct SyncOutput: Equatable {
    var events: [SyncEvent] = []
    var starts: [ServerListen] = []
    var stops: [ServerListen] = []
}
