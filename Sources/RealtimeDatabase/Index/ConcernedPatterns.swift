import HearthJSONTree
package import HearthSecurityRules

/// The places that settings and indexes are about, to find out quickly that a write is about none of them.
package struct ConcernedPatterns {
    private final class Node {
        /// By ascending segment.
        var literals: [(segment: [UInt8], node: Node)] = []
        var wildcard: Node?
        /// A pattern ends here.
        var isPlace = false

        /// Where a segment is, or would be, among the literals.
        func place(of segment: UnsafeRawBufferPointer) -> Int {
            literals.partitioningIndex { !$0.segment.withUnsafeBytes { $0.precedesBytewise(segment) } }
        }

        func literal(_ segment: UnsafeRawBufferPointer) -> Node? {
            let place = place(of: segment)
            guard place < literals.count, literals[place].segment.withUnsafeBytes({ $0.equalsBytewise(segment) })
            else { return nil }
            return literals[place].node
        }
    }

    private let root = Node()

    package init(_ patterns: some Sequence<IndexPattern>) {
        for pattern in patterns {
            var node = root
            for segment in pattern.segments {
                let next: Node
                if let segment {
                    next = segment.withUnsafeBytes { bytes in
                        if let known = node.literal(bytes) { return known }
                        let new = Node()
                        node.literals.insert((segment, new), at: node.place(of: bytes))
                        return new
                    }
                } else {
                    next = node.wildcard ?? Node()
                    node.wildcard = next
                }
                node = next
            }
            node.isPlace = true
        }
    }

    /// Whether a path is that of a place of some pattern, or lies below or above one. Takes no memory.
    func concern(_ path: Path) -> Bool { path.encoded.withUnsafeBytes { concern($0) } }

    /// The same for an encoded path.
    func concern(_ path: UnsafeRawBufferPointer) -> Bool { Self.concerns(root, path, from: 0) }

    private static func concerns(_ node: Node, _ path: UnsafeRawBufferPointer, from start: Int) -> Bool {
        if node.isPlace { return true }
        if start == path.count { return !node.literals.isEmpty || node.wildcard != nil }
        let end = Path.segmentEnd(in: path, from: start)
        if let wildcard = node.wildcard, concerns(wildcard, path, from: end) { return true }
        let segment = UnsafeRawBufferPointer(rebasing: path[start..<end])
        return node.literal(segment).map { concerns($0, path, from: end) } ?? false
    }
}

extension DatabaseSettings {
    /// The places whose writes have to do with a setting other than triggers and histories.
    var patterns: [IndexPattern] {
        uniques.map(\.pattern) + indexes.map(\.pattern) + counters.flatMap { [$0.collections, $0.targets] }
            + childLimits.map(\.pattern) + expiries.map(\.pattern) + rateLimits.map(\.pattern)
            + queues.map(\.pattern)
    }
}
