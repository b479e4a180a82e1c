/// The encoding of an index value, in which the order of bytes is the order of values (Protocol.md 16.2, see
/// ``ValueOrder``).
///
/// It is self-delimiting: no encoding is a prefix of another one.
///
///     nothing  0x01
///     false    0x02
///     true     0x03
///     number   0x04, the eight bytes of its double: big-endian, sign bit flipped, all bits of a negative one flipped
///     string   0x05, UTF-8 with lead bytes permuted as in `Segment`, 0x00 as 01 01 and 0x01 as 01 02; then 0x00
///     object   0x06
package enum IndexValue {
    static let nothingTag: UInt8 = 0x01
    package static let numberTag: UInt8 = 0x04
    package static let stringTag: UInt8 = 0x05
    package static let numberByteCount = 9

    package static let nothing: [UInt8] = [nothingTag]
    /// Every value that has children.
    package static let object: [UInt8] = [0x06]

    /// Appends the encoding of the value whose text is `range` of `json`, without its priority; of nothing if `range`
    /// is nil.
    package static func append(_ json: CanonicalJSON, in range: Range<Int>?, to out: inout [UInt8]) {
        guard let range else {
            out.append(nothingTag)
            return
        }
        json.bytes.withUnsafeBytes { text in
            let shape = CanonicalShape(text, range)
            switch shape.kind {
            case .nothing: out.append(nothingTag)
            case .leaf: append(leaf: text.part(shape.content), to: &out)
            case .inner: out.append(contentsOf: object)
            }
        }
    }

    /// The encoding of a whole value, such as a priority.
    package static func encoded(_ json: CanonicalJSON) -> [UInt8] {
        var out: [UInt8] = []
        append(json, in: json.range, to: &out)
        return out
    }

    /// Where the encoding ends that begins at `start`.
    package static func end(in bytes: [UInt8], from start: Int) -> Int {
        switch bytes[start] {
        case numberTag: start + numberByteCount
        case stringTag: bytes[start...].firstIndex(of: 0).map { $0 + 1 } ?? bytes.count
        default: start + 1
        }
    }

    /// `text` has no wrapper.
    static func append(leaf text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        switch text.first {
        case nil, UInt8(ascii: "n"): out.append(nothingTag)
        case UInt8(ascii: "f"): out.append(0x02)
        case UInt8(ascii: "t"): out.append(0x03)
        case UInt8(ascii: "{"): out.append(contentsOf: object)
        case UInt8(ascii: "\""): append(string: text.part(1..<max(1, text.count - 1)), to: &out)
        default: append(number: JSONNumber(canonical: text).double, to: &out)
        }
    }

    private static func append(number value: Double, to out: inout [UInt8]) {
        // The negative zero equals the positive one.
        let bits = value == 0 ? 0 : value.bitPattern
        let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
        out.append(numberTag)
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            out.append(UInt8(truncatingIfNeeded: ordered >> shift))
        }
    }

    /// `text` is the text between the quotes.
    private static func append(string text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        out.append(stringTag)
        if text.contains(UInt8(ascii: "\\")) {
            var utf8: [UInt8] = []
            JSONText.appendUnescaped(text, to: &utf8)
            for byte in utf8 {
                if byte > 0x01 {
                    out.append(Segment.permuted(byte))
                } else {
                    out.append(0x01)
                    out.append(byte + 1)
                }
            }
        } else {
            // Control characters occur only as escapes.
            let start = out.count
            out.append(contentsOf: text)
            for offset in start..<out.count where out[offset] >= 0xEE { out[offset] = Segment.permuted(out[offset]) }
        }
        out.append(0x00)
    }
}
