import HearthJSONTree

/// The members of a body that requests and pushes share (Protocol.md 4, 5), each as far as it is there. A null is
/// as good as nothing, except as data; a member of a wrong kind makes the whole body wrong, so that a condition is
/// never overlooked.
struct MessageBody {
    private(set) var path: JSONStringText?
    private(set) var data: UnsafeRawBufferPointer?
    private(set) var hash: [UInt8]?
    private(set) var parts: CompoundHash.Parts?
    /// The text of a query object, or of an array of one.
    private(set) var query: [UInt8]?
    private(set) var tag: Int64?
    private(set) var credential: [UInt8]?
    private(set) var events: EventKinds?
    /// The text of `authvar`, or `null` for `noauth`.
    private(set) var acting: [UInt8]?
    /// Positions in the order of commits (Protocol.md 18.2): the one that a client has, and that of what comes here.
    private(set) var since: [UInt8]?
    private(set) var position: [UInt8]?
    private var mistake: RequestError?
    private var job = JobMembers()

    /// A body that is missing.
    init() {}

    /// Reads the body that begins here; one that is no object has no members.
    init(reading reader: inout JSONReader) throws(JSONError) {
        guard try reader.peek() == UInt8(ascii: "{") else {
            _ = try reader.skipValue()
            return
        }
        var body = MessageBody()
        try reader.forEachMember { (reader, key) throws(JSONError) in try body.read(key, from: &reader) }
        self = body
    }

    /// `text` is that of the body.
    init(_ text: UnsafeRawBufferPointer?) throws(RequestError) {
        guard let text else {
            self.init()
            return
        }
        var reader = JSONReader(text)
        do throws(JSONError) { try self.init(reading: &reader) } catch { throw .value(error) }
        try check()
    }

    /// Throws if a member was of a wrong kind.
    func check() throws(RequestError) {
        if let mistake { throw mistake }
    }

    private mutating func read(_ key: UnsafeRawBufferPointer, from reader: inout JSONReader) throws(JSONError) {
        if key.equals("d") {
            data = try reader.skipValue()
        } else if key.equals("authvar") {
            // Null is somebody, namely nobody.
            let text = try reader.skipValue()
            acting = acting ?? Array(text)
        } else if try reader.peek() == UInt8(ascii: "n") {
            _ = try reader.skipValue()
        } else if key.equals("p") {
            path = try string("path \"p\"", from: &reader)
        } else if key.equals("h") {
            hash = try string("hash \"h\"", from: &reader)?.utf8
        } else if key.equals("ch") {
            parts = try CompoundHash.Parts(parsing: try reader.skipValue())
        } else if key.equals("since") {
            since = try string("position \"since\"", from: &reader)?.utf8
        } else if key.equals("pos") {
            position = try string("position \"pos\"", from: &reader)?.utf8
        } else if key.equals("cred") {
            credential = try string("credential \"cred\"", from: &reader)?.utf8
        } else if key.equals("noauth") {
            if try reader.skipValue().equals("true") { acting = Array("null".utf8) }
        } else if key.equals("q") {
            query = Array(try reader.skipValue())
        } else if key.equals("e") {
            events = try Self.eventKinds(try reader.skipValue())
            if events == nil { mistake = .missing("list of events \"e\"") }
        } else if key.equals("t") {
            let text = try reader.skipValue()
            var number = JSONReader(text)
            do throws(JSONError) { tag = try number.integer() } catch { mistake = .missing("tag \"t\"") }
        } else if try !job.read(key, from: &reader) {
            _ = try reader.skipValue()
        }
    }

    private mutating func string(_ name: String, from reader: inout JSONReader) throws(JSONError) -> JSONStringText? {
        if try reader.peek() == UInt8(ascii: "\"") { return try reader.stringText() }
        _ = try reader.skipValue()
        mistake = .missing(name)
        return nil
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

    func requiredPath() throws(RequestError) -> Path {
        guard let path else { throw .missing("path \"p\"") }
        do throws(PathError) {
            return try path.withUTF8 { (text) throws(PathError) in try Path(parsing: text.bytes) }
        } catch {
            throw .path(error)
        }
    }

    func queryObject() throws(RequestError) -> QueryObject? {
        guard let query else { return nil }
        return try QueryObject(parsing: query)
    }

    /// The same of a listener, which in SDKs 1.x names a list of queries and no tag.
    func listenerQuery() throws(RequestError) -> QueryObject? {
        guard let query, tag == nil, query.first == UInt8(ascii: "[") else { return try queryObject() }
        return try QueryObject(parsingList: query)
    }

    /// The query object of a query with conditions.
    func conditions() throws(RequestError) -> QueryObject {
        guard let query else { throw .missing("query \"q\"") }
        return try QueryObject(parsingConditions: query)
    }

    /// One place and its new value.
    func assignment() throws(RequestError) -> WireAssignment {
        guard let path else { throw .missing("path \"p\"") }
        let target: WriteTarget
        do throws(PathError) {
            target = try path.withUTF8 { (text) throws(PathError) in try WriteTarget(parsing: text.bytes) }
        } catch {
            throw .path(error)
        }
        guard let data else { throw .missing("data \"d\"") }
        return try WireAssignment.parse(data, for: target)
    }

    /// What a worker asks; nil if the action is none of a worker.
    func job(action: [UInt8]) throws(RequestError) -> JobRequest? {
        try job.request(action: action) { () throws(RequestError) in
            guard let data else { return [] }
            guard data.first == UInt8(ascii: "{") else { throw .missing("object \"d\"") }
            return try WireAssignment.parse(data, base: .root)
        }
    }

    /// Several places below the path, and their new values.
    func assignments() throws(RequestError) -> (base: Path, assignments: [WireAssignment]) {
        let base = try requiredPath()
        guard let data, data.first == UInt8(ascii: "{") else { throw .missing("object \"d\"") }
        return (base, try WireAssignment.parse(data, base: base))
    }
}
