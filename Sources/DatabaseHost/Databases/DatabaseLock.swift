import Synchronization

/// Guards the databases. Their thread holds it in each turn. While that thread is at rest, an event loop may hold it
/// for a moment; a loop does not wait for it.
final class DatabaseLock: @unchecked Sendable {
    // Safe because: it is used only while `lock` is held. Weak, because it holds the loops, which hold this; its thread
    // keeps it for as long as that runs.
    private weak var databases: HostedDatabases?
    private let lock = Mutex(())

    /// From the databases' thread, before anything else.
    func begin(_ databases: HostedDatabases) { lock.withLock { _ in self.databases = databases } }

    /// From the databases' thread.
    func hold(_ body: () -> Void) { lock.withLock { _ in body() } }

    /// From any other thread. Nil if the databases are in use.
    func useIfFree<Result: Sendable>(_ body: (HostedDatabases) -> Result?) -> Result? {
        lock.withLockIfAvailable { _ in databases.flatMap(body) } ?? nil
    }
}
