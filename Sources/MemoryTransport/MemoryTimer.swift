import HearthClientTransport

/// An action that waits for its time in a network.
final class MemoryTimer: ClientTimer, @unchecked Sendable {
    // Safe because: `action` changes in the network's order alone.

    /// Orders timers of one deadline.
    let number: Int
    let deadline: Duration
    /// Time moves on to it by itself.
    let isSkipped: Bool
    private var action: MemoryEvent?
    private let remove: (MemoryTimer) -> Void

    /// - parameter remove: forgets the timer.
    init(
        number: Int, deadline: Duration, isSkipped: Bool, action: MemoryEvent,
        remove: @escaping (MemoryTimer) -> Void
    ) {
        self.number = number
        self.deadline = deadline
        self.isSkipped = isSkipped
        self.action = action
        self.remove = remove
    }

    func fire() {
        let last = action
        action = nil
        last?.run()
    }

    func cancel() {
        remove(self)
        action = nil
    }
}
