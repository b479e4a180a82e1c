import HearthJSONTree
import HearthRealtimeDatabase

extension Change {
    /// What a listener at `path` must get to see of a change, from the definition (Protocol.md 5.2); nil if it does not
    /// concern it.
    func seen(from path: Path) -> Change? {
        if path.contains(base) { return self }
        let seen = assignments.compactMap { assignment -> Assignment? in
            let target = assignment.target
            if path.contains(target.path) { return assignment }
            guard target.path.contains(path), !target.isPriority else { return nil }
            let part = assignment.value.value(at: path.dropFirst(bytes: target.path.encoded.count))
            return Assignment(target: WriteTarget(path: path), value: part)
        }
        return switch seen.count {
        case 0: nil
        case 1: .set(seen[0])
        default: .merge(base: path, seen)
        }
    }
}
