package import HearthJSONTree

/// The new values of some children of a place, as one text: that of an object, canonical except for members that are
/// null, which mark removed children. So an update of very many children needs no memory for each of them.
extension CanonicalJSON {
    /// Reads such an object; the text's contents are lost, as with ``parse(using:limits:bytesMin:)``.
    package static func parseChildren(
        using text: inout [UInt8], limits: Limits
    ) throws(JSONError) -> (value: CanonicalJSON, hasServerValues: Bool) {
        try parse(using: &text, limits: limits, keepsNulls: true)
    }

    /// - parameter assignments: of children of `base`, each once, in any order.
    package init(children assignments: [Assignment], of base: Path) {
        var sorted = assignments
        let isInOrder = zip(assignments, assignments.dropFirst()).allSatisfy { $0.target.path < $1.target.path }
        if !isInOrder { sorted.sort { $0.target.path < $1.target.path } }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(assignments.reduce(2) { $0 + $1.value.bytes.count + $1.target.path.lastSegmentCount + 4 })
        for assignment in sorted {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
            assignment.target.path.encoded.withUnsafeBytes {
                Key.appendJSON(encoded: $0.part(base.encoded.count..<$0.count), to: &bytes)
            }
            bytes.append(UInt8(ascii: ":"))
            bytes += assignment.value.bytes
        }
        bytes += (bytes.isEmpty ? "{}" : "}").utf8
        self.init(trusted: bytes)
    }

    /// The assignments of such a text. Takes memory for each child.
    package func childAssignments(of base: Path) -> [Assignment] {
        children.map { child in
            var path = base.encoded
            child.appendSegment(to: &path)
            return Assignment(target: WriteTarget(path: Path(encoded: path)), value: part(child.value))
        }
    }

    /// Whether the text of a member marks a removal.
    package func isNull(_ range: Range<Int>) -> Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }

    /// Whether such a text leaves any child. Checks members up to the first that does.
    package var hasAnyChild: Bool { children.contains { !isNull($0.value) } }
}
