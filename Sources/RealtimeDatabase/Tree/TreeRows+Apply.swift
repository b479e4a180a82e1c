import JSONTree

extension TreeRows {
    /// Ends the current generation and answers what a store must change to hold it, with the number to hand to
    /// ``applied(_:)`` once it does. Nil when nothing changed. Cost: O(changed rows).
    package func freeze() throws(StorageError) -> (generation: UInt64, changes: RowChanges)? {
        try repackShrunk()
        return changed.isEmpty ? nil : freezeChanged()
    }

    /// The same, without packing anything anew; the changes may be none.
    func freezeChanged() -> (generation: UInt64, changes: RowChanges) {
        var changes = RowChanges()
        changes.rows.reserveCapacity(changed.count)
        for node in changed where !node.isDetached {
            let key = node.key
            if node.clearedIn == generation {
                changes.cleared.append(KeyRange(lower: key, upper: Path.subtreeEnd(of: key)))
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
        let clearing = store.clearing
        trimChildren(of: root, keepingRecent: true, clearing)
        if residentBytes > residentBytesMax / 2 { trimChildren(of: root, keepingRecent: false, clearing) }
        sweep &+= 1
        trimAbove = max(residentBytesMax, residentBytes + residentBytesMax / 4)
    }

    private func trimChildren(of node: RowNode, keepingRecent: Bool, _ clearing: Set<[UInt8]>) {
        if node.clearedIn > 0 {
            if node.clearedIn > appliedGeneration || !clearing.isEmpty && clearing.contains(node.key) { return }
            node.clearedIn = 0
        }
        var leaving: [RowNode] = []
        node.children.forEach { child in
            trimChildren(of: child, keepingRecent: keepingRecent, clearing)
            let isApplied = child.changedIn <= appliedGeneration
            let isRecent = keepingRecent && child.usedIn == sweep
            if isApplied, !isRecent, child.children.isEmpty, child.clearedIn == 0 { leaving.append(child) }
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

    /// Packs spread nodes that shrank well below the limit. Looks at a few rows of each only. A node that becomes
    /// one row makes its parent a candidate.
    private func repackShrunk() throws(StorageError) {
        while let node = shrunk.popLast() {
            node.isShrunk = false
            if node.isDetached || node.state != .spread { continue }
            if knownBytes(below: node, exceed: packing.repackBytesMax) { continue }
            let key = node.key
            var joiner = RowJoiner(base: key.count)
            let isSmall = try forEachRow(at: node, key: key) { rowKey, value in
                joiner.append(key: rowKey, value: value)
                return joiner.count <= packing.repackBytesMax
            }
            if isSmall { replace(node, with: joiner.finish()) }
        }
    }
}
