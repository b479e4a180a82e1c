package import HearthJSONTree

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
    /// A value of this many bytes comes into the tree as text, and its rows go to the store bit by bit; so does a
    /// smaller one of very many members (`CanonicalJSON.isLarge`).
    package static let largeBytesMin = 256 << 10
    /// An update of so many children is one text (``setChildren(_:_:)``), as one of so many bytes is.
    package static let largeCountMin = 2048

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
    var entryCount: Int {
        switch self {
        case .update(_, let entries), .onDisconnect(let entries): entries.count
        default: 0
        }
    }

    /// What the places of an update hold, in bytes, about.
    var placesByteCount: Int {
        switch self {
        case .update(_, let entries), .onDisconnect(let entries):
            entries.reduce(0) { $0 + $1.target.path.encoded.count + Self.entryByteCount }
        default: 0
        }
    }

    /// What a listener's request holds, in bytes, about.
    var listenByteCount: Int {
        switch self {
        case .listen(let path, let known, _, _): path.encoded.count + (known?.byteCount ?? 0)
        case .listenQuery(let path, _, _, let known, let text, _):
            path.encoded.count + text.count + (known?.byteCount ?? 0)
        default: 0
        }
    }

    /// A place and a value, without their bytes.
    private static var entryByteCount: Int { 100 }

    /// Whether it writes so many small things that this takes longer than others should wait.
    var isDemanding: Bool {
        switch self {
        case .set(_, let value, _, _): value.json.isLarge(Self.largeBytesMin)
        case .setChildren: true
        case .update(_, let entries), .onDisconnect(let entries):
            entries.count >= 512 || entries.contains { $0.value.json.isLarge(Self.largeBytesMin) }
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
