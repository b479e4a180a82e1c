import HearthServerSupport
import Glibc
import HearthClient
import HearthEventLoop
import HearthServer
import HearthSystem
import HearthTestSupport
import Synchronization
import Testing

@Suite("Jobs in the client", .timeLimit(.minutes(15)))
struct JobTests {
    private static let settings =
        #"{"settings":{"mail":{".queue":{"at":"at","attempts":2,"backoff":0,"lease":600000}}}}"#

    private static func server() throws -> TestDatabase {
        try TestDatabase { configuration, folder in
            configuration.settingsFile = try folder.write(settings, as: "settings.json")
        }
    }

    private struct Letter: Codable, Sendable, Equatable {
        var to: String
    }

    @Test("come in order, and are done with a write in the same commit, tried again, or dead")
    func life() async throws {
        let server = try Self.server()
        let mail = try server.client().reference(withPath: "mail")
        let worker = try server.client()
        try await mail.child("jobs").setValue(["a": ["to": "ann"], "b": ["to": "bob"], "c": ["to": "eve"]])
        var jobs = worker.reference(withPath: "mail").jobs().makeAsyncIterator()
        let first = try #require(try await jobs.next(isolation: nil))
        #expect(first.key == "a")
        #expect(first.attempts == 1)
        #expect(first.isHeld)
        #expect(try first.data(as: Letter.self) == Letter(to: "ann"))
        #expect(try await mail.child("state/a/attempts").getData().value == 1)
        try await first.done(updating: ["sent/ann": true])
        #expect(!first.isHeld)
        #expect(try await mail.root.child("sent").getData().value == ["ann": true])
        let second = try #require(try await jobs.next(isolation: nil))
        #expect(second.key == "b")
        try await second.fail("no such address")
        #expect(try await mail.child("state/b/error").getData().value == "no such address")
        // Its time has come at once, which is before jobs that have none.
        let again = try #require(try await jobs.next(isolation: nil))
        #expect(again.key == "b")
        #expect(again.attempts == 2)
        try await again.fail("still not")
        #expect(try await mail.child("dead/b/value").getData().value == ["to": "bob"])
        #expect(try await mail.child("dead/b/error").getData().value == "still not")
        let third = try #require(try await jobs.next(isolation: nil))
        #expect(third.key == "c")
        try await third.release()
        let fourth = try #require(try await jobs.next(isolation: nil))
        #expect(fourth.key == "c")
        #expect(fourth.attempts == 1)
        try await fourth.giveUp("never")
        await #expect(
            throws: DatabaseError.refused(status: "lease_lost", message: "the job is not this worker's any more")
        ) { try await fourth.done() }
        #expect(try await mail.child("jobs").getData().value == .null)
        #expect(try await mail.child("state").getData().value == .null)
        #expect(try await mail.child("dead").getData().childrenCount == 2)
    }

    @Test("are waited for, also until their time, and the loop ends with its task")
    func waiting() async throws {
        let server = try Self.server()
        let producer = try server.client().reference(withPath: "mail/jobs")
        let worker = try server.client()
        let task = Task {
            var keys: [String] = []
            for try await job in worker.reference(withPath: "mail").jobs() {
                keys.append(job.key)
                try await job.done()
                if keys.count == 2 { break }
            }
            return keys
        }
        try await producer.child("now").setValue(1)
        try await eventually("the end of the first job") { try await !producer.child("now").getData().exists() }
        let before = try await producer.root.child("clock").settingTimestamp()
        try await producer.child("late").setValue(["at": before + 500])
        #expect(try await task.value == ["now", "late"])
        #expect(try await producer.root.child("clock").settingTimestamp() >= before + 500)
        let waiting = Task {
            var count = 0
            for try await _ in worker.reference(withPath: "mail").jobs() { count += 1 }
            return count
        }
        waiting.cancel()
        #expect(try await waiting.value == 0)
    }

    @Test("a hundred workers do each job once")
    func manyWorkers() async throws {
        let server = try Self.server()
        let producer = try server.client().reference(withPath: "mail")
        let count = 400
        let clients = try (0..<10).map { _ in try server.client() }
        let done = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                let queue = clients[number % clients.count].reference(withPath: "mail")
                group.addTask {
                    for try await job in queue.jobs() {
                        if job.key == "end" { return try await job.release() }
                        done.count(job.key)
                        do {
                            try await job.done(updating: ["sent/\(job.key)": ["times": ServerValue.increment(1)]])
                        } catch DatabaseError.cancelled {
                            // The producer has seen the end of the last job before its worker.
                            return
                        }
                    }
                }
            }
            for number in 0..<count {
                try await producer.child("jobs/j\(number)").setValue(["n": number])
            }
            while try await producer.child("jobs").getData().exists() { try await Task.sleep(for: .milliseconds(20)) }
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(done.counts.count == count)
        #expect(done.counts.values.allSatisfy { $0 == 1 })
        let sent = try await producer.root.child("sent").getData()
        #expect(sent.childrenCount == count)
        for child in sent.children { #expect(child.value == ["times": 1], "\(child.key ?? "")") }
        #expect(try await producer.child("state").getData().value == .null)
    }

    @Test("a worker that comes back keeps its job; that of one that does not goes to another")
    func deaths() async throws {
        // A busy machine may need more than two thirds of a lease to connect again, but not of each.
        var lease = Duration.seconds(15)
        while try await !endsOfWorker(lease: lease) {
            lease *= 2
            try #require(lease <= .seconds(240), "the lease ends each time")
        }
    }

    /// False if the lease ended before its worker was back.
    private func endsOfWorker(lease: Duration) async throws -> Bool {
        let server = try Self.server()
        let producer = try server.client().reference(withPath: "mail")
        try await producer.child("jobs/a").setValue(1)
        let worker = try server.client()
        var jobs = worker.reference(withPath: "mail").jobs(lease: lease).makeAsyncIterator()
        let job = try #require(try await jobs.next(isolation: nil))
        worker.goOffline()
        worker.goOnline()
        func end() async throws -> Double? { try await producer.child("state/a/until").getData().value.double }
        // Its lease is extended beyond its first end.
        guard let first = try await end() else { return false }
        while true {
            guard let later = try await end() else { return false }
            if later > first { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        let isHeld = job.isHeld
        guard try await end() != nil else { return false }
        #expect(isHeld)
        await worker.close()
        let other = try server.client()
        var rest = other.reference(withPath: "mail").jobs().makeAsyncIterator()
        let taken = try #require(try await rest.next(isolation: nil))
        #expect(taken.key == "a")
        #expect(taken.attempts == 2)
        try await taken.done()
        #expect(try await producer.child("jobs").getData().value == .null)
        return true
    }

    @Test("are kept from their arrival on, although the worker's task cannot go on yet")
    func busyWorker() async throws {
        // A lease is extended after a third of its time: a busy machine may be late, but not with each.
        var lease = Duration.seconds(12)
        while try await !isKept(lease: lease) {
            lease *= 2
            try #require(lease <= .seconds(192), "the lease is extended")
        }
    }

    /// Whether a lease was extended three times while its worker's thread was blocked, and did not end before the job.
    private func isKept(lease: Duration) async throws -> Bool {
        let server = try Self.server()
        let mail = try server.client().reference(withPath: "mail")
        let (thread, goOn) = (try TestLoop(), HearthSystem.Semaphore())
        defer { withExtendedLifetime(thread) { goOn.signal() } }
        let busy = BusyActor(thread.loop)
        let work = Task { [worker = try server.client()] in
            try await busy.doOne(worker.reference(withPath: "mail").jobs(lease: lease))
        }
        try await busy.waitUntilItAsks()
        let (isBlocked, blocking) = AsyncStream.makeStream(of: Void.self)
        let block = Task { await busy.block(blocking, until: goOn) }
        for await _ in isBlocked {}
        try await mail.child("jobs/a").setValue(1)
        // Another worker gets the job as soon as its lease has ended.
        var other: Task<Void, any Error>?
        var ends: Set<Int> = []
        for try await state in mail.child("state/a").values(as: [String: DatabaseValue].self) {
            guard let end = state?["until"]?.int else {
                if ends.isEmpty { continue } else { break }
            }
            ends.insert(end)
            if ends.count == 4 { break }
            if other == nil {
                other = Task { [client = try server.client()] in
                    for try await job in client.reference(withPath: "mail").jobs() { try await job.done() }
                }
            }
        }
        // Without its job it would wait for another one.
        if ends.count < 4 { work.cancel() }
        goOn.signal()
        let isDone = await (try? work.value) ?? false
        await block.value
        other?.cancel()
        try await other?.value
        return isDone && ends.count == 4
    }

    @Test("a user who may not work here is told so")
    func refusals() async throws {
        let server = try Self.server()
        let client = try server.client()
        var jobs = client.reference(withPath: "elsewhere").jobs().makeAsyncIterator()
        await #expect(
            throws: DatabaseError.refused(
                status: "invalid_argument", message: "There is no queue at \"/elsewhere\"")
        ) {
            _ = try await jobs.next(isolation: nil)
        }
        let text = #"The server keeps the state of jobs at "/mail/state/a": it cannot be written: queue"#
        await #expect(throws: DatabaseError.permissionDenied(text)) {
            try await client.reference(withPath: "mail/state/a").setValue(1)
        }
    }

    /// `HEARTH_CRASH_ROUNDS` says how often (4 times if it is not set), `HEARTH_CRASH_SEED` when about.
    @Test("each is done once although the server is killed again and again")
    func crashes() async throws {
        let number = { (name: String) in getenv(name).flatMap { UInt64(String(cString: $0)) } }
        let rounds = number("HEARTH_CRASH_ROUNDS") ?? 4
        let seed = number("HEARTH_CRASH_SEED") ?? .random(in: 0...999_999_999)
        var random = SeededRandom(seed: seed)
        let folder = TemporaryFolder()
        let settings = "\(folder.path).settings.json"
        TemporaryFolder.write(
            Array(#"{"settings":{"mail":{".queue":{"attempts":1000,"backoff":0,"lease":1000}}}}"#.utf8), to: settings)
        defer { unlink(settings) }
        var pushed = 0
        var kept: Set<String> = []
        for round in 0...rounds {
            let process = try await ServerProcess(folder.path, "--durability", "full", "--settings", settings)
            let url = "ws://\(process.address)"
            let producer = try Database(url: url)
            let workers = try (0..<4).map { _ in try Database(url: url) }
            let acknowledged = Tally()
            let delay = Int.random(in: 20...600, using: &random)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers {
                    group.addTask {
                        do {
                            for try await job in worker.reference(withPath: "mail").jobs() {
                                do {
                                    try await job.done(updating: ["sent/\(job.key)": ServerValue.increment(1)])
                                } catch DatabaseError.refused {
                                    // The lease has ended, of all workers at once if the machine was busy. The job
                                    // comes again.
                                }
                            }
                        } catch DatabaseError.refused, DatabaseError.disconnected, DatabaseError.cancelled {
                            // The server is dead, or the round is over.
                        }
                    }
                }
                if round < rounds {
                    let start = pushed
                    let pushing = Task {
                        for number in start... {
                            do { try await producer.reference(withPath: "mail/jobs/j\(number)").setValue(1) } catch {
                                return
                            }
                            acknowledged.count("\(number)")
                        }
                    }
                    if round == 0 {
                        // However long it takes to connect, there is something to count at the end.
                        try await eventually("the first job") { !acknowledged.counts.isEmpty }
                    }
                    try await Task.sleep(for: .milliseconds(delay))
                    process.process.signal(SIGKILL)
                    _ = try await process.process.outcome()
                    pushing.cancel()
                    await producer.close()
                    // The last write may have been made or not.
                    pushed += acknowledged.counts.count + 1
                    kept.formUnion(acknowledged.counts.keys.map { "j\($0)" })
                } else {
                    let mail = producer.reference(withPath: "mail")
                    while try await mail.child("jobs").getData().exists() {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    let sent = try await mail.root.child("sent").getData()
                    for child in sent.children { #expect(child.value == 1, "seed \(seed): \(child.key ?? "")") }
                    #expect(!kept.isEmpty, "seed \(seed)")
                    #expect(kept.isSubset(of: sent.children.compactMap(\.key)), "seed \(seed)")
                    #expect(sent.childrenCount <= pushed, "seed \(seed)")
                    #expect(try await mail.child("state").getData().value == .null, "seed \(seed)")
                }
                group.cancelAll()
                for worker in workers { await worker.close() }
                try await group.waitForAll()
            }
            if round == rounds {
                process.process.signal(SIGTERM)
                _ = try await process.process.outcome()
            }
        }
    }
}

extension DatabaseReference {
    /// Writes the server's time here, and answers it.
    fileprivate func settingTimestamp() async throws -> Double {
        try await setValue(ServerValue.timestamp())
        return try #require(try await getData().value.double)
    }
}

/// Counts by name, from several tasks.
private final class Tally: Sendable {
    private let state = Mutex<[String: Int]>([:])

    var counts: [String: Int] { state.withLock { $0 } }

    func count(_ name: String) { state.withLock { $0[name, default: 0] += 1 } }
}

/// Has a thread of its own, which can be blocked.
private actor BusyActor {
    private final class Executor: SerialExecutor {
        private let loop: EventLoop

        init(_ loop: EventLoop) { self.loop = loop }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            loop.execute { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    private let executor: Executor
    private var hasBegun = false
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { executor = Executor(loop) }

    /// Works on one job. False if it was another worker's by then.
    func doOne(_ jobs: DatabaseJobs) async throws -> Bool {
        var iterator = jobs.makeAsyncIterator()
        hasBegun = true
        guard let job = try await iterator.next(isolation: self) else { return false }
        do throws(DatabaseError) { try await job.done() } catch { return false }
        return true
    }

    /// Returns when `doOne` has asked for a job.
    func waitUntilItAsks() async throws { try await eventually("the question for a job") { hasBegun } }

    func block(_ begun: AsyncStream<Void>.Continuation, until end: HearthSystem.Semaphore) {
        begun.finish()
        end.wait()
    }
}
