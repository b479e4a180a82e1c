import HearthDatabaseHost
import HearthDelivery
import HearthEventLoop
import HearthIdentity
import HearthRealtimeDatabase
import HearthStorageErrors
import Synchronization
import HearthSystem

/// The contexts of all loops. They are made after the database thread, which delivers to them.
final class LoopContexts: Sendable {
    private let contexts = Mutex<[LoopContext]>([])
    private let isRelieving = Atomic(false)

    func set(_ contexts: [LoopContext]) { self.contexts.withLock { $0 = contexts } }

    func context(of loop: EventLoop) -> LoopContext {
        let context = contexts.withLock { contexts in contexts.first { $0.loop === loop } }
        guard let context else { preconditionFailure("a stream of a foreign loop") }
        return context
    }

    var all: [LoopContext] { contexts.withLock { $0 } }

    /// Tells all loops that the server takes no more requests, and waits until they know. Not from an event loop.
    func beginStopping() {
        let known = Semaphore()
        for context in all {
            let isTold = context.loop.execute {
                context.beginStopping()
                known.signal()
            }
            if isTold { known.wait() }
        }
    }

    /// Asks a database something in the name of the server itself, after some milliseconds. Never waits.
    func ask(
        _ operation: Operation, of database: UInt32, as principal: Principal, after milliseconds: Int,
        then: @escaping @Sendable (Reply) -> Void
    ) {
        guard let context = self[0] else { return then(.failed(.unavailable(.stopping))) }
        let begin: @Sendable () -> Void = {
            context.ask(operation, of: database, as: principal) { then($0) }
        }
        let isTaken = context.loop.execute {
            if milliseconds == 0 { begin() } else { context.loop.schedule(after: .milliseconds(milliseconds), begin) }
        }
        if !isTaken { then(.failed(.unavailable(.stopping))) }
    }

    /// From the thread of the accounts.
    func revoke(_ revocations: [Revocation]) {
        for context in contexts.withLock({ $0 }) { context.loop.execute { context.revoke(revocations) } }
    }

    /// Ends a session or an event stream, if it is there.
    func end(_ connection: ConnectionID, reason: String) {
        guard let context = self[connection.loop] else { return }
        context.loop.execute { _ = context.end(connection, reason: reason) }
    }

    /// Ends a connection without an answer to what it has asked, if it is there.
    func abandon(_ connection: ConnectionID, reason: String) {
        guard let context = self[connection.loop] else { return }
        context.loop.execute { context.abandon(connection, reason: reason) }
    }

    /// The same for all connections that use a database.
    func abandonAll(using database: UInt32, reason: String) {
        for context in all { context.loop.execute { context.abandonAll(using: database, reason: reason) } }
    }

    /// Nil for a loop that is not there.
    subscript(loop: Int) -> LoopContext? {
        contexts.withLock { $0.indices.contains(loop) ? $0[loop] : nil }
    }

    /// Disconnects those for whom most waits, if more waits for all than may; from any thread.
    func relieve() {
        let all = self.all
        guard let memory = all.first?.loop.outbound, memory.isExceeded else { return }
        guard !isRelieving.exchange(true, ordering: .relaxed) else { return }
        all[0].askAllLoops({ $0.slowConnections }) { lists in
            // Below the limit, so that this does not come again at once.
            let chosen = SlowConnection.choose(lists, freeing: memory.bytesUsed - memory.bytesMax / 8 * 7)
            all[0].askAllLoops({ $0.shed(chosen) }) { _ in
                self.isRelieving.store(false, ordering: .relaxed)
                // Bytes that several connections hold are free only with the last of them.
                if !chosen.isEmpty { self.relieve() }
            }
        }
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
            if context.loop.outbound.isExceeded {
                // After what can be sent at once is sent, at the end of this turn.
                context.loop.execute { self.relieve() }
            }
        }
    }
}
