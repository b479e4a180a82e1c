package import HearthJSONTree
package import HearthTreeQueries

/// How the listener of a query is told of it.
package enum ListenerForm: Hashable, Sendable {
    /// By pushes of the realtime protocol that carry the client's tag (Protocol.md 5).
    case tagged(Int64)
    /// By the child events that a client asked for, under its tag.
    case events(tag: Int64, EventKinds)
    /// By the events of an HTTP response (rest.md 4).
    case eventStream

    /// How a connection tells its listeners of queries apart.
    package enum Name: Hashable, Comparable, Sendable {
        case tagged(Int64)
        case events(tag: Int64)
        case eventStream
    }

    package var name: Name {
        switch self {
        case .tagged(let tag): .tagged(tag)
        case .events(let tag, _): .events(tag: tag)
        case .eventStream: .eventStream
        }
    }

    /// What pushes carry.
    package var tag: Int64? {
        switch self {
        case .tagged(let tag), .events(let tag, _): tag
        case .eventStream: nil
        }
    }

    /// Events name predecessors and old values.
    package var needsOrder: Bool { if case .events = self { true } else { false } }
}

/// What a query's listeners of one form are told, and event streams of a whole value.
package struct QueryPush: Sendable {
    package enum Content: Sendable {
        /// What changed, as it was written.
        case change(Change)
        /// The same as events, in their order (Protocol.md 18.1).
        case events([QueryEvent])
    }

    package var form: ListenerForm
    /// Where the listener is.
    package var path: Path
    package var content: Content
    /// Right after it, for event streams that are told of it.
    package var position: Position?
}
