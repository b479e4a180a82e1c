import HearthBytes

/// Recognises a value whose text is its canonical form already, as that of nearly all values is that programs send:
/// then it only needs to be copied.
///
/// One pass without memory, at less than half of the parser's cost. It leaves difficult text, such as keys with
/// characters beyond ASCII or numbers with exponents, to ``JSONParser``, which gives the same bytes for the other text.
struct CanonicalText {
    private let text: UnsafeRawBufferPointer
    private let stringByteCount: Int
    private var offset: Int

    /// The end of the value that begins at `start`; nil when it may not be canonical, or not be within the limits.
    static func end(
        of text: UnsafeRawBufferPointer, from start: Int, limits: JSONLimits
    ) -> Int? {
        guard text.count <= JSONLimits.maximumTextByteCount else { return nil }
        var scan = CanonicalText(text: text, stringByteCount: limits.stringByteCount, offset: start)
        return scan.skipValue(depth: limits.depth) ? scan.offset : nil
    }

    private mutating func skipValue(depth: Int) -> Bool {
        guard offset < text.count else { return false }
        switch text[offset] {
        case UInt8(ascii: "{"): return depth > 0 && skipObject(depth: depth - 1)
        case UInt8(ascii: "\""): return skipString()
        case UInt8(ascii: "t"): return text.skip("true", at: &offset)
        case UInt8(ascii: "f"): return text.skip("false", at: &offset)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return skipNumber()
        default: return false
        }
    }

    /// Members in tree order, each once, and at least one.
    private mutating func skipObject(depth: Int) -> Bool {
        var previous = 0..<0
        repeat {
            offset += 1
            guard let key = skipKey() else { return false }
            if !previous.isEmpty, !precedes(previous, key) { return false }
            previous = key
            guard offset < text.count, text[offset] == UInt8(ascii: ":") else { return false }
            offset += 1
            guard skipValue(depth: depth), offset < text.count else { return false }
        } while text[offset] == UInt8(ascii: ",")
        guard text[offset] == UInt8(ascii: "}") else { return false }
        offset += 1
        return true
    }

    /// Skips a key of ASCII that is not an integer; nil if there is none. Metadata begins with a dot, which a key may
    /// not have.
    private mutating func skipKey() -> Range<Int>? {
        guard offset < text.count, text[offset] == UInt8(ascii: "\"") else { return nil }
        offset += 1
        let start = offset
        while offset < text.count, text[offset] < 0x80, !Key.isForbidden(text[offset]) {
            let byte = text[offset]
            if byte == UInt8(ascii: "\\") { return nil }
            if byte == UInt8(ascii: "\"") {
                let key = start..<offset
                offset += 1
                let isShort = key.count <= min(Key.maximumByteCount, stringByteCount)
                return !key.isEmpty && isShort && IntegerKey(text.part(key)) == nil ? key : nil
            }
            offset += 1
        }
        return nil
    }

    private func precedes(_ a: Range<Int>, _ b: Range<Int>) -> Bool {
        let (first, second) = (text[a.lowerBound], text[b.lowerBound])
        return first == second ? compareText(text.part(a), text.part(b)) < 0 : first < second
    }

    private mutating func skipString() -> Bool {
        offset += 1
        let start = offset
        while true {
            offset = JSONText.endOfPlainBytes(of: text, from: offset)
            guard offset < text.count else { return false }
            if text[offset] == UInt8(ascii: "\"") { break }
            guard text[offset] >= 0x80 else { return false }
            let length = multibyteLength(text, at: offset)
            if length == 0 { return false }
            offset += length
        }
        let count = offset - start
        offset += 1
        return count <= stringByteCount
    }

    /// Skips an integer that fits 64 bits for sure, or a number with few digits (see `JSONParser.parseNumber`).
    private mutating func skipNumber() -> Bool {
        let isNegative = text[offset] == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        let start = offset
        let isZero = offset < text.count && text[offset] == UInt8(ascii: "0")
        skipDigits()
        let digits = offset - start
        guard digits > 0, digits <= 18, !isZero || digits == 1 else { return false }
        guard offset < text.count, text[offset] == UInt8(ascii: ".") else {
            return !(isNegative && isZero) && !isExponent
        }
        offset += 1
        let fraction = offset
        skipDigits()
        let count = offset - fraction
        guard count > 0, digits + count <= 15, text[offset - 1] != UInt8(ascii: "0"), !isExponent else { return false }
        return !isZero || count < 5 || !text.part(fraction..<fraction + 4).allSatisfy { $0 == UInt8(ascii: "0") }
    }

    private var isExponent: Bool { offset < text.count && text[offset] | 0x20 == UInt8(ascii: "e") }

    private mutating func skipDigits() {
        while offset < text.count, text[offset] &- UInt8(ascii: "0") <= 9 { offset += 1 }
    }
}
