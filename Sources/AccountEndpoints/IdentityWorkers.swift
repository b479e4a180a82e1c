import Synchronization
import HearthSystem

/// Threads for requests about accounts, which wait for the disk, hash passwords and ask other servers. Each request
/// goes to the thread with the least to do; how much may wait is limited, also for each client (``ClientPlaces``).
final class IdentityWorkers: Sendable {
    private final class Thread: Sendable {
        let worker: Worker<@Sendable () -> Void>
        /// Work that is waiting or under way.
        let load = Atomic<Int>(0)

        init(name: String) throws(SystemError) {
            worker = try Worker(name: name, priority: .background) {
                { batch in
                    for work in batch { work() }
                }
            }
        }
    }

    private let threads: [Thread]
    private let capacity: Int
    private let places = Mutex(ClientPlaces())

    /// - parameter capacity: how much may wait for each thread.
    init(name: String, count: Int, capacity: Int) throws(SystemError) {
        var threads: [Thread] = []
        for _ in 0..<count { threads.append(try Thread(name: name)) }
        self.threads = threads
        self.capacity = capacity
    }

    /// False if there is too much to do already.
    ///
    /// - parameter client: the network address of the client; empty if it is not known.
    func post(for client: String, _ work: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = threads.min(by: { $0.load.load(ordering: .relaxed) < $1.load.load(ordering: .relaxed) }),
            thread.load.load(ordering: .relaxed) < capacity,
            places.withLock({ $0.take(for: client, of: capacity * threads.count) })
        else { return false }
        thread.load.add(1, ordering: .relaxed)
        return thread.worker.post {
            work()
            thread.load.subtract(1, ordering: .relaxed)
            self.places.withLock { $0.free(for: client) }
        }
    }

    /// Finishes posted work.
    func stop() { for thread in threads { thread.worker.stop() } }
}
