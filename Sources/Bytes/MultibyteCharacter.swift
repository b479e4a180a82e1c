/// The bytes that may follow the first byte of a UTF-8 character of several bytes (RFC 3629, table 3-7 of the Unicode
/// standard).
struct UTF8Lead {
    /// Bytes that follow: 1 to 3.
    let following: Int
    /// The possible second bytes. Narrower than 80...BF after E0, ED, F0 and F4, which rules out overlong forms,
    /// surrogates and numbers above U+10FFFF. Further bytes are 80...BF.
    let second: ClosedRange<UInt8>

    /// Nil for a byte that begins no such character.
    @inline(__always)
    init?(_ byte: UInt8) {
        switch byte {
        case 0xC2...0xDF: (following, second) = (1, 0x80...0xBF)
        case 0xE0: (following, second) = (2, 0xA0...0xBF)
        case 0xED: (following, second) = (2, 0x80...0x9F)
        case 0xE1...0xEF: (following, second) = (2, 0x80...0xBF)
        case 0xF0: (following, second) = (3, 0x90...0xBF)
        case 0xF1...0xF3: (following, second) = (3, 0x80...0xBF)
        case 0xF4: (following, second) = (3, 0x80...0x8F)
        default: return nil
        }
    }
}

/// How text treats unpaired surrogates. JSON can name them (`"\ud800"`), UTF-8 cannot hold them.
package enum Surrogates {
    /// UTF-8 as in RFC 3629.
    case forbidden
    /// Generalised UTF-8: an unpaired surrogate is three bytes, ED A0…BF xx. Keys hold them this way.
    case unpaired
}

/// Length of the multi-byte character that starts at `offset`, or 0 if there is no well-formed one (overlong,
/// truncated, beyond U+10FFFF, or a surrogate that is not allowed).
package func multibyteLength(
    _ bytes: UnsafeRawBufferPointer, at offset: Int, surrogates: Surrogates = .forbidden
) -> Int {
    guard let lead = UTF8Lead(bytes[offset]), bytes.count - offset > lead.following else { return 0 }
    for distance in 1...lead.following where bytes[offset + distance] & 0xC0 != 0x80 { return 0 }
    if lead.second.contains(bytes[offset + 1]) { return 1 + lead.following }
    guard bytes[offset] == 0xED, surrogates == .unpaired else { return 0 }
    // Two surrogates that form a pair must be written as one character of four bytes.
    let isLeading = bytes[offset + 1] < 0xB0
    if isLeading, bytes.count - offset >= 6, bytes[offset + 3] == 0xED, bytes[offset + 4] >= 0xB0 { return 0 }
    return 3
}
