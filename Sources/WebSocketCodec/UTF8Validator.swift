/// Checks UTF-8 that comes in pieces (RFC 3629, table 3-7 of the Unicode standard) and says no at the first byte that
/// nothing after it could mend.
struct UTF8Validator {
    /// How many continuation bytes the character under way still needs.
    private var missing = 0
    /// What the next continuation byte may be; narrower than 80...BF after E0, ED, F0 and F4, which rules out
    /// overlong forms, surrogates and what lies above U+10FFFF.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    /// Whether the bytes so far end between two characters.
    var isComplete: Bool { missing == 0 }

    /// Takes the next piece; false if the text is invalid, after which the validator must not be asked again.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return true }
        // In a local the state stays in registers.
        var state = self
        var index = 0
        while index < bytes.count {
            if state.missing == 0, bytes[index] < 0x80 {
                index = Self.skipASCII(base, from: index, to: bytes.count)
                continue
            }
            guard state.take(bytes[index]) else { return false }
            index += 1
        }
        self = state
        return true
    }

    /// Takes one byte that begins or continues a character of several.
    private mutating func take(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard low <= byte, byte <= high else { return false }
            (low, high) = (0x80, 0xBF)
            missing -= 1
            return true
        }
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, low) = (2, 0xA0)
        case 0xED: (missing, high) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, low) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, high) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// The first index from `start` that does not hold ASCII, or `end`.
    private static func skipASCII(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var index = start
        while end - index >= 32 {
            let a = highBits(base, at: index) | highBits(base, at: index + 8)
            let b = highBits(base, at: index + 16) | highBits(base, at: index + 24)
            guard a | b == 0 else { break }
            index += 32
        }
        while end - index >= 8 {
            let word = highBits(base, at: index)
            guard word == 0 else { return index + word.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < end, base.load(fromByteOffset: index, as: UInt8.self) < 0x80 { index += 1 }
        return index
    }

    /// The highest bit of each of eight bytes, the first byte lowest.
    private static func highBits(_ base: UnsafeRawPointer, at index: Int) -> UInt64 {
        base.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian & 0x8080_8080_8080_8080
    }
}
