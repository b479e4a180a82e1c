package import HearthJSONTree

extension Path {
    /// The path of a key that is a literal in this program. Traps if it is invalid.
    package init(child name: StaticString) {
        var encoded: [UInt8] = []
        // Safe because: the text of a static string is there for ever.
        let bytes = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        let isKey = Self.appendSegment(ofKey: bytes, to: &encoded)
        precondition(isKey, "a path is made from what is not a key")
        self.init(encoded: encoded)
    }

    package func isChild(of parent: Path) -> Bool {
        encoded.count > parent.encoded.count && parent.contains(self)
            && segmentEnd(from: parent.encoded.count) == encoded.count
    }

    /// The path after the first segments of an encoded one, which take `bytes` bytes.
    package init(_ encoded: UnsafeRawBufferPointer, droppingFirst bytes: Int) {
        self.init(encoded: [UInt8](encoded.part(bytes..<encoded.count)))
    }

    /// Bytes of the last segment; 0 at the root.
    package var lastSegmentCount: Int { encoded.withUnsafeBytes { Path.lastSegmentCount(of: $0) } }

    /// The same for an encoded path.
    package static func lastSegmentCount(of path: UnsafeRawBufferPointer) -> Int {
        var (start, last) = (0, 0)
        while start < path.count { (last, start) = (start, segmentEnd(in: path, from: start)) }
        return start - last
    }
}

extension Path {
    /// Appends the segment of a key to an encoded path, without making a `Key` of it. False, and nothing is appended,
    /// if the bytes are no key.
    package static func appendSegment(ofKey utf8: UnsafeRawBufferPointer, to encoded: inout [UInt8]) -> Bool {
        guard (try? Key.check(utf8)) != nil else { return false }
        Segment.append(key: utf8, to: &encoded)
        return true
    }

    /// The position of the UTF-8 bytes of a segment's key inside it, or nil if the segment encodes them differently:
    /// see ``appendKey(ofSegment:to:)``.
    package static func plainKey(ofSegment segment: UnsafeRawBufferPointer) -> Range<Int>? {
        guard segment.count > 2, segment[0] == Segment.textTag else { return nil }
        let key = 1..<segment.count - 1
        return segment.part(key).contains(where: { $0 >= 0xEE }) ? nil : key
    }

    /// Appends the UTF-8 bytes of the key that a segment encodes.
    package static func appendKey(ofSegment segment: UnsafeRawBufferPointer, to utf8: inout [UInt8]) {
        Segment.appendKey(of: segment, to: &utf8)
    }
}

extension Key {
    /// Appends the key that a segment encodes, as a JSON string with its quotes.
    package static func appendJSON(encoded segment: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var utf8: [UInt8] = []
        Segment.appendKey(of: segment, to: &utf8)
        JSONText.appendQuoted(utf8, to: &out)
    }
}
