package import HearthJSONTree

/// A range of an index whose entries are in a query's order (``IndexRanges``). After the values that are fixed, the
/// places of the index and of the query are the same bytes.
package struct IndexRange: Hashable, Sendable {
    private let prefix: [UInt8]
    private let queryPrefix: [UInt8]
    private let lower: [UInt8]
    private let upper: [UInt8]

    /// More than any byte with which a part of a place begins.
    private static let top: UInt8 = 0xFF

    /// All entries of an index in the query's own order.
    static let whole = IndexRange(prefix: [], queryPrefix: [], lower: [], upper: [top])

    /// The entries of an index of several values that begin with `prefix`, and go on from `lower` on, below `upper`.
    init(prefix: [UInt8], from lower: [UInt8], below upper: [UInt8]) {
        self.init(
            prefix: prefix, queryPrefix: [IndexPlace.conditionTag], lower: prefix + lower, upper: prefix + upper)
    }

    private init(prefix: [UInt8], queryPrefix: [UInt8], lower: [UInt8], upper: [UInt8]) {
        self.prefix = prefix
        self.queryPrefix = queryPrefix
        self.lower = lower
        self.upper = upper
    }

    /// The part of the range whose places in the query lie in `lower <= place < upper`.
    package func bounds(lower: [UInt8], upper: [UInt8]) -> (lower: [UInt8], upper: [UInt8]) {
        let (from, to) = (inIndex(lower), inIndex(upper))
        return (
            from.precedesBytewise(self.lower) ? self.lower : from, to.precedesBytewise(self.upper) ? to : self.upper
        )
    }

    /// The query's place of an entry of the range.
    package func place(ofEntry entry: ArraySlice<UInt8>) -> IndexPlace {
        IndexPlace(queryPrefix + entry.dropFirst(prefix.count))
    }

    private func inIndex(_ bound: [UInt8]) -> [UInt8] {
        bound.starts(with: queryPrefix) ? prefix + bound.dropFirst(queryPrefix.count) : bound
    }
}
