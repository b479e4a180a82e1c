package import HearthRealtimeDatabase
import Synchronization
package import HearthStorageErrors
import HearthSystem

/// A large read on its way to one connection, shared by the thread that reads and the loop that sends.
///
/// The loop says how it wants the data (``begin(_:)``) and grants one piece after the other as the peer takes them, so
/// that only a few pieces are in memory, however large the data is.
package final class SnapshotStream: Sendable {
    /// The form of the value.
    package enum Form: Sendable {
        /// A message of the realtime protocol, around the value.
        case message(head: [UInt8], tail: [UInt8])
        /// JSON text as HTTP shows it.
        case text(SnapshotText)
    }

    /// The reader's pieces.
    package enum Piece: Sendable {
        /// The first piece of a text: the data needed before the rest is known. With the hash of the value, if
        /// requested.
        case started(hash: [UInt8]?)
        /// Part of a text.
        case bytes([UInt8])
        case message(MessagePart)
        case end
        case failed(StorageError)
    }

    /// Part of a message: whole chunks of it (Protocol.md 3.2).
    package struct MessagePart: Sendable {
        package let text: [UInt8]
        /// Where chunks end in the text.
        package let chunkEnds: [Int]
        /// The number of chunks of the message, in its first part.
        package let chunkCount: Int?
        package let isLast: Bool

        package init(text: [UInt8], chunkEnds: [Int], chunkCount: Int?, isLast: Bool) {
            self.text = text
            self.chunkEnds = chunkEnds
            self.chunkCount = chunkCount
            self.isLast = isLast
        }
    }

    /// Bytes in a piece, about.
    package static let pieceBytes = 64 << 10
    /// Pieces on their way at once.
    static let piecesMax = 4
    package let read: SnapshotRead
    private let limits: SnapshotLimits
    private struct State {
        var form: Form?
        var isCancelled = false
        /// How long the peer may let the reader wait beyond the time that each piece may take.
        var patience: Duration
        /// Starts the reading, once the loop wants it.
        var start: (@Sendable () -> Void)?
        /// Called when it is abandoned.
        var leave: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>
    /// Bytes that were handed to the connection.
    private let bytes = Atomic<Int>(0)
    private let ended = Atomic(false)
    private let granted = Semaphore()

    package init(_ read: SnapshotRead, _ limits: SnapshotLimits) {
        self.read = read
        self.limits = limits
        state = Mutex(State(patience: limits.patience))
    }

    // MARK: The loop

    package func begin(_ form: Form) {
        for _ in 0..<Self.piecesMax + 1 { granted.signal() }
        let start = state.withLock { state in
            state.form = form
            defer { state.start = nil }
            return state.start
        }
        start?()
    }

    /// The peer took a piece.
    package func grant() { granted.signal() }

    /// The connection is gone.
    package func cancel() {
        let (start, leave) = state.withLock { state in
            state.isCancelled = true
            defer { (state.start, state.leave) = (nil, nil) }
            return (state.start, state.leave)
        }
        // With it goes the snapshot of a read that no caller waits for any more.
        _ = consume start
        leave?()
        granted.signal()
    }

    // MARK: The reader

    /// Has `leave` called if the read is cancelled while it waits for a thread.
    package func whenCancelled(_ leave: @escaping @Sendable () -> Void) {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.leave = leave }
            return state.isCancelled
        }
        if isCancelled { leave() }
    }

    /// Has `start` called when the loop wants the data, so that no thread waits for reads whose turn has not come.
    package func whenBegun(_ start: @escaping @Sendable () -> Void) {
        let mayStart = state.withLock { state in
            if state.isCancelled { return false }
            if state.form == nil { state.start = start }
            return state.form != nil
        }
        if mayStart { start() }
    }

    /// Waits for the loop to want the data; nil when it never will.
    package func waitForForm() -> Form? { waitForGrant(after: 0) ? state.withLock { $0.form } : nil }

    /// Waits until another piece may be made, after one of so many bytes; false when it is abandoned, or the peer reads
    /// too slowly.
    package func waitForGrant(after bytes: Int) -> Bool {
        let patience = state.withLock { $0.patience } + .seconds(bytes) / max(limits.rateMin, 1)
        let start = MonotonicTime.current
        guard granted.wait(atMost: patience) else { return false }
        let left = patience - (MonotonicTime.current - start)
        return state.withLock { state in
            state.patience = max(.zero, min(left, limits.patience))
            return !state.isCancelled
        }
    }

    /// A piece is handed to the connection.
    package func count(_ piece: Piece) {
        switch piece {
        case .started: break
        case .bytes(let bytes): self.bytes.add(bytes.count, ordering: .relaxed)
        case .message(let part): bytes.add(part.text.count, ordering: .relaxed)
        case .end, .failed: ended.store(true, ordering: .releasing)
        }
    }

    /// Nothing more comes.
    package var isOver: Bool { ended.load(ordering: .acquiring) || isCancelled }

    /// Bytes that came so far.
    package var byteCount: Int { bytes.load(ordering: .relaxed) }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }
}
