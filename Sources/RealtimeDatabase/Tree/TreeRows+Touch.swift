import HearthJSONTree

extension TreeRows {
    /// Places that ``touch(_:_:)`` takes at a time: about as many as a processor has loads under way.
    static let touchedMax = 16

    /// Where a node is expected that was not looked at yet.
    private struct Expected {
        var parent: Unmanaged<RowNode>
        /// Of its segment.
        var hash: Int
    }

    /// Loads the known nodes at several places, with their keys and values, side by side. Nodes are far apart in
    /// memory, and reading one waits for it five times. One after another, these waits were a third of the time of a
    /// small read. Changes nothing, and asks no store.
    ///
    /// - parameter indices: of the places, ``touchedMax`` at most.
    /// - parameter path: the encoded path of the place of an index, whose bytes stay until this returns; nil for none.
    func touch(_ indices: Range<Int>, _ path: (Int) -> UnsafeRawBufferPointer?) {
        // Too few are not worth a second look at each path.
        guard indices.count >= 4 else { return }
        withUnsafeTemporaryAllocation(of: Expected.self, capacity: Self.touchedMax) { expected in
            var count = 0
            for index in indices {
                guard let path = path(index), let next = self.expected(at: path) else { continue }
                expected.initializeElement(at: count, to: next)
                count += 1
            }
            touched = Self.touch(UnsafeBufferPointer(rebasing: expected[..<count]))
        }
    }

    /// Each loop waits for one load of each node, while those of the others are under way.
    private static func touch(_ expected: UnsafeBufferPointer<Expected>) -> Int {
        withUnsafeTemporaryAllocation(of: Unmanaged<RowNode>.self, capacity: touchedMax) { nodes in
            var (count, sum) = (0, 0)
            for next in expected {
                guard let node = next.parent._withUnsafeGuaranteedRef({ $0.children.likelyNode(next.hash) }) else {
                    continue
                }
                nodes.initializeElement(at: count, to: node)
                count += 1
            }
            for index in 0..<count { sum &+= nodes[index]._withUnsafeGuaranteedRef { Int($0.state.rawValue) } }
            for index in 0..<count { sum &+= nodes[index]._withUnsafeGuaranteedRef { touch($0) } }
            return sum
        }
    }

    /// Loads nodes that are about to be looked at one after another, with their keys and values, side by side.
    ///
    /// - parameter nodes: ``touchedMax`` at most.
    func touch(_ nodes: ArraySlice<RowNode>) {
        touched = nodes.withUnsafeBufferPointer { nodes in
            // A node's own references must not be counted here: each would wait for its load.
            nodes.withMemoryRebound(to: Unmanaged<RowNode>.self) { nodes in
                var sum = 0
                for node in nodes { sum &+= node._withUnsafeGuaranteedRef { Int($0.state.rawValue) } }
                for node in nodes { sum &+= node._withUnsafeGuaranteedRef { Self.touch($0) } }
                return sum
            }
        }
    }

    private static func touch(_ node: RowNode) -> Int {
        Int(node.segment.first ?? 0) &+ Int(node.value.bytes.first ?? 0) &+ header(of: node.value.bytes)
    }

    /// The first word of an array's memory. The count of references comes right after it. In a quarter of the arrays,
    /// neither the length nor the first byte is in the same line of the cache.
    private static func header(of bytes: borrowing [UInt8]) -> Int {
        // Safe because: an array of bytes is a reference to an object, empty ones included, and `bytes` keeps it alive.
        precondition(MemoryLayout<[UInt8]>.size == MemoryLayout<UnsafeRawPointer>.size, "an array is not one reference")
        return withUnsafeBytes(of: bytes) { $0.load(as: UnsafeRawPointer.self).load(as: Int.self) }
    }

    /// The place of the node at `path`; nil if its parent is not known. Nodes on the way are taken for those of the
    /// path by their hashes.
    private func expected(at path: UnsafeRawBufferPointer) -> Expected? {
        var node = Unmanaged.passUnretained(root)
        var used = 0
        while used < path.count {
            let end = Path.segmentEnd(in: path, from: used)
            let hash = SegmentTable<RowNode>.hash(path.part(used..<end))
            guard node._withUnsafeGuaranteedRef({ $0.state == .spread }) else { return nil }
            if end == path.count { return Expected(parent: node, hash: hash) }
            guard let child = node._withUnsafeGuaranteedRef({ $0.children.likelyNode(hash) }) else { return nil }
            (node, used) = (child, end)
        }
        return nil
    }
}
