import HearthJSONTree
import HearthTestSupport

@testable import HearthSecurityRules

/// A tree over nodes that answers as rows do: a node is whole or spread, as chance has it, but never whole above
/// something spread.
final class SpreadTree: RuleTree {
    private let root: Node
    /// Above this depth inner nodes are spread.
    private let spreadDepth: Int

    init(_ root: Node, spreadDepth: Int) {
        self.root = root
        self.spreadDepth = spreadDepth
    }

    private func node(_ path: RawSpan) -> (Node, Path) {
        let path = Path(encoded: path.withUnsafeBytes { [UInt8]($0) })
        return (root.value(at: path), path)
    }

    func value(at path: RawSpan) -> RuleTreeValue {
        let (node, place) = node(path)
        guard place.depth < spreadDepth, !node.children.isEmpty else {
            // Inside of a longer text, as in a packed row.
            if node.isNull { return .nothing }
            let row = Array("{\"row\":".utf8) + node.canonical.bytes + Array("}".utf8)
            return .text(CanonicalJSON(trusted: row), 7..<row.count - 1)
        }
        var priority = CanonicalJSON.null
        if let leaf = node.priority { priority = Node(leaf).canonical }
        return .spread(priority: priority)
    }

    func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        for child in node(path).0.children {
            let segment = Path([child.key]).encoded
            if try !body(segment.span.bytes) { return }
        }
    }
}
