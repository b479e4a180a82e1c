import HearthBytes

/// JSON string text: the text between the quotes, and the bytes that it encodes.
///
/// Output escapes as little as JSON allows: the quote, the backslash and the control characters (the short forms where
/// there are some), and an unpaired surrogate, which text in UTF-8 cannot hold, as `\udxxx` in lower case.
@usableFromInline package enum JSONText {
    /// Appends `utf8` as a JSON string with its quotes. Unpaired surrogates (ED A0…BF xx) become escapes.
    package static func appendQuoted(_ utf8: [UInt8], to out: inout [UInt8]) {
        utf8.withUnsafeBytes { appendQuoted($0, to: &out) }
    }

    package static func appendQuoted(_ utf8: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        var start = 0
        var offset = 0
        while offset < utf8.count {
            let byte = utf8[offset]
            let isSurrogate = byte == 0xED && offset + 2 < utf8.count && utf8[offset + 1] >= 0xA0
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || isSurrogate else {
                offset += 1
                continue
            }
            out.append(contentsOf: utf8.part(start..<offset))
            if isSurrogate {
                let unit = 0xD000 | UInt16(utf8[offset + 1] & 0x3F) << 6 | UInt16(utf8[offset + 2] & 0x3F)
                appendUnicodeEscape(unit, to: &out)
                offset += 3
            } else {
                if let short = shortEscape(byte) {
                    out.append(UInt8(ascii: "\\"))
                    out.append(short)
                } else {
                    appendUnicodeEscape(UInt16(byte), to: &out)
                }
                offset += 1
            }
            start = offset
        }
        out.append(contentsOf: utf8.part(start..<offset))
        out.append(UInt8(ascii: "\""))
    }

    /// Appends the bytes that the text between the quotes encodes; `text` must be well-formed. Accepts every escape of
    /// RFC 8259, unpaired surrogates become three bytes (ED A0…BF xx).
    @usableFromInline package static func appendUnescaped(_ text: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var offset = 0
        var start = 0
        while offset < text.count {
            guard text[offset] == UInt8(ascii: "\\") else {
                offset += 1
                continue
            }
            out.append(contentsOf: text.part(start..<offset))
            guard let escape = JSONEscape(text, at: offset) else { return }
            escape.withUTF8 { out.append(contentsOf: $0) }
            offset += escape.byteCount
            start = offset
        }
        out.append(contentsOf: text.part(start..<offset))
    }

    /// The end of the literal bytes from `offset` on: ASCII but for controls, quote and backslash. Eight at a time.
    @inline(__always)
    static func endOfPlainBytes(of text: UnsafeRawBufferPointer, from offset: Int) -> Int {
        var offset = offset
        // Invariant: offset + 8 <= count, so the load stays within the bytes.
        while offset + ByteLanes.count <= text.count {
            let word = ByteLanes.load(text, offset)
            let marks =
                ByteLanes.notPlain(word) | ByteLanes.equal(word, UInt8(ascii: "\""))
                | ByteLanes.equal(word, UInt8(ascii: "\\"))
            if marks != 0 { return offset + ByteLanes.first(marks) }
            offset += ByteLanes.count
        }
        while offset < text.count, (0x20..<0x80).contains(text[offset]) {
            if text[offset] == UInt8(ascii: "\"") || text[offset] == UInt8(ascii: "\\") { break }
            offset += 1
        }
        return offset
    }

    /// Bytes of the escape sequence at `offset`, a backslash: two sequences, when they spell a surrogate pair. Nil if
    /// it is invalid.
    package static func escapeByteCount(_ text: UnsafeRawBufferPointer, at offset: Int) -> Int? {
        JSONEscape(text, at: offset)?.byteCount
    }

    private static func appendUnicodeEscape(_ unit: UInt16, to out: inout [UInt8]) {
        out.append(contentsOf: "\\u".utf8)
        for shift in [12, 8, 4, 0] as [UInt16] { out.append(Hexadecimal.digit(UInt8(unit >> shift & 15))) }
    }

    /// The letter after the backslash, for characters that have a short escape.
    static func shortEscape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
        case 0x08: UInt8(ascii: "b")
        case 0x09: UInt8(ascii: "t")
        case 0x0A: UInt8(ascii: "n")
        case 0x0C: UInt8(ascii: "f")
        case 0x0D: UInt8(ascii: "r")
        default: nil
        }
    }
}

/// One escape sequence of a JSON string; two, when they spell a surrogate pair.
struct JSONEscape {
    /// A Unicode code point; of a surrogate if it is unpaired.
    var codePoint: UInt32
    /// Bytes of the escape in the text.
    var byteCount: Int

    /// Nil if the text at `offset`, a backslash, is not an escape.
    init?(_ text: UnsafeRawBufferPointer, at offset: Int) {
        guard offset + 1 < text.count else { return nil }
        byteCount = 2
        switch text[offset + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): codePoint = UInt32(text[offset + 1])
        case UInt8(ascii: "b"): codePoint = 0x08
        case UInt8(ascii: "f"): codePoint = 0x0C
        case UInt8(ascii: "n"): codePoint = 0x0A
        case UInt8(ascii: "r"): codePoint = 0x0D
        case UInt8(ascii: "t"): codePoint = 0x09
        case UInt8(ascii: "u"):
            guard let unit = JSONEscape.unit(text, at: offset) else { return nil }
            codePoint = unit
            byteCount = 6
            if unit & 0xFC00 == 0xD800, let low = JSONEscape.unit(text, at: offset + 6), low & 0xFC00 == 0xDC00 {
                codePoint = 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
                byteCount = 12
            }
        default: return nil
        }
    }

    /// The four hexadecimal digits after `\u` at `offset`.
    private static func unit(_ text: UnsafeRawBufferPointer, at offset: Int) -> UInt32? {
        guard offset + 6 <= text.count, text[offset] == UInt8(ascii: "\\"), text[offset + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for index in offset + 2..<offset + 6 {
            guard let digit = Hexadecimal.value(text[index]) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }

    /// Hands the character to `body` as generalised UTF-8.
    func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: 4, alignment: 1) { buffer in
            let count: Int
            switch codePoint {
            case 0..<0x80:
                buffer[0] = UInt8(codePoint)
                count = 1
            case 0x80..<0x800:
                buffer[0] = 0xC0 | UInt8(codePoint >> 6)
                count = 2
            case 0x800..<0x10000:
                buffer[0] = 0xE0 | UInt8(codePoint >> 12)
                count = 3
            default:
                buffer[0] = 0xF0 | UInt8(codePoint >> 18)
                count = 4
            }
            for index in 1..<max(count, 1) {
                buffer[index] = 0x80 | UInt8(truncatingIfNeeded: codePoint >> UInt32(6 * (count - 1 - index))) & 0x3F
            }
            return body(UnsafeRawBufferPointer(buffer).part(0..<count))
        }
    }
}
