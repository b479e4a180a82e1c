import HearthJSONTree

/// The nodes that changed at and below a place, each with the number of its last change.
///
/// That is enough to bring up to date anybody who has the value as it was at some number: the places that changed since
/// are sent with their present values (``MissedUpdate``). Values are not kept.
struct ChangedPaths {
    final class Node: SegmentKeyed {
        let segment: [UInt8]
        /// Changes of these came after the node was last set.
        var children = SegmentTable<Node>()
        /// The number of the last set of the whole node, 0 for none. So it is with the others.
        fileprivate(set) var set: UInt64 = 0
        fileprivate(set) var priority: UInt64 = 0
        /// The last change at or below the node.
        fileprivate(set) var latest: UInt64 = 0
        /// The last time that something at or below the node was set to null. Nodes above it may then have vanished,
        /// and lost their priorities.
        fileprivate(set) var removal: UInt64 = 0
        /// The present value, once somebody has asked for it.
        var value: CanonicalJSON?

        fileprivate init(_ segment: [UInt8]) { self.segment = segment }
    }

    let root = Node([])
    /// Nodes besides the root.
    private(set) var count = 0

    /// Notes a change. `path` leads from the place to the changed one. O(depth), plus the entries that a set of the
    /// whole replaces.
    mutating func add(_ path: Path, isPriority: Bool, isRemoval: Bool, at number: UInt64) {
        var node = root
        Self.note(number, isRemoval, at: node)
        for range in path.segments {
            let known = path.encoded.withUnsafeBytes { node.children[UnsafeRawBufferPointer(rebasing: $0[range])] }
            if let known {
                node = known
            } else {
                let child = Node(Array(path.encoded[range]))
                node.children.insert(child)
                node = child
                count += 1
            }
            Self.note(number, isRemoval, at: node)
        }
        if isPriority {
            node.priority = node.latest
        } else {
            node.set = node.latest
            node.priority = 0
            count -= Self.count(below: node)
            node.children = SegmentTable()
        }
    }

    /// Numbers that did not happen may be given out again, so they need not rise.
    private static func note(_ number: UInt64, _ isRemoval: Bool, at node: Node) {
        node.latest = max(node.latest, number)
        if isRemoval { node.removal = node.latest }
        node.value = nil
    }

    private static func count(below node: Node) -> Int {
        var count = node.children.count
        node.children.forEach { count += Self.count(below: $0) }
        return count
    }

    /// The nodes' present state is no longer known.
    func forgetValues() { Self.forgetValues(at: root) }

    private static func forgetValues(at node: Node) {
        node.value = nil
        node.children.forEach { forgetValues(at: $0) }
    }
}
