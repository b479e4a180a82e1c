/// The members of an object that has many, in eight bytes each.
///
/// The upper half of an entry has four bytes of the segment of the member's key; the lower half is where the member
/// begins in the output. So entries with the same bytes are in the order of their places.
struct ManyMembers: ~Copyable {
    /// An object has many members from this number on.
    static let countMin = 4096

    private(set) var entries: [UInt64] = []

    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ members: UnsafeMutableBufferPointer<JSONMember>) {
        for member in members { entries.append((member.order >> 32) << 32 | UInt64(member.start)) }
    }

    static func start(of entry: UInt64) -> Int { Int(UInt32(truncatingIfNeeded: entry)) }

    /// Sorts by key, and equal keys by place. `text` is the output.
    ///
    /// Four bytes of the segments at a time: members whose keys have the same ones are sorted by the next four. So the
    /// keys, which are all over the memory, are read once for every four bytes that others share, not once for every
    /// comparison.
    mutating func sort(in text: UnsafeRawBufferPointer) {
        entries.withUnsafeMutableBufferPointer { Self.sort($0, in: text, by: 0) }
    }

    /// - parameter offset: of the bytes in the entries within their segments.
    private static func sort(
        _ entries: UnsafeMutableBufferPointer<UInt64>, in text: UnsafeRawBufferPointer, by offset: Int
    ) {
        var entries = entries
        entries.sort()
        var start = 0
        while start < entries.count {
            let bytes = entries[start] >> 32
            var end = start + 1
            while end < entries.count, entries[end] >> 32 == bytes { end += 1 }
            if end - start > 1, !isEnd(UInt32(bytes), at: offset) {
                let equal = UnsafeMutableBufferPointer(rebasing: entries[start..<end])
                for index in equal.indices {
                    let place = Self.start(of: equal[index])
                    let bytes = segmentBytes(ofKeyAt: place, in: text, from: offset + 4)
                    equal[index] = UInt64(bytes) << 32 | UInt64(place)
                }
                sort(equal, in: text, by: offset + 4)
            }
            start = end
        }
    }

    /// Whether segments with these bytes end there. Only an integer has a zero before its end, and ends within eight.
    private static func isEnd(_ bytes: UInt32, at offset: Int) -> Bool {
        bytes & 0xFF == 0 && (offset > 0 || bytes >> 24 == UInt32(Segment.textTag))
    }

    private static func segmentBytes(
        ofKeyAt start: Int, in text: UnsafeRawBufferPointer, from offset: Int
    ) -> UInt32 {
        let key = text.part(start + 1..<CanonicalScan.stringEnd(text, from: start) - 1)
        guard key.contains(UInt8(ascii: "\\")) else { return segmentBytes(of: key, from: offset) }
        var utf8: [UInt8] = []
        JSONText.appendUnescaped(key, to: &utf8)
        return utf8.withUnsafeBytes { segmentBytes(of: $0, from: offset) }
    }

    private static func segmentBytes(of key: UnsafeRawBufferPointer, from offset: Int) -> UInt32 {
        if offset < 8 {
            let order = JSONMember.order(ofMetadata: key) ?? JSONMember.order(ofKey: key)
            return UInt32(truncatingIfNeeded: order >> UInt64(32 - 8 * offset))
        }
        var bytes: UInt32 = 0
        for index in offset - 1..<offset + 3 {
            bytes = bytes << 8 | (index < key.count ? UInt32(Segment.permuted(key[index])) : 0)
        }
        return bytes
    }
}
