/// How text treats unpaired surrogates. JSON can name them (`"\ud800"`), UTF-8 cannot hold them.
enum Surrogates {
    /// UTF-8 as in RFC 3629.
    case forbidden
    /// Generalised UTF-8: an unpaired surrogate is three bytes, ED A0…BF xx. Keys hold them this way.
    case unpaired
}

/// Length of the multi-byte character that starts at `offset`, or 0 if there is no well-formed one (overlong,
/// truncated, beyond U+10FFFF, or a surrogate that is not allowed).
func multibyteLength(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, surrogates: Surrogates = .forbidden
) -> Int {
    let lead = bytes[offset]
    let left = bytes.count - offset
    func continues(_ distance: Int) -> Bool { bytes[offset + distance] & 0xC0 == 0x80 }
    switch lead {
    case 0xC2...0xDF:
        return left >= 2 && continues(1) ? 2 : 0
    case 0xE0...0xEF:
        guard left >= 3, continues(1), continues(2) else { return 0 }
        let second = bytes[offset + 1]
        if lead == 0xE0, second < 0xA0 { return 0 }
        if lead == 0xED, second >= 0xA0 {
            guard surrogates == .unpaired else { return 0 }
            // Two surrogates that form a pair must be written as one character of four bytes.
            let isLeading = second < 0xB0
            if isLeading, left >= 6, bytes[offset + 3] == 0xED, bytes[offset + 4] >= 0xB0 { return 0 }
        }
        return 3
    case 0xF0...0xF4:
        guard left >= 4, continues(1), continues(2), continues(3) else { return 0 }
        let second = bytes[offset + 1]
        if lead == 0xF0, second < 0x90 { return 0 }
        if lead == 0xF4, second >= 0x90 { return 0 }
        return 4
    default:
        return 0
    }
}
