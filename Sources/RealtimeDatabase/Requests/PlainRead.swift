package import HearthJSONTree

/// A get of everything at a place, which may be answered without a turn
/// (``Database/answerAtOnce(_:now:bytesMax:mayGoOn:_:)``).
package struct PlainRead: Sendable {
    package let connection: ConnectionID
    package let number: Int64
    package let principal: Principal
    package let path: Path
    /// The client, as that of a request (``Request/client``).
    package let client: UInt64

    package init(connection: ConnectionID, number: Int64, principal: Principal, path: consuming Path, client: UInt64) {
        self.connection = connection
        self.number = number
        self.principal = principal
        self.path = path
        self.client = client
    }

    /// The same as a request for a turn.
    package var request: Request {
        Request(connection: connection, number: number, principal: principal, operation: .get(path), client: client)
    }
}
