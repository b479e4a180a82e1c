/// The order of keys, and the encoding of a key in which that order is the order of bytes.
///
/// A *segment* is one encoded key. It is self-delimiting (no segment is a prefix of another), so that segments put
/// one after another make a path whose byte prefixes are its ancestors:
///
///     integer key   0x10, four bytes of the value (big-endian, sign bit flipped), two bytes of `IntegerKey.form`
///     other key     0x20, the UTF-8 bytes with their lead bytes permuted, 0x00
///
/// The permutation moves the lead bytes of the supplementary planes (F0…F4) before those of U+E000–U+FFFF (EE, EF),
/// which turns byte order into the order of UTF-16 code units. An unpaired surrogate (ED A0…BF xx) keeps its place
/// after U+D7FF and before all supplementary characters, also where UTF-16 would put it between or after them.
@usableFromInline package enum Segment {
    package static let integerTag: UInt8 = 0x10
    @usableFromInline package static let textTag: UInt8 = 0x20
    package static let textEnd: UInt8 = 0x00
    package static let integerByteCount = 7
    /// More than any tag: appended to a path it bounds everything below.
    static let upperBound: UInt8 = 0xFF

    @inline(__always)
    static func permuted(_ byte: UInt8) -> UInt8 {
        if byte < 0xEE { return byte }
        return byte < 0xF0 ? byte + 5 : byte &- 2
    }

    @inline(__always)
    static func restored(_ byte: UInt8) -> UInt8 {
        if byte < 0xEE { return byte }
        return byte < 0xF3 ? byte + 2 : byte &- 5
    }

    /// Appends the segment of a valid key.
    package static func append(key utf8: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        let start = out.count
        out.append(contentsOf: repeatElement(0, count: max(utf8.count + 2, integerByteCount)))
        let count = out.withUnsafeMutableBytes {
            write(key: utf8, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
        out.removeSubrange((start + count)...)
    }

    /// Writes the segment of a valid key and answers its byte count. There must be room for two bytes more than the key
    /// has, and for seven.
    static func write(key utf8: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer) -> Int {
        if let integer = IntegerKey(utf8) {
            let bits = UInt32(bitPattern: integer.value) ^ 0x8000_0000
            out[0] = integerTag
            out.storeBytes(of: bits.bigEndian, toByteOffset: 1, as: UInt32.self)
            out.storeBytes(of: integer.form.bigEndian, toByteOffset: 5, as: UInt16.self)
            return integerByteCount
        }
        out[0] = textTag
        for offset in 0..<utf8.count { out[offset + 1] = permuted(utf8[offset]) }
        out[utf8.count + 1] = textEnd
        return utf8.count + 2
    }

    /// `segment` must have the integer tag and its seven bytes.
    package static func integer(of segment: UnsafeRawBufferPointer) -> IntegerKey {
        var bits: UInt32 = 0
        for offset in 1...4 { bits = bits << 8 | UInt32(segment[offset]) }
        return IntegerKey(
            value: Int32(bitPattern: bits ^ 0x8000_0000),
            form: UInt16(segment[5]) << 8 | UInt16(segment[6]))
    }

    /// Appends the UTF-8 bytes of the key that a whole segment encodes.
    @usableFromInline package static func appendKey(of segment: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        if segment[0] == integerTag {
            integer(of: segment).appendText(to: &out)
        } else {
            let start = out.count
            out.append(contentsOf: segment.part(1..<segment.count - 1))
            for offset in start..<out.count where out[offset] >= 0xEE { out[offset] = restored(out[offset]) }
        }
    }

    /// Hands the UTF-8 bytes of a segment's key to `body`; without a copy in the common case.
    @inlinable package static func withKey<Result>(
        of segment: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Result
    )
        -> Result
    {
        if segment[0] == textTag {
            let utf8 = segment.part(1..<segment.count - 1)
            if !utf8.contains(where: { $0 >= 0xEE }) { return body(utf8) }
        }
        var utf8: [UInt8] = []
        appendKey(of: segment, to: &utf8)
        return utf8.withUnsafeBytes(body)
    }
}

/// Order of two keys by their UTF-8 bytes (Protocol.md 7.5): negative, zero or positive.
package func compareKeys(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let integerA = IntegerKey(a)
    let integerB = IntegerKey(b)
    if let integerA, let integerB {
        if integerA.value != integerB.value { return integerA.value < integerB.value ? -1 : 1 }
        return Int(integerA.form) - Int(integerB.form)
    }
    if integerA != nil { return -1 }
    if integerB != nil { return 1 }
    return compareText(a, b)
}

/// Order of two texts by UTF-16 code units, but for unpaired surrogates (see `Segment`): negative, zero or positive.
package func compareText(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
    let offset = firstDifference(a, b)
    if offset == min(a.count, b.count) { return a.count - b.count }
    return Int(Segment.permuted(a[offset])) - Int(Segment.permuted(b[offset]))
}
