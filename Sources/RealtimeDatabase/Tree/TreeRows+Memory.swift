import HearthJSONTree

/// The nodes in memory, and their removal in small steps, so that no request waits for the memory of others.
///
/// A changed node is in the list of its generation. Once the store has that, it is freed or enters the ring of nodes
/// that are freed when not used. It stays there if it changes again, until it is visited: so a change need not touch
/// its neighbours in the ring, which are anywhere in memory. Nodes cut off from the tree are taken apart.
extension TreeRows {
    func add(_ child: RowNode, to parent: RowNode) {
        parent.children.insert(child)
        residentBytes += child.footprint
    }

    /// A node is as the store has it. It may have stayed in the ring since it was so the last time.
    func enterRing(_ node: RowNode) {
        if node.nextInRing == nil { ring.insert(node) }
        // One for it, and one for another that may have to go instead.
        looksOwed += 2
    }

    func markChanged(_ node: RowNode) {
        if node.changedIn != generation {
            node.changedIn = generation
            changed.append(node)
            changedBytes += node.footprint
        }
    }

    /// Puts an empty node in the place of one, and cuts that one off with everything below it. O(1), independent of its
    /// size.
    func renew(_ node: RowNode) -> RowNode {
        let new = RowNode(segment: node.segment, parent: node.parent, state: .packed, value: .null)
        forget(node)
        if let parent = node.parent {
            parent.children.remove(node.segment)
            add(new, to: parent)
            node.parent = nil
        } else {
            root = new
            residentBytes += new.footprint
        }
        cutOff.append(node)
        return new
    }

    /// Takes a node from its parent, which knows nothing of its place then, with everything below it. O(1).
    func cutOff(_ node: RowNode) {
        forget(node)
        node.parent?.children.remove(node.segment)
        node.parent = nil
        cutOff.append(node)
    }

    /// Whether a node is in the tree, and not in something that was cut off. O(depth).
    func holds(_ node: RowNode) -> Bool {
        var top = Unmanaged.passUnretained(node)
        while let parent = top._withUnsafeGuaranteedRef({ $0.above }) { top = parent }
        return top.toOpaque() == Unmanaged.passUnretained(root).toOpaque()
    }

    /// The store now holds everything up to this generation; nodes may be let go again.
    package func applied(_ generation: UInt64) {
        appliedGeneration = generation
        store.applied(generation)
        let count = unapplied.prefix { $0.generation <= generation }.count
        settled += unapplied[..<count].map(\.nodes)
        unapplied.removeFirst(count)
    }

    /// The store no longer has obsolete rows: nodes that had to stay in memory because of them can be freed.
    package func storeIsCleared() { looksOwed += ring.count }

    /// Looks at nodes that ``trim(looks:)`` has to make, at least.
    package var trimBacklog: Int { settled.reduce(looksOwed + (cutOff.isEmpty ? 0 : 1)) { $0 + $1.count } }

    /// Does pending cleanup, up to a number of node visits: takes apart cut-off nodes, lists nodes that the store has
    /// as removable, and frees some that were not used lately while memory is above the budget.
    package func trim(looks: Int) {
        var looks = looks
        takeApart(&looks)
        takeSettled(&looks)
        guard residentBytes > residentBytesMax, ring.count > 0 else {
            looksOwed = 0
            return
        }
        let clearing = store.clearing
        // Nodes in use may exceed the budget: no more visits than are pending.
        while looks > 0, looksOwed > 0, residentBytes > residentBytesMax, let node = ring.next() {
            looks -= 1
            if node.changedIn > appliedGeneration {
                // It comes back once the store has it.
                ring.remove(node)
                continue
            }
            looksOwed -= 1
            if node.isRecent {
                node.isRecent = false
            } else {
                _ = letGo(node, clearing)
            }
        }
    }

    private func takeApart(_ looks: inout Int) {
        while looks > 0, let node = cutOff.last {
            guard let child = node.children.takeLast() else {
                cutOff.removeLast()
                continue
            }
            looks -= 1
            forget(child)
            child.parent = nil
            if !child.children.isEmpty { cutOff.append(child) }
        }
    }

    private func takeSettled(_ looks: inout Int) {
        guard !settled.isEmpty else { return }
        let clearing = store.clearing
        while looks > 0, let last = settled.indices.last {
            if settled[last].count.isMultiple(of: Self.touchedMax) { touch(settled[last].suffix(Self.touchedMax)) }
            guard let node = settled[last].popLast() else {
                settled.removeLast()
                continue
            }
            looks -= 1
            // It may have changed again, or be gone.
            guard node.changedIn <= appliedGeneration, node.parent != nil, holds(node) else { continue }
            if residentBytes > residentBytesMax, !node.isRecent, letGo(node, clearing) { continue }
            enterRing(node)
        }
    }

    /// A node that is as the store has it leaves memory, unless it is needed there.
    private func letGo(_ node: RowNode, _ clearing: Set<[UInt8]>) -> Bool {
        guard node.children.isEmpty, let parent = node.parent, storeIsCurrent(at: node, clearing) else { return false }
        forget(node)
        parent.isComplete = false
        node.parent = nil
        parent.children.remove(node.segment)
        return true
    }

    /// Leaves the sums and the ring.
    private func forget(_ node: RowNode) {
        ring.remove(node)
        residentBytes -= node.footprint
        if node.changedIn == generation { changedBytes -= node.footprint }
    }

    /// Whether the node is in the tree, and the store can be asked about its place: it has no obsolete rows there.
    private func storeIsCurrent(at node: RowNode, _ clearing: Set<[UInt8]>) -> Bool {
        var place = Unmanaged.passUnretained(node)
        while true {
            let isCurrent = place._withUnsafeGuaranteedRef { place in
                if place.clearedIn > 0 {
                    if place.clearedIn > appliedGeneration || !clearing.isEmpty && clearing.contains(place.key) {
                        return false
                    }
                    place.clearedIn = 0
                }
                return true
            }
            guard isCurrent else { return false }
            guard let above = place._withUnsafeGuaranteedRef({ $0.above }) else {
                return place.toOpaque() == Unmanaged.passUnretained(root).toOpaque()
            }
            place = above
        }
    }
}
