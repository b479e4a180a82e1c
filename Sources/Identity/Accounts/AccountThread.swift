import HearthStorageErrors
import Synchronization
import HearthSystem

/// The thread that owns the file of the accounts. All waiting jobs become one commit; answers are given when it is
/// durable.
final class AccountThread: Sendable {
    private enum Message: Sendable {
        case job(AccountJob)
        case news(SharedTurns.News)
    }

    private let worker: Worker<Message>

    /// - parameter capacity: how many requests may wait. News of other nodes does not count: it is not told again.
    /// - parameter isShared: several nodes have the same accounts: ``begin(_:)`` follows.
    /// - parameter observe: called on the thread with the revocations, after the answers to earlier requests.
    /// - parameter observeStorage: is told, on the thread, of each error of storage, and nil when a probe found none.
    init(
        _ file: AccountFile, capacity: Int = 4096, isShared: Bool = false,
        observe: @escaping @Sendable ([Revocation]) -> Void,
        observeStorage: @escaping @Sendable (StorageError?) -> Void = { _ in }
    ) throws(SystemError) {
        let address = Address()
        worker = try Worker(name: "accounts", capacity: capacity) {
            if isShared {
                return Self.sharedBody(file, address, observe: observe, observeStorage: observeStorage)
            }
            return { messages in
                let jobs = messages.compactMap { if case .job(let job) = $0 { job } else { nil } }
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
                // Observers that were told of a user without revocations hear of later ones.
                if !revocations.isEmpty { observe(revocations) }
            }
        }
        address.receiver.withLock { $0.post = { [weak worker] news in worker?.postBeyondCapacity(.news(news)) } }
    }

    private final class Address: Sendable {
        /// A function that a mutex holds by itself is wrapped once more whenever it is read.
        struct Receiver: Sendable {
            var post: @Sendable (SharedTurns.News) -> Void = { _ in }
        }

        let receiver = Mutex(Receiver())
    }

    private static func sharedBody(
        _ file: AccountFile, _ address: Address, observe: @escaping @Sendable ([Revocation]) -> Void,
        observeStorage: @escaping @Sendable (StorageError?) -> Void
    ) -> Worker<Message>.Body {
        let turns = SharedTurns(
            file, post: { news in address.receiver.withLock { $0.post }(news) }, observe: observe,
            observeStorage: observeStorage)
        return { messages in
            for message in messages {
                switch message {
                case .job(let job): turns.run([job])
                case .news(let news): turns.take(news)
                }
            }
            turns.goOn()
        }
    }

    /// Shares the accounts with other nodes from now on.
    func begin(_ sharing: any AccountSharing) { worker.postBeyondCapacity(.news(.begin(sharing))) }

    /// Calls `body`, on the thread, once the accounts of the cluster are here.
    func whenComplete(_ body: @escaping @Sendable () -> Void) {
        worker.postBeyondCapacity(.news(.tellCompletion(body)))
    }

    /// The log of the shared accounts may have more.
    func arrived() { worker.postBeyondCapacity(.news(.arrived)) }

    /// Refuses jobs that need other nodes from now on.
    func endSharing() { worker.postBeyondCapacity(.news(.end)) }

    /// Does the waiting jobs, and ends.
    func stop() { worker.stop() }

    /// Finds out whether accounts can be written, which `observeStorage` is told.
    func probe() {
        worker.post(.job(AccountJob(need: .nothing, isProbe: true, work: { $0.probe() }, finish: { _ in })))
    }

    /// Finds out whether the file is still there; `observeStorage` is told if it is not.
    func look() { worker.post(.job(AccountJob(need: .nothing, work: { _ in }, finish: { _ in }))) }

    /// Runs `body` on the thread, as a part of a transaction: when it throws, all it did is undone. `then` is called on
    /// the thread when the outcome is durable.
    func post<Outcome: Sendable>(
        needing need: AccountJob.Need = .newest,
        _ body: @escaping @Sendable (AccountFile) throws(AccountFailure) -> Outcome,
        then: @escaping @Sendable (Result<Outcome, AccountFailure>) -> Void
    ) {
        let outcome = Slot<Result<Outcome, AccountFailure>>()
        let job = AccountJob(need: need) { file in
            let result = Result { () throws(AccountFailure) in
                try file.part { () throws(AccountFailure) in try body(file) }
            }
            outcome.value.withLock { $0 = result }
        } finish: { failure in
            let result = outcome.value.withLock { $0 }
            then(failure.map { .failure(.storage($0)) } ?? result ?? .failure(.busy))
        }
        if !worker.post(.job(job)) { then(.failure(.busy)) }
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
