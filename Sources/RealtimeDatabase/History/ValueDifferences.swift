package import HearthJSONTree

/// Where two values differ.
package struct ValueDifferences: Hashable, Sendable {
    package struct Difference: Hashable, Sendable {
        /// Relative to the values.
        package var path: Path
        package var before: CanonicalJSON
        package var after: CanonicalJSON

        /// Appends its JSON text (Protocol.md 18.5). A member that is missing says that nothing was there.
        package func append(to out: inout [UInt8]) {
            out += Array(#"{"path":"#.utf8)
            JSONText.appendQuoted([UInt8(ascii: "/")] + path.text, to: &out)
            if !before.isNull { out += Array(#","before":"#.utf8) + before.bytes }
            if !after.isNull { out += Array(#","after":"#.utf8) + after.bytes }
            out.append(UInt8(ascii: "}"))
        }
    }

    /// In path order, at most as many as were asked for: the deepest places at which a whole value differs.
    package private(set) var places: [Difference] = []
    /// How many there are.
    package private(set) var count = 0
    private let limit: Int

    /// O(bytes of both).
    package init(from before: CanonicalJSON, to after: CanonicalJSON, limit: Int) {
        self.limit = limit
        compare(before, before.isNull ? nil : before.range, after, after.isNull ? nil : after.range, [])
    }

    private mutating func compare(
        _ before: CanonicalJSON, _ old: Range<Int>?, _ after: CanonicalJSON, _ new: Range<Int>?, _ path: [UInt8]
    ) {
        guard let old, let new else { return add(before, old, after, new, path) }
        if before.bytes[old] == after.bytes[new] { return }
        let (oldPart, newPart) = (Self.own(before, old), Self.own(after, new))
        // A leaf, or a priority that differs, is a difference of the whole node.
        guard let oldPart, let newPart, oldPart == newPart else { return add(before, old, after, new, path) }
        var (left, right) = (before.children(in: old), after.children(in: new))
        var (a, b) = (Self.next(&left), Self.next(&right))
        while a != nil || b != nil {
            if let one = a, b.map({ one.segment.lexicographicallyPrecedes($0.segment) }) ?? true {
                add(before, one.range, after, nil, path + one.segment)
                a = Self.next(&left)
            } else if let other = b, a.map({ other.segment.lexicographicallyPrecedes($0.segment) }) ?? true {
                add(before, nil, after, other.range, path + other.segment)
                b = Self.next(&right)
            } else if let one = a, let other = b {
                compare(before, one.range, after, other.range, path + one.segment)
                (a, b) = (Self.next(&left), Self.next(&right))
            }
        }
    }

    /// The priority of a node with children; nil for a leaf.
    private static func own(_ json: CanonicalJSON, _ range: Range<Int>) -> CanonicalJSON? {
        let part = json.part(range)
        return part.isLeaf ? nil : part.priority
    }

    private static func next(_ children: inout CanonicalJSON.Children) -> (segment: [UInt8], range: Range<Int>)? {
        guard let child = children.next() else { return nil }
        var segment: [UInt8] = []
        child.appendSegment(to: &segment)
        return (segment, child.value)
    }

    private mutating func add(
        _ before: CanonicalJSON, _ old: Range<Int>?, _ after: CanonicalJSON, _ new: Range<Int>?, _ path: [UInt8]
    ) {
        if old == nil && new == nil { return }
        count += 1
        guard places.count < limit else { return }
        places.append(
            Difference(
                path: Path(encoded: path), before: old.map(before.part) ?? .null, after: new.map(after.part) ?? .null))
    }
}
