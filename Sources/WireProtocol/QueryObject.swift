package import HearthJSONTree

/// The query object of a request (Protocol.md 16.1), read, and as the client wrote it: a server that ends the listen
/// names it in the same words.
package struct QueryObject: Hashable, Sendable {
    package let query: Query
    package let text: [UInt8]
    /// It is a list of queries, as SDKs 1.x write it.
    package let isList: Bool

    /// - parameter text: that of this query.
    package init(query: Query, text: [UInt8], isList: Bool = false) {
        self.query = query
        self.text = text
        self.isList = isList
    }

    /// Writes a query object. An index of conditions has none of this kind.
    package init(
        index: QueryIndex, start: QueryBound? = nil, end: QueryBound? = nil, limit: QueryLimit? = nil
    ) throws(QueryError) {
        if case .conditions = index { throw .conditions("bounds do not go with conditions") }
        query = try Query(index: index, start: start, end: end, limit: limit)
        var text: [UInt8] = []
        if let start { Self.append(start, "\"sp\":", "\"sn\":", "\"sin\":", to: &text) }
        if let end { Self.append(end, "\"ep\":", "\"en\":", "\"ein\":", to: &text) }
        if let limit {
            text.append(literal: "\"l\":")
            text.append(decimal: Int64(limit.count))
            text.append(literal: limit.side == .first ? #","vf":"l","# : #","vf":"r","#)
        }
        text.append(literal: "\"i\":")
        if case .child(let path) = index {
            text.append(quoted: path)
        } else {
            JSONText.appendQuoted(Array(index.description.utf8), to: &text)
        }
        self.text = Array("{".utf8) + text + Array("}".utf8)
        isList = false
    }

    /// Writes the query object of a query with conditions (Protocol.md 18.3).
    ///
    /// - parameters:
    ///   - limit: nil for all children.
    ///   - cursor: the cursor of the page before.
    package init(_ conditions: ConditionQuery, limit: Int?, after cursor: [UInt8]? = nil) throws(QueryError) {
        try conditions.check()
        if let limit, limit < 1 { throw .limitNotPositive }
        var place: IndexPlace?
        if let cursor {
            place = conditions.place(cursor: cursor)
            if place == nil { throw .notCursor }
        }
        query = Query(conditions, limit: limit.map { QueryLimit(.first, $0) }, after: place)
        text = conditions.text(limit: limit, after: cursor)
        isList = false
    }

    private static func append(
        _ bound: QueryBound, _ value: StaticString, _ key: StaticString, _ isInclusive: StaticString,
        to out: inout [UInt8]
    ) {
        out.append(literal: value)
        out.append(contentsOf: bound.value.bytes)
        out.append(UInt8(ascii: ","))
        if let boundKey = bound.key {
            out.append(literal: key)
            switch boundKey {
            case .lowest: out.append(literal: "\"[MIN_NAME]\"")
            case .highest: out.append(literal: "\"[MAX_NAME]\"")
            case .key(let utf8): JSONText.appendQuoted(utf8, to: &out)
            }
            out.append(UInt8(ascii: ","))
        }
        out.append(literal: isInclusive)
        out.append(literal: bound.isInclusive ? "true," : "false,")
    }
}
