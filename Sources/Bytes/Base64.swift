/// Base64 text (RFC 4648) of both alphabets. Reading is strict: one text for one value.
package enum Base64: Sendable {
    /// Section 4: `+` and `/`, padded with `=`.
    case standard
    /// Section 5, as tokens and keys have it: `-` and `_`, without padding.
    case url

    package func encode(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { encode($0) } }

    package func encode(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var out: [UInt8] = []
        append(bytes, to: &out)
        return out
    }

    package func append(_ bytes: [UInt8], to out: inout [UInt8]) { bytes.withUnsafeBytes { append($0, to: &out) } }

    package func append(_ bytes: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        var place = out.count
        let count = self == .standard ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
        out.append(contentsOf: repeatElement(UInt8(ascii: "="), count: count))
        out.withUnsafeMutableBytes { out in
            for offset in stride(from: 0, to: bytes.count, by: 3) {
                let left = min(bytes.count - offset, 3)
                var group = UInt32(bytes[offset]) << 16
                if left > 1 { group |= UInt32(bytes[offset + 1]) << 8 }
                if left > 2 { group |= UInt32(bytes[offset + 2]) }
                // Three bytes give four characters, two give three, one gives two.
                for index in 0...left { out[place + index] = character(UInt8(group >> UInt32(18 - 6 * index) & 63)) }
                place += 4
            }
        }
    }

    /// The bytes of a text, or nil if `encode` would not make that text of them: a foreign character, white space,
    /// missing or superfluous padding, bits of the last character that mean nothing but are set.
    package func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable(decodeAll) ?? Array(text).withUnsafeBufferPointer(decodeAll)
    }

    private func decodeAll(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let count = text.count - padding
        guard count % 4 != 1, padding == (self == .standard ? (4 - count % 4) % 4 : 0) else { return nil }
        var (bits, bitCount) = (UInt32(0), 0)
        let bytes = [UInt8](unsafeUninitializedCapacity: count / 4 * 3 + 2) { out, outCount in
            for byte in text[..<count] {
                // Bits that are left say that it is no such text.
                guard let digit = digit(byte) else { return bits = 1 }
                bits = bits << 6 | UInt32(digit)
                bitCount += 6
                if bitCount < 8 { continue }
                bitCount -= 8
                out[outCount] = UInt8(truncatingIfNeeded: bits >> UInt32(bitCount))
                outCount += 1
                bits &= 1 << UInt32(bitCount) - 1
            }
        }
        return bits == 0 ? bytes : nil
    }

    /// The character of the lowest six bits.
    package func character(_ digit: UInt8) -> UInt8 {
        // The last two are those of the other alphabet.
        let characters: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
        let index = Int(digit & 63)
        return characters.utf8Start[self == .url && index > 61 ? index + 2 : index]
    }

    /// Nil for a character that is not in the alphabet.
    package func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case self.character(62): 62
        case self.character(63): 63
        default: nil
        }
    }
}
