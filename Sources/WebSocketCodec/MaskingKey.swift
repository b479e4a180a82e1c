/// The four bytes that the payload of a client's frame is combined with (RFC 6455 section 5.3).
package struct MaskingKey: Equatable, Sendable {
    /// The first byte on the wire is the lowest.
    let word: UInt32

    /// From 32 random bits; a client takes new ones for each frame.
    package init(_ bits: UInt32) { word = bits }

    /// Masks or unmasks `bytes` in place; the first of them meets the first byte of the key.
    func apply(to bytes: UnsafeMutableRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        let word = self.word.littleEndian
        let pair = UInt64(word) << 32 | UInt64(word)
        let count = bytes.count
        // Words of eight bytes, which the compiler makes vectors of; raw loads and stores need no alignment.
        for offset in stride(from: 0, to: count & ~7, by: 8) {
            let masked = base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ pair
            base.storeBytes(of: masked, toByteOffset: offset, as: UInt64.self)
        }
        var index = count & ~7
        if count - index >= 4 {
            let masked = base.loadUnaligned(fromByteOffset: index, as: UInt32.self) ^ word
            base.storeBytes(of: masked, toByteOffset: index, as: UInt32.self)
            index += 4
        }
        var rest = self.word
        while index < count {
            bytes[index] ^= UInt8(truncatingIfNeeded: rest)
            rest >>= 8
            index += 1
        }
    }

    /// The key for the byte that follows after `count` bytes.
    func advanced(by count: Int) -> MaskingKey {
        let bits = UInt32(truncatingIfNeeded: count & 3) * 8
        return bits == 0 ? self : MaskingKey(word >> bits | word << (32 - bits))
    }
}
