package import HearthJSONTree
package import HearthTreeQueries

/// A count or a sum that the server keeps with the data (docs/using/additions.md 3).
package struct CounterDefinition: Hashable, Sendable {
    /// The places of which each has such a total.
    package var pattern: IndexPattern
    /// The collection that is counted, relative to the place. Not the place itself.
    package var collection: Path
    /// The path of the total, relative to the place; outside of the collection.
    package var target: Path
    /// The number that is added for each child: `.value`, or a path in the child. Nil if the children are counted.
    package var summed: QueryIndex?

    package init(pattern: IndexPattern, collection: Path, target: Path, summed: QueryIndex? = nil) {
        self.pattern = pattern
        self.collection = collection
        self.target = target
        self.summed = summed
    }

    /// The collections whose children are counted.
    package var collections: IndexPattern { pattern.appending(collection) }

    /// The places of totals.
    package var targets: IndexPattern { pattern.appending(target) }

    /// The share of a child at an encoded path in the total; nil for none. Costs a look-up.
    package func amount(ofChildAt path: [UInt8], in tree: any RuleTree) throws(RuleTreeError) -> JSONNumber? {
        guard let summed else { return try tree.value(at: path.span.bytes).exists ? .integer(1) : nil }
        guard case .text(let json, let range) = try tree.value(at: summed.comparedPath(ofChildAt: path).span.bytes)
        else { return nil }
        return json.number(in: range)
    }

    /// The same for a child whose whole text is `range` of `json`.
    package func amount(of json: CanonicalJSON, in range: Range<Int>) -> JSONNumber? {
        switch summed {
        case nil: .integer(1)
        case .child(let path): json.range(of: path, in: range).flatMap { json.number(in: $0) }
        default: json.number(in: range)
        }
    }

    /// The total of the children of a collection. Takes time in proportion to them.
    package func total(ofChildrenOf path: [UInt8], in tree: any RuleTree) throws(RuleTreeError) -> DecimalSum {
        var total = DecimalSum()
        switch try tree.value(at: path.span.bytes) {
        case .nothing: break
        case .text(let json, let range):
            for child in json.children(in: range) {
                if let amount = amount(of: json, in: child.value) { total.add(amount) }
            }
        case .spread:
            try tree.forEachChild(of: path.span.bytes) { (segment) throws(RuleTreeError) in
                let child = path + segment.withUnsafeBytes { [UInt8]($0) }
                if let amount = try amount(ofChildAt: child, in: tree) { total.add(amount) }
                return true
            }
        }
        return total
    }

    /// Whether a total of this definition is at or above a path.
    package func keeps(_ path: Path) -> Bool { targets.matchesPrefix(of: path) }
}

extension IndexPattern {
    package func appending(_ path: Path) -> IndexPattern {
        IndexPattern(segments: segments + path.segments.map { Array(path.encoded[$0]) })
    }

    /// Whether the first segments of a path are of this pattern.
    package func matchesPrefix(of path: Path) -> Bool {
        var place = path.segments
        for segment in segments {
            guard let range = place.next(), segment?.elementsEqual(path.encoded[range]) ?? true else { return false }
        }
        return true
    }

    /// Whether a place of one of the patterns can be at or below a place of the other.
    package func meets(_ other: IndexPattern) -> Bool {
        zip(segments, other.segments).allSatisfy { $0 == nil || $1 == nil || $0 == $1 }
    }
}
