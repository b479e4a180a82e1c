import Glibc
import Synchronization
package import Testing

/// Carries values from the threads of a loop to the test, which waits for them.
package final class Channel<Value: Sendable>: @unchecked Sendable {
    // Safe because: the values are behind a mutex, and a semaphore is made for several threads.
    private let values = Mutex<[Value]>([])
    private let available = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    package init() { sem_init(available, 0, 0) }

    deinit {
        sem_destroy(available)
        available.deallocate()
    }

    package func put(_ value: Value) {
        values.withLock { $0.append(value) }
        sem_post(available)
    }

    /// The next value; a test that waits for it in vain has failed.
    package func next(_ location: SourceLocation = #_sourceLocation) throws -> Value {
        var limit = timespec()
        clock_gettime(CLOCK_REALTIME, &limit)
        limit.tv_sec += Int(Patience.limit.components.seconds)
        while sem_timedwait(available, &limit) != 0 {
            try #require(errno == EINTR, "waited too long", sourceLocation: location)
        }
        return values.withLock { $0.removeFirst() }
    }

    package func next(_ count: Int, _ location: SourceLocation = #_sourceLocation) throws -> [Value] {
        try (0..<count).map { _ in try next(location) }
    }

    /// Received values that were not taken yet.
    package var waiting: [Value] { values.withLock { $0 } }
}
