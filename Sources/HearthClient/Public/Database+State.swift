import HearthClientTransport
import HearthClientSession

extension Database {
    /// Whether there is a connection, and if not, why.
    public enum ConnectionState: Hashable, Sendable {
        /// No connection is wanted: before ``Database/goOnline()`` with ``DatabaseOptions/startsOnline`` off, after
        /// ``Database/goOffline()``, and at the end.
        case offline
        /// An attempt is under way.
        case connecting
        /// Connected, and signed in if there is somebody to sign in.
        case connected
        /// The last attempt failed, or the connection was lost. The error says why and what to do.
        case waiting(DatabaseError, retryAt: ContinuousClock.Instant)
        /// The server has sent this client away. Only ``Database/goOnline()`` tries again.
        case refused(DatabaseError)
    }

    /// The state of the connection now.
    public var connectionState: ConnectionState { core.connectionState.value }

    /// The state of the connection, and the new one after each change. A slow reader skips states, but never the last
    /// one. Ends when the database is closed.
    ///
    ///     for await state in database.connectionStates {
    ///         if case .waiting(let error, _) = state { print("offline:", error) }
    ///     }
    public var connectionStates: some AsyncSequence<ConnectionState, Never> & Sendable {
        core.connectionState.values()
    }

    // MARK: Pending writes

    /// How many sets, updates and removals the server has not answered yet, those of an earlier process included.
    public var pendingWriteCount: Int { core.pendingWriteCount.value }

    /// The number of pending writes, and the new one after each change. A slow reader skips numbers, but never the last
    /// one. Ends when the database is closed.
    public var pendingWriteCounts: some AsyncSequence<Int, Never> & Sendable { core.pendingWriteCount.values() }

    /// Waits until the server has answered all writes, transactions and on-disconnect writes that were made before by
    /// this client, whether it agreed or not. Writes that an earlier process left count as well.
    ///
    /// - parameter timeout: how long to wait before `timedOut` is thrown; nil for
    ///   ``DatabaseOptions/requestTimeout``.
    /// - throws: `connectionFailed` and `timedOut` as a write does; `cancelled`, `disconnected`.
    public func waitForPendingWrites(timeout: Duration? = nil) async throws(DatabaseError) {
        try await wait { (core, reply: Reply<Void, DatabaseError>) in
            core.waitForWrites { reply.settle(.success(())) }
            guard let timeout, !reply.isSettled else { return }
            core.loop.callLater(after: timeout) { [weak core] in
                let reason = core?.link.reasonForWaiting ?? ""
                reply.settle(.failure(.timedOut("writes are not answered within \(timeout)\(reason)")))
            }
        }
    }

    /// Writes that the server refuses, for programs that do not look at each completion. Writes of an earlier process
    /// (``DatabaseOptions/persistenceFile``), which have no completion, are told as well. Until the first loop over
    /// this sequence begins, the last 1000 are kept for it. Ends when the database is closed.
    public var refusedWrites: some AsyncSequence<RefusedWrite, Never> & Sendable {
        core.refusedWrites.values().map { [self] refusal in
            let references = refusal.paths.map { path in
                DatabaseReference(database: self, place: .success(DatabasePlace(path: path)))
            }
            return RefusedWrite(references: references, error: refusal.error, isRestored: refusal.isRestored)
        }
    }
}

/// A write that the server has refused. It is no longer shown to observers.
public struct RefusedWrite: Sendable {
    /// The locations that it would have changed: one for a set, one or more for an update.
    public let references: [DatabaseReference]
    /// Why the server refused it.
    public let error: DatabaseError
    /// Whether an earlier process made it.
    public let isRestored: Bool
}
