import HearthJSONTree
import HearthSecurityRules

/// What a setting makes of a place in the commit of a write.
struct DerivedValue {
    var target: Path
    /// Nil for a sum that no number can hold.
    var value: CanonicalJSON?
}

extension [DerivedValue] {
    /// The assignments of a write, and these: inside a value that is written, they are put into its text. No assignment
    /// may be at or below one of the targets.
    func added(to assignments: [Assignment]) -> [Assignment] {
        if isEmpty { return assignments }
        var result = assignments
        var edits: [Int: [CanonicalJSON.Edit]] = [:]
        for derived in self {
            let value = derived.value ?? .null
            let place = assignments.firstIndex { !$0.target.isPriority && $0.target.path.contains(derived.target) }
            if let place, let relative = derived.target.suffix(after: assignments[place].target.path) {
                edits[place, default: []].append(CanonicalJSON.Edit(path: relative, value: value))
            } else {
                result.append(Assignment(target: WriteTarget(path: derived.target), value: value))
            }
        }
        for (place, edits) in edits { result[place].value = assignments[place].value.setting(edits) }
        return result
    }
}

extension IndexPattern {
    /// Visits the places of the pattern that an assignment concerns: the one that its own place is at or below, or
    /// those in its value.
    func forEachPlace(
        concernedBy assignment: Assignment, _ body: (_ place: Path, _ isInValue: Bool) -> Void
    ) {
        let path = assignment.target.path
        var above = path.segments
        var end = 0
        for (depth, segment) in segments.enumerated() {
            guard let range = above.next() else {
                let value = assignment.value
                return Self.forEachPlace(of: segments[depth...], in: value, value.range, at: path) { body($0, true) }
            }
            guard segment?.elementsEqual(path.encoded[range]) ?? true else { return }
            end = range.upperBound
        }
        body(path.prefix(bytes: end), false)
    }

    private static func forEachPlace(
        of pattern: ArraySlice<[UInt8]?>, in json: CanonicalJSON, _ range: Range<Int>, at path: Path,
        _ body: (Path) -> Void
    ) {
        guard let first = pattern.first else { return body(path) }
        if let first {
            guard let inner = json.range(of: Path(encoded: first), in: range) else { return }
            let next = Path(encoded: path.encoded + first)
            return forEachPlace(of: pattern.dropFirst(), in: json, inner, at: next, body)
        }
        for child in json.children(in: range) {
            var encoded = path.encoded
            child.appendSegment(to: &encoded)
            forEachPlace(of: pattern.dropFirst(), in: json, child.value, at: Path(encoded: encoded), body)
        }
    }
}
