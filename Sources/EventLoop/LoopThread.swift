import Glibc
import Synchronization

/// The thread that runs a loop. Any thread may ask.
final class LoopThread: Sendable {
    private let running = Atomic<pthread_t>(0)

    var isCurrent: Bool { running.load(ordering: .relaxed) == pthread_self() }

    func assertIsCurrent() { assert(isCurrent, "used outside of its loop's thread") }

    /// The calling thread is the one until `body` returns.
    func run(_ body: () -> Void) {
        running.store(pthread_self(), ordering: .relaxed)
        defer { running.store(0, ordering: .relaxed) }
        body()
    }
}
