/// SHA-1 (RFC 3174), for node hashes and for the handshake of WebSockets, which are defined with it. Not for anything
/// secret.
package struct SHA1 {
    package static let byteCount = 20

    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
    )
    /// Bytes that do not fill a block yet: the first `pendingCount` ones.
    private var pending = InlineArray<64, UInt8>(repeating: 0)
    private var pendingCount = 0
    private var messageCount: UInt64 = 0

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        messageCount &+= UInt64(bytes.count)
        var offset = 0
        if pendingCount > 0 {
            while pendingCount < 64, offset < bytes.count {
                pending[pendingCount] = bytes[offset]
                pendingCount += 1
                offset += 1
            }
            if pendingCount < 64 { return }
            compressPending()
        }
        while offset + 64 <= bytes.count {
            compress(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 64]))
            offset += 64
        }
        while offset < bytes.count {
            pending[pendingCount] = bytes[offset]
            pendingCount += 1
            offset += 1
        }
    }

    package mutating func update(_ text: StaticString) {
        update(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The sixteen lower-case hexadecimal digits of `bits`.
    package mutating func update(hexadecimalOf bits: UInt64) {
        withUnsafeTemporaryAllocation(byteCount: 16, alignment: 1) { text in
            for index in 0..<16 { text[index] = Hexadecimal.digit(UInt8(bits >> UInt64(60 - 4 * index) & 15)) }
            update(UnsafeRawBufferPointer(text))
        }
    }

    /// The digest; the state is used up.
    package consuming func finish() -> InlineArray<20, UInt8> {
        pending[pendingCount] = 0x80
        for index in pendingCount + 1..<max(64, pendingCount + 1) { pending[index] = 0 }
        if pendingCount >= 56 {
            compressPending()
            pending = InlineArray(repeating: 0)
        }
        let bits = messageCount &* 8
        for index in 0..<8 { pending[56 + index] = UInt8(truncatingIfNeeded: bits >> UInt64(56 - 8 * index)) }
        compressPending()
        var digest = InlineArray<20, UInt8>(repeating: 0)
        let words = [state.0, state.1, state.2, state.3, state.4] as InlineArray<5, UInt32>
        for index in 0..<20 {
            digest[index] = UInt8(truncatingIfNeeded: words[index / 4] >> UInt32(24 - 8 * (index % 4)))
        }
        return digest
    }

    private mutating func compressPending() {
        let block = pending
        block.span.withUnsafeBytes { compress($0) }
        pendingCount = 0
    }

    private mutating func compress(_ block: UnsafeRawBufferPointer) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 80) { words in
            for index in 0..<16 {
                words[index] = UInt32(bigEndian: block.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
            }
            for index in 16..<80 {
                words[index] = rotateLeft(
                    words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], 1)
            }
            var (a, b, c, d, e) = state
            @inline(__always)
            func step(_ index: Int, _ choice: UInt32, _ constant: UInt32) {
                let next = rotateLeft(a, 5) &+ choice &+ e &+ constant &+ words[index]
                (e, d, c, b, a) = (d, c, rotateLeft(b, 30), a, next)
            }
            for index in 0..<20 { step(index, d ^ (b & (c ^ d)), 0x5A82_7999) }
            for index in 20..<40 { step(index, b ^ c ^ d, 0x6ED9_EBA1) }
            for index in 40..<60 { step(index, (b & c) | (d & (b | c)), 0x8F1B_BCDC) }
            for index in 60..<80 { step(index, b ^ c ^ d, 0xCA62_C1D6) }
            state.0 &+= a
            state.1 &+= b
            state.2 &+= c
            state.3 &+= d
            state.4 &+= e
        }
    }

    @inline(__always)
    private func rotateLeft(_ value: UInt32, _ count: UInt32) -> UInt32 { value << count | value >> (32 - count) }
}
