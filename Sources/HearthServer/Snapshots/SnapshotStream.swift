import EventLoop
import RealtimeDatabase
import Synchronization

/// A large read on its way to one connection, shared by the thread that reads and the loop that sends.
///
/// The loop says how it wants the data (``begin(_:)``) and grants one piece after the other as the peer takes them, so that only a few
/// pieces are in memory, however large the data is.
final class SnapshotStream: Sendable {
    /// How the text is dressed.
    enum Form: Sendable {
        /// A message of the realtime protocol in frames, around the value.
        case message(head: [UInt8], tail: [UInt8])
        /// JSON text as HTTP shows it.
        case text(SnapshotText)
    }

    /// What the reader has made.
    enum Piece: Sendable {
        /// The first one of a text: what is needed before it is known. With the hash of the value, if it was wanted.
        case started(hash: [UInt8]?)
        case bytes([UInt8])
        case end
        case failed(StorageError)
    }

    /// Bytes in a piece, about.
    static let pieceBytes = 64 << 10
    /// Pieces on their way at once.
    static let piecesMax = 4
    /// How long a peer may take none before the read is given up and its snapshot let go.
    static let patience = Duration.seconds(60)

    let read: SnapshotRead
    private let state = Mutex((form: Form?.none, isCancelled: false))
    private let granted = Semaphore()

    init(_ read: SnapshotRead) { self.read = read }

    // MARK: The loop

    func begin(_ form: Form) {
        state.withLock { $0.form = form }
        for _ in 0..<Self.piecesMax + 1 { granted.signal() }
    }

    /// The peer took a piece.
    func grant() { granted.signal() }

    /// The connection is gone.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        granted.signal()
    }

    // MARK: The reader

    /// Waits for the loop to want the data; nil when it never will.
    func waitForForm() -> Form? { waitForGrant() ? state.withLock { $0.form } : nil }

    /// Waits until another piece may be made; false when nobody wants it any more.
    func waitForGrant() -> Bool {
        granted.wait(atMost: Self.patience) && !isCancelled
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }
}
