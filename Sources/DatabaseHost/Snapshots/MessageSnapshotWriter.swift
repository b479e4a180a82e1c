import HearthDelivery
import HearthWebSocketCodec
import HearthWireProtocol

/// Cuts a message that is never whole in memory into the frames of the realtime protocol (Protocol.md 3.2): measured
/// in a first pass, because the number of frames comes first, and written in a second.
struct MessageSnapshotWriter {
    private let head: [UInt8]
    private let tail: [UInt8]
    /// The chunk under way while measuring.
    private var cutter = ChunkCutter()
    private var chunks = 1
    private var isWriting = false
    /// Text of the chunk under way while writing, and what does not fill a chunk yet.
    private var text: [UInt8] = []
    private var frames: [UInt8] = []

    init(head: [UInt8], tail: [UInt8]) {
        self.head = head
        self.tail = tail
        measure(head)
    }

    mutating func measure(_ text: [UInt8]) {
        text.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                start += cutter.take(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                if start < bytes.count {
                    chunks += 1
                    cutter = ChunkCutter()
                }
            }
        }
    }

    /// Frames that are ready, or nil while there is less than a piece of them.
    mutating func write(_ text: [UInt8]) -> [UInt8]? {
        begin()
        append(text)
        guard frames.count >= SnapshotStream.pieceBytes else { return nil }
        defer { frames = [] }
        return frames
    }

    /// The last frames.
    mutating func finish() -> [UInt8] {
        begin()
        append(tail)
        endChunk()
        return frames
    }

    private mutating func begin() {
        guard !isWriting else { return }
        isWriting = true
        measure(tail)
        if chunks > 1 { FrameEncoder.append(.text, Array(String(chunks).utf8).span.bytes, to: &frames) }
        cutter = ChunkCutter()
        append(head)
    }

    private mutating func append(_ more: [UInt8]) {
        more.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                let count = cutter.take(rest)
                text.append(contentsOf: rest[..<count])
                start += count
                if start < bytes.count {
                    endChunk()
                }
            }
        }
    }

    private mutating func endChunk() {
        let chunk = text
        FrameEncoder.append(.text, chunk.span.bytes, to: &frames)
        text.removeAll(keepingCapacity: true)
        cutter = ChunkCutter()
    }
}
