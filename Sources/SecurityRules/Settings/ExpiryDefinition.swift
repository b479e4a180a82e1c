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
        return json.number(in: range).map(inChild.time)
    }

    /// The same for a child whose whole text is `range` of `json`.
    package func time(of json: CanonicalJSON, in range: Range<Int>) -> Int64? { inChild.time(of: json, in: range) }

    package var inChild: ExpiryTime {
        if case .child(let path) = index { ExpiryTime(path, after: after) } else { ExpiryTime(.root, after: after) }
    }
}
