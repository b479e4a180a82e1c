import HearthJSONTree
import HearthTreeText
import HearthSecurityRules

/// What a setting makes of a place in the commit of a write.
struct DerivedValue {
    var target: Path
    var value: CanonicalJSON
}

extension [DerivedValue] {
    /// The assignments of a write, and these: inside a value that is written, they are put into its text. No assignment
    /// may be at or below one of the targets.
    func added(to assignments: [Assignment]) -> [Assignment] {
        if isEmpty { return assignments }
        let places = WrittenPlaces(assignments)
        var result = assignments
        var edits: [Int: [CanonicalJSON.Edit]] = [:]
        for derived in self {
            let value = derived.value
            if let place = places.firstIndex(atOrAbove: derived.target),
                let relative = derived.target.suffix(after: assignments[place].target.path)
            {
                edits[place, default: []].append(CanonicalJSON.Edit(path: relative, value: value))
            } else {
                result.append(Assignment(target: WriteTarget(path: derived.target), value: value))
            }
        }
        for (place, edits) in edits { result[place].value = assignments[place].value.setting(edits) }
        return result
    }
}

extension DerivedValue {
    /// Whether it stands in a tree.
    func isThere(in tree: any RuleTree) throws(RuleTreeError) -> Bool {
        switch try tree.value(at: target.encoded.span.bytes) {
        case .nothing: value.isNull
        case .text(let json, let range): json.part(range) == value
        case .spread: false
        }
    }
}
