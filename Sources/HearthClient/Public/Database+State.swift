import HearthClientTransport
import HearthClientSession

extension Database {
    /// Whether there is a connection, and if not, why.
    public enum ConnectionState: Hashable, Sendable {
        /// Offline on request: before ``Database/goOnline()`` if ``DatabaseOptions/startsOnline`` is false, after
        /// ``Database/goOffline()``, and after closing.
        case offline
        /// An attempt is under way.
        case connecting
        /// Connected, and signed in if there is a token.
        case connected
        /// The last attempt failed, or the connection was lost. The error gives the reason and what to do.
        case waiting(DatabaseError, retryAt: ContinuousClock.Instant)
        /// The server has refused this client. Only ``Database/goOnline()`` tries again.
        case refused(DatabaseError)
    }

    /// The state of the connection now.
    public var connectionState: ConnectionState { core.link.status.value.shown }

    /// The state of the connection, and the new one after each change. A slow reader skips states, but never the last
    /// one. Ends when the database is closed.
    ///
    ///     for await state in database.connectionStates {
    ///         if case .waiting(let error, _) = state { print("offline:", error) }
    ///     }
    public var connectionStates: some AsyncSequence<ConnectionState, Never> & Sendable {
        core.link.status.values().map { $0.shown }
    }

    // MARK: Pending writes

    /// The number of sets, updates and removals that the server has not answered yet, including those of an earlier
    /// process.
    public var pendingWriteCount: Int { core.pendingWriteCount.value }

    /// The number of pending writes, and the new one after each change. A slow reader skips numbers, but never the last
    /// one. Ends when the database is closed.
    public var pendingWriteCounts: some AsyncSequence<Int, Never> & Sendable { core.pendingWriteCount.values() }

    /// Waits until the server has accepted or refused all earlier writes, transactions and on-disconnect writes of this
    /// client, including pending writes of an earlier process.
    ///
    /// - parameter timeout: how long to wait before `timedOut` is thrown; nil for
    ///   ``DatabaseOptions/requestTimeout``.
    /// - throws: `connectionFailed` and `timedOut` as a write does; `cancelled`, `disconnected`.
    public func waitForPendingWrites(timeout: Duration? = nil) async throws(DatabaseError) {
        try await wait(hasOwnTimeout: timeout != nil) { (core, reply: Reply<Void, DatabaseError>) in
            core.waitForWrites(isAbandoned: { reply.isSettled }) { reply.settle(.success(())) }
            guard let timeout, !reply.isSettled else { return }
            core.loop.callLater(after: timeout) { [weak core] in
                let reason = core?.link.reasonForWaiting ?? ""
                reply.settle(.failure(.timedOut("writes are not answered within \(timeout)\(reason)")))
            }
        }
    }
}

extension Link.Status {
    fileprivate var shown: Database.ConnectionState {
        switch self {
        case .offline: .offline
        case .connecting: .connecting
        case .connected: .connected
        case .waiting(let error, let time): .waiting(error, retryAt: time)
        case .refused(let error): .refused(error)
        }
    }
}
