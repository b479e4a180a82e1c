import HearthDelivery
import HearthWireProtocol

/// Cuts a message that is never whole in memory into its chunks (Protocol.md 3.2): measured in a first pass, because
/// the number of chunks comes first, and cut in a second.
struct MessageCutter {
    private let head: [UInt8]
    private let tail: [UInt8]
    /// The chunk under way.
    private var cutter = ChunkCutter()
    private var chunkCount = 1
    private var isCutting = false
    private var hasFirstPart = false
    /// Text that is not in a part yet, and where chunks end in it.
    private var text: [UInt8] = []
    private var ends: [Int] = []

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
                    chunkCount += 1
                    cutter = ChunkCutter()
                }
            }
        }
    }

    /// The chunks that are complete, or nil while they are less than a piece.
    mutating func cut(_ text: [UInt8]) -> SnapshotStream.MessagePart? {
        begin()
        append(text)
        guard let end = ends.last, end >= SnapshotStream.pieceBytes else { return nil }
        let rest = Array(self.text[end...])
        self.text.removeLast(rest.count)
        let part = takePart(isLast: false)
        self.text = rest
        return part
    }

    /// The last chunks.
    mutating func finish() -> SnapshotStream.MessagePart {
        begin()
        append(tail)
        ends.append(text.count)
        return takePart(isLast: true)
    }

    private mutating func begin() {
        guard !isCutting else { return }
        measure(tail)
        isCutting = true
        cutter = ChunkCutter()
        append(head)
    }

    private mutating func append(_ more: [UInt8]) {
        let first = text.count
        text += more
        more.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                start += cutter.take(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                if start < bytes.count {
                    ends.append(first + start)
                    cutter = ChunkCutter()
                }
            }
        }
    }

    private mutating func takePart(isLast: Bool) -> SnapshotStream.MessagePart {
        defer { (text, ends, hasFirstPart) = ([], [], true) }
        return SnapshotStream.MessagePart(
            text: text, chunkEnds: ends, chunkCount: hasFirstPart ? nil : chunkCount, isLast: isLast)
    }
}
