/// The place of a child in an index: its encoded index value (see ``IndexValue``), then the encoded segment of its key
/// (see `Segment`).
///
/// The order of the bytes is the order of the index, ties by key included. No place is a prefix of another one.
package struct IndexPlace: Hashable, Comparable, ByteOrdered, Sendable {
    package let bytes: [UInt8]

    package var orderBytes: [UInt8] { bytes }

    /// `bytes` must have been made for a child by ``QueryIndex``.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The position of the key's segment in `bytes`, after the index value, which is missing in the index of the keys.
    /// O(segment), however long the value is.
    package var segmentRange: Range<Int> { bytes.withUnsafeBytes { Self.segmentStart($0)..<$0.count } }

    /// A copy of the key's segment, as in `Path.encoded`.
    package var segment: [UInt8] { Array(bytes[segmentRange]) }

    /// The key as a path of one level.
    package var path: Path { Path(encoded: segment) }

    package var key: Key {
        var utf8: [UInt8] = []
        bytes.withUnsafeBytes { bytes in
            Segment.appendKey(of: bytes.part(Self.segmentStart(bytes)..<bytes.count), to: &utf8)
        }
        return Key(trusted: utf8)
    }

    /// The first byte of the places of a ``ConditionQuery``, whose first part ends with a zero. With the next one begin
    /// those of children for which its conditions do not hold.
    package static let conditionTag: UInt8 = 0x07

    private static func segmentStart(_ place: UnsafeRawBufferPointer) -> Int {
        switch place.first {
        case nil, Segment.integerTag, Segment.textTag: return 0
        case IndexValue.numberTag: return min(IndexValue.numberByteCount, place.count)
        case IndexValue.stringTag, conditionTag, conditionTag + 1: break
        default: return 1
        }
        // Read from the end. The byte before the last one is at least 0x20 in the segment of a text and less in that of
        // an integer, whose form is below 0x2000.
        guard place.count >= 2, place[place.count - 2] >= 0x20 else {
            return max(place.count - Segment.integerByteCount, 0)
        }
        // Keys have no control characters; the part before the segment ends with 0x00.
        var start = place.count - 2
        while start > 0, place[start - 1] >= 0x20 { start -= 1 }
        return start
    }

    package static func == (a: IndexPlace, b: IndexPlace) -> Bool {
        a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { b in equalBytes(a, b) } }
    }

    package static func < (a: IndexPlace, b: IndexPlace) -> Bool { a.bytes.precedesBytewise(b.bytes) }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
