import CHearthLinux
import Glibc
import Synchronization

/// A system thread with a name that tools show.
@usableFromInline package final class NamedThread: Sendable {
    private let handle: Mutex<pthread_t?>

    @usableFromInline package enum Priority: Sendable {
        /// For short work that every client waits for: it does not wait for the others' longer work.
        case prompt
        case normal
        /// For long work without waiting requests: other threads come first when there is not enough CPU time for all.
        case background
    }

    private final class Start: Sendable {
        let name: String
        let priority: Priority
        let body: @Sendable () -> Void

        init(name: String, priority: Priority, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.priority = priority
            self.body = body
        }
    }

    /// Starts a thread that runs `body` and ends with it. Linux keeps the first 15 bytes of the name. The system may
    /// refuse a priority higher than that of the thread that starts it, which then stays the same.
    @usableFromInline
    package init(
        name: String, priority: Priority = .normal, body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        var thread = pthread_t()
        let start = Unmanaged.passRetained(Start(name: name, priority: priority, body: body))
        let code = pthread_create(&thread, nil, NamedThread.main, start.toOpaque())
        if code != 0 {
            start.release()
            throw SystemError("start thread \(name)", code: code)
        }
        handle = Mutex(thread)
    }

    /// Waits for the thread's end. Any number of threads may wait, any number of times.
    package func join() {
        handle.withLock { thread in
            guard let running = thread else { return }
            precondition(pthread_equal(running, pthread_self()) == 0, "a thread cannot wait for itself")
            pthread_join(running, nil)
            thread = nil
        }
    }

    deinit {
        handle.withLock { if let running = $0 { pthread_detach(running) } }
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        linux_set_thread_name(start.name)
        switch start.priority {
        case .prompt: linux_set_priority(0, true)
        case .normal: linux_set_priority(0, false)
        case .background: linux_set_priority(4, false)
        }
        start.body()
        return nil
    }
}
