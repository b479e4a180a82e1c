import HearthJSONTree
package import HearthSecurityRules

/// The places that settings and indexes are about, to find out quickly that a write is about none of them.
///
/// The patterns are a tree in two arrays, so that a look at it counts no references.
package struct ConcernedPatterns {
    private struct Node {
        /// Its literal children, by ascending segment.
        var literals: Range<Int>
        var wildcard: Int?
        /// A pattern ends here.
        var isPlace: Bool
    }

    private struct Literal {
        var segment: [UInt8]
        var node: Int
    }

    /// The root is the last; there is none without patterns.
    private var nodes: [Node] = []
    private var literals: [Literal] = []

    package init(_ patterns: some Sequence<IndexPattern>) {
        let all = patterns.map { $0.segments[...] }
        if !all.isEmpty { _ = add(all) }
    }

    /// Adds the node that patterns lead to, of which these are the rest.
    private mutating func add(_ rests: [ArraySlice<[UInt8]?>]) -> Int {
        var further: [[UInt8]?: [ArraySlice<[UInt8]?>]] = [:]
        for rest in rests where !rest.isEmpty { further[rest[rest.startIndex], default: []].append(rest.dropFirst()) }
        var children: [Literal] = []
        for case (let segment?, let rests) in further { children.append(Literal(segment: segment, node: add(rests))) }
        children.sort { $0.segment.precedesBytewise($1.segment) }
        let wildcard = further[nil as [UInt8]?].map { add($0) }
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
        !nodes.isEmpty && concerns(nodes.count - 1, path, from: 0)
    }

    private func concerns(_ number: Int, _ path: UnsafeRawBufferPointer, from start: Int) -> Bool {
        let node = nodes[number]
        if node.isPlace { return true }
        if start == path.count { return !node.literals.isEmpty || node.wildcard != nil }
        let end = Path.segmentEnd(in: path, from: start)
        if let wildcard = node.wildcard, concerns(wildcard, path, from: end) { return true }
        var (lower, upper) = (node.literals.lowerBound, node.literals.upperBound)
        let segment = UnsafeRawBufferPointer(rebasing: path[start..<end])
        while lower < upper {
            let middle = (lower + upper) / 2
            if literals[middle].segment.withUnsafeBytes({ $0.precedesBytewise(segment) }) {
                lower = middle + 1
            } else {
                upper = middle
            }
        }
        guard lower < node.literals.upperBound,
            literals[lower].segment.withUnsafeBytes({ $0.equalsBytewise(segment) })
        else { return false }
        return concerns(literals[lower].node, path, from: end)
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
