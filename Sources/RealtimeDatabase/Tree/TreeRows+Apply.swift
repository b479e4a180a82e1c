import JSONTree

extension TreeRows {
    /// Ends the current generation and answers what a store must change to hold it, with the number to hand to
    /// ``applied(_:)`` once it does. Nil when nothing changed. Cost: O(changed rows).
    package func freeze() throws(StorageError) -> (generation: UInt64, changes: RowChanges)? {
        try repackShrunk()
        guard !changed.isEmpty else { return nil }
        var changes = RowChanges()
        changes.rows.reserveCapacity(changed.count)
        for node in changed where !node.isDetached {
            let key = node.key
            if node.clearsBelow {
                changes.cleared.append(KeyRange(lower: key, upper: Path.subtreeEnd(of: key)))
                node.clearsBelow = false
            }
            switch node.state {
            case .packed where node.value.isNull: changes.removed.append(key)
            case .packed: changes.rows.append(Row(key: key, value: .subtree(node.value)))
            case .spread where node.value.isNull: changes.removed.append(key)
            case .spread: changes.rows.append(Row(key: key, value: .header(priority: node.value)))
            case .unknown: break
            }
        }
        defer {
            changed.removeAll(keepingCapacity: changed.capacity < 1 << 16)
            changedBytes = 0
            generation += 1
        }
        return (generation, changes)
    }

    /// The store now holds everything up to this generation; nodes may be let go again.
    package func applied(_ generation: UInt64) {
        appliedGeneration = generation
    }

    /// Lets go of nodes that the store has and that were not used lately, when memory is above the budget. Called
    /// between turns. Cost: O(nodes in memory), paid for by the growth since the last time.
    package func trim() {
        guard residentBytes > trimAbove else { return }
        trimChildren(of: root, keepingRecent: true)
        if residentBytes > residentBytesMax / 2 { trimChildren(of: root, keepingRecent: false) }
        sweep &+= 1
        trimAbove = max(residentBytesMax, residentBytes + residentBytesMax / 4)
    }

    private func trimChildren(of node: RowNode, keepingRecent: Bool) {
        var leaving: [RowNode] = []
        node.children.forEach { child in
            if child.state == .spread { trimChildren(of: child, keepingRecent: keepingRecent) }
            let isApplied = child.changedIn <= appliedGeneration
            let isRecent = keepingRecent && child.usedIn == sweep
            if isApplied, !isRecent, child.children.isEmpty { leaving.append(child) }
        }
        guard !leaving.isEmpty else { return }
        for child in leaving {
            node.children.remove(child.segment)
            residentBytes -= child.footprint
            child.isDetached = true
            child.parent = nil
        }
        node.isComplete = false
    }

    /// Packs spread nodes that shrank well below the limit. Looks at a few rows of each only.
    private func repackShrunk() throws(StorageError) {
        let candidates = shrunk
        shrunk.removeAll()
        for node in candidates where !node.isDetached && node.state == .spread {
            if knownBytes(below: node, exceed: Self.repackBytesMax) { continue }
            let key = node.key
            var joiner = RowJoiner(base: key.count)
            let isSmall = try forEachRow(at: node, key: key) { rowKey, value in
                joiner.append(key: rowKey, value: value)
                return joiner.count <= Self.repackBytesMax
            }
            if isSmall { replace(node, with: joiner.finish()) }
        }
    }
}
