import Synchronization
import HearthClientSession

/// Changes on their way from the loop to the task that reads a listen. Any thread.
final class ChangeBuffer: Sendable {
    /// The result of putting a change in.
    enum Level {
        case normal
        /// More than `high` bytes wait since this change; `.drained` will tell when no longer.
        case high
        /// The change was not taken: too much waits.
        case overflow
    }

    /// The reading task's messages to the loop.
    enum News {
        /// Half of `high` or less waits again.
        case drained
        /// The reader has stopped.
        case abandoned
    }

    private typealias Outcome = Result<Change?, ConnectionError>

    private struct Entry {
        var change: Change
        /// After it in the order of commits, if the server says so.
        var position: [UInt8]?
    }

    private struct State {
        /// The oldest last.
        var outgoing: [Entry] = []
        /// Those after them, the oldest first.
        var incoming: [Entry] = []
        /// After everything that was taken out, and after everything that was put in.
        var position: [UInt8]?
        var lastPosition: [UInt8]?
        var byteCount = 0
        var isHigh = false
        var reader: CheckedContinuation<Outcome, Never>?
        /// The end, after the last change.
        var end: Outcome?
    }

    private let high: Int
    private let max: Int
    private let tell: @Sendable (News) -> Void
    private let state = Mutex(State())

    /// Sizes in bytes. `tell` is called by the reading task, or by the one that cancels it.
    init(high: Int, max: Int, tell: @escaping @Sendable (News) -> Void) {
        self.high = high
        self.max = max
        self.tell = tell
    }

    // MARK: The loop

    /// - parameter position: after the change.
    func put(_ change: Change, position: [UInt8]? = nil) -> Level {
        let (reader, level): (CheckedContinuation<Outcome, Never>?, Level) = state.withLock { state in
            if state.end != nil { return (nil, .normal) }
            if let reader = state.reader {
                state.reader = nil
                state.lastPosition = position ?? state.lastPosition
                state.position = state.lastPosition
                return (reader, .normal)
            }
            // One change may be larger than all that may wait.
            let byteCount = state.byteCount + change.byteCount
            if state.byteCount > 0, byteCount > max { return (nil, .overflow) }
            state.incoming.append(Entry(change: change, position: position))
            state.lastPosition = position ?? state.lastPosition
            state.byteCount = byteCount
            if state.isHigh || byteCount <= high { return (nil, .normal) }
            state.isHigh = true
            return (nil, .high)
        }
        reader?.resume(returning: .success(change))
        return level
    }

    /// The server has said everything up to a position.
    func reach(_ position: [UInt8]) {
        state.withLock { state in
            state.lastPosition = position
            if state.outgoing.isEmpty, state.incoming.isEmpty { state.position = position }
        }
    }

    /// Nothing follows the present contents, or only this error. The first call counts.
    func finish(_ error: ConnectionError? = nil) {
        let end: Outcome = error.map { .failure($0) } ?? .success(nil)
        let reader = state.withLock { state in
            if state.end == nil { state.end = end }
            // One that waits has read all there was, and so gets the end itself.
            if state.reader != nil { state.end = .success(nil) }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: end)
    }

    // MARK: The reading task

    /// After all changes that were read.
    var position: [UInt8]? { state.withLock { $0.position } }

    /// The next change; nil at the end, or when the task is cancelled. One task at a time.
    func next() async throws(ConnectionError) -> Change? {
        let outcome = await withTaskCancellationHandler {
            if let outcome = take() { return outcome }
            return await withCheckedContinuation { continuation in
                if let outcome = take(orWaitWith: continuation) { continuation.resume(returning: outcome) }
            }
        } onCancel: {
            finish()
            tell(.abandoned)
        }
        return try outcome.get()
    }

    /// Nil if there is nothing and, with a continuation, the task now waits.
    private func take(orWaitWith continuation: CheckedContinuation<Outcome, Never>? = nil) -> Outcome? {
        let (outcome, isDrained): (Outcome?, Bool) = state.withLock { state in
            if state.outgoing.isEmpty {
                state.outgoing = state.incoming.reversed()
                state.incoming.removeAll(keepingCapacity: state.incoming.capacity <= 1024)
            }
            guard let entry = state.outgoing.popLast() else {
                if let end = state.end {
                    // An error is told once.
                    state.end = .success(nil)
                    return (end, false)
                }
                if let continuation {
                    precondition(state.reader == nil, "two tasks read the changes of one listen")
                    state.reader = continuation
                }
                return (nil, false)
            }
            let isLast = state.outgoing.isEmpty && state.incoming.isEmpty
            state.position = (isLast ? state.lastPosition : nil) ?? entry.position ?? state.position
            state.byteCount -= entry.change.byteCount
            guard state.isHigh, state.byteCount <= high / 2 else { return (.success(entry.change), false) }
            state.isHigh = false
            return (.success(entry.change), true)
        }
        if isDrained { tell(.drained) }
        return outcome
    }
}
