package import HearthJSONTree

/// A connection of some event loop, for as long as the process runs: numbers are never used again.
package struct ConnectionID: Hashable, Sendable {
    /// How the connection wants to be answered.
    package enum Kind: UInt64, Sendable {
        case realtime = 0
        case http = 1
    }

    /// `loop:8 flags:8 serial:48`; the flags are the kind, and 2 for a connection of another node.
    package let raw: UInt64

    package init(loop: Int, kind: Kind, serial: UInt64) {
        precondition(loop >= 0 && loop < Self.loopsMax && serial < 1 << 48)
        raw = UInt64(loop) << 56 | kind.rawValue << 48 | serial
    }

    /// Represents a connection of another node, which forwards its writes. No event loop owns it.
    package init(forwarded kind: Kind, serial: UInt64) {
        precondition(serial < 1 << 48)
        raw = (Self.forwardedFlag | kind.rawValue) << 48 | serial
    }

    package init(raw: UInt64) { self.raw = raw }

    private static let forwardedFlag: UInt64 = 2

    /// The index of the event loop that owns the connection.
    package var loop: Int { Int(raw >> 56) }

    package var kind: Kind { raw >> 48 & Kind.http.rawValue == 0 ? .realtime : .http }

    /// Whether it is a connection of another node.
    package var isForwarded: Bool { raw >> 48 & Self.forwardedFlag != 0 }

    /// So that a set of loops fits in one word.
    package static let loopsMax = 64
}

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
    package let kind: RequestTally.Kind?
    /// The client that makes it, which may have several connections; 0 if that does not matter.
    package let client: UInt64
    /// Bytes of the values that it sets.
    package let byteCount: Int
    /// It needs a turn of its own.
    package let isLarge: Bool
    /// What is known about a large write before its turn.
    package let examined: ExaminedWrite?
    /// Kept for as long as the request is: its end tells the caller that its memory is free.
    package let claim: (any AnyObject & Sendable)?

    package init(
        connection: ConnectionID, number: Int64, principal: Principal = .nobody, operation: Operation,
        client: UInt64 = 0, claim: (any AnyObject & Sendable)? = nil, examined: ExaminedWrite? = nil
    ) {
        self.connection = connection
        self.number = number
        self.principal = principal
        self.operation = operation
        self.client = client
        self.claim = claim
        self.examined = examined
        kind = operation.kind
        byteCount = operation.byteCount
        isLarge =
            byteCount > Self.largeBytes || operation.entryCount >= Self.demandingCount
            || byteCount >= Self.demandingBytes && operation.isDemanding
    }

    /// Bytes that the request holds while it waits, about: its values, and the places of an update. O(its places).
    package var heldByteCount: Int {
        switch kind {
        case .update, .onDisconnect: byteCount + operation.placesByteCount
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

    /// The same request with another operation.
    package func asking(_ operation: Operation) -> Request { asking(operation, examined) }

    func asking(_ operation: Operation, _ examined: ExaminedWrite?) -> Request {
        Request(
            connection: connection, number: number, principal: principal, operation: operation, client: client,
            claim: claim, examined: examined)
    }
}

/// A value as a client sent it: canonical, but perhaps with server values still to be resolved.
package struct IncomingValue: Sendable {
    package var json: CanonicalJSON
    package var hasServerValues: Bool
    /// The rows of a large value, if they were made beforehand (``RowPreparation``).
    package var rows: PreparedRows?
    /// The same text, if the log has it already.
    package var stored: StoredText?
    /// The value as it was sent, if server values in it were resolved and the reply may have to be what was sent.
    var sent: CanonicalJSON?

    package init(json: CanonicalJSON, hasServerValues: Bool = false) {
        self.json = json
        self.hasServerValues = hasServerValues
    }
}

/// Cases that are rare and large are indirect: operations are moved a few times on their way.
package enum Operation: Sendable {
    /// Replaces a value or a priority. With `expecting`, only if the V1 hash of the current value is that one
    /// (compare-and-set; empty text means "nothing there"; Protocol.md 4.7). With `echoes`, the reply is the stored
    /// value.
    case set(WriteTarget, IncomingValue, expecting: [UInt8]? = nil, echoes: Bool = false)
    /// Sets several places at or below `base` as one commit. Targets are absolute, none inside another.
    case update(base: Path, [(target: WriteTarget, value: IncomingValue)])
    /// The same for very many children of one place, in one text (``CanonicalJSON/childAssignments(of:)``).
    case setChildren(Path, IncomingValue)
    /// Reads the value at a path, or what a query selects of it. With `needsIndex` only if there is an index for it.
    case get(Path, query: Query? = nil, needsIndex: Bool = false)
    /// Describes the children of a node after one of them, or only counts them.
    indirect case describe(Path, ChildrenPage)
    /// Starts a plain listener; `known` is the client's present value, nil if it was not given. On an HTTP connection
    /// it is an event stream of the whole value. With `since` it wants to be told of positions, and first of what
    /// changed after the one it has: `missed` is the part of the log that was read for it
    /// (``Database/historyNeeded(for:now:)``).
    indirect case listen(Path, known: KnownData?, since: Since? = nil, missed: MissedChanges.Found? = nil)
    case unlisten(Path)
    /// Starts a listener of a query, in place of the one that the connection has by the same name. `text` is that of
    /// the client's query object. With `saysPosition` the reply tells the position.
    indirect case listenQuery(
        Path, Query, ListenerForm, known: KnownData? = nil, text: [UInt8] = [], saysPosition: Bool = false)
    case unlistenQuery(ListenerForm.Name)
    /// Ends the plain listener that the request of this number asked for, because its data could not be sent; unless
    /// another request did so later. Nothing is answered.
    case dropListener(Path)
    /// Registers writes for the end of the connection, however it comes. Targets are absolute.
    case onDisconnect([(target: WriteTarget, value: IncomingValue)])
    /// Nothing at and below a place is to be written then any more.
    case cancelOnDisconnect(Path)
    /// The connection's requests are made by the principal of this one from now on; its listeners must be allowed to
    /// that one.
    case become(Reply?)
    /// What a worker asks of the queue at a path.
    indirect case job(Path, JobOperation)
    /// Sends an answer that is already known, in its place among the replies of the connection.
    case relay(Reply)
    /// Tells what the rules say of a read or write of somebody, which is not made.
    indirect case explain(Operation, as: Principal)
    /// Nothing is to be written at the end of the connection: its owner has lost the right to write. Not
    /// answered.
    case forfeit
    /// The connection ended; nothing is answered.
    case disconnect
}

extension Operation {
    /// Bytes of the values that it sets.
    package var byteCount: Int {
        switch self {
        case .set(_, let value, _, _): value.json.bytes.count
        case .update(_, let entries): entries.reduce(0) { $0 + $1.value.json.bytes.count }
        case .setChildren(_, let children): children.json.bytes.count
        case .onDisconnect(let entries): entries.reduce(0) { $0 + $1.value.json.bytes.count }
        case .job(_, let operation): operation.entries.reduce(0) { $0 + $1.value.json.bytes.count }
        case .get, .describe, .listen, .unlisten, .listenQuery, .unlistenQuery, .dropListener, .cancelOnDisconnect,
            .become, .relay, .forfeit, .disconnect:
            0
        case .explain(let operation, _): operation.byteCount
        }
    }

    /// Places that an update sets.
    fileprivate var entryCount: Int {
        switch self {
        case .update(_, let entries), .onDisconnect(let entries): entries.count
        default: 0
        }
    }

    /// What the places of an update hold, in bytes, about.
    fileprivate var placesByteCount: Int {
        switch self {
        case .update(_, let entries), .onDisconnect(let entries):
            entries.reduce(0) { $0 + $1.target.path.encoded.count + Self.entryByteCount }
        default: 0
        }
    }

    /// A place and a value, without their bytes.
    private static var entryByteCount: Int { 100 }

    /// Whether it writes so many small things that this takes longer than others should wait.
    fileprivate var isDemanding: Bool {
        switch self {
        case .set(_, let value, _, _): value.json.isLarge(Database.largeBytesMin)
        case .setChildren: true
        case .update(_, let entries), .onDisconnect(let entries):
            entries.count >= 512 || entries.contains { $0.value.json.isLarge(Database.largeBytesMin) }
        default: false
        }
    }

    /// Whether data is read to be answered or compared.
    package var reads: Bool {
        switch self {
        case .get, .describe, .listen, .listenQuery: true
        case .set(_, _, let expected, _): expected != nil
        case .update, .setChildren, .unlisten, .unlistenQuery, .dropListener, .onDisconnect, .cancelOnDisconnect,
            .become, .relay, .forfeit, .disconnect, .explain, .job:
            false
        }
    }

    /// Whether it has to be done by the node that takes the writes of the database.
    package var mustReachOwner: Bool {
        switch self {
        case .cancelOnDisconnect, .forfeit, .disconnect: true
        default: writes
        }
    }

    /// Whether its answer may come much later, because there is nothing to answer yet.
    package var mayWait: Bool { if case .job(_, let operation) = self { operation.mayWait } else { false } }

    /// Whether it says that a connection ends, or that it is not owed anything any more: it is not answered, and is
    /// done when nothing else of the connection is.
    package var isOfEnd: Bool {
        switch self {
        case .forfeit, .disconnect: true
        default: false
        }
    }

    package var writes: Bool {
        switch self {
        case .set, .update, .setChildren, .onDisconnect, .job: true
        case .get, .describe, .listen, .unlisten, .listenQuery, .unlistenQuery, .dropListener, .cancelOnDisconnect,
            .become, .relay, .forfeit, .disconnect, .explain:
            false
        }
    }
}
