import HearthDelivery
import HearthRealtimeDatabase
import HearthStorageErrors

/// The values of one connection that are streamed from snapshots, one after the other, and what goes out after each of
/// them: the chunks of a message may not be interrupted (Protocol.md 3.2), and what comes later may build on it.
struct LargeReads {
    private struct Read {
        let stream: SnapshotStream
        /// Frames that came after it and before the next one.
        var behind: [UInt8] = []
        /// Why it failed before its turn.
        var failure: StorageError?
    }

    /// The first one is under way.
    private var reads: [Read] = []
    /// Bytes that wait after reads.
    private(set) var heldBytes = 0
    /// Pieces of the first one that the peer has not taken yet.
    private(set) var piecesQueued = 0
    /// Some of its pieces are out.
    private(set) var hasSentPieces = false

    var isEmpty: Bool { reads.isEmpty }
    var current: SnapshotStream? { reads.first?.stream }
    /// Why the read whose turn it is has failed already.
    var failure: StorageError? { reads.first?.failure }

    mutating func append(_ stream: SnapshotStream) { reads.append(Read(stream: stream)) }

    mutating func hold(_ frames: ArraySlice<UInt8>) {
        guard !reads.isEmpty else { return }
        reads[reads.count - 1].behind.append(contentsOf: frames)
        heldBytes += frames.count
    }

    /// Remembers the failure of a read that waits for its turn.
    mutating func fail(_ stream: SnapshotStream, _ error: StorageError) {
        if let index = reads.firstIndex(where: { $0.stream === stream }) { reads[index].failure = error }
    }

    mutating func queuedPiece() { piecesQueued += 1 }

    /// The peer has taken what was queued.
    mutating func grantPieces() {
        hasSentPieces = hasSentPieces || piecesQueued > 0
        for _ in 0..<piecesQueued { current?.grant() }
        piecesQueued = 0
    }

    /// Ends the first read and answers what was held after it.
    mutating func endFirst() -> [UInt8] {
        guard !reads.isEmpty else { return [] }
        piecesQueued = 0
        hasSentPieces = false
        let frames = reads.removeFirst().behind
        heldBytes -= frames.count
        return frames
    }

    /// The connection ends; nothing more is sent.
    mutating func cancel() {
        for read in reads { read.stream.cancel() }
        self = LargeReads()
    }
}
