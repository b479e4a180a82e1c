/// The little that is needed of ASN.1's distinguished encoding (X.690) to hand numbers to OpenSSL.
enum DER {
    /// SubjectPublicKeyInfo of an RSA key (RFC 3279, section 2.3.1).
    static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
        // 1.2.840.113549.1.1.1, and NULL.
        let algorithm: [UInt8] = [0x06, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 1, 0x05, 0]
        return publicKey(algorithm, sequence(integer(modulus[...]) + integer(exponent[...])))
    }

    /// SubjectPublicKeyInfo of a point on P-256 (RFC 5480, section 2), its coordinates of 32 bytes not compressed.
    static func p256Key(x: [UInt8], y: [UInt8]) -> [UInt8] {
        // 1.2.840.10045.2.1 and 1.2.840.10045.3.1.7.
        let algorithm: [UInt8] = [
            0x06, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1, 0x06, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7,
        ]
        return publicKey(algorithm, [4] + x + y)
    }

    /// An ECDSA signature (RFC 3279, section 2.2.3) of two big-endian numbers.
    static func signature(r: ArraySlice<UInt8>, s: ArraySlice<UInt8>) -> [UInt8] { sequence(integer(r) + integer(s)) }

    private static func publicKey(_ algorithm: [UInt8], _ key: [UInt8]) -> [UInt8] {
        // A bit string begins with the number of bits that its last byte lacks.
        sequence(sequence(algorithm) + element(0x03, [0] + key))
    }

    private static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// A number that is not negative: as short as it can be, without a first bit that would mean a sign.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let digits = Array(bytes.drop { $0 == 0 })
        return element(0x02, digits.first.map { $0 < 0x80 } ?? false ? digits : [0] + digits)
    }

    /// Lengths here have at most two bytes.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        switch count {
        case ..<0x80: return [tag, UInt8(count)] + content
        case ..<0x100: return [tag, 0x81, UInt8(count)] + content
        default: return [tag, 0x82, UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + content
        }
    }
}
