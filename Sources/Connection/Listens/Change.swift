package import HearthJSONTree
import HearthWireProtocol

/// A report of a listen: one commit, as far as it concerns the place.
package enum Change: Hashable, Sendable {
    /// The value or the priority at a place is now this one; null if there is nothing any more.
    case set(Assignment)
    /// Several places at or below a path changed at once. The targets are absolute.
    case update(Path, [Assignment])

    package var assignments: [Assignment] {
        switch self {
        case .set(let assignment): [assignment]
        case .update(_, let assignments): assignments
        }
    }

    /// Bytes of memory that the change takes, about.
    var byteCount: Int {
        assignments.reduce(64) { $0 + $1.value.bytes.count + $1.target.path.encoded.count + 64 }
    }

    /// The part at or below a path; nil if there is none. A server may report a change as a whole (Protocol.md 5).
    func part(at path: Path) -> Change? {
        let parts = assignments.compactMap { $0.part(at: path) }
        switch self {
        case _ where parts.isEmpty: return nil
        case .update(let base, _) where parts.count > 1: return .update(path.contains(base) ? base : path, parts)
        case .update(let base, _) where path.contains(base): return .update(base, parts)
        default: return .set(parts[0])
        }
    }
}

extension Assignment {
    init(_ assignment: WireAssignment) { self.init(target: assignment.target, value: assignment.value) }

    fileprivate func part(at path: Path) -> Assignment? {
        if path.contains(target.path) { return self }
        guard !target.isPriority, let relative = path.suffix(after: target.path) else { return nil }
        return Assignment(target: WriteTarget(path: path), value: value.value(at: relative))
    }

    /// Whether this says all there is at a path.
    func isWhole(_ path: Path) -> Bool { !target.isPriority && target.path.contains(path) }
}
