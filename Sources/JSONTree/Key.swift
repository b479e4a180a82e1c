import HearthBytes

/// Why bytes are not a key (Protocol.md 9).
package enum KeyError: Error, Hashable, Sendable {
    case empty
    case tooLong(byteCount: Int)
    /// One of `. $ # [ ] /`, a control character 0x00–0x1F, or 0x7F.
    case forbidden(byte: UInt8)
    case invalidUTF8
}

extension KeyError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "a key is empty"
        case .tooLong: "a key is longer than \(Key.maximumByteCount) bytes"
        case .forbidden: "a key contains one of . $ # [ ] / or a control character"
        case .invalidUTF8: "a key is not valid UTF-8"
        }
    }
}

/// One component of a path: the name of a child, checked against Protocol.md 9.
///
/// Equality is equality of bytes (never canonical equivalence), the order is that of Protocol.md 7.5: integer keys
/// first, by value, then all others by UTF-16 code units. Holding one costs an array; hot paths use encoded segments of
/// a `Path`.
package struct Key: Hashable, Comparable, Sendable {
    package static let maximumByteCount = 768

    /// UTF-8; an unpaired surrogate, which JSON can spell, is kept as its three bytes (ED A0…BF xx).
    package let utf8: [UInt8]

    package init(validating utf8: RawSpan) throws(KeyError) {
        try utf8.withUnsafeBytes { (bytes) throws(KeyError) in try Key.check(bytes) }
        self.utf8 = utf8.withUnsafeBytes { [UInt8]($0) }
    }

    package init(validating utf8: [UInt8]) throws(KeyError) {
        try self.init(validating: utf8.span.bytes)
    }

    package init(validating text: String) throws(KeyError) {
        try self.init(validating: Array(text.utf8))
    }

    /// `utf8` must be a valid key.
    init(trusted utf8: [UInt8]) { self.utf8 = utf8 }

    /// The key of an array element.
    package init(_ index: Int32) {
        var text: [UInt8] = []
        appendDecimal(Int64(index), to: &text)
        utf8 = text
    }

    package static func == (a: Key, b: Key) -> Bool {
        a.utf8.withUnsafeBytes { a in b.utf8.withUnsafeBytes { b in equalBytes(a, b) } }
    }

    package static func < (a: Key, b: Key) -> Bool {
        a.utf8.withUnsafeBytes { a in b.utf8.withUnsafeBytes { b in compareKeys(a, b) < 0 } }
    }

    package func hash(into hasher: inout Hasher) {
        utf8.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Key {
    /// Checks the rules of Protocol.md 9 on decoded bytes.
    package static func check(_ utf8: UnsafeRawBufferPointer) throws(KeyError) {
        if utf8.isEmpty { throw .empty }
        if utf8.count > maximumByteCount { throw .tooLong(byteCount: utf8.count) }
        var offset = 0
        while offset < utf8.count {
            let byte = utf8[offset]
            if byte < 0x80 {
                if isForbidden(byte) { throw .forbidden(byte: byte) }
                offset += 1
            } else {
                let length = multibyteLength(utf8, at: offset, surrogates: .unpaired)
                if length == 0 { throw .invalidUTF8 }
                offset += length
            }
        }
    }

    package static func isValid(_ utf8: UnsafeRawBufferPointer) -> Bool { (try? check(utf8)) != nil }

    /// Whether a key may not have an ASCII byte.
    static func isForbidden(_ byte: UInt8) -> Bool {
        let mask = byte < 64 ? forbiddenLow : forbiddenHigh
        return (mask >> UInt64(byte & 63)) & 1 == 1
    }

    /// 0x00–0x1F, `#` `$` `.` `/`.
    private static let forbiddenLow: UInt64 = 0xFFFF_FFFF | 1 << 0x23 | 1 << 0x24 | 1 << 0x2E | 1 << 0x2F
    /// `[` `]` and 0x7F.
    private static let forbiddenHigh: UInt64 = 1 << (0x5B - 64) | 1 << (0x5D - 64) | 1 << (0x7F - 64)
}

extension Key: CustomStringConvertible {
    package var description: String { String(decoding: utf8, as: UTF8.self) }
}
