package import HearthJSONTree
package import HearthTreeText
import HearthSecurityRules
import HearthStorageErrors

/// What a database has to say once the commit that caused it is durable. The order is the order in which each
/// connection must see it: data first, then the acknowledgement (Protocol.md 6).
package enum Output: Sendable {
    /// A change, for every member of the groups of plain listeners; with the position after it for those that are told
    /// of it.
    case push(Change, at: Position?, to: [GroupAddress])
    /// What a change means to a query, for every member of a group of its listeners.
    case pushQuery(QueryPush, to: GroupAddress)
    /// The value a new listener begins with, as of a position for those that are told of it.
    case initial(ConnectionID, Path, CanonicalJSON, at: Position?)
    case initialQuery(ConnectionID, QueryPush)
    /// The changes for a listener that resumes, up to a position; nil if there are none.
    case missed(ConnectionID, MissedUpdate?, at: Position)
    /// The parts of the value that a new listener has otherwise; `tag` is that of a query.
    case initialParts(ConnectionID, Path, tag: Int64?, [CompoundHash.Difference])
    case join(GroupID, ConnectionID)
    case leave(GroupID, ConnectionID)
    case reply(ConnectionID, number: Int64, Reply)
    /// The answer to a request of the connection waits for others (``TransactionTurns``). Until it is there, pushes to
    /// the connection may wait a little, and go out together.
    case hold(ConnectionID)
    /// A listener has ended because its user may no longer read the place, or for another reason, which is given as a
    /// status. It has left its group.
    case revoked(ConnectionID, Path, RevokedListener, because: StaticText? = nil)
    /// Data too large to be assembled in memory; it is streamed from a snapshot of the store.
    case stream(SnapshotRead)
}

extension Output {
    /// Of a reply.
    var failure: Failure? { if case .reply(_, _, .failed(let failure)) = self { failure } else { nil } }

    /// It answers a request that another node has forwarded.
    package var isForwardedReply: Bool {
        if case .reply(let connection, _, _) = self { connection.isForwarded } else { false }
    }
}

/// How a client knows a listener that has ended.
package enum RevokedListener: Sendable {
    case plain
    /// The query object as the client wrote it.
    case query([UInt8])
    case events(tag: Int64)
}
