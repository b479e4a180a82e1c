import Glibc

/// Bytes that wait to be sent, as a list of pieces that are either ranges of arrays shared with other connections or
/// copies in a buffer of this queue's own. Small things are copied next to each other and large ones kept by
/// reference, so a queue is nearly always one piece, and the list after the first stays unallocated.
package struct OutboundQueue {
    private struct Piece {
        /// Nil for an own piece.
        var shared: SharedBytes?
        /// The array of an own piece. It came from the pool and has no other reference, so it can grow in place.
        var own: [UInt8] = []
        var start = 0
        var end = 0

        var isOwn: Bool { shared == nil }
        var count: Int { end - start }

        func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            func part(_ bytes: UnsafeRawBufferPointer) -> Result {
                body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            }
            return if let shared { shared.bytes.withUnsafeBytes(part) } else { own.withUnsafeBytes(part) }
        }
    }

    /// Up to this size, copying a shared range costs less than keeping a piece for it.
    private static let copiedMax = 2048
    /// While the receiver does not read, a range that is less than this part of its array is copied: it may wait for
    /// long, and a queue must not hold much more memory than the bytes that it accounts for.
    private static let keptPartMin = 8
    /// Own pieces grow no further than this, which limits copying and the memory that sent bytes keep allocated.
    private static let ownPieceMax = 64 * 1024

    private var first = Piece()
    /// The pieces after the first one: empty, or with a last piece that is not used up.
    private var others: [Piece] = []
    /// Pieces of `others` before this are used up.
    private var othersStart = 0
    package private(set) var byteCount = 0
    /// The memory of own pieces, about, in bytes.
    package private(set) var ownBytes = 0
    /// Pieces were added to `others` by reference since the last `detach`.
    private var hasUndetached = false

    package init() {}

    package var isEmpty: Bool { byteCount == 0 }

    /// Adds a range of the bytes, by reference or by copy. Costs a reference count where the queue was empty or the
    /// range continues the one before it.
    ///
    /// - parameter isBlocked: the receiver does not read for now, so small parts of large arrays are copied, and data
    ///   kept by reference waits, as by `detach`.
    package mutating func append(
        shared: SharedBytes, _ range: Range<Int>, isBlocked: Bool = false, pool: BufferPool
    ) {
        if range.isEmpty { return }
        if isBlocked, OutboundQueue.isSmallPart(range.count, of: shared) {
            copy(shared, range, pool: pool)
        } else if isEmpty {
            first = Piece(shared: shared, start: range.lowerBound, end: range.upperBound)
            if isBlocked { shared.wait() }
        } else if continues(shared, at: range.lowerBound) {
            withLast { $0.end = range.upperBound }
        } else if range.count <= OutboundQueue.copiedMax {
            copy(shared, range, pool: pool)
        } else {
            others.append(Piece(shared: shared, start: range.lowerBound, end: range.upperBound))
            if isBlocked { shared.wait() } else { hasUndetached = true }
        }
        byteCount += range.count
    }

    /// Adds a copy of the bytes.
    package mutating func append(copying bytes: UnsafeBufferPointer<UInt8>, pool: BufferPool) {
        if bytes.isEmpty { return }
        copy(bytes, pool: pool)
        byteCount += bytes.count
    }

    /// Prepares for a long wait: lets go of the large arrays of which only a small part waits here, at the cost of a
    /// copy of these parts, and has the others count as waiting.
    package mutating func detach(pool: BufferPool) {
        // The first piece shrinks while it is sent, the others do not.
        ownBytes += OutboundQueue.detach(&first, pool)
        guard hasUndetached else { return }
        hasUndetached = false
        for index in othersStart..<others.count { ownBytes += OutboundQueue.detach(&others[index], pool) }
    }

    /// Answers how many bytes it copied.
    private static func detach(_ piece: inout Piece, _ pool: BufferPool) -> Int {
        guard let shared = piece.shared else { return 0 }
        guard isSmallPart(piece.count, of: shared) else {
            shared.wait()
            return 0
        }
        var own = ownPiece(pool)
        piece.withBytes { own.own.append(contentsOf: $0) }
        own.end = own.own.count
        piece = own
        return own.end
    }

    private static func isSmallPart(_ count: Int, of shared: SharedBytes) -> Bool {
        count * keptPartMin < shared.count
    }

    /// About the memory that the queue keeps from being freed, in bytes: that of its arrays, each counted once per
    /// piece.
    package var heldBytes: Int {
        func held(_ piece: Piece) -> Int { piece.shared?.bytes.capacity ?? piece.own.capacity }
        return others[othersStart...].reduce(held(first)) { $0 + held($1) }
    }

    /// How far `send` came.
    package enum Outcome: Equatable {
        case sentAll
        /// As many bytes as one caller may send at a time.
        case sentShare
        /// The receiver takes no more for now.
        case blocked
        /// The receiver failed with this negated `errno` or its own code.
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
            // A write of nothing would be repeated for ever.
            if count <= 0 { return (sent, .failed(min(count, -Int(EPIPE)))) }
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
            return first.withBytes(send)
        }
        var gathered = 0
        func gather(_ piece: Piece) {
            let count = min(piece.count, gatherMax - gathered)
            piece.withBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
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
        ownBytes = 0
    }

    private mutating func dropFirst(pool: BufferPool) {
        if first.isOwn {
            ownBytes -= first.end
            pool.give(&first.own)
        }
        if others.isEmpty {
            first = Piece()
            return
        }
        first = others[othersStart]
        others[othersStart] = Piece()
        othersStart += 1
        if othersStart == others.count {
            others = []
            othersStart = 0
        } else if othersStart >= 64, othersStart * 2 >= others.count {
            others.removeFirst(othersStart)
            othersStart = 0
        }
    }

    private mutating func copy(_ shared: SharedBytes, _ range: Range<Int>, pool: BufferPool) {
        shared.bytes.withUnsafeBufferPointer { copy(UnsafeBufferPointer(rebasing: $0[range]), pool: pool) }
    }

    private mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>, pool: BufferPool) {
        if isEmpty {
            first = OutboundQueue.ownPiece(pool)
        } else if others.isEmpty, !first.isOwn, first.count <= OutboundQueue.copiedMax {
            let shared = first
            first = OutboundQueue.ownPiece(pool)
            shared.withBytes { first.own.append(contentsOf: $0) }
            ownBytes += shared.count
        } else if !canGrowLast(by: bytes.count) {
            others.append(OutboundQueue.ownPiece(pool))
        }
        withLast {
            $0.own.append(contentsOf: bytes)
            $0.end = $0.own.count
        }
        ownBytes += bytes.count
    }

    private static func ownPiece(_ pool: BufferPool) -> Piece { Piece(own: pool.take()) }

    private func continues(_ shared: SharedBytes, at start: Int) -> Bool {
        let last = others.last ?? first
        return last.shared === shared && last.end == start
    }

    private func canGrowLast(by count: Int) -> Bool {
        let last = others.last ?? first
        return last.isOwn && last.end + count <= OutboundQueue.ownPieceMax
    }

    private mutating func withLast(_ body: (inout Piece) -> Void) {
        if others.isEmpty { body(&first) } else { body(&others[others.count - 1]) }
    }
}
