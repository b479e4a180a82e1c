import HearthBytes

/// The first offset at which two byte strings differ, or the length of the shorter one when it is a prefix of the
/// other.
///
/// Compares words: keys and paths of one tree share long prefixes.
package func firstDifference(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let count = min(a.count, b.count)
    var offset = 0
    while offset + ByteLanes.count <= count {
        let difference = ByteLanes.load(a, offset) ^ ByteLanes.load(b, offset)
        if difference != 0 { return offset + ByteLanes.first(difference) }
        offset += ByteLanes.count
    }
    while offset < count, a[offset] == b[offset] { offset += 1 }
    return offset
}

package func equalBytes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    a.count == b.count && firstDifference(a, b) == a.count
}

/// Lexicographic order of unsigned bytes, as `memcmp` with the shorter string first.
func precedes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    let offset = firstDifference(a, b)
    if offset == min(a.count, b.count) { return a.count < b.count }
    return a[offset] < b[offset]
}

extension [UInt8] {
    /// Whether these bytes come first, compared as unsigned bytes with the shorter string first: the order of encoded
    /// paths.
    package func precedesBytewise(_ other: [UInt8]) -> Bool {
        withUnsafeBytes { a in other.withUnsafeBytes { b in precedes(a, b) } }
    }
}

extension UnsafeRawBufferPointer {
    /// As for arrays of bytes.
    package func precedesBytewise(_ other: UnsafeRawBufferPointer) -> Bool { precedes(self, other) }

    /// Whether both hold the same bytes. Compares words.
    package func equalsBytewise(_ other: UnsafeRawBufferPointer) -> Bool { equalBytes(self, other) }

    /// Moves an offset past a literal, if it is there.
    package func skip(_ literal: StaticString, at offset: inout Int) -> Bool {
        let end = offset + literal.utf8CodeUnitCount
        let text = UnsafeRawBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
        guard end <= count, part(offset..<end).equalsBytewise(text) else { return false }
        offset = end
        return true
    }

    /// The bytes of `range`, which must lie within this buffer.
    @inlinable @inline(__always)
    package func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[range]) }
}
