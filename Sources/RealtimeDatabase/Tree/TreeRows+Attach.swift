import HearthJSONTree
import HearthTreeText
import HearthStorageErrors

/// Large values come into the tree as they are, in front of the store, which takes their rows over bit by bit.
extension TreeRows {
    /// There is no large value that the store does not have yet.
    package var canAttach: Bool { store.layer == nil }

    /// The same for children of a place. While old rows at or above the place are being removed, it hides all that the
    /// store has there: so not if a large value has come to the store since, whose rows nothing else has. O(depth).
    func canAttach(childrenOf path: Path) -> Bool {
        guard canAttach else { return false }
        let clearing = store.clearing
        if clearing.isEmpty { return true }
        var next: RowNode? = path.encoded.withUnsafeBytes { known($0) }.node
        while let place = next {
            let isCleared = place.clearedIn > 0 && place.clearedIn < store.lastLayerGeneration
            if isCleared, clearing.contains(place.key) { return false }
            next = place.parent
        }
        return true
    }

    /// Makes a large inner node the whole subtree at `path`. Everything that changed before must be frozen, and
    /// ``canAttach`` be true. The changes belong to the current generation, except for the rows of the value
    /// themselves; `entries` are for the store. O(depth), independent of its size and that of the old value.
    func attach(_ rows: PreparedRows, _ entries: PreparedEntries? = nil, at path: Path) throws(StorageError) {
        let node = try renewed(at: path)
        change(node) { node in
            node.state = .spread
            node.value = rows.priority
        }
        store.put(PreparedChange(path: path.encoded, rows: rows, entries: entries), generation: generation)
    }

    /// The node at `path`, which is spread then, as its ancestors are: its children stay as they are; a leaf goes, but
    /// for its priority.
    private func spreadNode(at path: Path) throws(StorageError) -> RowNode {
        var place = try locate(path)
        if place.used < path.encoded.count {
            spread(place.node, along: path.dropFirst(bytes: place.used), keepingValue: true)
            place = path.encoded.withUnsafeBytes { known($0) }
        }
        let node = place.node
        if node.state == .spread { return node }
        let clearedIn = node.clearedIn
        change(node) { node in
            if node.value.isLeaf || node.value.isNull {
                node.state = .spread
                node.isComplete = true
                node.value = node.value.priority
            } else {
                spread(node)
            }
            node.clearedIn = clearedIn
        }
        return node
    }

    /// Makes children of the node at `path` what the rows say. As with ``attach(_:_:at:)``, everything that changed
    /// before must be frozen, and ``canAttach(childrenOf:)`` be true. O(children of the node that are known).
    func attach(_ rows: PreparedRows, childrenOf path: Path) throws(StorageError) {
        let node = try spreadNode(at: path)
        if rows.hasNulls { noteShrunk(node) }
        change(node) { $0.isComplete = false }
        var replaced: [RowNode] = []
        node.children.forEach { child in
            if child.segment.withUnsafeBytes(rows.holdsChild) { replaced.append(child) }
        }
        for child in replaced { cutOff(child) }
        var cleared: [(key: [UInt8], generation: UInt64)] = []
        var next: RowNode? = node
        while let place = next {
            if place.clearedIn > 0 { cleared.append((place.key, place.clearedIn)) }
            next = place.parent
        }
        store.put(PreparedChange(path: path.encoded, rows: rows), generation: generation, cleared: cleared)
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
    private func spread(_ node: RowNode, along path: Path, keepingValue: Bool = false) {
        var clearedIn = node.clearedIn
        if !keepingValue || !node.value.hasValue(at: path) {
            // A small placeholder for the value.
            change(node) { $0.value = $0.value.setting(CanonicalJSON(bool: true), at: path) }
        }
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
