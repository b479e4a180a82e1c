/// Which children of a node are asked for: those of an interval of an index, all of them or so many at one of its ends
/// (Protocol.md 16.1).
///
/// Equal if the intervals and limits are, even if the bounds were given differently: equal queries share their data.
package struct Query: Hashable, Sendable {
    /// One word, so that operations that may hold a query are not as large as one.
    private let parts: Parts

    private final class Parts: Sendable {
        let index: QueryIndex
        let lower: [UInt8]
        let upper: [UInt8]
        let limit: QueryLimit?
        let start: QueryBound?
        let end: QueryBound?

        init(
            _ index: QueryIndex, _ lower: [UInt8], _ upper: [UInt8], _ limit: QueryLimit?, start: QueryBound?,
            end: QueryBound?
        ) {
            self.index = index
            self.lower = lower
            self.upper = upper
            self.limit = limit
            self.start = start
            self.end = end
        }
    }

    package var index: QueryIndex { parts.index }
    /// The interval, as bytes to compare with those of an ``IndexPlace``: from `lower` on, below `upper`; both empty if
    /// no place can be in between. In the order of the keys places are segments, so after the node's encoded path these
    /// are bounds of the encoded paths of its children and of those below them.
    package var lower: [UInt8] { parts.lower }
    package var upper: [UInt8] { parts.upper }
    package var limit: QueryLimit? { parts.limit }
    /// The bounds as they were given, which rules may look at.
    package var start: QueryBound? { parts.start }
    package var end: QueryBound? { parts.end }

    /// No node has as many children, and sums of limits are far from the end of the numbers.
    private static let limitMax = 1 << 40

    /// More than the bytes of any place, as the lower bound of everything is less.
    private static let top: [UInt8] = [Segment.upperBound]

    /// Everything, in the order of the priorities.
    package static let everything = Query(index: .priority)

    /// Everything, in an order.
    package init(index: QueryIndex) { parts = Parts(index, [], Self.top, nil, start: nil, end: nil) }

    package init(
        index: QueryIndex, start: QueryBound? = nil, end: QueryBound? = nil, limit: QueryLimit? = nil
    ) throws(QueryError) {
        if let limit, limit.count < 1 { throw .limitNotPositive }
        let limit = limit.map { QueryLimit($0.side, min($0.count, Self.limitMax)) }
        let lower = try start?.lower(in: index) ?? []
        let upper = try end?.upper(in: index) ?? Self.top
        if lower.precedesBytewise(upper) {
            // Nothing comes before a missing value without a key.
            let first = index != .key && lower == IndexValue.nothing ? [] : lower
            parts = Parts(index, first, upper, limit, start: start, end: end)
        } else {
            parts = Parts(index, [], [], nil, start: start, end: end)
        }
    }

    /// The children for which conditions hold, or those of them after a place; all of them without a limit.
    package init(_ conditions: ConditionQuery, limit: QueryLimit? = nil, after place: IndexPlace? = nil) {
        let limit = limit.map { QueryLimit($0.side, min($0.count, Self.limitMax)) }
        // No place is a prefix of another one.
        let lower = place.map { $0.bytes + [0] } ?? [IndexPlace.conditionTag]
        parts = Parts(.conditions(conditions), lower, [IndexPlace.conditionTag + 1], limit, start: nil, end: nil)
    }

    package static func == (a: Query, b: Query) -> Bool {
        a.index == b.index && a.lower == b.lower && a.upper == b.upper && a.limit == b.limit
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(index)
        hasher.combine(lower)
        hasher.combine(upper)
    }

    /// Nil for a query that has one interval of an index and no other conditions.
    package var conditions: ConditionQuery? {
        if case .conditions(let conditions) = index.named { conditions } else { nil }
    }

    /// The same query of another index in the same order.
    package init(_ query: Query, in index: QueryIndex) {
        parts = Parts(index, query.lower, query.upper, query.limit, start: query.start, end: query.end)
    }

    /// The time at which children had expired that are left out; nil if none are.
    package var expiredBy: Int64? { if case .unexpired(_, _, at: let time) = index { time } else { nil } }

    package var hidesExpired: Bool { expiredBy != nil }

    /// Whether the query only names an order.
    package var selectsEverything: Bool { limit == nil && isUnbounded && !hidesExpired }

    /// Whether the interval has all children.
    package var isUnbounded: Bool { lower.isEmpty && upper == Self.top }

    /// Whether no child can be in the interval.
    package var selectsNothing: Bool { upper.isEmpty }

    /// Whether a place lies in the interval. The limit does not count.
    package func contains(_ place: IndexPlace) -> Bool {
        !place.bytes.precedesBytewise(lower) && place.bytes.precedesBytewise(upper)
    }
}

/// How many children of an interval are kept, and at which of its ends.
package struct QueryLimit: Hashable, Sendable {
    package enum Side: Hashable, Sendable {
        case first
        case last
    }

    /// At least 1.
    package var count: Int
    package var side: Side

    package init(_ side: Side, _ count: Int) {
        self.count = count
        self.side = side
    }
}
