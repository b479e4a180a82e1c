import HearthJSONTree
import HearthWireProtocol

/// The members of a request's body (Protocol.md 4), each as far as it is there: those of every body, and those that
/// only requests have.
struct RequestBody {
    private(set) var shared = MessageBody()
    private(set) var hash: [UInt8]?
    private(set) var parts: CompoundHash.Parts?
    private(set) var credential: [UInt8]?
    private(set) var events: EventKinds?
    /// The text of `authvar`, or `null` for `noauth`.
    private(set) var acting: [UInt8]?
    /// The position in the order of commits that a client has (Protocol.md 18.2).
    private(set) var since: [UInt8]?
    private var job = JobMembers()

    /// A body that is missing.
    init() {}

    /// Reads the body that begins here. A body that is not an object has no members.
    init(reading reader: inout JSONReader) throws(JSONError) {
        guard try reader.peek() == UInt8(ascii: "{") else {
            _ = try reader.skipValue()
            return
        }
        var body = RequestBody()
        try reader.forEachMember { (reader, key) throws(JSONError) in try body.read(key, from: &reader) }
        self = body
    }

    /// `text` is that of the body.
    init(_ text: UnsafeRawBufferPointer) throws(RequestError) {
        var reader = JSONReader(text)
        do throws(JSONError) { try self.init(reading: &reader) } catch { throw .value(error) }
        try shared.check()
    }

    private mutating func read(_ key: UnsafeRawBufferPointer, from reader: inout JSONReader) throws(JSONError) {
        if key.equals("authvar") {
            // Null is given, and means no user.
            let text = try reader.skipValue()
            acting = acting ?? Array(text)
        } else if try shared.read(key, from: &reader) {
            return
        } else if key.equals("h") {
            // A hash has 28 characters. The beginning of a longer text is not one either.
            hash = try shared.string("hash \"h\"", from: &reader).map { Array($0.utf8.prefix(64)) }
        } else if key.equals("ch") {
            parts = try CompoundHash.Parts(parsing: try reader.skipValue())
        } else if key.equals("since") {
            since = try shared.string("position \"since\"", from: &reader)?.utf8
        } else if key.equals("cred") {
            credential = try shared.string("credential \"cred\"", from: &reader)?.utf8
        } else if key.equals("noauth") {
            if try reader.skipValue().equals("true") { acting = Array("null".utf8) }
        } else if key.equals("e") {
            events = try Self.eventKinds(try reader.skipValue())
            if events == nil { shared.note(.missing("list of events \"e\"")) }
        } else if try !job.read(key, from: &reader) {
            _ = try reader.skipValue()
        }
    }

    /// Reads an array of names; nil unless it is one.
    private static func eventKinds(_ text: UnsafeRawBufferPointer) throws(JSONError) -> EventKinds? {
        guard text.first == UInt8(ascii: "[") else { return nil }
        var kinds: EventKinds = []
        var reader = JSONReader(UnsafeRawBufferPointer(rebasing: text.dropFirst().dropLast()))
        while !reader.isAtEnd {
            guard let kind = EventKinds(name: try reader.stringText().raw) else { return nil }
            kinds.insert(kind)
            if !reader.isAtEnd { try reader.expect(UInt8(ascii: ",")) }
        }
        return kinds.isEmpty ? nil : kinds
    }

    func queryObject() throws(RequestError) -> QueryObject? {
        guard let query = shared.query else { return nil }
        return try QueryObject(parsing: query)
    }

    /// The same of a listener, which in SDKs 1.x names a list of queries and no tag.
    func listenerQuery() throws(RequestError) -> QueryObject? {
        guard let query = shared.query, shared.tag == nil, query.first == UInt8(ascii: "[") else {
            return try queryObject()
        }
        return try QueryObject(parsingList: query)
    }

    /// The query object of a query with conditions.
    func conditions() throws(RequestError) -> QueryObject {
        guard let query = shared.query else { throw .missing("query \"q\"") }
        return try QueryObject(parsingConditions: query)
    }

    /// The request of a worker; nil for any other action.
    func job(action: [UInt8]) throws(RequestError) -> JobRequest? {
        try job.request(action: action) { () throws(RequestError) in
            guard let data = shared.data else { return [] }
            guard data.first == UInt8(ascii: "{") else { throw .missing("object \"d\"") }
            return try WireAssignment.parse(data, base: .root)
        }
    }
}
