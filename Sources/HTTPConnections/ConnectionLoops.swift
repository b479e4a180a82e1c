package import HearthAdministration
import HearthDatabaseHost
package import HearthDelivery
package import HearthEventLoop
package import HearthIdentity
package import HearthRealtimeDatabase
import HearthRealtimeSessions
import HearthStorageErrors
import HearthSystem
import Synchronization

/// The connections of all loops. Those are made after the database thread, which delivers to them.
package final class ConnectionLoops: Sendable {
    private let loops = Mutex<[ConnectionLoop]>([])
    private let isRelieving = Atomic(false)

    package init() {}

    package func set(_ loops: [ConnectionLoop]) { self.loops.withLock { $0 = loops } }

    /// Takes a connection that a listener has accepted.
    package func accept(_ stream: Stream, as role: ListenerRole) -> any StreamHandler {
        let connections = loops.withLock { loops in loops.first { $0.loop === stream.loop } }
        guard let connections else { preconditionFailure("a stream of a foreign loop") }
        return connections.accept(stream, as: role)
    }

    package var all: [ConnectionLoop] { loops.withLock { $0 } }

    /// Tells all loops that the server takes no more requests, and waits until they know. Not from an event loop.
    package func beginStopping() {
        let known = Semaphore()
        for connections in all {
            let isTold = connections.loop.execute {
                connections.beginStopping()
                known.signal()
            }
            if isTold { known.wait() }
        }
    }

    /// Asks a database something in the name of the server itself, after some milliseconds. Never waits.
    package func ask(
        _ operation: Operation, of database: UInt32, as principal: Principal, after milliseconds: Int,
        then: @escaping @Sendable (Reply) -> Void
    ) {
        guard let connections = self[0] else { return then(.failed(.unavailable(.stopping))) }
        let begin: @Sendable () -> Void = {
            connections.shared.ask(operation, of: database, as: principal) { then($0) }
        }
        let isTaken = connections.loop.execute {
            if milliseconds == 0 {
                begin()
            } else {
                connections.loop.schedule(after: .milliseconds(milliseconds), begin)
            }
        }
        if !isTaken { then(.failed(.unavailable(.stopping))) }
    }

    /// From the thread of the accounts.
    package func revoke(_ revocations: [Revocation]) {
        for connections in loops.withLock({ $0 }) { connections.loop.execute { connections.revoke(revocations) } }
    }

    /// Ends a session or an event stream, if it is there.
    package func end(_ connection: ConnectionID, reason: String) {
        guard let connections = self[connection.loop] else { return }
        connections.loop.execute { _ = connections.end(connection, reason: reason) }
    }

    /// Ends a connection without an answer to its requests, if it exists.
    package func abandon(_ connection: ConnectionID, reason: String) {
        guard let connections = self[connection.loop] else { return }
        connections.loop.execute { connections.abandon(connection, reason: reason) }
    }

    /// The same for all connections that use a database.
    package func abandonAll(using database: UInt32, reason: String) {
        for connections in all { connections.loop.execute { connections.abandonAll(using: database, reason: reason) } }
    }

    /// Nil for a loop that is not there.
    package subscript(loop: Int) -> ConnectionLoop? {
        loops.withLock { $0.indices.contains(loop) ? $0[loop] : nil }
    }

    /// Asks every loop, and continues with the answers on the thread of the last one.
    func askAll<Answer: Sendable>(
        _ question: @escaping @Sendable (ConnectionLoop) -> Answer, then: @escaping @Sendable ([Answer]) -> Void
    ) {
        let all = self.all
        let box = Gathering<Answer>(expected: all.count)
        for connections in all {
            connections.loop.execute {
                if let answers = box.add(question(connections)) { then(answers) }
            }
        }
    }

    /// Administrators' access to the connections.
    package var connected: ConnectedClients {
        ConnectedClients { [weak self] limit, then in
            self?.askAll({ $0.report(limit: limit) }, then: then)
        } metrics: { [weak self] then in
            self?.askAll({ $0.metricsReport }, then: then)
        } end: { [weak self] id, reason, then in
            guard let connections = self?[id.loop] else { return false }
            connections.loop.execute { then(connections.end(id, reason: reason)) }
            return true
        }
    }

    /// Disconnects those for whom most waits, if more waits for all than may; from any thread.
    package func relieve() {
        let all = self.all
        guard let memory = all.first?.loop.outbound, memory.isExceeded else { return }
        guard !isRelieving.exchange(true, ordering: .relaxed) else { return }
        askAll({ $0.slowConnections }) { lists in
            // Below the limit, so that this does not come again at once.
            let chosen = SlowConnection.choose(lists, freeing: memory.bytesUsed - memory.bytesMax / 8 * 7)
            self.askAll({ $0.shed(chosen) }) { _ in
                self.isRelieving.store(false, ordering: .relaxed)
                // Bytes that several connections hold are free only with the last of them.
                if !chosen.isEmpty { self.relieve() }
            }
        }
    }

    /// From a thread that streams a large read.
    package func deliver(_ piece: SnapshotStream.Piece, of stream: SnapshotStream) {
        let connections = loops.withLock { $0[stream.read.connection.loop] }
        connections.loop.execute { connections.deliver(piece, of: stream) }
    }

    /// From the database thread; costs one wake-up of the loop.
    package func deliver(_ delivery: LoopDelivery, to index: Int) {
        let connections = loops.withLock { $0[index] }
        connections.loop.execute {
            connections.deliver(delivery)
            connections.services.databases.delivered(delivery.backlogBytes)
            if connections.loop.outbound.isExceeded {
                // After the writes at the end of this turn.
                connections.loop.execute { self.relieve() }
            }
        }
    }
}

extension ConnectionLoops: ConnectionMover {
    package func move(_ stream: Stream, to loop: Int, _ request: MovingRequest) -> Bool {
        guard let other = self[loop] else { return false }
        stream.move(to: other.loop) { other.take($0, request) }
        return true
    }
}

/// Answers that come from several threads.
private final class Gathering<Answer: Sendable>: Sendable {
    private let answers = Mutex<[Answer]>([])
    private let expected: Int

    init(expected: Int) { self.expected = expected }

    /// All of them, once the last one is there.
    func add(_ answer: Answer) -> [Answer]? {
        answers.withLock { answers in
            answers.append(answer)
            return answers.count == expected ? answers : nil
        }
    }
}
