package import HearthJSONTree

/// The on-disconnect writes of a connection (Protocol.md 17): a sparse tree of values, with server values still to be
/// resolved.
///
/// A value at a place replaces the earlier writes at and below it; one below a place with a value becomes part of that
/// value.
package struct OwedWrites: Hashable, Sendable {
    /// In path order, the priority of a place after its value. None lies inside the value of another.
    package private(set) var assignments: [Assignment] = []
    /// Increments in all of the values: when the connection ends, so many values are read.
    private(set) var incrementCount = 0
    /// Who registered the last of them: in whose name they are made.
    package var principal: Principal

    package init(by principal: Principal = .nobody) { self.principal = principal }

    /// `assignments` are those of other owed writes.
    init(_ assignments: [Assignment], by principal: Principal) {
        self.assignments = assignments
        self.principal = principal
        incrementCount = assignments.incrementCount
    }

    package var isEmpty: Bool { assignments.isEmpty }

    var byteCount: Int { assignments.reduce(0) { $0 + $1.target.path.encoded.count + $1.value.bytes.count } }

    package mutating func set(_ assignment: Assignment) {
        let target = assignment.target
        if let index = indexOfValue(around: target) {
            let owner = assignments[index]
            let relative = target.path.dropFirst(bytes: owner.target.path.encoded.count)
            if target.isPriority {
                assignments[index].value = owner.value.settingPriority(assignment.value, at: relative) ?? owner.value
            } else {
                assignments[index].value = owner.value.setting(assignment.value, at: relative)
            }
            incrementCount += assignments[index].value.incrementCount - owner.value.incrementCount
            return
        }
        remove { Self.replaces(target, $0) }
        let index = assignments.firstIndex { Self.precedes(target, $0.target) } ?? assignments.count
        assignments.insert(assignment, at: index)
        incrementCount += assignment.value.incrementCount
    }

    private mutating func remove(where isGone: (WriteTarget) -> Bool) {
        assignments.removeAll { assignment in
            guard isGone(assignment.target) else { return false }
            incrementCount -= assignment.value.incrementCount
            return true
        }
    }

    /// Cancels the writes at and below a place. A value above it loses only this part, and no longer removes other
    /// data: its other children remain as separate writes. A leaf above has no such part, and stays.
    package mutating func cancel(_ path: Path) {
        if let index = indexOfValue(around: WriteTarget(path: path)) {
            if assignments[index].value.isLeaf { return }
            let owner = assignments.remove(at: index)
            let count = assignments.count
            keepAllBut(path, of: owner, at: index)
            let kept = assignments[index..<index + assignments.count - count]
            incrementCount += kept.incrementCount - owner.value.incrementCount
            return
        }
        remove { path.contains($0.path) }
    }

    /// Restores the parts of an assignment that are not on the way to a place below it.
    private mutating func keepAllBut(_ path: Path, of owner: Assignment, at index: Int) {
        let way = owner.target.path.encoded.count
        let end = path.segmentEnd(from: way)
        var index = index
        for child in owner.value.children {
            var encoded = owner.target.path.encoded
            child.appendSegment(to: &encoded)
            let value = owner.value.part(child.value)
            let part = Assignment(target: WriteTarget(path: Path(encoded: encoded)), value: value)
            if encoded == Array(path.encoded[..<end]) {
                if end < path.encoded.count {
                    let count = assignments.count
                    if value.isLeaf {
                        assignments.insert(part, at: index)
                    } else {
                        keepAllBut(path, of: part, at: index)
                    }
                    index += assignments.count - count
                }
            } else {
                assignments.insert(part, at: index)
                index += 1
            }
        }
    }

    /// The value at or above a place.
    private func indexOfValue(around target: WriteTarget) -> Int? {
        assignments.firstIndex { other in
            guard !other.target.isPriority, other.target.path.contains(target.path) else { return false }
            return target.isPriority || other.target.path != target.path
        }
    }

    private static func replaces(_ new: WriteTarget, _ old: WriteTarget) -> Bool {
        new.isPriority ? new == old : new.path.contains(old.path)
    }

    private static func precedes(_ a: WriteTarget, _ b: WriteTarget) -> Bool {
        a.path != b.path ? a.path < b.path : !a.isPriority && b.isPriority
    }
}

extension Collection<Assignment> {
    fileprivate var incrementCount: Int { reduce(0) { $0 + $1.value.incrementCount } }
}

extension CanonicalJSON {
    /// How many increments it has (Protocol.md 7.6), those of priorities included. O(text).
    var incrementCount: Int {
        bytes.withUnsafeBytes { text in
            var (count, offset) = (0, 0)
            while offset < text.count {
                // Within a string its quotes would be escaped.
                let isIncrement =
                    text[offset] == UInt8(ascii: "{")
                    && CanonicalScan.has("{\".sv\":{\"increment\":", text, at: offset)
                if isIncrement { count += 1 }
                offset += 1
            }
            return count
        }
    }
}
