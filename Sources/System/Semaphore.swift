import CHearthLinux
import Glibc

/// Lets one thread wait for another. Not for event loops, which never wait.
@usableFromInline package final class Semaphore: @unchecked Sendable {
    // Safe because: a POSIX semaphore is made for use by many threads, and its memory is allocated apart, so its
    // address never changes.
    private let semaphore: UnsafeMutablePointer<sem_t>

    @usableFromInline package init(value: UInt32 = 0) {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, value)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    @usableFromInline package func signal() { sem_post(semaphore) }

    /// False if the time is up without a signal. Changes of the time of day make no difference.
    package func wait(atMost limit: Duration) -> Bool {
        linux_semaphore_wait(semaphore, (MonotonicTime.current + limit).nanoseconds) == 0
    }

    @usableFromInline package func wait() { while sem_wait(semaphore) != 0 {} }
}
