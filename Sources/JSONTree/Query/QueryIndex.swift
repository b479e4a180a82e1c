/// The order of the children of a node (Protocol.md 16.2). Ties are broken by the key.
package enum QueryIndex: Hashable, Sendable {
    case key
    /// The child's own value.
    case value
    case priority
    /// The value at a path below the child, which is not the root.
    case child(Path)
    /// Several values below the child, if conditions hold for it.
    case conditions(ConditionQuery)
    /// The same as another index, without the children that had expired at a time, in milliseconds since 1970. Places
    /// are those of the other index; only servers leave children out.
    indirect case unexpired(QueryIndex, [ExpiryTime], at: Int64)
}

extension QueryIndex {
    /// The place of a child with a value, whose text is `range` of `json`, and a key, as an encoded segment. Scans the
    /// value no further than to the part that the index compares.
    package func place(of json: CanonicalJSON, in range: Range<Int>, segment: [UInt8]) -> IndexPlace {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(segment.count + 16)
        appendValue(of: json, in: range, to: &bytes)
        bytes.append(contentsOf: segment)
        return IndexPlace(bytes)
    }

    /// The place of a child with this value. Nil if the value is null: there is no such child.
    package func place(of json: CanonicalJSON, segment: [UInt8]) -> IndexPlace? {
        json.isNull ? nil : place(of: json, in: json.range, segment: segment)
    }

    /// The place of a child of a value, as found by `json.children`.
    package func place(of child: CanonicalJSON.Child, in json: CanonicalJSON) -> IndexPlace {
        var bytes: [UInt8] = []
        appendValue(of: json, in: child.value, to: &bytes)
        child.appendSegment(to: &bytes)
        return IndexPlace(bytes)
    }

    /// Appends the first part of a place, encoded: the compared part of the value whose text is `range` of `json`.
    package func appendValue(of json: CanonicalJSON, in range: Range<Int>, to out: inout [UInt8]) {
        switch self {
        case .key: break
        case .value: IndexValue.append(json, in: range, to: &out)
        case .priority: IndexValue.append(json, in: json.priorityRange(in: range), to: &out)
        case .child(let path): IndexValue.append(json, in: json.range(of: path, in: range), to: &out)
        case .conditions(let conditions):
            out += conditions.placeValue { path in
                var value: [UInt8] = []
                IndexValue.append(json, in: path.isRoot ? range : json.range(of: path, in: range), to: &value)
                return value
            }
        case .unexpired(let index, _, at: _): index.appendValue(of: json, in: range, to: &out)
        }
    }

    /// The index that a query names.
    package var named: QueryIndex { if case .unexpired(let index, _, at: _) = self { index } else { self } }
}

extension CanonicalJSON {
    /// The position of the priority of the value whose text is `range`, if it has one.
    package func priorityRange(in range: Range<Int>) -> Range<Int>? {
        bytes.withUnsafeBytes { CanonicalShape($0, range).priority }
    }
}

extension QueryIndex: CustomStringConvertible {
    /// The word that `.indexOn` knows it by: `.value`, or a path such as `author/name`. Of an index of several values
    /// the list of them.
    package var description: String {
        switch self {
        case .key: ".key"
        case .value: ".value"
        case .priority: ".priority"
        case .child(let path): String(decoding: path.text, as: UTF8.self)
        case .conditions(let query): String(decoding: ConditionQuery.text(of: query.orders), as: UTF8.self)
        case .unexpired(let index, _, at: _): index.description
        }
    }
}
