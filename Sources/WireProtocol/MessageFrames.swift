import HearthBytes
import HearthJSONTree

/// How a message is cut into WebSocket frames (Protocol.md 3.2): one frame up to 16384 UTF-16 code units, otherwise a
/// frame with the decimal number of chunks, then the chunks.
package enum MessageChunks {
    /// UTF-16 code units in one frame at most.
    package static let unitsMax = 16384

    /// The byte ranges of the chunks of a UTF-8 message, in order, none of them inside a character. One range when the
    /// message needs no cutting.
    package static func ranges(of message: UnsafeRawBufferPointer) -> [Range<Int>] {
        // A UTF-8 text has at least as many bytes as UTF-16 units.
        if message.count <= unitsMax { return [0..<message.count] }
        var ranges: [Range<Int>] = []
        var cutter = ChunkCutter()
        var start = 0
        while start < message.count {
            let rest = UnsafeRawBufferPointer(rebasing: message[start...])
            let end = start + cutter.take(rest)
            ranges.append(start..<end)
            cutter = ChunkCutter()
            start = end
        }
        return ranges
    }
}

/// Measures one chunk of a text that may come in pieces.
package struct ChunkCutter: Sendable {
    private var units = 0

    package init() {}

    /// How many of these bytes still belong to the chunk; fewer than all when the chunk is full. Pieces must not be cut
    /// inside a character. About 10 GB/s.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        var offset = 0
        while offset + ByteLanes.count <= bytes.count, units + Self.unitsOfWordMax <= MessageChunks.unitsMax {
            units += Self.units(of: ByteLanes.load(bytes, offset))
            offset += ByteLanes.count
        }
        while offset < bytes.count {
            let width = Self.units(of: bytes[offset])
            if units + width > MessageChunks.unitsMax { return offset }
            units += width
            offset += 1
        }
        return offset
    }

    /// The first byte of a character has all of its units: two if there are four bytes, otherwise one.
    private static func units(of byte: UInt8) -> Int {
        switch byte {
        case 0x80..<0xC0: 0
        case 0xF0...: 2
        default: 1
        }
    }

    /// The same for eight bytes at once.
    private static func units(of word: UInt64) -> Int {
        let high = ByteLanes.notASCII(word)
        if high == 0 { return 8 }
        let inside = high & ~(word << 1)
        let long = high & (word << 1) & (word << 2) & (word << 3)
        return 8 - inside.nonzeroBitCount + long.nonzeroBitCount
    }

    /// Bytes that are no UTF-8 may all begin characters of two units.
    private static let unitsOfWordMax = 16
}

/// Joins the frames of a client's messages again.
package struct FrameJoiner: Sendable {
    private var chunksMissing = 0
    private var chunks: [UInt8] = []
    /// Bytes that one message may have.
    private let bytesMax: Int

    package init(bytesMax: Int = 32 << 20) { self.bytesMax = bytesMax }

    package enum Result: Equatable, Sendable {
        /// The frame itself is a message.
        case message
        /// The frame ended a message, whose bytes ``takeMessage()`` gives.
        case joined
        /// A keep-alive, a count, or a chunk that is not the last.
        case more
        /// The message is larger than this server takes.
        case tooLarge
    }

    /// Memory of the message that is not complete, in bytes.
    package var heapBytes: Int { chunks.capacity }

    /// Takes the payload of a text frame.
    package mutating func add(_ frame: UnsafeRawBufferPointer) -> Result {
        if chunksMissing > 0 {
            guard chunks.count + frame.count <= bytesMax else { return .tooLarge }
            chunks.append(contentsOf: frame)
            chunksMissing -= 1
            // The C++ SDK announces one chunk too many for an exact multiple of the chunk size: a text that is complete
            // is.
            let isMiscounted = chunksMissing == 1 && chunks.count.isMultiple(of: MessageChunks.unitsMax) && isComplete
            return chunksMissing == 0 || isMiscounted ? .joined : .more
        }
        guard frame.count <= 6, let count = Self.count(frame) else {
            return frame.count <= bytesMax ? .message : .tooLarge
        }
        // `0` is the keep-alive of the SDKs.
        if count == 0 { return .more }
        guard count <= 1 + bytesMax / 1024 else { return .tooLarge }
        chunksMissing = count
        return .more
    }

    /// The message whose last chunk came.
    package mutating func takeMessage() -> [UInt8] {
        chunksMissing = 0
        defer { chunks = [] }
        return chunks
    }

    /// Whether the chunks so far are a whole text. Looks at all of them only if the last byte could end one.
    private var isComplete: Bool {
        guard chunks.last == UInt8(ascii: "}") else { return false }
        return chunks.withUnsafeBytes { bytes in
            var reader = JSONReader(bytes)
            do throws(JSONError) {
                _ = try reader.skipValue()
                try reader.finish()
                return true
            } catch {
                return false
            }
        }
    }

    private static func count(_ frame: UnsafeRawBufferPointer) -> Int? {
        guard !frame.isEmpty else { return nil }
        var count = 0
        for byte in frame {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            count = count * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return count
    }
}
