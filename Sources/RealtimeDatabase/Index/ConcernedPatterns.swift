import HearthJSONTree
package import HearthSecurityRules

/// The places that settings and indexes are about, to find out quickly that a write is about none of them.
///
/// The patterns are a tree in three arrays, so that a look at it counts no references.
package struct ConcernedPatterns {
    private struct Node {
        /// Its literal children, by ascending segment.
        var literals: Range<Int>
        /// The node of its wildcard, or -1.
        var wildcard: Int
        /// A pattern ends here.
        var isPlace: Bool
    }

    private struct Literal {
        /// The segment, among all bytes.
        var bytes: Range<Int>
        var node: Int
    }

    /// The root comes last. Empty if there are no patterns.
    private var nodes: [Node] = []
    private var literals: [Literal] = []
    private var bytes: [UInt8] = []

    package init(_ patterns: some Sequence<IndexPattern>) {
        let all = patterns.map { $0.segments[...] }
        if !all.isEmpty { _ = add(all) }
    }

    /// Adds the node that patterns lead to, of which these are the rest.
    private mutating func add(_ rests: [ArraySlice<[UInt8]?>]) -> Int {
        var further: [[UInt8]?: [ArraySlice<[UInt8]?>]] = [:]
        for rest in rests where !rest.isEmpty { further[rest[rest.startIndex], default: []].append(rest.dropFirst()) }
        var children: [Literal] = []
        for segment in further.keys.compactMap({ $0 }).sorted(by: { $0.precedesBytewise($1) }) {
            let node = add(further[segment] ?? [])
            children.append(Literal(bytes: bytes.count..<bytes.count + segment.count, node: node))
            bytes += segment
        }
        let wildcard = further[nil as [UInt8]?].map { add($0) } ?? -1
        literals += children
        nodes.append(
            Node(
                literals: literals.count - children.count..<literals.count, wildcard: wildcard,
                isPlace: rests.contains(where: \.isEmpty)))
        return nodes.count - 1
    }

    /// Whether a path is that of a place of some pattern, or lies below or above one. Takes no memory.
    func concern(_ path: Path) -> Bool {
        if nodes.isEmpty { return false }
        return path.encoded.withUnsafeBytes { concern($0) }
    }

    /// The same for an encoded path.
    func concern(_ path: UnsafeRawBufferPointer) -> Bool {
        if nodes.isEmpty { return false }
        return nodes.withUnsafeBufferPointer { nodes in
            literals.withUnsafeBufferPointer { literals in
                bytes.withUnsafeBytes { bytes in
                    Look(nodes: nodes, literals: literals, bytes: bytes, path: path).concerns(nodes.count - 1, from: 0)
                }
            }
        }
    }

    /// A look at the tree, for as long as its arrays and the path are borrowed.
    private struct Look {
        let nodes: UnsafeBufferPointer<Node>
        let literals: UnsafeBufferPointer<Literal>
        let bytes: UnsafeRawBufferPointer
        let path: UnsafeRawBufferPointer

        func concerns(_ number: Int, from start: Int) -> Bool {
            let node = nodes[number]
            if node.isPlace { return true }
            if start == path.count { return !node.literals.isEmpty || node.wildcard >= 0 }
            let end = Path.segmentEnd(in: path, from: start)
            if node.wildcard >= 0, concerns(node.wildcard, from: end) { return true }
            let segment = UnsafeRawBufferPointer(rebasing: path[start..<end])
            var (lower, upper) = (node.literals.lowerBound, node.literals.upperBound)
            while lower < upper {
                let middle = (lower + upper) / 2
                let order = order(of: literals[middle], segment)
                if order == 0 { return concerns(literals[middle].node, from: end) }
                if order < 0 { lower = middle + 1 } else { upper = middle }
            }
            return false
        }

        /// Below 0 if a literal comes before a segment, above 0 if it comes after it, and 0 if they are equal.
        private func order(of literal: Literal, _ segment: UnsafeRawBufferPointer) -> Int {
            // Most differ in the first byte.
            let known = UnsafeRawBufferPointer(rebasing: bytes[literal.bytes])
            let count = min(known.count, segment.count)
            var offset = 0
            while offset < count, known[offset] == segment[offset] { offset += 1 }
            return offset < count ? Int(known[offset]) - Int(segment[offset]) : known.count - segment.count
        }
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
