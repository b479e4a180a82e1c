import HearthJSONTree
import HearthSecurityRules

/// Which indexes the children of a place are in: a trie of patterns.
struct IndexTrie {
    final class Node {
        var literals: [[UInt8]: Node] = [:]
        var wildcard: Node?
        var indexes: [IndexCatalog.Index] = []

        func children(_ segment: [UInt8]) -> [Node] { [literals[segment], wildcard].compactMap { $0 } }

        var isLeaf: Bool { literals.isEmpty && wildcard == nil }
    }

    private let root = Node()
    let isEmpty: Bool
    /// Whether some values must be unique.
    let hasUniques: Bool

    init(_ indexes: [IndexCatalog.Index]) {
        isEmpty = indexes.isEmpty
        hasUniques = indexes.contains(where: \.isUnique)
        for index in indexes {
            var node = root
            for segment in index.definition.pattern.segments {
                let next: Node
                if let segment {
                    next = node.literals[segment] ?? Node()
                    node.literals[segment] = next
                } else {
                    next = node.wildcard ?? Node()
                    node.wildcard = next
                }
                node = next
            }
            node.indexes.append(index)
        }
    }

    /// The indexes of the children of a place.
    func indexes(at path: Path) -> [IndexCatalog.Index] { walk(path) { _, _ in }.flatMap(\.indexes) }

    /// The node of a path in the trie, if a value there can have entries; nil otherwise.
    func concerned(byValueAt path: Path) -> [Node]? {
        if isEmpty { return nil }
        let nodes = walk(path) { _, _ in }
        return nodes.contains { !$0.indexes.isEmpty || !$0.isLeaf } ? nodes : nil
    }

    /// Whether children of a place, or anything below them, can have entries.
    func hasCollections(atOrBelow path: Path) -> Bool {
        !isEmpty && walk(path) { _, _ in }.contains { !$0.indexes.isEmpty || !$0.isLeaf }
    }

    /// Calls `body` with the indexes of each proper ancestor of a path and the segment that leads on, and answers the
    /// nodes of the path itself.
    @discardableResult
    func walk(_ path: Path, _ body: (_ indexes: [IndexCatalog.Index], _ child: Range<Int>) -> Void) -> [Node] {
        var nodes = [root]
        for range in path.segments {
            let indexes = nodes.flatMap(\.indexes)
            if !indexes.isEmpty { body(indexes, range) }
            let segment = Array(path.encoded[range])
            nodes = nodes.flatMap { $0.children(segment) }
            if nodes.isEmpty { break }
        }
        return nodes
    }
}
