package import HearthStorageErrors

/// A value that is streamed from a snapshot to one connection.
package protocol LargeReadStream: AnyObject {
    /// The connection has taken a piece.
    func grant()
    /// It was abandoned.
    func cancel()
}

extension SnapshotStream: LargeReadStream {}

/// The values of one connection that are streamed from snapshots, one after the other, and the outputs after each of
/// them: the chunks of a message may not be interrupted (Protocol.md 3.2), and later outputs may build on it.
package struct LargeReads<Stream: LargeReadStream, Held: RangeReplaceableCollection> {
    private struct Read {
        let stream: Stream
        /// The outputs between it and the next one.
        var behind = Held()
        /// The memory of these, in bytes.
        var behindBytes = 0
        /// Why it failed before its turn.
        var failure: StorageError?
    }

    /// The first one is under way.
    private var reads: [Read] = []
    /// The memory of the outputs that wait after reads, in bytes.
    package private(set) var heldBytes = 0
    /// Pieces of the first one that the peer has not taken yet.
    package private(set) var piecesQueued = 0
    /// Some of its pieces are out.
    package private(set) var hasSentPieces = false

    package init() {}

    package var isEmpty: Bool { reads.isEmpty }
    package var current: Stream? { reads.first?.stream }
    /// Why the read whose turn it is has failed already.
    package var failure: StorageError? { reads.first?.failure }

    package mutating func append(_ stream: Stream) { reads.append(Read(stream: stream)) }

    /// Holds the output that follows the last of the reads.
    ///
    /// - parameter bytes: its memory.
    package mutating func hold(_ elements: some Collection<Held.Element>, bytes: Int) {
        guard !reads.isEmpty else { return }
        reads[reads.count - 1].behind.append(contentsOf: elements)
        reads[reads.count - 1].behindBytes += bytes
        heldBytes += bytes
    }

    /// Remembers the failure of a read that waits for its turn.
    package mutating func fail(_ stream: Stream, _ error: StorageError) {
        if let index = reads.firstIndex(where: { $0.stream === stream }) { reads[index].failure = error }
    }

    package mutating func queuedPiece() { piecesQueued += 1 }

    /// The peer has read the queued bytes.
    package mutating func grantPieces() {
        hasSentPieces = hasSentPieces || piecesQueued > 0
        for _ in 0..<piecesQueued { current?.grant() }
        piecesQueued = 0
    }

    /// Ends the first read, and returns the output held after it.
    package mutating func endFirst() -> Held {
        guard !reads.isEmpty else { return Held() }
        piecesQueued = 0
        hasSentPieces = false
        let first = reads.removeFirst()
        heldBytes -= first.behindBytes
        return first.behind
    }

    /// The connection ends; nothing more is sent.
    package mutating func cancel() {
        for read in reads { read.stream.cancel() }
        self = LargeReads()
    }
}
