/// Reading parts of a value. Everything scans the text from its start: made for values of some kilobytes. Ranges are
/// offsets into `bytes`.
extension CanonicalJSON {
    package var isNull: Bool { bytes.first == UInt8(ascii: "n") }

    /// A scalar or a server value, with or without a priority.
    package var isLeaf: Bool { shape.kind == .leaf }

    /// The position of the priority's text, if there is one.
    package var priorityRange: Range<Int>? { shape.priority }

    /// The node's own priority, or null.
    package var priority: CanonicalJSON { shape.priority.map { part($0) } ?? .null }

    /// A leaf's value without its priority. The whole value if it is not a leaf.
    package var leafRange: Range<Int> {
        let shape = shape
        return shape.kind == .leaf ? shape.content : 0..<bytes.count
    }

    /// A copy of the text in `range`, which must be that of a value.
    package func part(_ range: Range<Int>) -> CanonicalJSON {
        if range == 0..<bytes.count { return self }
        return CanonicalJSON(trusted: bytes.withUnsafeBytes { [UInt8]($0.part(range)) })
    }

    /// The value at a relative path, null if there is none (as below a leaf).
    package func value(at path: Path) -> CanonicalJSON { range(of: path).map { part($0) } ?? .null }

    package func hasValue(at path: Path) -> Bool { range(of: path) != nil }

    /// The position of the value at a relative path; nil if there is none. Its text is itself canonical.
    package func range(of path: Path) -> Range<Int>? { range(of: path, in: 0..<bytes.count) }

    /// As `range(of:)`, relative to the value whose text is `range`.
    package func range(of path: Path, in range: Range<Int>) -> Range<Int>? {
        path.encoded.withUnsafeBytes { self.range(ofEncoded: $0, in: range) }
    }

    /// As `range(of:in:)` for a path given by its encoding.
    package func range(ofEncoded path: UnsafeRawBufferPointer, in range: Range<Int>) -> Range<Int>? {
        bytes.withUnsafeBytes { text in
            var node = range
            var start = 0
            while start < path.count {
                let end = Path.segmentEnd(in: path, from: start)
                let members = CanonicalMembers(text, CanonicalShape(text, node))
                let found = Segment.withKey(of: path.part(start..<end)) { members.first(withKey: $0) }
                guard let found else { return nil }
                node = found.value
                start = end
            }
            return CanonicalShape(text, node).kind == .nothing ? nil : node
        }
    }

    /// The text of the whole value as an offset range.
    package var range: Range<Int> { 0..<bytes.count }

    private var shape: CanonicalShape { bytes.withUnsafeBytes { CanonicalShape($0, 0..<$0.count) } }
}

// MARK: Children

extension CanonicalJSON {
    /// The children in key order; none for a leaf. Each step scans one member and allocates nothing.
    package var children: Children { Children(of: bytes, in: 0..<bytes.count) }

    /// The children of the value whose text is `range`.
    package func children(in range: Range<Int>) -> Children { Children(of: bytes, in: range) }

    package struct Child {
        private let bytes: [UInt8]
        private let member: CanonicalMember

        init(_ bytes: [UInt8], _ member: CanonicalMember) {
            self.bytes = bytes
            self.member = member
        }

        /// The position of the value's text in `bytes`.
        package var value: Range<Int> { member.value }

        /// The children of the value.
        package var children: Children { Children(of: bytes, in: member.value) }

        /// The position of the key's text, with its quotes and escapes.
        package var keyText: Range<Int> { member.key.lowerBound - 1..<member.key.upperBound + 1 }

        package var key: Key {
            Key(trusted: bytes.withUnsafeBytes { text in member.withKey(text) { [UInt8]($0) } })
        }

        /// Appends the key's encoded segment, which makes a parent's path the child's.
        package func appendSegment(to encodedPath: inout [UInt8]) {
            bytes.withUnsafeBytes { text in
                member.withKey(text) { Segment.append(key: $0, to: &encodedPath) }
            }
        }
    }

    package struct Children: Sequence, IteratorProtocol {
        private let bytes: [UInt8]
        private var offset: Int
        private let end: Int

        fileprivate init(of bytes: [UInt8], in range: Range<Int>) {
            self.bytes = bytes
            let shape = bytes.withUnsafeBytes { CanonicalShape($0, range) }
            offset = shape.content.lowerBound
            end = shape.kind == .inner ? shape.content.upperBound : offset
        }

        package mutating func next() -> Child? {
            guard offset < end else { return nil }
            let start = offset
            let member = bytes.withUnsafeBytes { CanonicalMember($0, at: start) }
            offset = member.value.upperBound + 1
            return Child(bytes, member)
        }
    }
}
