/// Base64 with the alphabet for URLs (RFC 4648 section 5), as long polling uses it: padded with `.` (wire-protocol
/// 1.7), or not at all.
package enum URLBase64 {
    private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// The character of six bits.
    package static func character(_ digit: UInt8) -> UInt8 { alphabet.utf8Start[Int(digit & 63)] }

    /// Nil for a character that is none of the alphabet.
    package static func digit(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }

    /// Nil for what is no such text.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        let end = (text.lastIndex { $0 != UInt8(ascii: ".") } ?? -1) + 1
        guard text.count - end <= 2, end % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(end / 4 * 3 + 2)
        var group: UInt32 = 0
        for index in 0..<end {
            guard let digit = digit(text[index]) else { return nil }
            group = group << 6 | UInt32(digit)
            // Each character but the first of four completes a byte.
            let left = UInt32(6 - index % 4 * 2)
            if left < 6 { bytes.append(UInt8(truncatingIfNeeded: group >> left)) }
        }
        return bytes
    }
}
