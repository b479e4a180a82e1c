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
}
