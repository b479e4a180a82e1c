import HearthClientSession
import HearthClientTransport
import HearthJSONTree
import HearthWireProtocol
import Synchronization

extension DatabaseReference {
    /// The jobs of the queue at this location, in the order in which the server assigns them to this worker. Jobs are
    /// the children of `jobs`, which any client adds; the settings of the database make a location a queue.
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
    /// The loop waits for a job, and for a connection if there is none. It ends with its task. A worker holds a job
    /// until it ends the job; until then the lease is extended automatically, also after a reconnection. If a worker
    /// dies, its job goes to another one. To work on several jobs at once, run several loops, or a task for each job.
    ///
    /// - parameter lease: how long a silent worker keeps its job, from one second to 12 hours. The default is in the
    ///   settings.
    public func jobs(lease: Duration? = nil) -> DatabaseJobs { DatabaseJobs(queue: self, lease: lease) }
}

/// The jobs of a queue for one worker (``DatabaseReference/jobs(lease:)``).
public struct DatabaseJobs: AsyncSequence, Sendable {
    /// A job that this worker holds.
    public typealias Element = DatabaseJob
    /// Why the loop ends.
    public typealias Failure = DatabaseError

    fileprivate let queue: DatabaseReference
    fileprivate let lease: Duration?

    /// Begins a loop. Requests nothing until its first job is read.
    public func makeAsyncIterator() -> Iterator { Iterator(queue: queue, lease: lease) }

    /// One loop over the jobs.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let queue: DatabaseReference
        fileprivate let lease: Duration?

        /// Milliseconds for which the server waits for a job before it answers that there is none.
        private static let wait: Int64 = 30_000

        /// The next job; nil when the task is cancelled.
        ///
        /// - throws: `permissionDenied` if the rules do not allow this user to work here, `refused` if the location is
        ///   not a queue or the server does not support queues, `disconnected` once the database is closed.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(DatabaseError) -> DatabaseJob? {
            let path = try queue.writablePath()
            let milliseconds = lease?.milliseconds
            while !Task.isCancelled {
                let reply = Reply<JobHold?, DatabaseError>()
                // A worker waits for a connection without a time limit.
                let isPosted = queue.database.run { [weak database = queue.database] core in
                    core.claim(from: path, lease: milliseconds, wait: Self.wait, isAbandoned: { reply.isSettled }) {
                        // The lease is extended from here on, even if the worker's task resumes late. A job that is not
                        // taken is released with its hold.
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
            // An unreadable job is released with its hold.
            return DatabaseJob(try await ref.getData(), hold)
        }
    }
}

/// A job that this worker holds. Its lease is extended until it ends with ``done(updating:)``, ``fail(_:retryAfter:)``,
/// ``giveUp(_:)`` or ``release()``. A job that is no longer referenced is given back.
public final class DatabaseJob: Sendable {
    /// The job's data.
    public let snapshot: DataSnapshot
    /// The number of times that it was assigned, including this one.
    public var attempts: Int { hold.job.attempts }
    private let hold: JobHold

    fileprivate init(_ snapshot: DataSnapshot, _ hold: JobHold) { (self.snapshot, self.hold) = (snapshot, hold) }

    /// The key of the job.
    public var key: String { hold.job.key.description }

    /// The job's data, as a value.
    public var value: DatabaseValue { snapshot.value }

    /// The job's data, decoded.
    public func data<Value: Decodable>(as type: Value.Type) throws(DatabaseError) -> Value {
        try snapshot.data(as: type)
    }

    /// Whether this worker still holds it, as far as this client knows. False after the job has ended, or if its lease
    /// could not be extended in time.
    public var isHeld: Bool { hold.isHeld }

    /// Ends the job: one commit removes it and sets these locations, or nothing happens. So the result of a job is
    /// written once, even if two workers did it.
    ///
    /// - parameter values: by paths from the root.
    /// - throws: `refused` with the status `lease_lost` or `job_gone` if this worker no longer holds the job;
    ///   `disconnected` if the database is closed. After any other error the worker still holds the job:
    ///   `permissionDenied` if the rules deny the update, `rateExceeded`, `refused` with the status `too_big` if it is
    ///   too large (Protocol.md 18.4), …
    public func done(updating values: [String: DatabaseValue] = [:]) async throws(DatabaseError) {
        var writes: [WireAssignment] = []
        if !values.isEmpty, case .update(_, let assignments) = try snapshot.ref.root.updating(values) {
            writes = assignments
        }
        try await hold.end(.done(hold.job.key, claim: hold.job.claim, writes))
    }

    /// The job has failed. It is assigned again after this time, or after the delay in the settings; after its last
    /// attempt it becomes a child of `dead`.
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

    /// Gives the job back, as if it had not been assigned.
    public func release() async throws(DatabaseError) {
        try await hold.end(.giveBack(hold.job.key, claim: hold.job.claim))
    }
}

/// The lease of a job. The job is given back when this is no longer referenced, unless an end was requested.
private final class JobHold: Sendable {
    private struct State {
        /// Its end was requested, and may still be refused.
        var isEnding = false
        var isRefused = false
        var isOver = false

        var isFree: Bool { !isEnding && !isOver }
    }

    let job: ClaimedJob
    private let database: Database
    private let lease: Int64?
    private let state = Mutex(State())
    /// How often the lease is extended, in milliseconds.
    private let pause: Int64

    private init(_ job: ClaimedJob, _ database: Database, _ lease: Int64?) {
        self.job = job
        self.database = database
        self.lease = lease
        let core = database.core
        pause = job.pause(atHello: core.hello.time, since: core.loop.time - core.hello.arrival)
    }

    deinit {
        // A job that cannot be ended would be given back again and again: its lease runs out, which counts.
        guard state.withLock({ $0.isFree && !$0.isRefused }) else { return }
        database.run { [job] core in core.finish(job, .giveBack(job.key, claim: job.claim)) { _ in } }
    }

    var isHeld: Bool { state.withLock { !$0.isOver } }

    /// A lease that is extended periodically.
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
                if case .failure(let error) = result, error.endsJob { return hold.state.withLock { $0.isOver = true } }
                keep(hold, core)
            }
        }
    }

    func end(_ request: JobRequest) async throws(DatabaseError) {
        let mayEnd = state.withLock { state in
            guard state.isFree else { return false }
            state.isEnding = true
            return true
        }
        guard mayEnd else { throw .refused(status: "lease_lost", message: "the job is not this worker's any more") }
        let reply = Reply<Void, DatabaseError>()
        // A worker whose task is cancelled still reports the outcome of its job.
        let isPosted = database.run { core in
            core.finish(self.job, request) { result in
                self.state.withLock {
                    $0.isEnding = false
                    if case .failure(let why) = result, !why.endsJob { $0.isRefused = true } else { $0.isOver = true }
                }
                reply.settle(result)
            }
        }
        if !isPosted { throw .closed }
        try await reply.value()
    }
}

extension DatabaseError {
    /// Whether a request for a job, refused with this, shows that the job is no longer this worker's.
    fileprivate var endsJob: Bool {
        switch self {
        case .disconnected, .refused("lease_lost", _), .refused("job_gone", _): true
        default: false
        }
    }
}

extension Duration {
    /// At least 0, and at most what an integer holds.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(0, seconds), .max / 2000) * 1000 + max(0, attoseconds) / 1_000_000_000_000_000
    }
}
