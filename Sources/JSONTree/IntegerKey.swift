/// A key that counts as an integer (Protocol.md 7.5): `-?0*[0-9]{1,10}` with a value of 32 bits.
///
/// Keys of equal value are told apart by `form`, so that value and form give the text back and order the keys totally:
/// shorter first, and the negative zero before the longer positive one: `0` < `-0` < `00` < `-00` < `000`.
package struct IntegerKey: Equatable {
    package var value: Int32
    /// Twice the number of bytes more than the shortest text of the value has, less one for a negative zero.
    package var form: UInt16

    init(value: Int32, form: UInt16) {
        self.value = value
        self.form = form
    }

    /// Nil when the key does not count as an integer. Keys longer than `Key.maximumByteCount` are not keys.
    package init?(_ utf8: UnsafeRawBufferPointer) {
        guard let first = utf8.first, first <= UInt8(ascii: "9"), utf8.count <= Key.maximumByteCount else { return nil }
        let isNegative = first == UInt8(ascii: "-")
        var offset = isNegative ? 1 : 0
        guard offset < utf8.count else { return nil }
        while offset < utf8.count, utf8[offset] == UInt8(ascii: "0") { offset += 1 }
        let digits = utf8.count - offset
        guard digits <= 10 else { return nil }
        var magnitude: Int64 = 0
        while offset < utf8.count {
            let digit = utf8[offset] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            magnitude = magnitude * 10 + Int64(digit)
            offset += 1
        }
        guard let value = Int32(exactly: isNegative ? -magnitude : magnitude) else { return nil }
        let shortest = value == 0 ? 1 : digits + (isNegative ? 1 : 0)
        self.value = value
        form = UInt16(2 * (utf8.count - shortest) - (isNegative && value == 0 ? 1 : 0))
    }

    func appendText(to out: inout [UInt8]) {
        let isNegativeZero = form & 1 == 1
        if isNegativeZero || value < 0 { out.append(UInt8(ascii: "-")) }
        // The sign of a negative zero is one of its extra bytes, and its shortest text is one zero.
        let zeros = Int(form / 2)
        out.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: zeros))
        appendDecimal(Int64(value.magnitude), to: &out)
    }
}

extension Key {
    /// The value if this key counts as an integer (Protocol.md 7.5), as `7` and `007` do.
    package var integer: Int32? { utf8.withUnsafeBytes { IntegerKey($0)?.value } }
}
