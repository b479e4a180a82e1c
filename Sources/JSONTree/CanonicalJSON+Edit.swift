/// Changing parts of a value by splicing its text: one scan on the way down, one copy of the result.
extension CanonicalJSON {
    /// This value with `value`, including its priority, at the relative path (Protocol.md 4.5).
    ///
    /// Null removes; ancestors that are left without children vanish with their priorities, others keep them. A leaf on
    /// the way becomes an inner node with the leaf's priority.
    package func setting(_ value: CanonicalJSON, at path: Path) -> CanonicalJSON {
        if path.isRoot { return value }
        return bytes.withUnsafeBytes { text in
            path.encoded.withUnsafeBytes { path in
                value.isNull
                    ? removing(path, text)
                    : value.bytes.withUnsafeBytes { inserting($0, at: path, text) }
            }
        }
    }

    /// This value with another priority at the relative path, or nil if there is nothing to have one. `priority` is
    /// null, a number, a string or a server value.
    package func settingPriority(_ priority: CanonicalJSON, at path: Path) -> CanonicalJSON? {
        guard let range = range(of: path) else { return nil }
        return bytes.withUnsafeBytes { text in
            let shape = CanonicalShape(text, range)
            var piece: [UInt8] = []
            let content = text.part(shape.content)
            if priority.isNull {
                if shape.kind == .inner { piece.append(UInt8(ascii: "{")) }
                piece.append(contentsOf: content)
                if shape.kind == .inner { piece.append(UInt8(ascii: "}")) }
            } else {
                piece.append(contentsOf: "{\".priority\":".utf8)
                piece.append(contentsOf: priority.bytes)
                piece.append(contentsOf: (shape.kind == .inner ? "," : ",\".value\":").utf8)
                piece.append(contentsOf: content)
                piece.append(UInt8(ascii: "}"))
            }
            return splicing(text, range, piece)
        }
    }

    private func splicing(_ text: UnsafeRawBufferPointer, _ range: Range<Int>, _ piece: [UInt8]) -> CanonicalJSON {
        var result: [UInt8] = []
        result.reserveCapacity(text.count - range.count + piece.count)
        result.append(contentsOf: text.part(0..<range.lowerBound))
        result.append(contentsOf: piece)
        result.append(contentsOf: text.part(range.upperBound..<text.count))
        return CanonicalJSON(trusted: result)
    }

    // MARK: Insertion

    private func inserting(
        _ value: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer
    ) -> CanonicalJSON {
        var node = 0..<text.count
        var start = 0
        var piece: [UInt8] = []
        while start < path.count {
            let shape = CanonicalShape(text, node)
            let end = Path.segmentEnd(in: path, from: start)
            let segment = path.part(start..<end)
            guard shape.kind == .inner else {
                // Nothing or a leaf: the rest of the path becomes its only child. A priority stays.
                piece.append(UInt8(ascii: "{"))
                if let priority = shape.priority {
                    piece.append(contentsOf: "\".priority\":".utf8)
                    piece.append(contentsOf: text.part(priority))
                    piece.append(UInt8(ascii: ","))
                }
                appendMember(path.part(start..<path.count), value, to: &piece)
                piece.append(UInt8(ascii: "}"))
                return splicing(text, node, piece)
            }
            switch Segment.withKey(of: segment, { place(of: $0, in: shape, text) }) {
            case .member(let value):
                node = value
            case .gap(let offset):
                let isLast = offset == shape.content.upperBound
                if isLast { piece.append(UInt8(ascii: ",")) }
                appendMember(path.part(start..<path.count), value, to: &piece)
                if !isLast { piece.append(UInt8(ascii: ",")) }
                return splicing(text, offset..<offset, piece)
            }
            start = end
        }
        piece.append(contentsOf: value)
        return splicing(text, node, piece)
    }

    /// Where a key is or would be among the members of an inner node.
    private enum Place {
        /// The text of its value.
        case member(Range<Int>)
        /// The start of the first member after it, or the end of the content.
        case gap(Int)
    }

    private func place(of key: UnsafeRawBufferPointer, in shape: CanonicalShape, _ text: UnsafeRawBufferPointer)
        -> Place
    {
        for member in CanonicalMembers(text, shape) {
            let order = member.withKey(text) { compareKeys($0, key) }
            if order == 0 { return .member(member.value) }
            if order > 0 { return .gap(member.all.lowerBound) }
        }
        return .gap(shape.content.upperBound)
    }

    /// Appends `"a":{"b":value}` for the segments a, b.
    private func appendMember(
        _ segments: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, to out: inout [UInt8]
    ) {
        var start = 0
        var opened = 0
        while start < segments.count {
            if start > 0 {
                out.append(UInt8(ascii: "{"))
                opened += 1
            }
            let end = Path.segmentEnd(in: segments, from: start)
            Segment.withKey(of: segments.part(start..<end)) { JSONText.appendQuoted($0, to: &out) }
            out.append(UInt8(ascii: ":"))
            start = end
        }
        out.append(contentsOf: value)
        out.append(contentsOf: repeatElement(UInt8(ascii: "}"), count: opened))
    }

    // MARK: Removal

    private func removing(_ path: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> CanonicalJSON {
        var node = 0..<text.count
        var start = 0
        // The member to cut out: the one below the deepest node that keeps another child.
        var cut: Range<Int>?
        while start < path.count {
            let shape = CanonicalShape(text, node)
            let end = Path.segmentEnd(in: path, from: start)
            let members = CanonicalMembers(text, shape)
            guard let member = Segment.withKey(of: path.part(start..<end), { members.first(withKey: $0) }) else {
                return self
            }
            let isFirst = member.all.lowerBound == shape.content.lowerBound
            let isLast = member.all.upperBound >= shape.content.upperBound
            if !isLast {
                cut = member.all.lowerBound..<member.all.upperBound + 1
            } else if !isFirst {
                cut = member.all.lowerBound - 1..<member.all.upperBound
            }
            node = member.value
            start = end
        }
        guard let cut else { return .null }
        return splicing(text, cut, [])
    }
}
