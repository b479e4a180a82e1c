import JSONTree

/// The nodes of a wide table in key order, as a list of sorted chunks of bounded size: adding, removing and finding cost
/// O(log n) comparisons and the shift of one chunk.
struct SegmentOrder<Node: SegmentKeyed> {
    /// Not empty, each sorted, in order.
    private var chunks: [[Node]] = []

    private static var chunkCountMax: Int { 256 }

    init(sorted nodes: [Node]) {
        // Room for more, so that the first insertions split nothing.
        let size = Self.chunkCountMax / 2
        for start in stride(from: 0, to: nodes.count, by: size) {
            chunks.append(Array(nodes[start..<min(start + size, nodes.count)]))
        }
    }

    var nodes: [Node] { Array(chunks.joined()) }

    /// The nodes with `lower <= segment < upper`, in either direction.
    func walk(from lower: [UInt8], below upper: [UInt8], _ direction: ScanDirection) -> Walk {
        Walk(order: self, lower: lower, upper: upper, direction)
    }

    mutating func insert(_ node: Node) {
        let (chunk, offset) = position(of: node.segment)
        if chunks.isEmpty {
            chunks.append([node])
            return
        }
        chunks[chunk].insert(node, at: offset)
        if chunks[chunk].count > Self.chunkCountMax {
            let upper = Array(chunks[chunk][(Self.chunkCountMax / 2)...])
            chunks[chunk].removeLast(upper.count)
            chunks.insert(upper, at: chunk + 1)
        }
    }

    mutating func remove(_ segment: [UInt8]) {
        let (chunk, offset) = position(of: segment)
        guard chunk < chunks.count, offset < chunks[chunk].count, chunks[chunk][offset].segment == segment else {
            return
        }
        chunks[chunk].remove(at: offset)
        if chunks[chunk].isEmpty { chunks.remove(at: chunk) }
    }

    /// Where a segment is or belongs: in the last chunk that does not begin behind it.
    private func position(of segment: [UInt8]) -> (chunk: Int, offset: Int) {
        let behind = chunks.partitioningIndex { segment.precedesBytewise($0[0].segment) }
        guard behind > 0 else { return (0, 0) }
        return (behind - 1, chunks[behind - 1].partitioningIndex { !$0.segment.precedesBytewise(segment) })
    }

    struct Walk: IteratorProtocol {
        private let chunks: [[Node]]
        /// The next node's place, and where to stop.
        private var chunk: Int
        private var offset: Int
        private let bound: [UInt8]
        private let direction: ScanDirection

        fileprivate init(order: SegmentOrder, lower: [UInt8], upper: [UInt8], _ direction: ScanDirection) {
            chunks = order.chunks
            self.direction = direction
            (chunk, offset) = order.position(of: direction == .ascending ? lower : upper)
            bound = direction == .ascending ? upper : lower
        }

        mutating func next() -> Node? {
            switch direction {
            case .ascending:
                if chunk < chunks.count, offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
                guard chunk < chunks.count else { return nil }
                let node = chunks[chunk][offset]
                guard node.segment.precedesBytewise(bound) else { return nil }
                offset += 1
                return node
            case .descending:
                if offset == 0 {
                    guard chunk > 0 else { return nil }
                    chunk -= 1
                    offset = chunks[chunk].count
                }
                let node = chunks[chunk][offset - 1]
                guard !node.segment.precedesBytewise(bound) else { return nil }
                offset -= 1
                return node
            }
        }
    }
}

extension Array {
    /// Where the elements begin that satisfy the predicate, when those that do not all stand before those that do. O(log n).
    func partitioningIndex(where predicate: (Element) -> Bool) -> Int {
        var lower = 0
        var upper = count
        while lower < upper {
            let middle = (lower + upper) / 2
            if predicate(self[middle]) { upper = middle } else { lower = middle + 1 }
        }
        return lower
    }
}
