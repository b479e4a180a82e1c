import HearthJSONTree

/// A point between encoded index values (``IndexValue``): before all that begin with some bytes, or after them.
struct ValueBound: Hashable {
    var bytes: [UInt8]
    var isAfter: Bool

    static func before(_ bytes: [UInt8]) -> ValueBound { ValueBound(bytes: bytes, isAfter: false) }
    static func after(_ bytes: [UInt8]) -> ValueBound { ValueBound(bytes: bytes, isAfter: true) }

    /// Bytes to compare with those of a place of which the value is a part. More follows a value, or the beginning of
    /// one, and all of it is less: the one byte 0xFF is the end of a text whose order is turned, and less follows that.
    var position: [UInt8] { isAfter ? bytes + [0xFF, 0xFF] : bytes }

    func precedes(_ other: ValueBound) -> Bool { position.precedesBytewise(other.position) }
}

/// The values that conditions on one path let through, as ranges in order that do not touch.
struct ValueRanges: Hashable {
    struct Range: Hashable {
        var lower: ValueBound
        var upper: ValueBound

        /// As it is in an index that has the path in this order.
        func turned(_ order: ConditionQuery.Order) -> Range {
            if !order.isDescending { return self }
            func turned(_ bound: ValueBound) -> ValueBound {
                ValueBound(bytes: order.turned(bound.bytes), isAfter: !bound.isAfter)
            }
            return Range(lower: turned(upper), upper: turned(lower))
        }

        /// The value, if there is only one.
        fileprivate var value: [UInt8]? {
            let bytes = lower.bytes
            guard bytes == upper.bytes, !lower.isAfter, upper.isAfter, let tag = bytes.first else { return nil }
            // The beginning of a text has no upper bound.
            let isWhole =
                tag == IndexValue.stringTag ? bytes.last == 0 : IndexValue.end(in: bytes, from: 0) == bytes.count
            return isWhole ? bytes : nil
        }
    }

    private(set) var ranges: [Range]

    static let everything = ValueRanges(ranges: [Range(lower: .before([]), upper: .after([]))])

    /// The values that all begin with some bytes.
    private static func beginning(_ bytes: [UInt8]) -> ValueRanges {
        ValueRanges(ranges: [Range(lower: .before(bytes), upper: .after(bytes))])
    }

    /// All values, if they are some and no ranges.
    var values: [[UInt8]]? {
        let values = ranges.compactMap(\.value)
        return values.count == ranges.count ? values : nil
    }

    /// The values that a condition demands at a path, if it demands such values at one path alone.
    static func of(_ condition: Condition) -> (path: Path, ranges: ValueRanges)? {
        switch condition {
        case .compare(_, .notEqual, _), .isNotIn: return nil
        case .compare(let path, .equal, let value): return (path, beginning(IndexValue.encoded(value)))
        case .compare(let path, let comparison, let value): return (path, comparing(comparison, value))
        case .isIn(let path, let values):
            return (path, values.reduce(ValueRanges(ranges: [])) { $0.union(beginning(IndexValue.encoded($1))) })
        case .starts(let path, let prefix):
            // But for the byte that ends it.
            return (path, beginning(Array(IndexValue.encoded(prefix).dropLast())))
        case .any(let list): return combined(list) { $0.union($1) }
        case .all(let list): return combined(list) { $0.intersection($1) }
        }
    }

    private static func comparing(_ comparison: Condition.Comparison, _ other: CanonicalJSON) -> ValueRanges {
        let value = IndexValue.encoded(other)
        // Ranges stay within one type.
        let tags = Condition.tags(like: value)
        var range = Range(lower: .before([tags.lowerBound]), upper: .after([tags.upperBound]))
        switch comparison {
        case .less: range.upper = .before(value)
        case .notGreater: range.upper = .after(value)
        case .greater: range.lower = .after(value)
        case .notLess: range.lower = .before(value)
        case .equal, .notEqual: break
        }
        return ValueRanges(ranges: range.lower.precedes(range.upper) ? [range] : [])
    }

    private static func combined(
        _ list: [Condition], _ combine: (ValueRanges, ValueRanges) -> ValueRanges
    ) -> (path: Path, ranges: ValueRanges)? {
        var result: (path: Path, ranges: ValueRanges)?
        for condition in list {
            guard let next = of(condition) else { return nil }
            guard let known = result else {
                result = next
                continue
            }
            if known.path != next.path { return nil }
            result = (known.path, combine(known.ranges, next.ranges))
        }
        return result
    }

    /// O(ranges of both).
    func intersection(_ other: ValueRanges) -> ValueRanges {
        var result: [Range] = []
        var (a, b) = (ranges[...], other.ranges[...])
        while let first = a.first, let second = b.first {
            let lower = first.lower.precedes(second.lower) ? second.lower : first.lower
            let upper = first.upper.precedes(second.upper) ? first.upper : second.upper
            if lower.precedes(upper) { result.append(Range(lower: lower, upper: upper)) }
            if first.upper.precedes(second.upper) { a.removeFirst() } else { b.removeFirst() }
        }
        return ValueRanges(ranges: result)
    }

    /// O(n log n).
    func union(_ other: ValueRanges) -> ValueRanges {
        var result: [Range] = []
        for range in (ranges + other.ranges).sorted(by: { $0.lower.precedes($1.lower) }) {
            if let last = result.indices.last, !result[last].upper.precedes(range.lower) {
                if result[last].upper.precedes(range.upper) { result[last].upper = range.upper }
            } else {
                result.append(range)
            }
        }
        return ValueRanges(ranges: result)
    }
}
