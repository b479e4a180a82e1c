/// SHA-1 (RFC 3174), for node hashes and for the handshake of WebSockets, which are defined with it. Not for anything
/// secret.
package struct SHA1 {
    package static let byteCount = 20

    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
    )
    /// The bytes of a block.
    private typealias Block = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
    /// Bytes that do not fill a block yet: the first `pendingCount` ones.
    private var pending: Block = (0, 0, 0, 0, 0, 0, 0, 0)
    private var pendingCount = 0
    private var messageCount: UInt64 = 0

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        messageCount &+= UInt64(bytes.count)
        var offset = 0
        if pendingCount > 0 {
            offset = min(64 - pendingCount, bytes.count)
            keep(UnsafeRawBufferPointer(rebasing: bytes[..<offset]))
            if pendingCount < 64 { return }
            compressPending()
        }
        while offset + 64 <= bytes.count {
            compress(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + 64]))
            offset += 64
        }
        keep(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    }

    /// Adds bytes for which there is room in the block.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        let start = pendingCount
        withUnsafeMutableBytes(of: &pending) { block in
            UnsafeMutableRawBufferPointer(rebasing: block[start...]).copyMemory(from: bytes)
        }
        pendingCount += bytes.count
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

    /// The ``SHA1/byteCount`` bytes of a digest.
    package struct Digest: RandomAccessCollection, Sendable {
        fileprivate var words: (UInt32, UInt32, UInt32, UInt32, UInt32)

        package var startIndex: Int { 0 }

        package var endIndex: Int { SHA1.byteCount }

        package subscript(position: Int) -> UInt8 { withUnsafeBytes { $0[position] } }

        /// Calls `body` with the bytes.
        package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            Swift.withUnsafeBytes(of: words, body)
        }
    }

    /// The digest; the state is used up.
    package consuming func finish() -> Digest {
        let (start, bits) = (pendingCount, (messageCount &* 8).bigEndian)
        withUnsafeMutableBytes(of: &pending) { block in
            block[start] = 0x80
            for index in start + 1..<max(64, start + 1) { block[index] = 0 }
        }
        if start >= 56 {
            compressPending()
            pending = (0, 0, 0, 0, 0, 0, 0, 0)
        }
        pending.7 = bits
        compressPending()
        return Digest(
            words: (
                state.0.bigEndian, state.1.bigEndian, state.2.bigEndian, state.3.bigEndian, state.4.bigEndian
            ))
    }

    private mutating func compressPending() {
        let block = pending
        withUnsafeBytes(of: block) { compress($0) }
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
