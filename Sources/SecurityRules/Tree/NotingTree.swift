package import HearthJSONTree

/// A tree that notes the places it is asked for. It keeps few of them: of many neighbours, their parent.
package final class NotingTree: RuleTree {
    private let base: any RuleTree
    private let placesMax: Int
    private var places: Set<Path> = []

    package init(_ base: any RuleTree, placesMax: Int = 256) {
        self.base = base
        self.placesMax = placesMax
    }

    /// Whether a change at a place can change an answer of the tree.
    package func isConcerned(by change: Path) -> Bool {
        places.contains { $0.contains(change) || change.contains($0) }
    }

    package func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        note(path)
        return try base.value(at: path)
    }

    package func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        note(path)
        try base.forEachChild(of: path, body)
    }

    private func note(_ path: RawSpan) {
        places.insert(Path(encoded: path.withUnsafeBytes { [UInt8]($0) }))
        while places.count > placesMax { widen() }
    }

    /// The deepest places give way to their parents.
    private func widen() {
        let deepest = places.lazy.map(\.depth).max() ?? 0
        places = Set(places.map { $0.depth == deepest ? $0.parent ?? .root : $0 })
    }
}
