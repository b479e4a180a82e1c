/// Shared parts of both writers: literals, numbers and header fields.
extension [UInt8] {
    @inlinable package mutating func append(literal: StaticString) { literal.withUTF8Buffer { append(contentsOf: $0) } }

    @inlinable package mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
    }

    /// `value` is not negative; leading zeros fill up to `digits`.
    package mutating func append(decimal value: Int, digits: Int = 1) {
        appendDigits(UInt64(value), base: 10, digits: digits)
    }

    package mutating func append(hexadecimal value: Int) { appendDigits(UInt64(value), base: 16, digits: 1) }

    private mutating func appendDigits(_ value: UInt64, base: UInt64, digits: Int) {
        var width = 1
        var rest = value / base
        while rest > 0 {
            width += 1
            rest /= base
        }
        append(contentsOf: repeatElement(0x30, count: Swift.max(width, digits)))
        rest = value
        for place in 1...width {
            let digit = UInt8(rest % base)
            self[count - place] = digit < 10 ? 0x30 + digit : 0x57 + digit
            rest /= base
        }
    }

    /// Appends `text` with a space for every byte that could end a line or is refused in one: control bytes other than
    /// a tab (RFC 9110 5.5). So no value can bring in a second field, a body or an event.
    package mutating func append(line text: Span<UInt8>) {
        text.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes.firstByte(below: space, from: start)
                append(contentsOf: bytes[start..<end])
                if end < bytes.count { append(bytes[end] == horizontalTab ? horizontalTab : space) }
                start = end + 1
            }
        }
    }

    package mutating func appendHeader(_ name: StaticString, _ value: Span<UInt8>) {
        append(literal: name)
        append(literal: ": ")
        append(line: value)
        append(literal: "\r\n")
    }

    package mutating func appendHeader(_ name: StaticString, _ value: Int) {
        append(literal: name)
        append(literal: ": ")
        append(decimal: value)
        append(literal: "\r\n")
    }
}
