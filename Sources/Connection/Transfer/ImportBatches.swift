import HearthClientSession
package import HearthJSONPieces
package import HearthJSONTree
package import HearthWireProtocol

/// Gathers pieces of a JSON text into writes of a size that suits the server. Pure.
///
/// Pieces are written in their order, and no write holds two places of which one is inside the other.
package struct ImportBatches {
    package enum Write: Hashable, Sendable {
        case set(WireAssignment)
        /// At or below the place of the import; never empty.
        case update([WireAssignment])
    }

    /// A value that no write can hold: only a string can be so long.
    package struct TooLarge: Error, Hashable, Sendable, CustomStringConvertible {
        package var path: Path
        package var byteCount: Int

        /// One line for people.
        package var description: String {
            "the value at \(path) has \(byteCount) bytes as JSON text, a write at most \(WriteSize.bytesMax)"
        }
    }

    private let base: Path
    private let updateBytesMax: Int
    private let updateNodesMax: Int
    private var waiting: [WireAssignment] = []
    private var waitingBytes = 0
    private var waitingNodes = 0
    /// Each place comes after those before it.
    private var isAscending = true

    /// - parameter updateNodesMax: of all values of an update, about. Servers refuse updates of many more rows, unless
    ///   an administrator makes them (Protocol.md 9).
    package init(base: Path, updateBytesMax: Int = 1 << 20, updateNodesMax: Int = 8000) {
        self.base = base
        self.updateBytesMax = updateBytesMax
        self.updateNodesMax = updateNodesMax
    }

    /// Takes the next piece, and answers the writes that are ready.
    package mutating func add(_ piece: JSONPieces.Piece) throws(TooLarge) -> [Write] {
        switch piece {
        case .value(let path, let json, let hasServerValues):
            let target = WriteTarget(path: path)
            let assignment = WireAssignment(target: target, value: json, hasServerValues: hasServerValues)
            if path == base { return try alone(assignment) }
            return try add(assignment)
        case .clear(let path): return try alone(WireAssignment(target: WriteTarget(path: path), value: .null))
        case .priority(let path, let json, let hasServerValues):
            let target = WriteTarget(path: path, isPriority: true)
            return try alone(WireAssignment(target: target, value: json, hasServerValues: hasServerValues))
        }
    }

    /// The last write, if there is one.
    package mutating func finish() -> Write? {
        defer {
            waiting = []
            waitingBytes = 0
            waitingNodes = 0
            isAscending = true
        }
        if waiting.isEmpty { return nil }
        return .update(isAscending ? waiting : ImportBatches.withoutRepetitions(waiting))
    }

    private mutating func add(_ assignment: WireAssignment) throws(TooLarge) -> [Write] {
        try check(assignment)
        let byteCount = assignment.value.bytes.count + assignment.target.path.encoded.count
        let nodeCount = 1 + assignment.value.bytes.reduce(0) { $0 + ($1 == UInt8(ascii: ":") ? 1 : 0) }
        var writes: [Write] = []
        if waitingBytes + byteCount > updateBytesMax || waitingNodes + nodeCount > updateNodesMax,
            let write = finish()
        {
            writes.append(write)
        }
        if let last = waiting.last, assignment.target.path <= last.target.path { isAscending = false }
        waiting.append(assignment)
        waitingBytes += byteCount
        waitingNodes += nodeCount
        return writes
    }

    /// Between earlier and later writes.
    private mutating func alone(_ assignment: WireAssignment) throws(TooLarge) -> [Write] {
        try check(assignment)
        return (finish().map { [$0] } ?? []) + [.set(assignment)]
    }

    private func check(_ assignment: WireAssignment) throws(TooLarge) {
        let byteCount = assignment.value.bytes.count
        guard byteCount <= WriteSize.bytesMax else {
            throw TooLarge(path: assignment.target.path, byteCount: byteCount)
        }
    }

    /// Leaves out values that a later one replaces: at the same place, or above. (Nothing comes later below a value:
    /// its place is cleared before, on its own.) O(n log n).
    private static func withoutRepetitions(_ assignments: [WireAssignment]) -> [WireAssignment] {
        let order = assignments.indices.sorted { a, b in
            let (first, second) = (assignments[a].target.path, assignments[b].target.path)
            return first == second ? a > b : first < second
        }
        var kept: [WireAssignment] = []
        for index in order {
            if let last = kept.last, last.target.path.contains(assignments[index].target.path) { continue }
            kept.append(assignments[index])
        }
        return kept
    }
}
