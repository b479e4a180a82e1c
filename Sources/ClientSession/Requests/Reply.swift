import Synchronization

/// A result that one task waits for. The loop or the cancellation of the task provides it. The first one counts. Any
/// thread.
package final class Reply<Value: Sendable, Failure: Error>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Result<Value, Failure>, Never>)
        case settled(Result<Value, Failure>)
        case taken
    }

    private let state = Mutex(State.open)
    private let cancelled: Failure

    /// - parameter cancelled: the error for a task that is cancelled while it waits.
    package init(cancelled: Failure) { self.cancelled = cancelled }

    /// Whether a result is no longer wanted, or already there.
    package var isSettled: Bool {
        state.withLock { state in
            switch state {
            case .open, .awaited: false
            case .settled, .taken: true
            }
        }
    }

    /// Provides the result. Without effect when there is one.
    package func settle(_ result: Result<Value, Failure>) {
        let waiting: CheckedContinuation<Result<Value, Failure>, Never>? = state.withLock { state in
            switch state {
            case .open:
                state = .settled(result)
                return nil
            case .awaited(let continuation):
                state = .taken
                return continuation
            case .settled, .taken: return nil
            }
        }
        waiting?.resume(returning: result)
    }

    /// Waits for the result; once.
    package func value() async throws(Failure) -> Value {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let settled: Result<Value, Failure>? = state.withLock { state in
                    if case .settled(let result) = state {
                        state = .taken
                        return result
                    }
                    state = .awaited(continuation)
                    return nil
                }
                if let settled { continuation.resume(returning: settled) }
            }
        } onCancel: {
            settle(.failure(cancelled))
        }
        return try result.get()
    }
}

extension Reply where Failure == ConnectionError {
    package convenience init() { self.init(cancelled: .cancelled) }
}
