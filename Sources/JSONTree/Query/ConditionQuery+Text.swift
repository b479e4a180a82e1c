extension ConditionQuery {
    /// The query object that ``ConditionParser`` reads as this query (Protocol.md 18.3).
    ///
    /// - parameters:
    ///   - limit: nil for all children.
    ///   - cursor: the cursor of the page before.
    package func text(limit: Int?, after cursor: [UInt8]? = nil) -> [UInt8] {
        var out = Array("{\"limit\":".utf8) + Array((limit.map { "\($0)" } ?? "null").utf8)
        func append(_ name: StaticString, _ parts: [[UInt8]]) {
            if parts.isEmpty { return }
            out += [UInt8(ascii: ","), UInt8(ascii: "\"")] + Array("\(name)\":".utf8) + Self.list(parts)
        }
        append("where", conditions.map(\.json))
        append("orderBy", orders.map(\.json))
        append("fields", fields.map(Self.quoted))
        if let aggregates {
            out = Array("{\"aggregate\":".utf8)
            out += Self.list(aggregates.kinds.map { Array("\"\($0.rawValue)\"".utf8) })
            append("where", conditions.map(\.json))
            if let path = aggregates.path { out += Array(",\"of\":".utf8) + Self.quoted(path) }
            if isExplained { out += Array(",\"explain\":true".utf8) }
            return out + [UInt8(ascii: "}")]
        }
        if isExplained { out += Array(",\"explain\":true".utf8) }
        if let cursor {
            out += Array(",\"after\":".utf8)
            JSONText.appendQuoted(cursor, to: &out)
        }
        return out + [UInt8(ascii: "}")]
    }

    /// `[["state","asc"],["due","desc"]]`.
    package static func text(of orders: [Order]) -> [UInt8] { list(orders.map(\.json)) }

    fileprivate static func list(_ parts: [[UInt8]]) -> [UInt8] {
        [UInt8(ascii: "[")] + parts.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
    }

    /// A path below a child, or `.value` for the child itself.
    fileprivate static func quoted(_ path: Path) -> [UInt8] {
        var out: [UInt8] = []
        JSONText.appendQuoted(path.isRoot ? Array(".value".utf8) : path.text, to: &out)
        return out
    }
}

extension ConditionQuery.Order {
    /// As in a query object.
    fileprivate var json: [UInt8] {
        ConditionQuery.list([ConditionQuery.quoted(path), Array((isDescending ? "\"desc\"" : "\"asc\"").utf8)])
    }
}

extension Condition {
    /// As in a query object.
    fileprivate var json: [UInt8] {
        func test(_ path: Path, _ name: String, _ value: [UInt8]) -> [UInt8] {
            ConditionQuery.list([ConditionQuery.quoted(path), Array("\"\(name)\"".utf8), value])
        }
        func list(_ name: String, _ conditions: [Condition]) -> [UInt8] {
            ConditionQuery.list([Array("\"\(name)\"".utf8)] + conditions.map(\.json))
        }
        switch self {
        case .compare(let path, let comparison, let value): return test(path, comparison.rawValue, value.bytes)
        case .isIn(let path, let values): return test(path, "in", ConditionQuery.list(values.map(\.bytes)))
        case .isNotIn(let path, let values): return test(path, "not-in", ConditionQuery.list(values.map(\.bytes)))
        case .starts(let path, let prefix): return test(path, "starts", prefix.bytes)
        case .all(let conditions): return list("and", conditions)
        case .any(let conditions): return list("or", conditions)
        }
    }
}
