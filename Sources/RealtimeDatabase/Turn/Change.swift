package import JSONTree

/// What one commit changed, as it was written. This is what the log keeps and what plain listeners get.
package enum Change: Hashable, Sendable {
    case set(Assignment)
    /// An atomic update: the targets are absolute and lie at or below `base`.
    case merge(base: Path, [Assignment])

    /// Everything that changes lies at or below it.
    package var base: Path {
        switch self {
        case .set(let assignment): assignment.target.path
        case .merge(let base, _): base
        }
    }

    package var assignments: [Assignment] {
        switch self {
        case .set(let assignment): [assignment]
        case .merge(_, let assignments): assignments
        }
    }

    /// An atomic update of one place or several.
    init(_ assignments: [Assignment]) {
        if assignments.count == 1 {
            self = .set(assignments[0])
        } else {
            self = .merge(base: Self.base(of: assignments, atOrAbove: assignments[0].target.path), assignments)
        }
    }

    /// The deepest place at or above `path` that no assignment lies outside of.
    static func base(of assignments: [Assignment], atOrAbove path: Path) -> Path {
        var base = path
        for assignment in assignments {
            while !base.contains(assignment.target.path), let parent = base.parent { base = parent }
        }
        return base
    }
}
