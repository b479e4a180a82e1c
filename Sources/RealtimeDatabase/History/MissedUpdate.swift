package import HearthJSONTree
import HearthStorageErrors

/// The update for a listener with the value of an earlier number: the present values of the places that changed since,
/// and nothing else (Protocol.md 18.2). One object for all who need the same.
package final class MissedUpdate: Sendable {
    /// Where the listener is.
    package let path: Path
    /// A set of the whole value or of one place in it, or an update of several, none inside another.
    package let change: Change
    /// Bytes of its values and paths.
    package let byteCount: Int

    /// More than this is not sent in one update, in bytes: then a new beginning is cheaper.
    package static let bytesMax = 8 << 20

    fileprivate init(path: Path, change: Change, byteCount: Int) {
        self.path = path
        self.change = change
        self.byteCount = byteCount
    }
}

extension MissedUpdate {
    /// The same without children that have expired.
    func without(_ expired: ExpiredChildren, in rows: TreeRows) -> MissedUpdate {
        var gone: Set<Path> = []
        var seen: [Assignment] = []
        for assignment in change.assignments {
            let target = assignment.target
            let hidden = expired.places(atOrAbove: target.path) { child, time in
                (try? rows.hasCome(time, of: child, by: expired.time)) == true
            }
            if let child = hidden.min(by: { $0.depth < $1.depth }) {
                // Nothing is left of it, or of what the listener has of it.
                let place = child.depth < path.depth ? path : child
                if gone.insert(place).inserted {
                    seen.append(Assignment(target: WriteTarget(path: place), value: .null))
                }
            } else if target.isPriority {
                seen.append(assignment)
            } else {
                let value = expired.removed(from: assignment.value, at: target.path)
                seen.append(Assignment(target: target, value: value))
            }
        }
        let change: Change = seen.count == 1 ? .set(seen[0]) : .merge(base: path, seen)
        return MissedUpdate(path: path, change: change, byteCount: byteCount)
    }
}

/// Collects the present values of the places that changed after a number.
struct MissedUpdateBuilder {
    private let rows: TreeRows
    private let after: UInt64
    private let valueBytesMax: Int
    private var values: [Assignment] = []
    private var priorities: [Assignment] = []
    private var byteCount = 0
    /// Listeners that have the value at one of these numbers need the same update.
    private(set) var numbers: Range<UInt64> = 0..<UInt64.max

    /// - parameter valueBytesMax: the largest value that is assembled.
    init(_ rows: TreeRows, after: UInt64, valueBytesMax: Int) {
        self.rows = rows
        self.after = after
        self.valueBytesMax = valueBytesMax
    }

    /// The update for listeners at `path`, at and below which something has changed. Costs a read for each node that
    /// changed and was not read before. Throws ``TreeRows/ReadError/tooLarge`` for one that is too large to be made.
    mutating func update(of changes: ChangedPaths, at path: Path) throws(TreeRows.ReadError) -> MissedUpdate {
        try add(changes.root, at: path)
        let assignments = values + priorities
        let change: Change = assignments.count == 1 ? .set(assignments[0]) : .merge(base: path, assignments)
        return MissedUpdate(path: path, change: change, byteCount: byteCount)
    }

    /// Whether a change came after the number.
    private mutating func isNew(_ number: UInt64) -> Bool {
        if number > after {
            numbers = numbers.lowerBound..<min(numbers.upperBound, number)
            return true
        }
        numbers = max(numbers.lowerBound, number)..<numbers.upperBound
        return false
    }

    private mutating func add(_ node: ChangedPaths.Node, at path: Path) throws(TreeRows.ReadError) {
        guard isNew(node.latest) else { return }
        var isWhole = isNew(node.set)
        if !isWhole, isNew(node.removal) { isWhole = try mayHaveVanished(node, at: path) }
        if isWhole {
            return try append(WriteTarget(path: path), try value(of: node, at: path), to: \.values)
        }
        if isNew(node.priority) {
            let priority = try priority(at: path)
            try append(WriteTarget(path: path, isPriority: true), priority, to: \.priorities)
        }
        for child in node.children.sorted() {
            try add(child, at: Path(encoded: path.encoded + child.segment))
        }
    }

    private mutating func append(
        _ target: WriteTarget, _ value: CanonicalJSON, to list: WritableKeyPath<Self, [Assignment]>
    ) throws(TreeRows.ReadError) {
        self[keyPath: list].append(Assignment(target: target, value: value))
        byteCount += 100 + target.path.encoded.count + value.bytes.count
        if byteCount > MissedUpdate.bytesMax { throw .tooLarge }
    }

    private func value(of node: ChangedPaths.Node, at path: Path) throws(TreeRows.ReadError) -> CanonicalJSON {
        if let value = node.value { return value }
        let value = try rows.read(path, bytesMax: valueBytesMax)
        node.value = value
        return value
    }

    private func priority(at path: Path) throws(TreeRows.ReadError) -> CanonicalJSON {
        do throws(StorageError) {
            return try rows.priority(at: path)
        } catch {
            throw .storage(error)
        }
    }

    // MARK: Nodes that vanished

    /// Whether a node below which something was removed may have been absent for a time. Then it has lost its priority,
    /// and a leaf may no longer be one. It was not absent if an unchanged part of it is left.
    private mutating func mayHaveVanished(
        _ node: ChangedPaths.Node, at path: Path
    ) throws(TreeRows.ReadError) -> Bool {
        do throws(StorageError) {
            return try !hasUnchanged(node, at: path)
        } catch {
            throw .storage(error)
        }
    }

    /// Whether something is there that did not change. Looks at children that changed, and one more.
    private mutating func hasUnchanged(_ node: ChangedPaths.Node, at path: Path) throws(StorageError) -> Bool {
        var isEmpty = true
        var partlyChanged: [ChangedPaths.Node] = []
        var isFound = false
        try rows.forEachChild(of: path, from: [0], below: [0xFF], .ascending) { (child) throws(StorageError) in
            isEmpty = false
            let changed = child.segment.withUnsafeBytes { node.children[$0] }
            if let changed, isNew(changed.latest) {
                if !isNew(changed.set) { partlyChanged.append(changed) }
                return true
            }
            isFound = true
            return false
        }
        if isFound { return true }
        // A leaf that was not set is as it was.
        if isEmpty { return try rows.exists(path) }
        for child in partlyChanged {
            if try hasUnchanged(child, at: Path(encoded: path.encoded + child.segment)) { return true }
        }
        return false
    }
}

extension TreeRows {
    /// The priority of a node, null if it has none or is not there. One look-up.
    fileprivate func priority(at path: Path) throws(StorageError) -> CanonicalJSON {
        let place = try locate(path)
        guard place.node.state == .packed else { return place.node.value }
        return place.node.value.value(at: path.dropFirst(bytes: place.used)).priority
    }
}
