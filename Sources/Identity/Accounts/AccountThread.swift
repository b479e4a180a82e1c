import HearthStorageErrors
import Synchronization
import HearthSystem

/// The thread that owns the file of the accounts. What waits when it has time becomes one commit; answers are given
/// when it is durable.
final class AccountThread: Sendable {
    private struct Job: Sendable {
        /// Does the work, and undoes it if it fails.
        let work: @Sendable (AccountFile) -> Void
        /// Tells the waiting caller: nil, or why the commit failed.
        let finish: @Sendable (StorageError?) -> Void
        var isProbe = false
    }

    private let worker: Worker<Job>

    /// - parameter capacity: how many pieces of work may wait.
    /// - parameter observe: is told, on the thread, what was taken away from users, after the answers to what was
    ///   asked before.
    /// - parameter observeStorage: is told, on the thread, of each error of storage, and nil when a probe found none.
    init(
        _ file: AccountFile, capacity: Int = 4096, observe: @escaping @Sendable ([Revocation]) -> Void,
        observeStorage: @escaping @Sendable (StorageError?) -> Void = { _ in }
    ) throws(SystemError) {
        worker = try Worker(name: "accounts", capacity: capacity) {
            { jobs in
                var failure: StorageError?
                defer {
                    let error = file.takeFailure()
                    if error != nil || jobs.contains(where: \.isProbe) { observeStorage(error) }
                }
                var revocations: [Revocation] = []
                do throws(StorageError) {
                    revocations = try file.transaction {
                        for job in jobs { job.work(file) }
                    }
                } catch {
                    failure = error
                }
                for job in jobs { job.finish(failure) }
                // Whoever was told of a user that nothing is lost hears that something is behind it.
                if !revocations.isEmpty { observe(revocations) }
            }
        }
    }

    /// Does what waits, and ends.
    func stop() { worker.stop() }

    /// Finds out whether accounts can be written, which `observeStorage` is told.
    func probe() { worker.post(Job(work: { $0.probe() }, finish: { _ in }, isProbe: true)) }

    /// Finds out whether the file is still there; `observeStorage` is told if it is not.
    func look() { worker.post(Job(work: { _ in }, finish: { _ in })) }

    /// Runs `body` on the thread, as a part of a transaction: when it throws, all it did is undone. `then` is called on
    /// the thread when the outcome is durable.
    func post<Outcome: Sendable>(
        _ body: @escaping @Sendable (AccountFile) throws(AccountFailure) -> Outcome,
        then: @escaping @Sendable (Result<Outcome, AccountFailure>) -> Void
    ) {
        let outcome = Slot<Result<Outcome, AccountFailure>>()
        let job = Job { file in
            let result = Result { () throws(AccountFailure) in
                try file.part { () throws(AccountFailure) in try body(file) }
            }
            outcome.value.withLock { $0 = result }
        } finish: { failure in
            let result = outcome.value.withLock { $0 }
            then(failure.map { .failure(.storage($0)) } ?? result ?? .failure(.busy))
        }
        if !worker.post(job) { then(.failure(.busy)) }
    }

    /// As `post`, and waits. Not from an event loop.
    func run<Outcome: Sendable>(
        _ body: @escaping @Sendable (AccountFile) throws(AccountFailure) -> Outcome
    ) throws(AccountFailure) -> Outcome {
        let outcome = Slot<Result<Outcome, AccountFailure>>()
        let done = Semaphore()
        post(body) { result in
            outcome.value.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        guard let result = outcome.value.withLock({ $0 }) else { throw .busy }
        return try result.get()
    }

    private final class Slot<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
