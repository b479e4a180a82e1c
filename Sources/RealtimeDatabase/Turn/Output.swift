package import HearthJSONTree
package import HearthTreeText
package import HearthSecurityRules
package import HearthStorageErrors

/// The listeners of one path on all connections. Numbers are never used again within a process.
package struct GroupID: Hashable, Sendable {
    package let raw: UInt64
}

/// A group, and the event loops on which it has members, one bit each.
package struct GroupAddress: Hashable, Sendable {
    package var group: GroupID
    package var loops: UInt64
}

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
    /// A listener has ended because its user may no longer read the place, or for another reason, which is given as a
    /// status. It has left its group.
    case revoked(ConnectionID, Path, RevokedListener, because: StaticText? = nil)
    /// Data too large to be assembled in memory; it is streamed from a snapshot of the store.
    case stream(SnapshotRead)
}

/// How a client knows a listener that has ended.
package enum RevokedListener: Sendable {
    case plain
    /// The query object as the client wrote it.
    case query([UInt8])
    case events(tag: Int64)
}

package enum Reply: Sendable {
    case done
    /// A listener is registered.
    case listening
    /// The same of a query that had to look at all children because it had no index; with the one that would serve a
    /// query with conditions, as text of a settings file.
    case listeningUnindexed(needs: [UInt8]? = nil)
    /// A listener that is told of positions is registered. `recovered` when it was told of what changed, and of
    /// nothing else.
    case listeningAt(Position, recovered: Bool, unindexed: Bool = false)
    case value(CanonicalJSON)
    indirect case explained(Explanation)
    case failed(Failure)
}

package enum Failure: Error, Hashable, Sendable {
    /// The precondition did not hold; the current value comes along.
    case stale(CanonicalJSON)
    /// A priority was set where there is no data.
    case nothingThere
    /// A query needs an index that is not there.
    case noIndex(QueryIndex, at: Path)
    /// What a query selects is larger than can be sent.
    case tooLarge
    /// Two children of a collection would share a value that the settings want unique.
    case notUnique(UniqueConflict)
    /// A setting does not allow it: a word for which one, and a text for people.
    case refusedBySetting(why: StaticText, String)
    /// A setting allows it later, in so many milliseconds; nil if it never allows that much at once. A text for people.
    case rateExceeded(retryAfter: Int64?, String)
    /// The rules do not allow it. The text says why, for developers; empty where clients are not to know.
    case denied(String)
    /// Storage refuses writes, or could not be read.
    case unavailable(StorageError)
    /// The request was refused before it reached the database: a status word and a text for people.
    case refused(status: StaticText, String)

    /// What a client is told of a denial besides its text: a word for a setting that is in the way; in development
    /// mode, why the rules have denied it.
    package var denialReason: String? {
        switch self {
        case .denied(let reason) where !reason.isEmpty: reason
        case .notUnique: "unique"
        case .refusedBySetting(let why, _): why.text.description
        case .rateExceeded: "rate"
        default: nil
        }
    }

    /// Milliseconds after which the same may succeed.
    package var retryAfter: Int64? { if case .rateExceeded(let time, _) = self { time } else { nil } }

    /// The text that clients know.
    package var message: String {
        switch self {
        case .stale: "the data changed: its hash does not match"
        case .nothingThere: "there is no data here that could have a priority"
        case .noIndex(let index, let path):
            "Index not defined, add \".indexOn\": \"\(index)\", for path \"\(path)\", to the rules"
        case .tooLarge: "the query selects too much data: narrow it or set a limit"
        case .denied: "Permission denied"
        case .notUnique(let conflict): conflict.message
        case .unavailable(let error): error.summary
        case .refused(_, let text), .refusedBySetting(_, let text), .rateExceeded(_, let text): text
        }
    }
}

/// A large read that runs outside of the database's thread: the rows at `path` as of `sequence`.
package struct SnapshotRead: Sendable {
    package enum Purpose: Sendable {
        case get
        /// Nothing is sent if the value has the hash that is known; nil if none is.
        case listen(known: [UInt8]?)
    }

    /// Tells the reads of a database apart.
    package var id: UInt64
    package var connection: ConnectionID
    package var number: Int64
    package var path: Path
    package var purpose: Purpose
    package var sequence: UInt64
    /// That of `sequence`, for a listener that is told of positions.
    package var position: Position?
    /// Who reads: the client's number, and the user's name if there is one. Large reads are shared out by both.
    package var client: UInt64 = 0
    package var uid: [UInt8] = []
    /// Children that the reader does not see.
    package var expired: ExpiredChildren?
    package var place: Database.LargeReadPlace?
}

extension SnapshotRead {
    /// A read of rows that are not the database's present ones.
    package init(to connection: ConnectionID, number: Int64, at path: Path, client: UInt64, uid: [UInt8]) {
        self.init(
            id: 0, connection: connection, number: number, path: path, purpose: .get, sequence: 0, client: client,
            uid: uid)
    }
}

/// A word of the program text that can be compared.
package struct StaticText: Hashable, Sendable {
    package let text: StaticString

    package init(_ text: StaticString) { self.text = text }

    package static func == (a: StaticText, b: StaticText) -> Bool { a.text.description == b.text.description }

    package func hash(into hasher: inout Hasher) { hasher.combine(text.description) }
}
