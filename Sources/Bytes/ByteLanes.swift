/// Looking at eight bytes at a time: a word whose lowest byte is the first one.
///
/// The tests mark a byte by its top bit. They subtract across bytes, so a borrow can falsify bytes above a true mark;
/// the lowest mark is exact, and only that one may be used.
@usableFromInline package enum ByteLanes {
    @inlinable
    package static var count: Int { 8 }

    /// `offset + 8` must not be beyond the end of `bytes`.
    @inlinable @inline(__always)
    package static func load(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    @inlinable @inline(__always)
    package static func all(_ byte: UInt8) -> UInt64 { UInt64(byte) &* 0x0101_0101_0101_0101 }

    /// Marks bytes equal to `byte`.
    @inlinable @inline(__always)
    package static func equal(_ word: UInt64, _ byte: UInt8) -> UInt64 {
        let difference = word ^ all(byte)
        return (difference &- all(1)) & ~difference & all(0x80)
    }

    /// Marks bytes below 0x20 and above 0x7F.
    @inlinable @inline(__always)
    package static func notPlain(_ word: UInt64) -> UInt64 { (word | (word &- all(0x20))) & all(0x80) }

    /// Distance of the lowest mark.
    @inlinable @inline(__always)
    package static func first(_ marks: UInt64) -> Int { marks.trailingZeroBitCount / 8 }

    /// Marks bytes above 0x7F. All marks are exact.
    @inlinable @inline(__always)
    package static func notASCII(_ word: UInt64) -> UInt64 { word & all(0x80) }
}
