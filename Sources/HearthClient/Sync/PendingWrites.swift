import JSONTree

/// A write that the server has not settled yet, as this client guesses its result: server values are estimated.
struct PendingWrite: Equatable {
    /// Grows with every write.
    let id: Int
    let assignments: [NodeAssignment]
    /// Whether observers see it before the server has agreed.
    let isVisible: Bool
    /// The server has agreed, but what it said about the places is still on its way.
    var isAcknowledged = false

    var paths: [Path] { assignments.map(\.target.path) }
}

/// The writes under way, oldest first, and how values look through them.
struct PendingWrites {
    private(set) var writes: [PendingWrite] = []

    mutating func add(_ write: PendingWrite) { writes.append(write) }

    /// Takes a write out; nil if there is none of that number.
    mutating func remove(_ id: Int) -> PendingWrite? { index(of: id).map { writes.remove(at: $0) } }

    mutating func acknowledge(_ id: Int) {
        if let index = index(of: id) { writes[index].isAcknowledged = true }
    }

    func write(_ id: Int) -> PendingWrite? { index(of: id).map { writes[$0] } }

    private func index(of id: Int) -> Int? {
        let index = writes.partitioningIndex { $0.id >= id }
        return index < writes.count && writes[index].id == id ? index : nil
    }

    /// What is known of a place when these writes, all but one, have happened to it. O(writes).
    func overlay(_ path: Path, _ base: KnownNode, without hidden: Int? = nil) -> KnownNode {
        var known = base
        for write in writes where write.isVisible && write.id != hidden {
            for assignment in write.assignments { known.apply(assignment, at: path) }
        }
        return known
    }

    /// Whether a write replaces the value or the priority of the place itself or of one above it.
    func replace(_ path: Path) -> Bool { isAnyTarget { $0.contains(path) } }

    /// Whether a write has to do with the place, one above or one below it.
    func concern(_ path: Path) -> Bool { isAnyTarget { $0.contains(path) || path.contains($0) } }

    private func isAnyTarget(_ predicate: (Path) -> Bool) -> Bool {
        writes.contains { write in
            write.isVisible && write.assignments.contains { predicate($0.target.path) }
        }
    }
}
