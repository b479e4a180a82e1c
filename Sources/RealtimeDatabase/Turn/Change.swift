package import HearthJSONTree
import HearthTreeText

/// What one commit changed, as it was written. This is what the log keeps and what plain listeners get.
package enum Change: Hashable, Sendable {
    case set(Assignment)
    /// An atomic update: the targets are absolute and lie at or below `base`.
    case merge(base: Path, [Assignment])
    /// The same for very many children of one place, in one text (``CanonicalJSON/childAssignments(of:)``). At least
    /// one of them is not removed.
    case setChildren(of: Path, CanonicalJSON)

    /// Everything that changes lies at or below it.
    package var base: Path {
        switch self {
        case .set(let assignment): assignment.target.path
        case .merge(let base, _), .setChildren(of: let base, _): base
        }
    }

    /// Takes memory for each child of a ``setChildren(of:_:)``.
    package var assignments: [Assignment] {
        switch self {
        case .set(let assignment): [assignment]
        case .merge(_, let assignments): assignments
        case .setChildren(of: let base, let children): children.childAssignments(of: base).inOrder
        }
    }

    /// The same with its assignments in the order in which they take effect.
    var inOrder: Change {
        guard case .merge(let base, let assignments) = self, !assignments.isInOrder else { return self }
        return .merge(base: base, assignments.inOrder)
    }

    /// None of a ``setChildren(of:_:)``.
    var assignmentsOneByOne: [Assignment] { if case .setChildren = self { [] } else { assignments } }

    /// Whether it sets one place.
    var isSet: Bool {
        switch self {
        case .set: true
        case .merge(_, let assignments): assignments.count == 1
        case .setChildren: false
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

    /// The same, said of the deepest place below which all its values are.
    var narrowed: Change {
        guard case .merge(_, let assignments) = self, let parent = assignments.first?.target.path.parent else {
            return self
        }
        return .merge(base: Self.base(of: assignments, atOrAbove: parent), assignments)
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

/// An update sets values first, then removes, then gives priorities. So its result does not depend on the order in
/// which it was written: a node that has children before and after it keeps its priority. A large value may come first.
extension [Assignment] {
    fileprivate var isInOrder: Bool {
        var rank = 0
        for assignment in self {
            if assignment.rank < rank { return false }
            rank = assignment.rank
        }
        return true
    }

    fileprivate var inOrder: [Assignment] {
        isInOrder ? self : (0...2).flatMap { rank in filter { $0.rank == rank } }
    }
}

extension Assignment {
    fileprivate var rank: Int { target.isPriority ? 2 : value.isNull ? 1 : 0 }
}
