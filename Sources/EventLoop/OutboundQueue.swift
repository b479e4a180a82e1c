import Glibc

/// Bytes that wait to be sent, as a list of pieces that are either ranges of arrays shared with other connections or
/// copies in a buffer of this queue's own. Small things are copied next to each other and large ones kept by
/// reference, so a queue is nearly always one piece, and the list behind the first stays unallocated.
package struct OutboundQueue {
    private struct Piece {
        var bytes: [UInt8]
        var start: Int
        var end: Int
        /// The array came from the pool and nobody else refers to it, so it can grow in place.
        var isOwn: Bool

        var count: Int { end - start }
    }

    /// Up to this size, copying a shared range costs less than keeping a piece for it.
    private static let copiedMax = 2048
    /// While the receiver takes nothing, a range that is less than this part of its array is copied: nobody knows how
    /// long it will wait, and a queue must not hold much more memory than the bytes that it is accountable for.
    private static let keptPartMin = 8
    /// Own pieces grow no further than this, which bounds what growing copies and what sent bytes keep allocated.
    private static let ownPieceMax = 64 * 1024

    private var first = Piece(bytes: [], start: 0, end: 0, isOwn: false)
    /// What follows the first piece: empty, or with a last piece that is not used up.
    private var others: [Piece] = []
    /// Pieces of `others` before this are used up.
    private var othersStart = 0
    package private(set) var byteCount = 0
    /// Pieces were added to `others` by reference since the last `detach`.
    private var hasUndetached = false

    package init() {}

    package var isEmpty: Bool { byteCount == 0 }

    /// Adds `bytes[range]`, by reference or by copy. Costs a reference count where the queue was empty or the range
    /// continues the one before it.
    ///
    /// - parameter isBlocked: the receiver takes nothing for now, so small parts of large arrays are copied, as by
    ///   `detach`.
    package mutating func append(
        shared bytes: [UInt8], _ range: Range<Int>, isBlocked: Bool = false, pool: BufferPool
    ) {
        if range.isEmpty { return }
        if isBlocked, OutboundQueue.isSmallPart(range.count, of: bytes) {
            bytes.withUnsafeBufferPointer { copy(UnsafeBufferPointer(rebasing: $0[range]), pool: pool) }
        } else if isEmpty {
            first = Piece(bytes: bytes, start: range.lowerBound, end: range.upperBound, isOwn: false)
        } else if continues(bytes, at: range.lowerBound) {
            withLast { $0.end = range.upperBound }
        } else if range.count <= OutboundQueue.copiedMax {
            bytes.withUnsafeBufferPointer { copy(UnsafeBufferPointer(rebasing: $0[range]), pool: pool) }
        } else {
            others.append(Piece(bytes: bytes, start: range.lowerBound, end: range.upperBound, isOwn: false))
            hasUndetached = true
        }
        byteCount += range.count
    }

    /// Adds a copy of the bytes.
    package mutating func append(copying bytes: UnsafeBufferPointer<UInt8>, pool: BufferPool) {
        if bytes.isEmpty { return }
        copy(bytes, pool: pool)
        byteCount += bytes.count
    }

    /// Lets go of the large arrays of which only a small part waits here, now that it may wait for long. Costs a copy
    /// of these parts.
    package mutating func detach(pool: BufferPool) {
        // The first piece shrinks while it is sent, the others do not.
        OutboundQueue.detach(&first, pool)
        guard hasUndetached else { return }
        hasUndetached = false
        for index in othersStart..<others.count { OutboundQueue.detach(&others[index], pool) }
    }

    private static func detach(_ piece: inout Piece, _ pool: BufferPool) {
        guard !piece.isOwn, isSmallPart(piece.count, of: piece.bytes) else { return }
        var own = ownPiece(pool)
        own.bytes.append(contentsOf: piece.bytes[piece.start..<piece.end])
        own.end = own.bytes.count
        piece = own
    }

    private static func isSmallPart(_ count: Int, of bytes: [UInt8]) -> Bool { count * keptPartMin < bytes.count }

    /// About the memory that the queue keeps from being freed, in bytes: that of the arrays behind it, each counted
    /// once per piece.
    package var heldBytes: Int {
        others[othersStart...].reduce(first.bytes.capacity) { $0 + $1.bytes.capacity }
    }

    /// How far `send` came.
    package enum Outcome: Equatable {
        case sentAll
        /// As many bytes as one caller may send at a time.
        case sentShare
        /// The receiver takes no more for now.
        case blocked
        /// The receiver failed with this negated `errno`, or what it uses in place of one.
        case failed(Int)
    }

    /// Offers the head of the queue to `write`, again and again, until all is sent, `write` does not go on, or about
    /// `bytesMax` bytes are sent.
    ///
    /// - parameter write: returns how many bytes it took, or a negated `errno`, and whether it would take more.
    mutating func send(
        gatheringIn scratch: UnsafeMutableRawBufferPointer, _ gatherMax: Int, bytesMax: Int, pool: BufferPool,
        write: (UnsafeRawBufferPointer) -> (count: Int, goesOn: Bool)
    ) -> (sent: Int, outcome: Outcome) {
        var sent = 0
        while !isEmpty {
            if sent >= bytesMax { return (sent, .sentShare) }
            let (count, goesOn) = withHead(gatheringIn: scratch, gatherMax, write)
            if count == -Int(EAGAIN) { return (sent, .blocked) }
            if count < 0 { return (sent, .failed(count)) }
            consume(count, pool: pool)
            sent += count
            if !goesOn { return (sent, .blocked) }
        }
        return (sent, .sentAll)
    }

    /// Calls `send` with the bytes at the head of the queue, contiguous: those of the first piece where they are, or,
    /// if that is shorter than `gatherMax` and more follow, up to `gatherMax` bytes put together in `scratch`.
    package func withHead<Result>(
        gatheringIn scratch: UnsafeMutableRawBufferPointer, _ gatherMax: Int,
        _ send: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        if others.isEmpty || first.count >= gatherMax {
            return first.bytes.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[first.start..<first.end])) }
        }
        var gathered = 0
        func gather(_ piece: Piece) {
            let count = min(piece.count, gatherMax - gathered)
            piece.bytes.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[piece.start..<piece.start + count])
                UnsafeMutableRawBufferPointer(rebasing: scratch[gathered...]).copyMemory(from: part)
            }
            gathered += count
        }
        gather(first)
        var index = othersStart
        while index < others.count, gathered < gatherMax {
            gather(others[index])
            index += 1
        }
        return send(UnsafeRawBufferPointer(rebasing: scratch[..<gathered]))
    }

    /// Drops bytes from the head that were sent.
    package mutating func consume(_ count: Int, pool: BufferPool) {
        precondition(count <= byteCount, "more was sent than was queued")
        byteCount -= count
        var left = count
        // No piece is empty, except the first of an empty queue.
        while first.count > 0, left >= first.count {
            left -= first.count
            dropFirst(pool: pool)
        }
        first.start += left
    }

    package mutating func removeAll(pool: BufferPool) {
        byteCount = 0
        others = []
        othersStart = 0
        dropFirst(pool: pool)
    }

    private mutating func dropFirst(pool: BufferPool) {
        if first.isOwn { pool.give(&first.bytes) }
        if others.isEmpty {
            first = Piece(bytes: [], start: 0, end: 0, isOwn: false)
            return
        }
        first = others[othersStart]
        others[othersStart].bytes = []
        othersStart += 1
        if othersStart == others.count {
            others = []
            othersStart = 0
        } else if othersStart >= 64, othersStart * 2 >= others.count {
            others.removeFirst(othersStart)
            othersStart = 0
        }
    }

    private mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>, pool: BufferPool) {
        if isEmpty {
            first = OutboundQueue.ownPiece(pool)
        } else if others.isEmpty, !first.isOwn, first.count <= OutboundQueue.copiedMax {
            let shared = first
            first = OutboundQueue.ownPiece(pool)
            shared.bytes.withUnsafeBufferPointer {
                first.bytes.append(contentsOf: UnsafeBufferPointer(rebasing: $0[shared.start..<shared.end]))
            }
        } else if !canGrowLast(by: bytes.count) {
            others.append(OutboundQueue.ownPiece(pool))
        }
        withLast {
            $0.bytes.append(contentsOf: bytes)
            $0.end = $0.bytes.count
        }
    }

    private static func ownPiece(_ pool: BufferPool) -> Piece {
        Piece(bytes: pool.take(), start: 0, end: 0, isOwn: true)
    }

    private func continues(_ bytes: [UInt8], at start: Int) -> Bool {
        // The queue holds its array alive, so the same address means the same array.
        let last = others.last ?? first
        return !last.isOwn && last.end == start
            && last.bytes.withUnsafeBufferPointer { $0.baseAddress }
                == bytes.withUnsafeBufferPointer { $0.baseAddress }
    }

    private func canGrowLast(by count: Int) -> Bool {
        let last = others.last ?? first
        return last.isOwn && last.end + count <= OutboundQueue.ownPieceMax
    }

    private mutating func withLast(_ body: (inout Piece) -> Void) {
        if others.isEmpty { body(&first) } else { body(&others[others.count - 1]) }
    }
}
