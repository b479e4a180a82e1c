package import HearthJSONTree
import HearthTreeText

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

    /// The memory that they use, about.
    var memoryByteCount: Int { byteCount + 100 * assignments.count }

    package mutating func set(_ assignment: Assignment) { set([assignment]) }

    /// Sets several places that do not overlap (Protocol.md 4.6). A value is copied once for all places within it, and
    /// once for each priority (``partsByteCount(of:)``).
    package mutating func set(_ new: [Assignment]) {
        for assignment in new where !assignment.target.isPriority && indexOfValue(around: assignment.target) == nil {
            insert(assignment)
        }
        var edits: [Int: [CanonicalJSON.Edit]] = [:]
        for assignment in new where !assignment.target.isPriority {
            guard let index = indexOfValue(around: assignment.target) else { continue }
            let edit = CanonicalJSON.Edit(path: relative(assignment.target, to: index), value: assignment.value)
            edits[index, default: []].append(edit)
        }
        for (index, edits) in edits { replace(assignments[index].value.setting(edits), at: index) }
        for assignment in new where assignment.target.isPriority {
            guard let index = indexOfValue(around: assignment.target) else {
                insert(assignment)
                continue
            }
            let path = relative(assignment.target, to: index)
            if let value = assignments[index].value.settingPriority(assignment.value, at: path) {
                replace(value, at: index)
            }
        }
    }

    /// The bytes of the values of which ``set(_:)`` would change parts, as often as it copies them. With a priority,
    /// what the same request adds to the value is copied too.
    func partsByteCount(of new: [Assignment]) -> Int {
        var added: [Int: Int] = [:]
        var priorities: [Int: Int] = [:]
        for assignment in new {
            guard let index = indexOfValue(around: assignment.target) else { continue }
            added[index, default: 0] += assignment.value.bytes.count
            if assignment.target.isPriority { priorities[index, default: 0] += 1 }
        }
        return added.reduce(0) { count, entry in
            let bytes = assignments[entry.key].value.bytes.count
            return count + bytes + (priorities[entry.key] ?? 0) * (bytes + entry.value)
        }
    }

    private func relative(_ target: WriteTarget, to index: Int) -> Path {
        target.path.dropFirst(bytes: assignments[index].target.path.encoded.count)
    }

    private mutating func replace(_ value: CanonicalJSON, at index: Int) {
        incrementCount += value.incrementCount - assignments[index].value.incrementCount
        assignments[index].value = value
    }

    /// Adds an assignment that lies in no value, in place of those that it replaces.
    private mutating func insert(_ assignment: Assignment) {
        let target = assignment.target
        let start = firstIndex(notBefore: target)
        var end = firstIndex(after: target.path, from: start)
        if target.isPriority { end = index(of: target) == nil ? start : start + 1 }
        replace(start..<end, with: [assignment])
    }

    private mutating func replace(_ range: Range<Int>, with new: [Assignment]) {
        incrementCount += new.incrementCount - assignments[range].incrementCount
        assignments.replaceSubrange(range, with: new)
    }

    /// Cancels the writes at and below a place. A value above it loses only this part, and no longer removes other
    /// data: its other children remain as separate writes. A leaf above has no such part, and stays.
    ///
    /// - returns: false, and nothing is changed, if that value has more than `splitBytesMax` bytes or more than
    ///   `entriesMax` writes would remain.
    @discardableResult
    package mutating func cancel(_ path: Path, entriesMax: Int = .max, splitBytesMax: Int = .max) -> Bool {
        let target = WriteTarget(path: path)
        guard let index = indexOfValue(around: target) else {
            let start = firstIndex(notBefore: target)
            replace(start..<firstIndex(after: path, from: start), with: [])
            return true
        }
        let owner = assignments[index]
        if owner.value.isLeaf { return true }
        if owner.value.bytes.count > splitBytesMax { return false }
        let keptMax = entriesMax - (assignments.count - 1)
        var kept: [Assignment] = []
        guard Self.keepAllBut(path, of: owner, in: &kept, atMost: keptMax) else { return false }
        replace(index..<index + 1, with: kept)
        return true
    }

    /// Appends the parts of an assignment that are not on the way to a place below it. False if there are too many.
    private static func keepAllBut(
        _ path: Path, of owner: Assignment, in kept: inout [Assignment], atMost countMax: Int
    ) -> Bool {
        let way = owner.target.path.encoded.count
        let end = path.segmentEnd(from: way)
        for child in owner.value.children {
            var encoded = owner.target.path.encoded
            child.appendSegment(to: &encoded)
            let value = owner.value.part(child.value)
            let isOnWay = encoded == Array(path.encoded[..<end])
            if isOnWay, end == path.encoded.count { continue }
            let part = Assignment(target: WriteTarget(path: Path(encoded: encoded)), value: value)
            if isOnWay, !value.isLeaf {
                guard keepAllBut(path, of: part, in: &kept, atMost: countMax) else { return false }
            } else {
                kept.append(part)
                if kept.count > countMax { return false }
            }
        }
        return true
    }

    // MARK: Looking up, by bisection

    /// The value above a place, or at that of a priority. There is one at most.
    private func indexOfValue(around target: WriteTarget) -> Int? {
        if target.isPriority, let index = index(of: WriteTarget(path: target.path)) { return index }
        var above = target.path.parent
        while let path = above {
            if let index = index(of: WriteTarget(path: path)) { return index }
            above = path.parent
        }
        return nil
    }

    private func index(of target: WriteTarget) -> Int? {
        let index = firstIndex(notBefore: target)
        return index < assignments.count && assignments[index].target == target ? index : nil
    }

    private func firstIndex(notBefore target: WriteTarget) -> Int {
        var (low, high) = (0, assignments.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.precedes(assignments[middle].target, target) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The end of the assignments at and below a path, of which `start` is the first.
    private func firstIndex(after path: Path, from start: Int) -> Int {
        assignments[start...].firstIndex { !path.contains($0.target.path) } ?? assignments.count
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
