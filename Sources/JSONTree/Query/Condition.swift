/// A condition of a query on each child (Protocol.md 18.3). Paths are relative to the child; the root is the child
/// itself.
package indirect enum Condition: Hashable, Sendable {
    package enum Comparison: String, Sendable {
        case equal = "=="
        case notEqual = "!="
        case less = "<"
        case notGreater = "<="
        case greater = ">"
        case notLess = ">="
    }

    /// The value is a leaf or null.
    case compare(Path, Comparison, CanonicalJSON)
    /// The values are leaves or null.
    case isIn(Path, [CanonicalJSON])
    case isNotIn(Path, [CanonicalJSON])
    /// There is a string that starts with this one.
    case starts(Path, CanonicalJSON)
    case all([Condition])
    case any([Condition])

    /// Whether it holds for a child. `value` gives the encoded value at a path below the child.
    package func holds<Failure: Error>(_ value: (Path) throws(Failure) -> [UInt8]) throws(Failure) -> Bool {
        switch self {
        case .compare(let path, let comparison, let other):
            return Self.compare(try value(path), comparison, IndexValue.encoded(other))
        case .isIn(let path, let others):
            let found = try value(path)
            return others.contains { IndexValue.encoded($0) == found }
        case .isNotIn(let path, let others):
            let found = try value(path)
            return Self.isLeaf(found) && !others.contains { IndexValue.encoded($0) == found }
        case .starts(let path, let prefix):
            // But for the byte that ends it.
            return try value(path).starts(with: IndexValue.encoded(prefix).dropLast())
        case .all(let conditions):
            for condition in conditions where try !condition.holds(value) { return false }
            return true
        case .any(let conditions):
            for condition in conditions where try condition.holds(value) { return true }
            return false
        }
    }

    private static func compare(_ found: [UInt8], _ comparison: Comparison, _ other: [UInt8]) -> Bool {
        switch comparison {
        case .equal: return found == other
        case .notEqual:
            return other == IndexValue.nothing ? found != other : isLeaf(found) && found != other
        case .less: return tags(like: found).contains(other[0]) && found.precedesBytewise(other)
        case .notGreater: return tags(like: found).contains(other[0]) && !other.precedesBytewise(found)
        case .greater: return tags(like: found).contains(other[0]) && other.precedesBytewise(found)
        case .notLess: return tags(like: found).contains(other[0]) && !found.precedesBytewise(other)
        }
    }

    /// The path of which it asks a range of values.
    var rangedPath: Path? {
        switch self {
        case .compare(let path, let comparison, _) where comparison != .equal && comparison != .notEqual: path
        case .starts(let path, _): path
        default: nil
        }
    }

    private static func isLeaf(_ value: [UInt8]) -> Bool { value != IndexValue.nothing && value != IndexValue.object }

    /// The first bytes of encoded values of the same type: values of different types are in no range together.
    package static func tags(like value: [UInt8]) -> ClosedRange<UInt8> {
        // Both Booleans are of one.
        (0x02...0x03).contains(value[0]) ? 0x02...0x03 : value[0]...value[0]
    }

    // MARK: Canonical form

    /// The same condition in normal form: lists are sorted and without duplicates, and lists of one or within a list of
    /// the same kind are dissolved.
    var canonical: Condition {
        switch self {
        case .compare, .starts: self
        case .isIn(let path, let values): .isIn(path, Self.sorted(values))
        case .isNotIn(let path, let values): .isNotIn(path, Self.sorted(values))
        case .all(let conditions):
            Self.list(
                conditions.flatMap { condition in
                    if case .all(let inner) = condition.canonical { inner } else { [condition.canonical] }
                }, Condition.all)
        case .any(let conditions):
            Self.list(
                conditions.flatMap { condition in
                    if case .any(let inner) = condition.canonical { inner } else { [condition.canonical] }
                }, Condition.any)
        }
    }

    private static func list(_ conditions: [Condition], _ make: ([Condition]) -> Condition) -> Condition {
        var seen: Set<Condition> = []
        let unique = conditions.filter { seen.insert($0).inserted }.map { (text: $0.text, condition: $0) }
        if unique.count == 1 { return unique[0].condition }
        return make(unique.sorted { $0.text.precedesBytewise($1.text) }.map(\.condition))
    }

    private static func sorted(_ values: [CanonicalJSON]) -> [CanonicalJSON] {
        Set(values).sorted { $0.bytes.precedesBytewise($1.bytes) }
    }

    /// Bytes that only equal conditions share.
    var text: [UInt8] {
        func text(_ name: String, _ path: Path, _ values: [CanonicalJSON]) -> [UInt8] {
            var out = Array("\(name)(\(path.encoded.count):".utf8) + path.encoded
            for value in values { out += [UInt8(ascii: ",")] + value.bytes }
            return out + [UInt8(ascii: ")")]
        }
        func list(_ name: String, _ conditions: [Condition]) -> [UInt8] {
            Array("\(name)[".utf8) + conditions.flatMap(\.text) + [UInt8(ascii: "]")]
        }
        return switch self {
        case .compare(let path, let comparison, let value): text(comparison.rawValue, path, [value])
        case .isIn(let path, let values): text("in", path, values)
        case .isNotIn(let path, let values): text("not-in", path, values)
        case .starts(let path, let prefix): text("starts", path, [prefix])
        case .all(let conditions): list("all", conditions)
        case .any(let conditions): list("any", conditions)
        }
    }
}
