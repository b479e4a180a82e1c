package import HearthJSONTree
import HearthTreeQueries

/// When the children of collections expire (docs/using/additions.md 5).
package struct ExpiryDefinition: Hashable, Sendable {
    /// The collections.
    package var pattern: IndexPattern
    /// The path in a child of its time, in milliseconds since 1970; or `.value`.
    package var index: QueryIndex
    /// How long after that time the child expires, in milliseconds.
    package var after: Int64

    package init(pattern: IndexPattern, index: QueryIndex, after: Int64 = 0) {
        self.pattern = pattern
        self.index = index
        self.after = after
    }

    /// When the child at an encoded path expires, in milliseconds since 1970; nil for never. Costs a look-up.
    package func time(ofChildAt path: [UInt8], in tree: any RuleTree) throws(RuleTreeError) -> Int64? {
        guard case .text(let json, let range) = try tree.value(at: index.comparedPath(ofChildAt: path).span.bytes)
        else {
            return nil
        }
        return json.number(in: range).map(time)
    }

    /// The same for a child whose whole text is `range` of `json`.
    package func time(of json: CanonicalJSON, in range: Range<Int>) -> Int64? {
        let place: Range<Int>? = if case .child(let path) = index { json.range(of: path, in: range) } else { range }
        return place.flatMap { json.number(in: $0) }.map(time)
    }

    /// No earlier than 1970, and no later than JavaScript can tell.
    private func time(_ number: JSONNumber) -> Int64 {
        Int64(min(max(0, number.double + Double(after)), Double(1 << 53)).rounded(.up))
    }
}
