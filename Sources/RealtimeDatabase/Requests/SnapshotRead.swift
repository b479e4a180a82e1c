package import HearthJSONTree

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
    package var place: LargeReadPlace?
}

extension SnapshotRead {
    /// A read of rows that are not the database's present ones.
    package init(to connection: ConnectionID, number: Int64, at path: Path, client: UInt64, uid: [UInt8]) {
        self.init(
            id: 0, connection: connection, number: number, path: path, purpose: .get, sequence: 0, client: client,
            uid: uid)
    }
}
