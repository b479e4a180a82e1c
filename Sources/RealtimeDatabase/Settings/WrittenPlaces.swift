import HearthJSONTree
import HearthTreeText

/// The values of a write by place, to find those that other places are in.
struct WrittenPlaces {
    private let assignments: [Assignment]
    /// The first at each place; nil if there are few, which are compared one by one.
    private var indexes: [Path: Int]?

    private static let fewAssignments = 8

    init(_ assignments: [Assignment]) {
        self.assignments = assignments
        if assignments.count <= Self.fewAssignments { return }
        var indexes: [Path: Int] = [:]
        indexes.reserveCapacity(assignments.count)
        for (index, assignment) in assignments.enumerated() where !assignment.target.isPriority {
            if indexes[assignment.target.path] == nil { indexes[assignment.target.path] = index }
        }
        self.indexes = indexes
    }

    /// The index of the first assignment that sets a value at or above a place. Costs a look-up for each key of the
    /// place, however many assignments there are.
    func firstIndex(atOrAbove path: Path) -> Int? {
        guard let indexes else {
            return assignments.firstIndex { !$0.target.isPriority && $0.target.path.contains(path) }
        }
        var first = indexes[.root]
        for segment in path.segments {
            guard let index = indexes[path.prefix(bytes: segment.upperBound)] else { continue }
            first = min(first ?? index, index)
        }
        return first
    }
}
