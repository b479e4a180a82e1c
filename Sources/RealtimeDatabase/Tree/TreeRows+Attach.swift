import JSONTree
import StorageErrors

/// Large values come into the tree as they are, in front of the store, which takes their rows over bit by bit.
extension TreeRows {
    /// There is no large value that the store does not have yet.
    package var canAttach: Bool { store.layer == nil }

    /// Makes a large inner node the whole subtree at `path`. Everything that changed before must be frozen, and
    /// ``canAttach`` be true. What has changed comes with the current generation, but for the rows of the value
    /// themselves; `entries` are for the store. O(depth), whatever its size and that of what was there.
    func attach(_ rows: PreparedRows, _ entries: PreparedEntries? = nil, at path: Path) throws(StorageError) {
        let node = try renewed(at: path)
        change(node) { node in
            node.state = .spread
            node.value = rows.priority
        }
        store.put(PreparedChange(path: path.encoded, rows: rows, entries: entries), generation: generation)
    }

    /// The node at `path`, with nothing below it that is known; its ancestors are spread.
    private func renewed(at path: Path) throws(StorageError) -> RowNode {
        let parentEnd = path.encoded.count - path.lastSegmentCount
        var place = path.encoded.withUnsafeBytes { known($0) }
        if place.node.state == .unknown || place.node.state == .spread && place.used < parentEnd {
            place = try locate(path, upTo: parentEnd)
        }
        if place.used < path.encoded.count, place.node.state == .packed {
            spread(place.node, along: path.dropFirst(bytes: place.used))
            place = path.encoded.withUnsafeBytes { known($0) }
        }
        if place.used == path.encoded.count { return renew(place.node) }
        let segment = Array(path.encoded[parentEnd...])
        let child = RowNode(segment: segment, parent: place.node, state: .packed, value: .null)
        add(child, to: place.node)
        return child
    }

    /// Gives the nodes on the way to a place inside a packed node rows of their own, and that place as well. What the
    /// store has below them is as obsolete as before: nothing, or in a range that an earlier generation clears.
    private func spread(_ node: RowNode, along path: Path) {
        var clearedIn = node.clearedIn
        // Something small stands for what comes.
        change(node) { $0.value = $0.value.setting(CanonicalJSON(bool: true), at: path) }
        var node = node
        for segment in path.segments {
            if node.state == .packed { change(node) { spread($0) } }
            node.clearedIn = clearedIn
            clearedIn = 0
            // Invariant: the path was just set, so each of its nodes has a child on it.
            node = path.encoded.withUnsafeBytes { node.children[UnsafeRawBufferPointer(rebasing: $0[segment])]! }
        }
    }
}
