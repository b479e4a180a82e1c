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

extension JSONParser {
    /// The object at `start` of the output ends here. Rearranges its members, unless they came in order, and leaves on
    /// the stack those that decide on its kind: its metadata and one child.
    mutating func finish(_ many: consuming ManyMembers, from start: Int, isInOrder: Bool) {
        if !isInOrder { rearrange(many, from: start) }
        var place = start + 1
        while place < output.count {
            let text = output.bytes(0..<output.count)
            let keyEnd = CanonicalScan.stringEnd(text, from: place)
            let end = CanonicalScan.valueEnd(text, from: keyEnd + 1)
            let key = text.part(place + 1..<keyEnd - 1)
            let metadata = JSONMember.order(ofMetadata: key)
            members.append(
                JSONMember(
                    order: metadata ?? .max, start: UInt32(place), keyEnd: UInt32(keyEnd), end: UInt32(end),
                    keyHasEscapes: false))
            if metadata == nil { return }
            place = end + 1
        }
    }

    private mutating func rearrange(_ many: consuming ManyMembers, from start: Int) {
        let text = output.bytes(0..<output.count)
        many.sort(in: text)
        var sorted = ByteScratch(in: used.take(offset))
        sorted.append(UInt8(ascii: "{"))
        let entries = many.entries
        for index in entries.indices {
            let place = ManyMembers.start(of: entries[index])
            let keyEnd = CanonicalScan.stringEnd(text, from: place)
            // Of equal keys the last one stays.
            if index + 1 < entries.count {
                let next = ManyMembers.start(of: entries[index + 1])
                let length = keyEnd - place
                if next + length <= text.count, equalBytes(text.part(place..<keyEnd), text.part(next..<next + length)) {
                    continue
                }
            }
            // Nothing comes after the colon of a member that holds nothing.
            if keyEnd + 1 == text.count || text[keyEnd + 1] == UInt8(ascii: ",") { continue }
            if sorted.count > 1 { sorted.append(UInt8(ascii: ",")) }
            sorted.append(text.part(place..<CanonicalScan.valueEnd(text, from: keyEnd + 1)))
        }
        output.truncate(to: start)
        output.append(sorted.bytes(0..<sorted.count))
    }
}

extension JSONMember {
    /// Nil for the key of a child.
    static func order(ofMetadata key: UnsafeRawBufferPointer) -> UInt64? {
        guard key.first == UInt8(ascii: ".") else { return nil }
        if key.elementsEqual(".priority".utf8) { return priorityOrder }
        if key.elementsEqual(".value".utf8) { return valueOrder }
        return key.elementsEqual(".sv".utf8) ? serverValueOrder : nil
    }
}
