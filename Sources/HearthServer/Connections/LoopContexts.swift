import EventLoop
import Identity
import RealtimeDatabase
import Synchronization

/// The contexts of all loops. They are made after the database thread, which delivers to them.
final class LoopContexts: Sendable {
    private let contexts = Mutex<[LoopContext]>([])

    func set(_ contexts: [LoopContext]) { self.contexts.withLock { $0 = contexts } }

    func context(of loop: EventLoop) -> LoopContext {
        let context = contexts.withLock { contexts in contexts.first { $0.loop === loop } }
        guard let context else { preconditionFailure("a stream of a foreign loop") }
        return context
    }

    var all: [LoopContext] { contexts.withLock { $0 } }

    /// From the thread of the accounts.
    func revoke(_ revocations: [Revocation]) {
        for context in contexts.withLock({ $0 }) { context.loop.execute { context.revoke(revocations) } }
    }

    /// Nil for a loop that is not there.
    subscript(loop: Int) -> LoopContext? {
        contexts.withLock { $0.indices.contains(loop) ? $0[loop] : nil }
    }

    /// From a thread that streams a large read.
    func deliver(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        let context = contexts.withLock { $0[stream.read.connection.loop] }
        context.loop.execute { context.deliver(piece, of: stream) }
    }

    /// From the database thread; costs one wake-up of the loop.
    func deliver(_ delivery: LoopDelivery, to loop: Int) {
        let context = contexts.withLock { $0[loop] }
        context.loop.execute {
            context.deliver(delivery)
            context.services.databases.delivered(delivery.backlogBytes)
        }
    }
}
