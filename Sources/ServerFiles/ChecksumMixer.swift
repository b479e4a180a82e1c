/// Sums up words and bytes. A change of one word always changes the sum; other changes go unnoticed once in 2^64.
@usableFromInline package struct ChecksumMixer {
    @usableFromInline package var sum: UInt64

    @inlinable package init() { sum = 0 }

    // Both steps can be undone, so a change of one word always changes the sum.
    @inlinable package mutating func add(_ word: UInt64) {
        sum = (sum ^ word) &* 0x9E37_79B9_7F4A_7C15
        sum ^= sum >> 32
    }

    /// Adds the number of bytes, and the bytes, eight at a time.
    @inlinable package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        add(UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var last: UInt64 = 0
        while offset < bytes.count {
            last = last << 8 | UInt64(bytes[offset])
            offset += 1
        }
        add(last)
    }
}
