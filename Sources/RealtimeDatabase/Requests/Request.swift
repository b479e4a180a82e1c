import HearthJSONTree

/// One thing a connection asks of a database. Requests of one connection are processed, and answered, in order.
///
/// A reference, because requests are handed on and kept a few times until they are answered.
package final class Request: Sendable {
    package let connection: ConnectionID
    /// The request's number on its connection, given back with the reply.
    package let number: Int64
    package let principal: Principal
    package let operation: Operation
    /// The kind that it is counted as; nil if it is not a client's request.
    package let kind: RequestKind?
    /// The client that makes it, which may have several connections; 0 if that does not matter.
    package let client: UInt64
    /// Bytes of the values that it sets.
    package let byteCount: Int
    /// It needs a turn of its own.
    package let isLarge: Bool
    /// Findings about a large write, from before its turn.
    package let examined: ExaminedWrite?
    /// Kept for as long as the request is: its end tells the caller that its memory is free.
    package let claim: (any AnyObject & Sendable)?

    package init(
        connection: ConnectionID, number: Int64, principal: Principal = .nobody, operation: consuming Operation,
        client: UInt64 = 0, claim: (any AnyObject & Sendable)? = nil, examined: ExaminedWrite? = nil
    ) {
        self.connection = connection
        self.number = number
        self.principal = principal
        self.client = client
        self.claim = claim
        self.examined = examined
        kind = operation.kind
        let byteCount = operation.byteCount
        self.byteCount = byteCount
        isLarge =
            byteCount > Self.largeBytes || operation.entryCount >= Self.demandingCount
            || byteCount >= Self.demandingBytes && operation.isDemanding
        // Last, so that it is moved: a copy would count references.
        self.operation = operation
    }

    /// Bytes that the request holds while it waits, about: its values, the places of an update, and the words of a
    /// query and hashes of a listener. O(its places and parts).
    package var heldByteCount: Int {
        switch kind {
        case .update, .onDisconnect: byteCount + operation.placesByteCount
        case .listen: operation.listenByteCount
        default: byteCount
        }
    }

    /// Values of a request that is large, in bytes.
    private static let largeBytes = 64 << 10
    /// With values of fewer bytes, no request is demanding, unless it sets so many places.
    private static let demandingBytes = 16 << 10
    private static let demandingCount = 1024

    /// The same request, which keeps a claim.
    package func keeping(_ claim: any AnyObject & Sendable) -> Request {
        Request(
            connection: connection, number: number, principal: principal, operation: operation, client: client,
            claim: claim)
    }

    /// The request as it was sent.
    package var original: Request { examined.map { asking($0.original, nil) } ?? self }

    /// The same request with another operation.
    package func asking(_ operation: Operation) -> Request { asking(operation, examined) }

    func asking(_ operation: Operation, _ examined: ExaminedWrite?) -> Request {
        Request(
            connection: connection, number: number, principal: principal, operation: operation, client: client,
            claim: claim, examined: examined)
    }
}
