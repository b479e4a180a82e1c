import HearthJSONTree

/// A write that the server has not settled yet, with its estimated result: server values are estimated.
struct PendingWrite: Equatable {
    /// Grows with every write.
    let id: Int
    var assignments: [NodeAssignment]
    /// Whether observers see it before the server has agreed.
    let isVisible: Bool

    var paths: [Path] { assignments.map(\.target.path) }
}

/// The pending writes, and values with these writes applied.
///
/// Writes are indexed by their paths, so reading a place costs only the writes that concern it.
struct PendingWrites {
    private var writes: [Int: PendingWrite] = [:]
    /// The visible writes that the server has not acknowledged.
    private var unsettled = WriteIndex()
    /// Hidden writes, which only later transactions see.
    private var hidden = WriteIndex()
    /// The visible writes that the server has acknowledged.
    private var agreed = WriteIndex()
    /// Acknowledged writes whose effects the server has not reported yet.
    private(set) var acknowledged: Set<Int> = []

    var isEmpty: Bool { writes.isEmpty }

    /// Adds a write, or replaces the one of its number.
    mutating func add(_ write: PendingWrite) {
        _ = remove(write.id)
        writes[write.id] = write
        forEachEntry(of: write) {
            if write.isVisible { unsettled.add($0, at: $1) } else { hidden.add($0, at: $1) }
        }
    }

    /// Removes a write; nil if no write has that number.
    mutating func remove(_ id: Int) -> PendingWrite? {
        guard let write = writes.removeValue(forKey: id) else { return nil }
        let isAcknowledged = acknowledged.remove(id) != nil
        forEachEntry(of: write) {
            if isAcknowledged {
                agreed.remove($0, at: $1)
            } else if write.isVisible {
                unsettled.remove($0, at: $1)
            } else {
                hidden.remove($0, at: $1)
            }
        }
        return write
    }

    private func forEachEntry(of write: PendingWrite, _ body: (WriteIndex.Entry, Path) -> Void) {
        for (index, assignment) in write.assignments.enumerated() {
            let target = assignment.target
            body(.init(write: write.id, assignment: index, isPriority: target.isPriority), target.path)
        }
    }

    /// The server has accepted a visible write.
    mutating func acknowledge(_ id: Int) {
        guard let write = writes[id], write.isVisible, acknowledged.insert(id).inserted else { return }
        forEachEntry(of: write) {
            unsettled.remove($0, at: $1)
            agreed.add($0, at: $1)
        }
    }

    func write(_ id: Int) -> PendingWrite? { writes[id] }

    /// The known value of a place after the writes that the server has not acknowledged.
    ///
    /// - parameters:
    ///   - part: a place at or below `path`; writes that do not concern it do not count. The whole place if nil.
    ///   - withHidden: whether hidden writes count, too.
    ///   - isIncluded: whether the write of a number counts.
    func overlay(
        _ path: Path, _ base: KnownNode, concerning part: Path? = nil, withHidden: Bool = false,
        where isIncluded: (Int) -> Bool = { _ in true }
    ) -> KnownNode {
        let part = part ?? path
        var entries = unsettled.entries(concerning: part, where: isIncluded)
        if withHidden { entries = (entries + hidden.entries(concerning: part, where: isIncluded)).sorted() }
        return apply(entries, of: part, to: base, at: path)
    }

    /// The same, after the acknowledged writes.
    func overlayAcknowledged(_ path: Path, _ base: KnownNode, concerning part: Path? = nil) -> KnownNode {
        if acknowledged.isEmpty { return base }
        return apply(agreed.entries(concerning: part ?? path) { _ in true }, of: part ?? path, to: base, at: path)
    }

    private func apply(_ entries: [WriteIndex.Entry], of part: Path, to base: KnownNode, at path: Path) -> KnownNode {
        var known = base
        // Changes before the last write of the whole value are not visible.
        let last = entries.lastIndex { !$0.isPriority && assignment($0).target.path.contains(part) }
        for entry in entries[(last ?? 0)...] { known.apply(assignment(entry), at: path) }
        return known
    }

    private func assignment(_ entry: WriteIndex.Entry) -> NodeAssignment {
        guard let write = writes[entry.write] else { preconditionFailure("the index names writes that are here") }
        return write.assignments[entry.assignment]
    }

    /// Whether a write replaces the value or the priority of the place itself or of one above it.
    func replace(_ path: Path) -> Bool { unsettled.hasEntries(atOrAbove: path) || agreed.hasEntries(atOrAbove: path) }

    /// Whether a write concerns the place, one above or one below it.
    func concern(_ path: Path) -> Bool {
        unsettled.hasEntries(concerning: path) || agreed.hasEntries(concerning: path)
    }
}
