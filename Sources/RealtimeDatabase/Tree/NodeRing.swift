/// Nodes in the order in which they are looked at for whether they can leave memory: a clock whose hand goes round
/// ("second chance"). The links are in the nodes, so each joins and leaves in O(1).
///
/// It may hold nodes that have changed since; those are removed when they are looked at.
///
/// Invariant: a node in the ring is owned by the table of its parent, and leaves the ring before it leaves the table.
/// So links, which own nothing, never lead to a node that is gone.
struct NodeRing {
    /// Looked at next; those that come last are before it. Safe because of the invariant above.
    private unowned(unsafe) var hand: RowNode?
    private(set) var count = 0

    /// Puts a node where it is looked at last.
    mutating func insert(_ node: RowNode) {
        count += 1
        guard let next = hand, let previous = next.previousInRing else {
            node.nextInRing = node
            node.previousInRing = node
            hand = node
            return
        }
        node.nextInRing = next
        node.previousInRing = previous
        previous.nextInRing = node
        next.previousInRing = node
    }

    /// Takes a node out, if it is in.
    mutating func remove(_ node: RowNode) {
        guard let next = node.nextInRing, let previous = node.previousInRing else { return }
        count -= 1
        if hand === node { hand = next === node ? nil : next }
        previous.nextInRing = next
        next.previousInRing = previous
        node.nextInRing = nil
        node.previousInRing = nil
    }

    /// The node to look at; the hand moves on.
    mutating func next() -> RowNode? {
        defer { hand = hand?.nextInRing }
        return hand
    }
}
