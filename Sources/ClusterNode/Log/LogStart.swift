import Synchronization

/// Whether a log has caught up since it was opened. Any thread.
final class LogStart: Sendable {
    enum State: Hashable, Sendable {
        case pending
        case following
        /// etcd does not have the log: the node waits for an operator.
        case lost
        /// It cannot, for this reason.
        case stuck(String)
    }

    private let current = Mutex(State.pending)

    var state: State { current.withLock { $0 } }

    func note(_ state: State) { current.withLock { if $0 == .pending { $0 = state } } }
}
