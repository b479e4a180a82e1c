package import HearthJSONTree
import HearthTreeText

/// A tree as it is after a write: `newData` (docs/rules.md 3.1). Nothing is copied; data that the write leaves alone
/// are looked up in the tree before it.
package final class WrittenTree: RuleTree {
    private(set) var base: (any RuleTree)?
    /// In path order. No place lies at or below another (Protocol.md 4.6).
    private(set) var values: [Assignment] = []
    /// In path order; none is at or below a place of `values`.
    private(set) var priorities: [Assignment] = []
    /// Set by the write instead: children of one place.
    var children: WrittenChildren?
    /// How many of the values before each index are no deletions.
    private var made: [Int] = []
    /// Of places above many deletions: whether anything is left there. So a write of many is not looked through again
    /// and again.
    private var left: [[UInt8]: Bool] = [:]
    private static let fewAssignments = 16
    /// Of the wide objects of values that were looked into.
    private var wide: [WideObject: MemberIndex] = [:]
    /// Texts with the priorities that were asked for, by index of the priority.
    private var prioritised: [Int: RuleTreeValue] = [:]

    private struct WideObject: Hashable {
        /// The index of its value; 0 for the text of children.
        let value: Int
        /// Where it begins in the value's text.
        let start: Int
    }

    package init() {}

    /// `assignments` are those of one write, server values resolved. None may lie at or below the place of another, but
    /// a priority above a value; of a priority and a value at one place, the priority counts last.
    package convenience init(_ base: any RuleTree, _ assignments: [Assignment]) {
        self.init()
        write(assignments, over: base)
    }

    /// Becomes the tree after another write. Keeps its memory.
    func write(_ assignments: [Assignment], over base: any RuleTree) {
        forget()
        self.base = base
        for assignment in assignments {
            if assignment.target.isPriority { priorities.append(assignment) } else { values.append(assignment) }
        }
        if values.count > 1 { values.sort { $0.target.path < $1.target.path } }
        made.append(0)
        for (index, assignment) in values.enumerated() { made.append(made[index] + (assignment.value.isNull ? 0 : 1)) }
        if priorities.count > 1 { priorities.sort { $0.target.path < $1.target.path } }
    }

    /// The same for children of one place, in one text.
    func write(childrenOf place: Path, _ text: CanonicalJSON, over base: any RuleTree) {
        write([], over: base)
        children = WrittenChildren(base: place.encoded, text: text)
    }

    /// Lets go of the tree and of the values.
    func forget() {
        base = nil
        children = nil
        values.removeAll(keepingCapacity: true)
        priorities.removeAll(keepingCapacity: true)
        made.removeAll(keepingCapacity: true)
        if !left.isEmpty { left = [:] }
        if !wide.isEmpty { wide = [:] }
        if !prioritised.isEmpty { prioritised = [:] }
    }

    package func value(at path: RawSpan) throws(RuleTreeError) -> RuleTreeValue {
        let value = try path.withUnsafeBytes { (path) throws(RuleTreeError) in try self.value(at: path) }
        if priorities.isEmpty { return value }
        return path.withUnsafeBytes { withPriorities(value, at: $0) }
    }

    /// Without the priorities that the write assigns.
    private func value(at path: UnsafeRawBufferPointer) throws(RuleTreeError) -> RuleTreeValue {
        if let children { return try value(at: path, after: children) }
        let index = firstAssignment(atOrBehind: path)
        if index < values.count, values[index].target.path.encoded.count == path.count,
            Self.contains(path, values[index])
        {
            return RuleTreeValue(values[index].value)
        }
        if index > 0, let inner = self.value(ofAssignment: index - 1, at: path) { return inner }
        let value = try base?.value(at: path.bytes) ?? .nothing
        guard index < values.count, Self.contains(path, values[index]) else { return value }
        // Something below is written: a leaf goes if it gets children, other children stay.
        if isAnyMade(below: path, from: index) {
            guard let (json, range) = value.priority else { return .spread(priority: .null) }
            return .spread(priority: json.part(range))
        }
        return try isLeft(value, at: path) ? remaining(value) : .nothing
    }

    /// A value of which something below was deleted: its text no longer tells the children.
    private func remaining(_ value: RuleTreeValue) -> RuleTreeValue {
        guard case .text(let json, let range) = value, value.hasChildren else { return value }
        return .spread(priority: json.shape(of: range).priority.map(json.part) ?? .null)
    }

    package func forEachChild(
        of path: RawSpan, _ body: (RawSpan) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        let base = try self.base?.value(at: path) ?? .nothing
        let path = path.withUnsafeBytes { [UInt8]($0) }
        if let children { return try forEachChild(of: path, base, after: children, body) }
        var isStopped = false
        // The children that were there before, unless the write took them.
        try forEachChild(of: base, at: path) { (segment) throws(RuleTreeError) in
            let child = path + segment
            if try value(at: child.span.bytes).exists { isStopped = try !body(segment.span.bytes) }
            return !isStopped
        }
        // Those that it made.
        var last: [UInt8] = []
        let first = path.withUnsafeBytes { firstAssignment(atOrBehind: $0) }
        for assignment in values[first...] where !isStopped {
            guard path.withUnsafeBytes({ Self.contains($0, assignment) }) else { return }
            let place = assignment.target.path
            if place.encoded.count == path.count || assignment.value.isNull { continue }
            let child = Array(place.encoded[..<place.segmentEnd(from: path.count)])
            let before = try self.base?.value(at: child.span.bytes) ?? .nothing
            if child == last || before.exists { continue }
            last = child
            isStopped = try !body(child.span.bytes.extracting(droppingFirst: path.count))
        }
    }

    // MARK: Assignments

    /// The index of the first assigned value whose place is `path` or comes after it.
    private func firstAssignment(atOrBehind path: UnsafeRawBufferPointer) -> Int {
        values.partitioningIndex { assignment in
            assignment.target.path.encoded.withUnsafeBytes { !$0.precedesBytewise(path) }
        }
    }

    /// Whether an assignment's place is `path` or below it.
    private static func contains(_ path: UnsafeRawBufferPointer, _ assignment: Assignment) -> Bool {
        assignment.target.path.encoded.withUnsafeBytes { $0.starts(withBytes: path) }
    }

    /// The value of an assignment at a place below its own; nil if the place is not below.
    private func value(ofAssignment index: Int, at path: UnsafeRawBufferPointer) -> RuleTreeValue? {
        let json = values[index].value
        let place = values[index].target.path.encoded
        guard place.withUnsafeBytes(path.starts) else { return nil }
        let range = self.range(of: path.part(place.count..<path.count), in: json, json.range, ofValue: index)
        return range.map { .text(json, $0) } ?? .nothing
    }

    /// The position of the value at a relative path in the one whose text is `range`. The texts of one write have
    /// numbers.
    func range(
        of path: UnsafeRawBufferPointer, in json: CanonicalJSON, _ range: Range<Int>, ofValue number: Int
    ) -> Range<Int>? {
        var (start, range) = (0, range)
        while start < path.count {
            let end = Path.segmentEnd(in: path, from: start)
            let segment = path.part(start..<end)
            let inner =
                range.count < MemberIndex.bytesMin
                ? json.range(ofEncoded: segment, in: range)
                : members(of: range, in: json, ofValue: number).value(of: segment, in: json)
            guard let inner else { return nil }
            (start, range) = (end, inner)
        }
        return range
    }

    /// Every child of a wide object is looked for, if rules ask about every child.
    func members(of range: Range<Int>, in json: CanonicalJSON, ofValue number: Int) -> MemberIndex {
        let object = WideObject(value: number, start: range.lowerBound)
        if let known = wide[object] { return known }
        let members = MemberIndex(json, range)
        wide[object] = members
        return members
    }

    /// Whether something below `path` gets a value, of the assignments from `index` on.
    private func isAnyMade(below path: UnsafeRawBufferPointer, from index: Int) -> Bool {
        let end = values.partitioningIndex { assignment in
            assignment.target.path.encoded.withUnsafeBytes { place in
                !place.precedesBytewise(path) && !place.starts(withBytes: path)
            }
        }
        return made[end] > made[index]
    }

    /// Whether a part of the value at `path` is left, if all writes below it are deletions. Visits few more children
    /// than are deleted.
    private func isLeft(_ value: RuleTreeValue, at path: UnsafeRawBufferPointer) throws(RuleTreeError) -> Bool {
        guard value.hasChildren else { return value.exists }
        let path = [UInt8](path)
        if let known = left[path] { return known }
        var isLeft = false
        try forEachChild(of: value, at: path) { (segment) throws(RuleTreeError) in
            let child = path + segment
            isLeft = try self.value(at: child.span.bytes).exists
            return !isLeft
        }
        if values.count > Self.fewAssignments { left[path] = isLeft }
        return isLeft
    }

    /// Visits the encoded keys of the children that a value of the base has.
    func forEachChild(
        of value: RuleTreeValue, at path: [UInt8], _ body: ([UInt8]) throws(RuleTreeError) -> Bool
    ) throws(RuleTreeError) {
        switch value {
        case .nothing: return
        case .text(let json, let range):
            for child in json.children(in: range) {
                var segment: [UInt8] = []
                child.appendSegment(to: &segment)
                if try !body(segment) { return }
            }
        case .spread:
            try base?.forEachChild(of: path.span.bytes) { (segment) throws(RuleTreeError) in
                try body(segment.withUnsafeBytes { [UInt8]($0) })
            }
        }
    }

    // MARK: Priorities

    /// The value with the priority that the write assigns to its place, if it does.
    private func withPriorities(_ value: RuleTreeValue, at path: UnsafeRawBufferPointer) -> RuleTreeValue {
        guard value.exists else { return value }
        let index = priorities.partitioningIndex { assignment in
            assignment.target.path.encoded.withUnsafeBytes { !$0.precedesBytewise(path) }
        }
        guard index < priorities.count, priorities[index].target.path.encoded.elementsEqual(path) else { return value }
        let assignment = priorities[index]
        switch value {
        case .nothing: return value
        case .spread: return .spread(priority: assignment.value)
        case .text(let json, let range):
            if let known = prioritised[index] { return known }
            let value = RuleTreeValue(json.part(range).settingPriority(assignment.value, at: .root) ?? .null)
            prioritised[index] = value
            return value
        }
    }
}

extension UnsafeRawBufferPointer {
    func starts(withBytes prefix: UnsafeRawBufferPointer) -> Bool {
        count >= prefix.count && part(0..<prefix.count).equalsBytewise(prefix)
    }
}
