import HearthBytes

/// The byte classes of the grammar, and the scans over them.
///
/// A scan never reads outside its buffer: whole words only where eight bytes are left, then single bytes.

package let carriageReturn: UInt8 = 0x0D
package let lineFeed: UInt8 = 0x0A
package let space: UInt8 = 0x20
let horizontalTab: UInt8 = 0x09

extension UInt8 {
    /// A set of bytes below 128: bit n of `low` is byte n, bit n of `high` byte 64 + n.
    @usableFromInline func isMember(low: UInt64, high: UInt64) -> Bool {
        self < 128 && (self < 64 ? low : high) >> UInt64(self & 63) & 1 == 1
    }

    /// `tchar` of RFC 9110 5.6.2: letters, digits and ``!#$%&'*+-.^_`|~``.
    @inlinable package var isTokenByte: Bool { isMember(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// The characters of `uri-host [ ":" port ]` (RFC 3986 3.2.2): unreserved, sub-delims, `%`, `:`, `[` and `]`.
    @inlinable package var isHostByte: Bool { isMember(low: 0x2FFF_7FF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFE) }

    var isBlank: Bool { self == space || self == horizontalTab }

    var asciiUppercased: UInt8 { self &- 0x61 < 26 ? self &- 0x20 : self }

    var asciiLowercased: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}

extension UnsafeRawBufferPointer {
    /// The position of the first byte from `start` on that is below `bound` (at most 0x80) or DEL; `count` if none is.
    package func firstByte(below bound: UInt8, from start: Int) -> Int {
        let bounds = ByteLanes.all(bound)
        return firstPosition(from: start) {
            $0 < bound || $0 == 0x7F
        } inWord: { word in
            // A byte's high bit is set where the subtraction borrowed and the byte was ASCII. A borrow runs only out of
            // a byte that is itself marked, so the lowest mark is exact.
            (word &- bounds) & ~word & ByteLanes.all(0x80) | ByteLanes.equal(word, 0x7F)
        }
    }

    /// The position of the first `byte` from `start` on; `count` if there is none.
    func firstPosition(of byte: UInt8, from start: Int) -> Int {
        firstPosition(from: start) {
            $0 == byte
        } inWord: { word in
            ByteLanes.equal(word, byte)
        }
    }

    /// `marks` sets the high bit of each byte that is sought; only the lowest mark needs to be exact.
    @inline(__always)
    private func firstPosition(
        from start: Int, where matches: (UInt8) -> Bool, inWord marks: (UInt64) -> UInt64
    ) -> Int {
        var position = start
        while position &+ ByteLanes.count <= count {
            let found = marks(ByteLanes.load(self, position))
            if found != 0 { return position &+ ByteLanes.first(found) }
            position &+= ByteLanes.count
        }
        while position < count, !matches(self[position]) { position &+= 1 }
        return position
    }

    /// Drops the first `count` bytes.
    @inlinable package mutating func removeFirst(_ count: Int) { self = Self(rebasing: self[count...]) }

    /// Whether the bytes of `range` are `literal`, which is written in lower case, in any case.
    package func equals(_ literal: StaticString, in range: Range<Int>) -> Bool {
        guard range.count == literal.utf8CodeUnitCount else { return false }
        let letters = literal.utf8Start
        for offset in 0..<range.count where self[range.lowerBound &+ offset].asciiLowercased != letters[offset] {
            return false
        }
        return true
    }
}
