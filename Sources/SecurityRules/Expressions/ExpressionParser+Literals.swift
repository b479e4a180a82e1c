import HearthBytes

extension ExpressionParser {
    /// Digits with an optional fraction and an optional exponent.
    mutating func numberLiteral() throws(Mistake) -> Double {
        let start = offset
        skipDigits()
        if byte == UInt8(ascii: "."), byte(2).isDigit {
            offset += 1
            skipDigits()
        }
        if byte | 0x20 == UInt8(ascii: "e") {
            let hasSign = byte(2) == UInt8(ascii: "+") || byte(2) == UInt8(ascii: "-")
            if byte(hasSign ? 3 : 2).isDigit {
                offset += hasSign ? 2 : 1
                skipDigits()
            }
        }
        guard !Self.isNameByte(byte) else { throw unexpected() }
        let value = Double(String(decoding: text[start..<offset], as: UTF8.self))
        guard let value, value.isFinite else { throw Mistake("The number is out of range.", at: start) }
        return value
    }

    private mutating func skipDigits() {
        while byte.isDigit { offset += 1 }
    }

    /// The bytes that a string literal means: the escapes of JavaScript; any other character after a backslash means
    /// itself.
    mutating func stringLiteral() throws(Mistake) -> [UInt8] {
        let start = offset
        let quote = byte
        var utf8: [UInt8] = []
        offset += 1
        while offset < text.count {
            let byte = text[offset]
            offset += 1
            if byte == quote { return utf8 }
            if byte == UInt8(ascii: "\\") { try appendEscape(to: &utf8) } else { utf8.append(byte) }
        }
        throw Mistake("unterminated string literal", at: start)
    }

    /// `offset` is after the backslash.
    private mutating func appendEscape(to utf8: inout [UInt8]) throws(Mistake) {
        let start = offset - 1
        let letter = byte
        guard offset < text.count else { return }
        offset += 1
        switch letter {
        case UInt8(ascii: "n"): utf8.append(0x0A)
        case UInt8(ascii: "t"): utf8.append(0x09)
        case UInt8(ascii: "r"): utf8.append(0x0D)
        case UInt8(ascii: "b"): utf8.append(0x08)
        case UInt8(ascii: "f"): utf8.append(0x0C)
        case UInt8(ascii: "v"): utf8.append(0x0B)
        case UInt8(ascii: "0"): utf8.append(0x00)
        case UInt8(ascii: "x"): utf8.append(contentsOf: String(try codePoint(digits: 2, start)).utf8)
        case UInt8(ascii: "u"): utf8.append(contentsOf: String(try codePoint(digits: 4, start)).utf8)
        default: utf8.append(letter)
        }
    }

    /// The character that so many hexadecimal digits name; two escapes for one beyond U+FFFF.
    private mutating func codePoint(digits: Int, _ start: Int) throws(Mistake) -> Unicode.Scalar {
        var value = try hexadecimal(digits, start)
        if value & 0xFC00 == 0xD800, byte == UInt8(ascii: "\\"), byte(2) == UInt8(ascii: "u") {
            offset += 2
            let low = try hexadecimal(4, start)
            guard low & 0xFC00 == 0xDC00 else { throw Mistake("Invalid escape: an unpaired surrogate.", at: start) }
            value = 0x10000 + (value & 0x3FF) << 10 + low & 0x3FF
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw Mistake("Invalid escape: an unpaired surrogate.", at: start)
        }
        return scalar
    }

    private mutating func hexadecimal(_ digits: Int, _ start: Int) throws(Mistake) -> UInt32 {
        let end = offset + digits
        guard end <= text.count, text[offset..<end].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: text[offset..<end], as: UTF8.self), radix: 16)
        else {
            throw Mistake("Invalid escape: hexadecimal digits are missing.", at: start)
        }
        offset = end
        return value
    }

    /// A regular expression: up to the next slash that is neither escaped nor in a set, then the flags (docs/rules.md
    /// 3, 3.5).
    mutating func patternLiteral() throws(Mistake) -> Pattern {
        let start = offset
        offset += 1
        var isInSet = false
        while offset < text.count, isInSet || text[offset] != UInt8(ascii: "/") {
            switch text[offset] {
            case UInt8(ascii: "\\"): offset += 1
            case UInt8(ascii: "["): isInSet = true
            case UInt8(ascii: "]"): isInSet = false
            case 0x0A, 0x0D: throw Mistake("unterminated regular expression literal", at: start)
            default: break
            }
            offset += 1
        }
        guard offset < text.count else { throw Mistake("unterminated regular expression literal", at: start) }
        let source = start + 1..<offset
        offset += 1
        let flags = offset
        while Self.isNameByte(byte) { offset += 1 }
        let isInsensitive = text[flags..<offset].elementsEqual("i".utf8)
        guard isInsensitive || offset == flags else {
            throw Mistake("regular expressions do not support flags other than i", at: flags)
        }
        return try PatternParser.parse(text, source, ignoresCase: isInsensitive)
    }
}
