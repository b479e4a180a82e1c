import HearthJSONTree
import HearthTreeQueries
package import HearthWireProtocol

extension QueryObject {
    /// Bytes of the text of a query, which is kept as long as somebody listens.
    package static let textBytesMax = 16 << 10

    private static func checkLength(_ text: [UInt8]) throws(RequestError) {
        if text.count > textBytesMax { throw .missing("query \"q\" of at most \(textBytesMax) bytes") }
    }

    /// Reads a query object. Unknown members do not count, nor does a null, except as the value of a bound.
    package init(parsing text: [UInt8]) throws(RequestError) {
        try Self.checkLength(text)
        let members = try text.span.bytes.withUnsafeBytes { (text) throws(RequestError) in
            try QueryMembers(text)
        }
        self.init(query: try members.query(), text: text)
    }

    /// Reads a list of query objects. SDKs 1.x select from the whole value themselves, so it selects everything; its
    /// text is the text between the brackets.
    package init(parsingList list: [UInt8]) throws(RequestError) {
        try Self.checkLength(list)
        guard list.first == UInt8(ascii: "["), list.last == UInt8(ascii: "]") else { throw .missing("query \"q\"") }
        self.init(query: .everything, text: Array(list.dropFirst().dropLast()), isList: true)
        var queries: [[UInt8]] = []
        do throws(JSONError) {
            try text.span.bytes.withUnsafeBytes { (bytes) throws(JSONError) in
                var reader = JSONReader(bytes)
                while !reader.isAtEnd {
                    queries.append(Array(try reader.skipValue()))
                    if !reader.isAtEnd { try reader.expect(UInt8(ascii: ",")) }
                }
            }
        } catch {
            throw .missing("query \"q\"")
        }
        guard !queries.isEmpty else { throw .missing("query \"q\"") }
        for query in queries { _ = try QueryObject(parsing: query) }
    }

    /// Reads the query object of a query with conditions (Protocol.md 18.3).
    package init(parsingConditions text: [UInt8]) throws(RequestError) {
        try Self.checkLength(text)
        let query: Query
        do throws(QueryError) { query = try ConditionParser.query(text) } catch { throw .query(error) }
        self.init(query: query, text: text)
    }
}

/// The members of a query object, as far as they are there.
private struct QueryMembers {
    private struct Bound {
        var value: UnsafeRawBufferPointer?
        var key: UnsafeRawBufferPointer?
        var isInclusive: UnsafeRawBufferPointer?
    }

    private var index: UnsafeRawBufferPointer?
    private var start = Bound()
    private var end = Bound()
    private var limit: UnsafeRawBufferPointer?
    private var side: UnsafeRawBufferPointer?

    /// `text` must outlive the members.
    init(_ text: UnsafeRawBufferPointer) throws(RequestError) {
        guard text.first == UInt8(ascii: "{") else { throw .missing("query \"q\"") }
        var members = QueryMembers()
        do throws(JSONError) {
            var reader = JSONReader(text)
            try reader.forEachMember { (reader, key) throws(JSONError) in
                let value = try reader.skipValue()
                if key.equals("sp") {
                    members.start.value = value
                } else if key.equals("ep") {
                    members.end.value = value
                } else if !value.equals("null") {
                    members.set(key, value)
                }
            }
            try reader.finish()
        } catch {
            throw .missing("query \"q\"")
        }
        self = members
    }

    private init() {}

    private mutating func set(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        if key.equals("i") {
            index = value
        } else if key.equals("sn") {
            start.key = value
        } else if key.equals("sin") {
            start.isInclusive = value
        } else if key.equals("en") {
            end.key = value
        } else if key.equals("ein") {
            end.isInclusive = value
        } else if key.equals("l") {
            limit = value
        } else if key.equals("vf") {
            side = value
        }
    }

    func query() throws(RequestError) -> Query {
        let index = try queryIndex()
        let start = try Self.bound(start, "start")
        let end = try Self.bound(end, "end")
        let limit = try queryLimit()
        if case .priority = index, start == nil, end == nil, limit == nil { return .everything }
        do throws(QueryError) {
            return try Query(index: index, start: start, end: end, limit: limit)
        } catch {
            throw .query(error)
        }
    }

    private func queryIndex() throws(RequestError) -> QueryIndex {
        guard let index else { return .priority }
        guard let text = Self.string(index) else { throw Self.unknownIndex }
        if text.elementsEqual(".key".utf8) { return .key }
        if text.elementsEqual(".value".utf8) { return .value }
        if text.elementsEqual(".priority".utf8) { return .priority }
        guard let path = try? Path(parsing: text), !path.isRoot else { throw Self.unknownIndex }
        return .child(path)
    }

    private static let unknownIndex = RequestError.missing("index \"i\" of the query")

    /// Nil without a value: a key alone is no bound.
    private static func bound(_ bound: Bound, _ name: String) throws(RequestError) -> QueryBound? {
        guard let text = bound.value else { return nil }
        // A wrapper or a server value would pass for a leaf.
        if text.first == UInt8(ascii: "{") { throw .query(.boundNotPrimitive) }
        guard let value = try? CanonicalJSON.parse(text.bytes).value else { throw .missing("\(name) of the query") }
        var key: QueryBound.BoundKey?
        if let text = bound.key {
            guard let utf8 = string(text) else { throw .missing("\(name) key of the query") }
            key = QueryBound.BoundKey(parsing: utf8)
        }
        var isInclusive = true
        if let text = bound.isInclusive {
            guard text.equals("true") || text.equals("false") else { throw .missing("\(name) of the query") }
            isInclusive = text.equals("true")
        }
        return QueryBound(value, key: key, isInclusive: isInclusive)
    }

    private func queryLimit() throws(RequestError) -> QueryLimit? {
        guard let limit else { return nil }
        var reader = JSONReader(limit)
        guard let number = try? reader.integer(), let count = Int(exactly: number) else {
            throw .missing("limit \"l\" of the query")
        }
        let first: Bool
        switch side {
        case nil: first = start.value != nil
        case let side? where side.equals("\"l\""): first = true
        case let side? where side.equals("\"r\""): first = false
        default: throw .missing("side \"vf\" of the query's limit")
        }
        return QueryLimit(first ? .first : .last, count)
    }

    private static func string(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        guard text.first == UInt8(ascii: "\"") else { return nil }
        var reader = JSONReader(text)
        return try? reader.string()
    }
}
