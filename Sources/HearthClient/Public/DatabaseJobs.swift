import HearthClientSession
import HearthClientTransport
import HearthJSONTree
import HearthPlatform
import HearthWireProtocol
import Synchronization

extension DatabaseReference {
    /// The jobs of the queue here, one after the other, as the server hands them to this worker. Jobs are the children
    /// of `jobs`, which any client adds; the settings of the database make a location a queue.
    ///
    ///     for try await job in database.reference(withPath: "mail").jobs() {
    ///         let letter = try job.data(as: Letter.self)
    ///         do { try await send(letter) } catch {
    ///             try await job.fail("\(error)")
    ///             continue
    ///         }
    ///         try await job.done()
    ///     }
    ///
    /// The loop waits while there is no job, and for a connection if there is none. It ends with its task. A worker has
    /// a job until it ends it; meanwhile its lease is extended by itself, also after a reconnection. If a worker dies,
    /// its job goes to another one. To work on several jobs at once, run several loops, or a task for each job.
    ///
    /// - parameter lease: for how long a worker that says nothing keeps its job, from a second to 12 hours. By default
    ///   what the settings say.
    public func jobs(lease: Duration? = nil) -> DatabaseJobs { DatabaseJobs(queue: self, lease: lease) }
}

/// The jobs of a queue for one worker (``DatabaseReference/jobs(lease:)``).
public struct DatabaseJobs: AsyncSequence, Sendable {
    /// A job that this worker has.
    public typealias Element = DatabaseJob
    /// Why the loop ends.
    public typealias Failure = DatabaseError

    fileprivate let queue: DatabaseReference
    fileprivate let lease: Duration?

    /// Begins a loop. Nothing is asked for before its first job is.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: queue, lease: lease) }

    /// One loop over the jobs.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let queue: DatabaseReference
        fileprivate let lease: Duration?

        /// Milliseconds for which the server looks for a job before it answers that there is none.
        private static let wait: Int64 = 30_000

        /// The next job; nil when the task is cancelled.
        ///
        /// - throws: `permissionDenied` if the rules do not let this user work here, `refused` if there is no queue
        ///   here or the server knows none, `disconnected` once the database is closed.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DatabaseError) -> DatabaseJob? {
            let path = try queue.writablePath()
            let milliseconds = lease?.milliseconds
            while !Task.isCancelled {
                let reply = Reply<JobHold?, DatabaseError>()
                // A worker waits for a connection however long it takes.
                let isPosted = queue.database.run { [weak database = queue.database] core in
                    core.claim(from: path, lease: milliseconds, wait: Self.wait, isAbandoned: { reply.isSettled }) {
                        // The lease is extended from here on, however long the worker's task takes to go on. A job
                        // that nobody takes goes back with its hold.
                        reply.settle(
                            $0.map { job in
                                guard let job, let database else { return nil }
                                return .keeping(job, database, milliseconds)
                            })
                    }
                }
                if !isPosted { throw .closed }
                do throws(DatabaseError) {
                    guard let hold = try await reply.value() else { continue }
                    return try await Self.job(hold, of: queue)
                } catch .cancelled {
                    return nil
                }
            }
            return nil
        }

        private static func job(
            _ hold: JobHold, of queue: DatabaseReference
        ) async throws(DatabaseError) -> DatabaseJob {
            let ref = queue.child("jobs").child(hold.job.key)
            if let value = hold.job.value { return DatabaseJob(DataSnapshot(Node(value), at: ref), hold) }
            // A job that cannot be read goes back with its hold.
            return DatabaseJob(try await ref.getData(), hold)
        }
    }
}

/// A job that this worker has. Its lease is extended until it ends with ``done(updating:)``, ``fail(_:retryAfter:)``,
/// ``giveUp(_:)`` or ``release()``. One that nothing refers to any more is given back.
public final class DatabaseJob: Sendable {
    /// What the job says.
    public let snapshot: DataSnapshot
    /// How often it was handed out, this time included.
    public var attempts: Int { hold.job.attempts }
    private let hold: JobHold

    fileprivate init(_ snapshot: DataSnapshot, _ hold: JobHold) { (self.snapshot, self.hold) = (snapshot, hold) }

    /// The key of the job.
    public var key: String { hold.job.key.description }

    /// What the job says, as a value.
    public var value: DatabaseValue { snapshot.value }

    /// What the job says, decoded.
    public func data<Value: Decodable>(as type: Value.Type) throws(DatabaseError) -> Value {
        try snapshot.data(as: type)
    }

    /// Whether it is still this worker's, as far as is known here. It is not after it has ended, or if the worker could
    /// not extend its lease in time.
    public var isHeld: Bool { hold.isHeld }

    /// Ends the job: it is removed, and these locations are set in the same commit, or nothing of that happens. So what
    /// a job makes of the database is made once, even if two workers have come to do it.
    ///
    /// - parameter values: by paths from the root.
    /// - throws: `refused` with the status `lease_lost` or `job_gone` if the job is not this worker's any more;
    ///   `permissionDenied` if the rules do not allow the update, and `refused` with the status `too_big` if it is too
    ///   large (Protocol.md 18.4): then the job goes on.
    public func done(updating values: [String: DatabaseValue] = [:]) async throws(DatabaseError) {
        var writes: [WireAssignment] = []
        if !values.isEmpty, case .update(_, let assignments) = try snapshot.ref.root.updating(values) {
            writes = assignments
        }
        try await hold.end(.done(hold.job.key, claim: hold.job.claim, writes))
    }

    /// The job has failed. It waits, for this time or as long as the settings say, and is handed out again; after its
    /// last attempt it becomes a child of `dead`.
    public func fail(_ error: String, retryAfter delay: Duration? = nil) async throws(DatabaseError) {
        try await hold.end(
            .fail(
                hold.job.key, claim: hold.job.claim, error: Array(error.utf8),
                delay.map { .after($0.milliseconds) } ?? .later))
    }

    /// The job can never succeed: it becomes a child of `dead`.
    public func giveUp(_ error: String) async throws(DatabaseError) {
        try await hold.end(.fail(hold.job.key, claim: hold.job.claim, error: Array(error.utf8), .never))
    }

    /// Gives the job back, as if it had not been handed out.
    public func release() async throws(DatabaseError) {
        try await hold.end(.giveBack(hold.job.key, claim: hold.job.claim))
    }
}

/// The lease of a job. The job goes back when nothing refers to this, unless it has ended.
private final class JobHold: Sendable {
    private enum State {
        case held
        /// Its end is being asked for.
        case ending
        case over
    }

    let job: ClaimedJob
    private let database: Database
    private let lease: Int64?
    private let state = Mutex(State.held)
    /// How often the lease is extended, in milliseconds: three times before it ends.
    private let pause: Int64

    private init(_ job: ClaimedJob, _ database: Database, _ lease: Int64?) {
        self.job = job
        self.database = database
        self.lease = lease
        let left = job.until - WallClock.milliseconds - database.core.clockOffset
        pause = min(max(300, left / 3), 3_600_000)
    }

    deinit {
        guard state.withLock({ $0 }) == .held else { return }
        database.run { [job] core in core.finish(job, .giveBack(job.key, claim: job.claim)) { _ in } }
    }

    var isHeld: Bool { state.withLock { $0 } != .over }

    /// A lease that is extended from time to time.
    static func keeping(_ job: ClaimedJob, _ database: Database, _ lease: Int64?) -> JobHold {
        let hold = JobHold(job, database, lease)
        database.run { [weak hold] core in keep(hold, core) }
        return hold
    }

    private static func keep(_ hold: JobHold?, _ core: DatabaseCore) {
        guard let hold else { return }
        core.loop.callLater(after: .milliseconds(hold.pause)) { [weak hold, weak core] in
            guard let hold, let core, hold.isHeld, !core.isClosed else { return }
            let job = hold.job
            core.outgoing.add(.job(job.queue, .extend(job.key, claim: job.claim, lease: hold.lease)), .question) {
                [weak hold, weak core] result in
                guard let hold, let core else { return }
                if case .failure(.refused("lease_lost", _)) = result { return hold.lose() }
                if case .failure(.refused("job_gone", _)) = result { return hold.lose() }
                keep(hold, core)
            }
        }
    }

    private func lose() { state.withLock { if $0 == .held { $0 = .over } } }

    func end(_ request: JobRequest) async throws(DatabaseError) {
        let isHeld = state.withLock { state in
            guard state == .held else { return false }
            state = .ending
            return true
        }
        guard isHeld else { throw .refused(status: "lease_lost", message: "the job is not this worker's any more") }
        let reply = Reply<Void, DatabaseError>()
        // A worker that is told to stop still says what became of its job.
        let isPosted = database.run { core in
            core.finish(self.job, request) { result in
                self.state.withLock {
                    switch result {
                    case .failure(.permissionDenied), .failure(.refused("too_big", _)): $0 = .held
                    default: $0 = .over
                    }
                }
                reply.settle(result)
            }
        }
        if !isPosted { throw .closed }
        try await reply.value()
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
