package import HearthJSONTree

/// How many children the places of a pattern may have (docs/using/additions.md 4).
package struct ChildLimit: Hashable, Sendable {
    package static let largestCount = 100_000

    package var pattern: IndexPattern
    package var count: Int
    /// The first children in key order make room for new ones. Otherwise new ones are refused.
    package var dropsFirst: Bool

    package init(pattern: IndexPattern, count: Int, dropsFirst: Bool = false) {
        self.pattern = pattern
        self.count = count
        self.dropsFirst = dropsFirst
    }

    package func refusalText(at collection: Path) -> String {
        "\"\(collection)\" may not have more than \(count) children"
    }
}

extension DatabaseSettings {
    /// The first limit that a write exceeds, for tools that have a whole tree in memory.
    func exceededLimit(by assignments: [Assignment], in tree: any RuleTree) throws(RuleTreeError) -> String? {
        if childLimits.isEmpty { return nil }
        let after = WrittenTree(tree, assignments)
        for limit in childLimits where !limit.dropsFirst {
            for collection in try Self.places(of: limit.pattern.segments[...], at: [], in: after) {
                let count = try Self.childCount(of: collection, in: after)
                guard count > limit.count, try count > Self.childCount(of: collection, in: tree) else { continue }
                return limit.refusalText(at: Path(encoded: collection))
            }
        }
        return nil
    }

    private static func places(
        of pattern: ArraySlice<[UInt8]?>, at path: [UInt8], in tree: any RuleTree
    ) throws(RuleTreeError) -> [[UInt8]] {
        guard let first = pattern.first else { return [path] }
        if let segment = first { return try places(of: pattern.dropFirst(), at: path + segment, in: tree) }
        var found: [[UInt8]] = []
        for segment in try tree.children(of: path) {
            found += try places(of: pattern.dropFirst(), at: path + segment, in: tree)
        }
        return found
    }

    private static func childCount(of path: [UInt8], in tree: any RuleTree) throws(RuleTreeError) -> Int {
        try tree.children(of: path).count
    }
}

extension RuleTree {
    /// The encoded keys of all children.
    package func children(of path: [UInt8]) throws(RuleTreeError) -> [[UInt8]] {
        var segments: [[UInt8]] = []
        switch try value(at: path.span.bytes) {
        case .nothing: break
        case .text(let json, let range):
            for child in json.children(in: range) {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                segments.append(segment)
            }
        case .spread:
            try forEachChild(of: path.span.bytes) { (segment) throws(RuleTreeError) in
                segments.append(segment.withUnsafeBytes { [UInt8]($0) })
                return true
            }
        }
        return segments
    }
}
