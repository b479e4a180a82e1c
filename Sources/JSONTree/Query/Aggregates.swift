/// The figures of the children that a query selects, sent instead of the children (Protocol.md 18.3).
package struct Aggregates: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        case average, count, max, min, sum
    }

    /// In the order of their names, each once.
    package let kinds: [Kind]
    /// The path of the number in each child; the root for the child itself, nil if children are only counted.
    package let path: Path?

    package init(_ kinds: Set<Kind>, of path: Path?) {
        self.kinds = kinds.sorted { $0.rawValue < $1.rawValue }
        self.path = path
    }

    /// Whether the least or the greatest number is told, which cannot be found from changes alone.
    package var needsOrder: Bool { kinds.contains(.min) || kinds.contains(.max) }
}
