package import HearthJSONTree

/// Changing many parts of a value in one pass.
extension CanonicalJSON {
    /// A part to be replaced; null removes it.
    package struct Edit {
        package var path: Path
        package var value: CanonicalJSON

        package init(path: Path, value: CanonicalJSON) {
            self.path = path
            self.value = value
        }
    }

    /// This value after edits, as ``setting(_:at:)`` makes them one by one. No path may be at or below another. Copies
    /// the text once, however many edits there are.
    package func setting(_ edits: [Edit]) -> CanonicalJSON {
        let sorted = edits.sorted { $0.path < $1.path }
        if sorted.isEmpty { return self }
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16 * edits.count)
        let isThere = bytes.withUnsafeBytes { text in
            Self.append(text, 0..<text.count, sorted[...], from: 0, to: &result)
        }
        return isThere ? CanonicalJSON(trusted: result) : .null
    }

    /// Appends the value whose text is `range`, with edits, of whose paths the first `start` bytes lead to it. False,
    /// and nothing is appended, if nothing is left.
    private static func append(
        _ text: UnsafeRawBufferPointer, _ range: Range<Int>, _ edits: ArraySlice<Edit>, from start: Int,
        to out: inout [UInt8]
    ) -> Bool {
        if let edit = edits.first, edit.path.encoded.count == start {
            if !edit.value.isNull { out += edit.value.bytes }
            return !edit.value.isNull
        }
        let shape = CanonicalShape(text, range)
        if edits.isEmpty || shape.kind != .inner && edits.allSatisfy(\.value.isNull) {
            if shape.kind != .nothing { out.append(contentsOf: text.part(range)) }
            return shape.kind != .nothing
        }
        let begin = out.count
        out.append(UInt8(ascii: "{"))
        if let priority = shape.priority {
            out.append(contentsOf: "\".priority\":".utf8)
            out.append(contentsOf: text.part(priority))
            out.append(UInt8(ascii: ","))
        }
        let first = out.count
        var left = edits
        var offset = shape.kind == .inner ? shape.content.lowerBound : shape.content.upperBound
        while offset < shape.content.upperBound {
            let member = CanonicalMember(text, at: offset)
            offset = member.value.upperBound + 1
            var segment: [UInt8] = []
            member.withKey(text) { Segment.append(key: $0, to: &segment) }
            appendMade(by: &left, before: segment, from: start, to: &out)
            let own = left.prefix { $0.path.encoded[start...].starts(with: segment) }
            left.removeFirst(own.count)
            let restart = out.count
            out.append(contentsOf: text.part(member.all.lowerBound..<member.value.lowerBound))
            if append(text, member.value, own, from: start + segment.count, to: &out) {
                out.append(UInt8(ascii: ","))
            } else {
                out.removeSubrange(restart...)
            }
        }
        appendMade(by: &left, before: [0xFF], from: start, to: &out)
        guard out.count > first else {
            out.removeSubrange(begin...)
            return false
        }
        out[out.count - 1] = UInt8(ascii: "}")
        return true
    }

    /// Appends members that were not there before, each with a comma after it.
    private static func appendMade(
        by edits: inout ArraySlice<Edit>, before segment: [UInt8], from start: Int, to out: inout [UInt8]
    ) {
        while let edit = edits.first {
            let end = edit.path.segmentEnd(from: start)
            let own = edit.path.encoded[start..<end]
            guard own.lexicographicallyPrecedes(segment), own != segment[...] else { return }
            let group = edits.prefix { $0.path.encoded[start...].starts(with: own) }
            edits.removeFirst(group.count)
            let restart = out.count
            own.withUnsafeBytes { Segment.withKey(of: $0) { JSONText.appendQuoted($0, to: &out) } }
            out.append(UInt8(ascii: ":"))
            let isThere = [UInt8]().withUnsafeBytes { append($0, 0..<0, group, from: end, to: &out) }
            if isThere { out.append(UInt8(ascii: ",")) } else { out.removeSubrange(restart...) }
        }
    }
}
