import HearthJSONTree
import HearthStorageErrors

extension TreeRows {
    /// Ends the current generation and answers what a store must change to hold it, with the number to hand to
    /// ``applied(_:)`` once it does. Nil when nothing changed. Cost: O(changed rows).
    package func freeze() -> (generation: UInt64, changes: RowChanges)? {
        repackShrunk()
        return changed.isEmpty ? nil : freezeChanged()
    }

    /// The same, without packing anything again; the changes may be none.
    func freezeChanged() -> (generation: UInt64, changes: RowChanges) {
        var changes = RowChanges()
        changes.rows.reserveCapacity(changed.count)
        for (index, node) in changed.enumerated() {
            if index.isMultiple(of: Self.touchedMax) { touch(changed[index...].prefix(Self.touchedMax)) }
            guard holds(node) else { continue }
            let key = node.key
            let clears = node.clearedIn == generation
            switch node.state {
            case .packed where node.value.isNull, .spread where node.value.isNull:
                if clears { changes.cleared.append(KeyRange(lower: key, upper: Path.subtreeEnd(of: key))) }
                changes.removed.append(key)
            case .packed: changes.rows.append(Row(key: key, value: .subtree(node.value), clearsBelow: clears))
            case .spread:
                changes.rows.append(Row(key: key, value: .header(priority: node.value), clearsBelow: clears))
            case .unknown: break
            }
        }
        if let layer = store.layer, layer.generation == generation { changes.large = layer.change }
        defer {
            unapplied.append((generation, changed))
            changed = []
            changedBytes = 0
            generation += 1
        }
        return (generation, changes)
    }

    /// A node that shrank but has more known children than this is checked again later: removed children leave memory
    /// over time, and until then all of them would have to be sorted.
    private static let orderedMax = 1000

    /// Packs spread nodes that shrank well below the limit. Looks at a few rows of each only. A node that becomes
    /// one row makes its parent a candidate. A node whose rows cannot be read stays spread, which is valid but takes
    /// more room: the changes must reach the store even so.
    private func repackShrunk() {
        var later: [RowNode] = []
        defer { shrunk += later }
        while let node = shrunk.popLast() {
            let isSpread = node.state == .spread && holds(node)
            if isSpread, node.children.count > Self.orderedMax {
                later.append(node)
                continue
            }
            node.isShrunk = false
            if !isSpread { continue }
            if knownBytes(below: node, exceed: packing.repackBytesMax) { continue }
            let key = node.key
            var joiner = RowJoiner(base: key.count)
            let isSmall: Bool
            do throws(StorageError) {
                isSmall = try forEachRow(at: node, key: key) { rowKey, value in
                    joiner.append(key: rowKey, value: value)
                    return joiner.count <= packing.repackBytesMax
                }
            } catch {
                packingFailure = error
                node.isShrunk = true
                later.append(node)
                continue
            }
            if isSmall { replace(node, with: joiner.finish()) }
        }
    }
}
