import HearthClientTransport

/// An action that waits for its time in a network.
final class MemoryTimer: ClientTimer, @unchecked Sendable {
    // Safe because: `action` changes in the network's order alone.

    private let network: MemoryNetwork
    /// Orders timers of one deadline.
    let number: Int
    let deadline: Duration
    /// Time moves on to it by itself.
    let isSkipped: Bool
    private var action: MemoryEvent?

    init(_ network: MemoryNetwork, number: Int, deadline: Duration, isSkipped: Bool, action: MemoryEvent) {
        self.network = network
        self.number = number
        self.deadline = deadline
        self.isSkipped = isSkipped
        self.action = action
    }

    func fire() {
        let last = action
        action = nil
        last?.run()
    }

    func cancel() {
        network.cancel(self)
        action = nil
    }
}
